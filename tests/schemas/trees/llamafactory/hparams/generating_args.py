from dataclasses import dataclass, field


@dataclass
class GeneratingArguments:
    beams: int = field(default=1)
