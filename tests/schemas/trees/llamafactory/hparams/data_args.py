from dataclasses import dataclass, field


@dataclass
class DataArguments:
    template: str | None = field(default=None)
    length: int = field(default=64)
