from dataclasses import dataclass, field


@dataclass
class FinetuningArguments:
    rank: int = field(default=8)
