"""The version of cfglint; a separate module, because every part shows it."""

__version__ = "0.2.0"
