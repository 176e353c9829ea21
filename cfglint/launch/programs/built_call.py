"""The calls of a program that build what a run is configured with."""

from __future__ import annotations

from cfglint.launch.programs.scopes import Scope
from cfglint.launch.registered import ENGINE, LAUNCH, LAUNCHER

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast
    from collections.abc import Set as AbstractSet


class BuiltCall:
    """A call that builds what a run is configured with: `name` is what it calls, `node` the expression that a document stands for.

    `settable` are the attributes of its result that are settings; None if any may be one.
    """

    kind = ""
    package = ""  # whose release decides about the call, if its kind does not
    settable: AbstractSet[str] | None = None
    trainer: str | None = None

    def __init__(self, name: str, call: ast.Call, scope: Scope, node: ast.expr | None = None) -> None:
        self.name = name
        self.call = call
        self.scope = scope
        self.node = node or call

    @property
    def is_conditional(self) -> bool:
        """Whether the call is inside a branch or a loop."""
        return self.scope.is_conditional(self.node)


class EngineConfig(BuiltCall):
    """A call of `deepspeed.initialize` whose config is a mapping: `node` is that expression.

    Source: deepspeed 0.19.8 deepspeed/__init__.py (initialize: `config`, else `config_params`).
    """

    kind = ENGINE


class AcceleratorCall(BuiltCall):
    """A call of `Accelerator`, in a program with a training loop of its own."""

    kind = LAUNCH
    package = LAUNCHER
