"""How near cfglint's memory estimate comes to measured peaks, beside the calculators that people use.

    python3 benchmarks/memory.py a100_80gb.csv a100_80gb_liger.csv

The files are tables of measured runs as IBM publishes them: github.com/foundation-model-stack/fms-acceleration, scripts/benchmarks/refs
(A100 80GB, rows packed to 4096 tokens, gradient checkpointing, flash attention, foreach AdamW, FSDP on more than one GPU). Prints a
Markdown table of errors against `torch.cuda.max_memory_allocated`, by kind of run. The other calculators' formulas are those of accelerate
1.15.0 `commands/estimate.py`, DeepSpeed 0.19.8 `estimate_zero2/zero3_model_states_mem_needs` and EleutherAI's
`cookbook/calc/calc_transformer_mem.py`; each gets what it asks for.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import sys

from cfglint.batch.memory.estimate import estimate
from cfglint.batch.memory.settings import LOSS_COPY, LOSS_FUSED, LOSS_IN_PLACE, NF4_DOUBLE, NONE, Fsdp, Lora, Settings
from cfglint.batch.shapes import known_name, shape_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from cfglint.batch.memory.shape import Shape

    Row = dict[str, str]  # of a table of measured runs, by column
    Errors = dict[str, dict[str, list[float]]]  # kind of run: tool: relative errors

SEQUENCE = 4096
PEAKS = ("mem_peak_torch_mem_alloc_in_bytes", "peak_torch_mem_alloc_in_bytes", "peak_allocated_bytes")
ACCELERATE, DEEPSPEED, ELEUTHER, OURS = "accelerate", "DeepSpeed", "EleutherAI", "cfglint"
TOOLS = (OURS, ACCELERATE, DEEPSPEED, ELEUTHER)


def shape_of_row(row: Row) -> Shape | None:
    """The model's shape; None for a model that is not in the table."""
    checkpoint = row["model_name_or_path"].rpartition("/")[2]
    name = known_name(checkpoint.removesuffix("-GPTQ"))
    return None if name is None else shape_of(name)


def settings_of_row(row: Row) -> Settings:
    """The run as its columns tell it."""
    kind, ranks = row["framework_config"], int(row["num_gpus"])
    quantized = "bnb" in kind or "gptq" in kind
    half = "bf16" if truth(row, "bf16") else "fp16" if truth(row, "fp16") else None
    loss = LOSS_FUSED if "liger" in kind else LOSS_IN_PLACE if "foak" in kind else LOSS_COPY
    targets = tuple((row.get("target_modules") or "").split())
    return Settings(
        micro_batch=int(row["per_device_train_batch_size"]),
        sequence=SEQUENCE,
        loaded="fp16" if row.get("torch_dtype") == "float16" else "bf16",
        autocast=half,
        checkpointing=True,
        optimizer="adam_foreach",
        loss=loss,
        lora=Lora(int(float(row["r"])), targets, float(row["lora_dropout"])) if row.get("peft_method") else None,
        quantization=NF4_DOUBLE if quantized else NONE,
        kbit_fp32=kind.startswith("baseline"),
        strategy="fsdp" if ranks > 1 else "ddp",
        ranks=ranks,
        fsdp=Fsdp() if ranks > 1 else None,
    )


def truth(row: Row, name: str) -> bool:
    """Whether a column says true."""
    return str(row.get(name) or "").lower() == "true"


def calculators(shape: Shape, run: Settings) -> dict[str, float]:
    """What the other calculators say, in bytes, with the true parameter count: none of them models adapters, quantization or the loss.

    With FSDP they are asked for ZeRO stage 3, else for stage 0 (accelerate has no sharding, DeepSpeed's smallest stage is 2).
    """
    parameters, ranks = shape.parameters, run.ranks
    live = 2 * (5e8 + 1e9) if ranks > 1 else 0  # the all-gather bucket and the live parameters, in 16 bit
    activations = run.tokens * shape.hidden * shape.layers * (16 * 2 + 2)
    return {
        ACCELERATE: 8 * parameters,
        DEEPSPEED: 4 * shape.head_matrix + 18 * parameters / ranks if ranks > 1 else 20 * parameters,
        ELEUTHER: 18 * parameters / ranks + live + activations,
    }


def group_of(row: Row) -> str:
    """The kind of run, for a line of the table."""
    quantized = "4-bit " if "bnb" in row["framework_config"] or "gptq" in row["framework_config"] else ""
    method = f"{quantized}LoRA" if row.get("peft_method") else "full"
    return f"{method}, {'1 GPU' if int(row['num_gpus']) == 1 else 'FSDP'}"


def compared(rows: Iterable[Row]) -> Errors:
    """{kind of run: {tool: relative errors}} of the rows that have a peak and a model that is known."""
    found: Errors = {}
    for row in rows:
        peak = next((float(row[name]) for name in PEAKS if row.get(name)), None)
        shape = shape_of_row(row)
        if not peak or shape is None:
            continue
        run = settings_of_row(row)
        said = {OURS: estimate(shape, run).total, **calculators(shape, run)}
        errors = found.setdefault(group_of(row), {tool: [] for tool in TOOLS})
        for tool, size in said.items():
            errors[tool].append(size / peak - 1)
    return found


def table(found: Errors) -> str:
    """A Markdown table: the median of the absolute errors, and the worst."""
    lines = [f"| runs | rows | {' | '.join(TOOLS)} |", f"|---|--:|{'--:|' * len(TOOLS)}"]
    for group in sorted(found):
        errors = found[group]
        cells = [f"{percent(statistics.median(map(abs, errors[tool])))} ({percent(max(map(abs, errors[tool])))})" for tool in TOOLS]
        lines.append(f"| {group} | {len(errors[OURS])} | {' | '.join(cells)} |")
    return "\n".join(lines)


def percent(ratio: float) -> str:
    """`12 %`."""
    return f"{100 * ratio:.0f} %" if ratio >= 0.1 else f"{100 * ratio:.1f} %"


def main() -> None:
    """Print the table for the files that are named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="+", help="tables of measured runs")
    rows: list[Row] = []
    for path in parser.parse_args().files:
        with open(path, encoding="utf-8", newline="") as file:
            rows.extend(csv.DictReader(file))
    found = compared(rows)
    if not found:
        sys.exit("no row has a peak and a known model")
    print(table(found))


if __name__ == "__main__":
    main()
