"""The base of every error that cfglint raises for its caller to handle."""

from __future__ import annotations


class CfglintError(Exception):
    """A request that cfglint cannot fulfil; the message names the cause and the remedy."""
