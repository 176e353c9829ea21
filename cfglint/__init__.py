"""What would the real framework do with these config files on this many GPUs?"""

from __future__ import annotations

__version__ = "0.1.0"
__all__ = ["check", "diff", "fix", "plan"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.api import check, diff, fix, plan


def __getattr__(name: str) -> object:
    """The functions of `cfglint.api`, imported when one is asked for: the command needs none of them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from cfglint import api

    return getattr(api, name)
