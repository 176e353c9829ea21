#!/usr/bin/env python3
"""A repository of a research project, most of whose JSON and YAML files are results and no training configs.

    python3 benchmarks/repository.py FOLDER

writes 1,843 such files with about 9 MB below FOLDER, the same ones each time: evaluation results, logs of runs, model and
tokenizer files, evaluation tasks, CI workflows, broken and cut files, and among them 60 configs with mistakes. The
proportions are those of public repositories with experiments in them.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

WORDS = ("accuracy", "answer", "baseline", "context", "dataset", "entry", "input", "label", "model", "output", "question", "score", "text")
TASKS = ("arc", "boolq", "copa", "gsm8k", "hellaswag", "lambada", "math", "mmlu", "piqa", "sciq", "squad", "winogrande")


class Maker:
    """Writes files below a folder, with numbers and words from one seed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.random = random.Random(20)
        self.files = 0

    def write(self, path: str, text: str) -> None:
        """Write one file."""
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8", newline="\n")
        self.files += 1

    def each(self, count: int, make: Callable[[int], tuple[str, str]]) -> None:
        """Write the files that a function makes of the numbers below `count`."""
        for number in range(count):
            self.write(*make(number))

    def sentence(self, words: int) -> str:
        """So many words."""
        return " ".join(self.random.choices(WORDS, k=words))

    def number(self) -> float:
        """A score."""
        return round(self.random.random(), 6)

    # ---- results

    def scores(self, number: int) -> tuple[str, str]:
        """The results of an evaluation harness, one file for each task and checkpoint."""
        task = TASKS[number % len(TASKS)]
        results = {f"{task}_{part}": {"acc": self.number(), "acc_stderr": self.number(), "f1": self.number()} for part in range(20)}
        config = {"model": "hf-causal", "num_fewshot": 5, "batch_size": 16, "limit": None, "seed": number}
        versions = dict.fromkeys(results, 1)
        return f"results/step{number}/{task}.json", json.dumps({"results": results, "versions": versions, "config": config}, indent=2)

    def records(self, number: int) -> tuple[str, str]:
        """A list of answers."""
        found = [{"id": each, "input": self.sentence(12), "output": self.sentence(8), "score": self.number()} for each in range(45)]
        return f"results/answers/{number}.json", json.dumps(found, indent=1, ensure_ascii=False)

    def lines(self, number: int) -> tuple[str, str]:
        """An object on each line, under the name of a JSON file."""
        found = [json.dumps({"id": each, "text": self.sentence(20), "label": each % 2}) for each in range(60)]
        return f"data/part-{number}.json", "\n".join(found) + "\n"

    def cut(self, number: int) -> tuple[str, str]:
        """Answers that were cut off while they were written."""
        return f"results/cut/{number}.json", self.records(number)[1][: 3000 + number]

    def state(self, number: int) -> tuple[str, str]:
        """The log of a Hugging Face Trainer."""
        log = [{"epoch": each / 10, "learning_rate": self.number(), "loss": self.number(), "step": 10 * each} for each in range(60)]
        text = json.dumps({"best_metric": None, "epoch": 6.0, "global_step": 600, "log_history": log}, indent=2)
        return f"checkpoints/{number}/trainer_state.json", text

    # ---- other programs' files

    def model(self, number: int) -> tuple[str, str]:
        """The config of a model."""
        shape = {"architectures": ["LlamaForCausalLM"], "hidden_size": 64 * (number + 1), "num_hidden_layers": number + 2}
        return f"checkpoints/{number}/config.json", json.dumps(shape, indent=2)

    def tokenizer(self, number: int) -> tuple[str, str]:
        """The vocabulary of a tokenizer."""
        vocabulary = {f"{self.random.choice(WORDS)}_{each}": each for each in range(4000)}
        return f"checkpoints/{number}/vocab.json", json.dumps(vocabulary, ensure_ascii=False)

    def task(self, number: int) -> tuple[str, str]:
        """A task of an evaluation harness."""
        name = f"{TASKS[number % len(TASKS)]}_{number}"
        text = f"""task: {name}
dataset_path: {name}
output_type: multiple_choice
doc_to_text: "{{{{question}}}}\\nAnswer:"
doc_to_target: "{{{{answer}}}}"
metric_list:
  - metric: acc
    aggregation: mean
    higher_is_better: true
description: |
  {self.sentence(40)}
"""
        return f"tasks/{name}.yaml", text

    def metrics(self, number: int) -> tuple[str, str]:
        """Scores as YAML."""
        rows = "".join(f"- name: {self.sentence(2)}\n  value: {self.number()}\n  step: {each}\n" for each in range(60))
        return f"results/yaml/{number}.yaml", rows

    def workflow(self, number: int) -> tuple[str, str]:
        """A CI workflow."""
        text = f"name: job {number}\non: [push]\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      - run: make test{number}\n"
        return f".github/workflows/job{number}.yml", text

    # ---- training configs

    def deepspeed(self, number: int) -> tuple[str, str]:
        """A DeepSpeed config with a misspelt key."""
        zero = {"stage": 2, "overlap_com": True, "reduce_bucket_size": 5e8}
        text = json.dumps({"train_micro_batch_size_per_gpu": 4 + number, "gradient_clipping": 1.0, "zero_optimization": zero}, indent=2)
        return f"configs/deepspeed/zero2-{number}.json", text

    def trainer(self, number: int) -> tuple[str, str]:
        """A trainer's config whose rate is a string."""
        text = f"output_dir: out/{number}\nper_device_train_batch_size: 4\nnum_train_epochs: 3\nlearning_rate: 2e-5\nseed: {number}\n"
        return f"configs/train-{number}.yaml", text


def write(folder: Path) -> int:
    """Write the repository; the number of its files."""
    maker = Maker(folder)
    maker.each(620, maker.scores)
    maker.each(480, maker.records)
    maker.each(80, maker.lines)
    maker.each(20, maker.cut)
    maker.each(60, maker.state)
    maker.each(60, maker.model)
    maker.each(10, maker.tokenizer)
    maker.each(360, maker.task)
    maker.each(73, maker.metrics)
    maker.each(20, maker.workflow)
    maker.each(30, maker.deepspeed)
    maker.each(30, maker.trainer)
    return maker.files


if __name__ == "__main__":
    print(write(Path(sys.argv[1])))
