"""What a rule about a whole run needs of it; `cfglint.run.loaded.LoadedRun` is one."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from cfglint.findings.ignore import Ignore
    from cfglint.frameworks.base import Config, LaunchFacts
    from cfglint.source.document import Document

    class Run(Protocol):
        """A run: its files, the facts of its launch, the configs that the frameworks make of them, and its numbers."""

        documents: list[Document]
        facts: LaunchFacts
        configs: list[Config]
        unused_ignores: list[Ignore]

        @property
        def resolved(self) -> dict[str, int | None]:
            """What the framework computes from the files, with None for what it cannot know."""
