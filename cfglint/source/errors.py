"""The base of every error that cfglint raises for its caller to handle."""

from __future__ import annotations


class CfglintError(Exception):
    """Something that cfglint cannot do with what it was given; the text says what and how to go on."""
