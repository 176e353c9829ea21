from dataclasses import dataclass
from typing import Any, List, Literal, Optional, Union


@dataclass
class NeoXArgsModel(NeoXArgsTemplate):
    layers: int = None
    norm: Literal["layernorm", "rmsnorm"] = "layernorm"
    ports: Union[int, List[int]] = 6000
    factor: Union[int, float] = None
    path: Optional[str] = None
    anything: Any = None
    git_hash: str = get_git_commit_hash()
