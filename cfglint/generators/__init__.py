"""From a job specification to new configs that its framework accepts.

`generate` is pure: what it returns has names, texts and reasons, and nothing is read or written.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.generators.generated import Generated
    from cfglint.generators.job_spec import JobSpec

KINDS = ("deepspeed", "huggingface", "neox", "accelerate", "trl", "llamafactory", "axolotl")
RUN = "run"
FRAMEWORKS = ("huggingface", "neox")  # what a matching set can be made for


def takes(kind: str, framework: str = "huggingface") -> frozenset[str]:
    """The facts that a kind of file, or a set of files, supports."""
    module = __import__(f"cfglint.generators.{framework if kind == RUN else kind}", fromlist=["TAKES"])
    taken: frozenset[str] = module.TAKES
    return taken


def generate(kind: str, job: JobSpec, framework: str = "huggingface", folder: str = "") -> Generated:
    """The files of a kind, or with `run` the set of a framework; `folder` is their folder, relative to where the job is started.

    Raises `cfglint.generators.job_spec.Contradiction` where the facts are incompatible, insufficient or not supported
    in such a file, and `Unreachable` where the global batch cannot be had on these GPUs.
    """
    if kind == "neox" or (kind == RUN and framework == "neox"):
        from cfglint.generators import neox

        return neox.pair(job, folder) if kind == RUN else neox.whole(job, folder)
    if kind == "deepspeed":
        from cfglint.generators import deepspeed

        return deepspeed.own(job, folder)
    if kind == "trl":
        from cfglint.generators import trl

        return trl.trainer(job, folder)
    if kind == "accelerate":
        from cfglint.generators import accelerate

        return accelerate.launch(job, folder)
    if kind == "llamafactory":
        from cfglint.generators import llamafactory

        return llamafactory.training(job, folder)
    if kind == "axolotl":
        from cfglint.generators import axolotl

        return axolotl.training(job, folder)
    from cfglint.generators import huggingface

    return huggingface.matching_set(job, folder) if kind == RUN else huggingface.trainer(job, folder)
