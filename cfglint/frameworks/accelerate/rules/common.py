"""Functions that several rules of accelerate use."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.vocabulary import Kind

KINDS: tuple[Kind, ...] = ("accelerate",)
SAGEMAKER = "AMAZON_SAGEMAKER"
GPUS = "distributed_type: MULTI_GPU\nnum_processes: 8\n"
FSDP = "distributed_type: FSDP\nnum_processes: 8\nfsdp_config:\n"
DEEPSPEED = "distributed_type: DEEPSPEED\nnum_processes: 8\n"
