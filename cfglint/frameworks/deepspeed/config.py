"""A DeepSpeed config with its optimizer and, if there is one, the trainer that passes it on."""

from __future__ import annotations

from cfglint.frameworks.deepspeed.sections import DeepSpeedSections

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.vocabulary import Stage
    from cfglint.frameworks.deepspeed.optimizers import Optimizer
    from cfglint.frameworks.refusal import Refusal
    from cfglint.launch.program import OwnLoop


class Unset:
    """Marks what has not been computed yet."""


class DeepSpeedConfig(DeepSpeedSections):
    _optimizer: Optimizer | type | None = Unset
    _refusals: list[Refusal] | None = None

    @property
    def refusals(self) -> list[Refusal]:
        if self._refusals is None:
            self._refusals = self.part("refusals", [])
        return self._refusals

    def reads(self, key: str) -> bool:
        from cfglint.frameworks.validation.schema import load

        return load(self.kind).lookup((key,)) is not None

    def failure_stage(self, fails_at: Stage | None) -> Stage | None:
        """The stage of a failure: with a trainer, DeepSpeed parses the config when training starts, and builds the engine when it
        wraps the model.
        """
        if self.trainer is None or fails_at is None:
            return fails_at
        return "first-step" if fails_at in ("init", "first-step") else "init"

    @property
    def loop(self) -> OwnLoop | None:
        document = self.documents[0]
        found = self.facts.launch.loop if self.trainer is None else None
        if document.is_call:
            from cfglint.launch.program import ProgramCall

            found = (document.loop if isinstance(document, ProgramCall) else None) or found
        return found if found is not None and found.is_found else None

    @property
    def optimizer(self) -> Optimizer | None:
        if self.passes("optimizer"):
            return None
        if self._optimizer is Unset:
            from cfglint.frameworks.deepspeed.optimizers import chosen

            self._optimizer = chosen(self)
        return self._optimizer  # type: ignore[return-value]

    @property
    def has_optimizer(self) -> bool:
        return self.optimizer is not None or self.trainer is not None or self.passes("optimizer")
