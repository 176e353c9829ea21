"""The version of cfglint; a module of its own, since every part shows it."""

__version__ = "0.1.0"
