"""What commands print and write, line by line: every scene is the files of a folder and some command lines.

`CFGLINT_UPDATE=1` rewrites the records; the difference is to be read.
"""

from __future__ import annotations

import os
import shlex
import sys

import pytest

from cfglint.cli import main
from cfglint.version import __version__
from records import check_parts

DEEPSPEED = """{
  "train_batch_size": 256,
  "train_micro_batch_size_per_gpu": 4,
  "gradient_accumulation_steps": 8,
  "optimizer": {"type": "AdamW", "params": {"lr": 2e-5}}
}
"""
AUTO = '{"train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto"}\n'
TRAINER = (
    "output_dir: out  # here\nper_device_train_batch_size: 4\ngradient_accumulation_steps: 8\nlearning_rate: 2.0e-5\nwarmup_steps: 100\n"
)
LAUNCH = "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_machines: 1\nnum_processes: 8\nmachine_rank: 0\n"
ENGINE = LAUNCH.replace("MULTI_GPU", "DEEPSPEED") + "deepspeed_config:\n  zero_stage: 2\n  gradient_accumulation_steps: 8\n"
NEOX = (
    '{"num_layers": 12, "hidden_size": 768, "num_attention_heads": 12, "seq_length": 2048, "max_position_embeddings": 2048,\n'
    ' "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2, "train_iters": 1000, "lr_decay_iters": 1000,\n'
    ' "optimizer": {"type": "Adam", "params": {"lr": 0.0006}}, "vocab_file": "v", "merge_file": "m"}\n'
)
SCRIPT = (
    "torchrun --nproc_per_node 8 train.py --output_dir out --per_device_train_batch_size 4 --gradient_accumulation_steps 8"
    " --save_strategy steps\n"
)
STRATEGIES = "--save_strategy steps --logging_strategy steps"  # with one name more they are a Trainer's
UNKNOWN = "torchrun --nnodes $NODES --nproc_per_node $GPUS train.py --output_dir $OUT --model_name_or_path $MODEL --seed $1 --max_steps 5\n"
LOG = """\
***** Running training *****
  Num examples = 128,770
  Num Epochs = 3
  Instantaneous batch size per device = 8
  Total train batch size (w. parallel, distributed & accumulation) = 256
  Gradient Accumulation steps = 4
  Total optimization steps = 1,509
"""
TYPO = TRAINER.replace("warmup", "warmpu")
MISMATCH = DEEPSPEED.replace('steps": 8', 'steps": 4')
STRINGS = 'output_dir: out\nmax_steps: "100"\nsave_steps: "50"\nsave_total_limit: None\n'

SCENES = {
    "fix": (
        (
            {"ds.json": DEEPSPEED},
            *("--gpus 16 --global-batch 256", "--gpus 32", "--gpus 8 --global-batch 256", "--gpus 8 --global-batch 512 --check"),
            *("--gpus 8 --global-batch 512 --diff", "--gpus 7 --global-batch 256", "--gpus 8 --global-batch 256 --max-micro-batch 2"),
            *("--gpus 1 --global-batch 3", "--global-batch 128 --check", "--check", "--diff", "--gpus 7 --global-batch 256 --diff"),
            *("--gpus 7 --global-batch 256 --check", "--gpus 8 --global-batch 512 --format json", "--gpus 7 --format json"),
        ),
        (
            {"train.yaml": TRAINER},
            *("--gpus 16", "--gpus 16 --from-gpus 8", "--gpus 16 --from-gpus 8 --diff", "--gpus 8 --from-gpus 8 --global-batch 512"),
            *("--gpus 8 --global-batch 512", "--from-gpus 8 --global-batch 512 --gpus 8 --format json", "--gpus 8 --global-batch 96"),
            *("--gpus 8 --global-batch 256 --kind huggingface --max-micro-batch 16",),
        ),
        (
            {"train.yaml": TRAINER + "deepspeed: ds.json\n", "ds.json": AUTO},
            *("--gpus 16 --from-gpus 8 --global-batch 256", "train.yaml ds.json --run --gpus 8 --from-gpus 8 --global-batch 128"),
        ),
        ({"ds.json": AUTO}, "--gpus 8 --global-batch 256", "--gpus 8 --global-batch 256 --format json", "--gpus 1 --global-batch 4"),
        (
            {"launch.yaml": ENGINE, "train.sh": "accelerate launch --config_file launch.yaml train.py\n"},
            *("train.sh --gpus 8 --global-batch 256", "train.sh --gpus 16 --global-batch 256", "launch.yaml --gpus 16 --global-batch 512"),
        ),
        (
            {"train.sh": SCRIPT},
            "--gpus 16 --global-batch 256",
            "--gpus 16",
            "--gpus 16 --diff",
            "--gpus 8 --global-batch 128 --format json",
        ),
        ({"train.sh": SCRIPT + SCRIPT.replace("out ", "b ")}, "--gpus 16 --global-batch 256"),
        ({"m.yml": NEOX}, "--gpus 8 --global-batch 128 --kind neox", "--gpus 8 --kind neox", "--gpus 6 --global-batch 100 --kind neox"),
        ({"bad.json": "{{\n", "ds.json": DEEPSPEED}, "--kind deepspeed", "--kind deepspeed --gpus 16 --global-batch 256"),
        ({"t.yaml": TYPO}, "", "--unsafe-fixes", "--unsafe-fixes --diff", "--format json", "--check", "--unsafe-fixes --check"),
        ({f"{number}.yaml": TYPO for number in range(3)}, "", "--diff"),
        ({f"{number}.yaml": TYPO for number in range(4)}, "", "--diff", "--format json"),
        ({"t.yaml": STRINGS}, "", "--unsafe-fixes", "--diff", "--select TYP200", "--ignore TYP200", "--check --format json"),
        ({"ds.json": MISMATCH}, "--gpus 16 --global-batch 512", "--gpus 8 --from-gpus 8 --global-batch 512", "--gpus 16 --from-gpus 8"),
        ({"ds.json": MISMATCH, "cfglint.toml": "gpus = 8\n"}, "", "--diff", "--format json"),
        ({"readme.yaml": "a: 1\n"}, "", "readme.yaml", "readme.yaml --skip-unrecognized", "missing.yaml", "--gpus 0", "--gpus"),
        ({"ds.json": DEEPSPEED, "a.yaml": "x: 1\n"}, "--gpus 16 --global-batch 256", "ds.json a.yaml --gpus 16 --global-batch 256"),
    ),
    "review": (
        (
            {"a.yaml": TRAINER, "b.yaml": TRAINER.replace("steps: 8", "steps: 4"), "c.yaml": TRAINER + "run_name: x\n", "d.yaml": TYPO},
            *("a.yaml b.yaml", "a.yaml b.yaml --gpus 8", "a.yaml a.yaml", "a.yaml c.yaml", "a.yaml d.yaml", "d.yaml a.yaml"),
            *("a.yaml b.yaml --gpus 8 --num-examples 10000", "a.yaml d.yaml --ignore KEY", "a.yaml d.yaml --fail-on warning"),
            *("a.yaml", "a.yaml b.yaml c.yaml", "a.yaml missing.yaml", "a.yaml .", "a.yaml --to b.yaml --gpus 8", ". ."),
            *("a.yaml b.yaml --gpus 8 --format json", "a.yaml b.yaml --gpus 8 --format markdown", "a.yaml d.yaml --format github"),
            *("a.yaml b.yaml --format json --format text", "a.yaml b.yaml --gpus 8 --format html --output page.html --format concise"),
        ),
        ({"a.json": DEEPSPEED, "b.json": MISMATCH}, "a.json b.json --gpus 8", "b.json a.json --gpus 8", "b.json b.json --gpus 8"),
        (
            {
                "old/a.yaml": TRAINER,
                "old/b.yaml": TRAINER,
                "old/gone.yaml": TRAINER + "seed: 1\n",
                "old/moved.json": DEEPSPEED,
                "new/a.yaml": TRAINER,
                "new/b.yaml": TYPO,
                "new/more.yaml": STRINGS,
                "new/here.json": DEEPSPEED.replace("256", "512"),
            },
            *("old new", "old new --gpus 8", "old new --format markdown", "old new --format concise"),
        ),
        ({"a.sh": SCRIPT, "b.sh": SCRIPT.replace("8 train", "4 train") + SCRIPT}, "a.sh b.sh", "b.sh a.sh", "b.sh:1 b.sh:2"),
        ({"a.yaml": "a: 1\n", "b.yaml": "a: 2\n", "t.yaml": TRAINER}, "a.yaml b.yaml", "a.yaml t.yaml", "t.yaml a.yaml"),
    ),
    "plan": (
        (
            {"train.yaml": TRAINER},
            *("train.yaml", "train.yaml --gpus 8", "train.yaml --from-gpus 8 --gpus 4-32", "train.yaml --from-gpus 8 --gpus 7-9"),
            *(
                "train.yaml --gpus 8 --global-batch 256",
                "train.yaml --gpus 7 --global-batch 256",
                "train.yaml --gpus 3-40 --global-batch 9",
            ),
            *("train.yaml --gpus 3-34 --global-batch 12 --format csv", "train.yaml --gpus 3-35 --global-batch 12", "train.yaml --gpus 9-8"),
            *("train.yaml --gpus 8,4,8 --global-batch 256 --num-examples 10000 --format csv", "train.yaml --gpus 8,x --global-batch 8"),
            "train.yaml --from-gpus 8 --gpus 8,16 --global-batch 256 --num-examples 10000 --time-per-step 2",
            "train.yaml --from-gpus 8 --gpus 8,16 --global-batch 512 --num-examples 10000 --tokens-per-second 20000 --seq-length 1024",
            "train.yaml --gpus 8,6 --global-batch 256 --max-micro-batch 16 --format markdown",
            "train.yaml --gpus 64 --global-batch 4096 --max-micro-batch 64",
            "train.yaml --gpus 8 --global-batch 256 --format json",
        ),
        ({"m.yml": NEOX}, "m.yml --kind neox --gpus 8", "m.yml --kind neox --gpus 8,16 --global-batch 128 --num-examples 5000"),
        (
            {"ds.json": AUTO},
            "ds.json --gpus 8",
            "ds.json --gpus 8 --global-batch 64",
            "ds.json --gpus 8 --global-batch 64 --max-micro-batch 4",
        ),
        ({"ds.json": MISMATCH, "a.yaml": "x: 1\n"}, "ds.json --gpus 8", "a.yaml --gpus 8", "missing.yaml --gpus 8", ""),
    ),
    "explain": (
        (
            {"train.yaml": TRAINER, "train.log": LOG, "two.log": LOG + LOG.replace("= 4", "= 8"), "empty.log": "nothing\n"},
            *("train.yaml", "train.yaml --gpus 8", "train.yaml --gpus 8 --num-examples 128770", "train.log", "two.log", "empty.log"),
            *("train.log train.yaml", "train.log train.yaml --gpus 8", "train.log --format json", "two.log train.yaml --format json"),
            *("train.yaml --run", "train.yaml --target transformers==4.57.1", "train.yaml --target transformers==9.0.0", "missing.yaml"),
            *("train.yaml --output out.txt", "train.yaml --output missing/out.txt", "train.yaml --section a.b"),
        ),
        ({"t.yaml": TYPO + 'max_steps: "a"\n', "b.json": MISMATCH}, "t.yaml", "b.json --gpus 8", "b.json --gpus 8 --format json"),
        ({"ds.json": AUTO, "train.yaml": TRAINER + "deepspeed: ds.json\nfp16: false\n"}, "ds.json", "train.yaml --gpus 8", "ds.json --run"),
        ({"m.yml": NEOX}, "m.yml --kind neox", "m.yml --kind neox --gpus 16", "m.yml --kind neox --gpus 7"),
        ({"train.sh": SCRIPT, "u.sh": UNKNOWN}, "train.sh", "u.sh", "u.sh --env NODES=2 --env GPUS=8", "u.sh --gpus 4"),
    ),
    "runs": (
        (
            {"train.sh": SCRIPT, "train.yaml": TRAINER, "u.sh": UNKNOWN, "launch.yaml": LAUNCH, "ds.json": DEEPSPEED},
            *("", "--declare", "--format json", "--gpus 4", "u.sh --env NODES=2 --env GPUS=8", "u.sh --env NODES=2", "u.sh --nodes 2"),
            *("missing.sh", "train.yaml --num-examples 10000"),
        ),
        (
            {
                "a.sh": 'if [ "$1" = x ]; then\n'
                + SCRIPT
                + "fi\nfor lr in 1e-5 2e-5; do\n"
                + SCRIPT.strip()
                + " --learning_rate $lr\ndone\n",
                "b.sh": f"N=$(nvidia-smi -L | wc -l)\ntorchrun --nproc_per_node $N t.py --output_dir o --num_train_epochs 2 {STRATEGIES}\n",
                "c.sh": f"torchrun --nproc_per_node gpu train.py --output_dir out --per_device_train_batch_size 1 {STRATEGIES}\n",
                "d.sh": "torchrun --nnodes 2 --nproc_per_node 8 t.py --output_dir o --per_device_train_batch_size 1 --max_steps 5000"
                f" {STRATEGIES}\n",
                "e.sh": f"deepspeed train.py --deepspeed ds.json --output_dir <OUT> --per_device_train_batch_size 2 {STRATEGIES}\n",
                "ds.json": AUTO,
            },
            *("", "--declare", "a.sh", "b.sh --gpus 8", "c.sh --gpus 8", "e.sh --gpus 8"),
        ),
        ({"note.txt": "x\n"}, "", "--declare", "note.txt"),
    ),
    "check": (
        (
            {"t.yaml": TYPO, "ds.json": MISMATCH, "s.yaml": STRINGS, "x.yaml": "a: 1\n", "train.sh": SCRIPT, "p.toml": "gpus = 8\n"},
            *("", "--gpus 8", "--show statistics", "--format concise", "--format github"),
            *("--select KEY", "--ignore KEY,TYP", "--select NOPE"),
            *("t.yaml --fail-on warning", "t.yaml --fail-on error", "t.yaml --fail-on info", "--show files", "--show settings --gpus 8"),
            *("x.yaml", "x.yaml --skip-unrecognized", "missing.yaml", "x.yaml --kind huggingface", "--config p.toml --show settings"),
            *("t.yaml --format text --format json --output r.json", "--format text --format concise", "--color always t.yaml"),
            *("--write-baseline", "--write-baseline --baseline b.json", "--baseline missing.json", "t.yaml --target transformers=4"),
            *("t.yaml --target transformer==4.57.1", "t.yaml --set max_steps=5", "t.yaml --set max_step=5", "t.yaml --set x", "--run ."),
            *("t.yaml --args '--max_steps 5 --bf16'", "t.yaml --args '--max_steps \"5'", "--env 1A=2 t.yaml", "t.yaml ds.json --run"),
        ),
        (
            {
                "t.yaml": TYPO.replace("100", "100  # cfglint: ignore"),
                "ok.yaml": TRAINER,
                "cfglint.toml": 'ignore = ["TYP"]\n',
                "s.yaml": STRINGS,
            },
            *("", "t.yaml", "ok.yaml", "--show settings", "--show files", "s.yaml"),
        ),
        (
            {"ok.yaml": TRAINER, "cfglint.toml": '[[run]]\nfiles = ["ok.yaml"]\ngpus = 8\nglobal-batch = 99\n'},
            "",
            "ok.yaml",
            "--show files",
        ),
        ({"cfglint.toml": "gpuz = 8\n", "ok.yaml": TRAINER}, ""),
        ({"note.txt": "x\n"}, "", "note.txt", "."),
    ),
    "init": (
        ({"t.yaml": TYPO, "a.json": '{"stage": 1}\n'}, "--gpus 8"),
        ({"ok.yaml": TRAINER}, "", "ok.yaml"),
        ({"ok.yaml": TRAINER, "cfglint.toml": ""}, ""),
        ({"ok.yaml": TRAINER, ".git/HEAD": "ref: refs/heads/main\n"}, ""),
        ({"ok.yaml": TRAINER, ".git/HEAD": "ref: refs/heads/main\n", ".pre-commit-config.yaml": "repos: []\n"}, ""),
    ),
    "new": (
        (
            {
                "old.yaml": TRAINER + "eval_strategy: epoch\n",
                "bad.yaml": "a: [\n",
                "m.yml": NEOX,
                "launch.yaml": LAUNCH,
                "two.sh": SCRIPT * 2,
                "other.yaml": "a: 1\n",
            },
            *("huggingface --gpus 8", "deepspeed --gpus 8 --zero 2 --offload", "deepspeed --gpus 8 -o -", "run --gpus 16 -o -", "--gpus 8"),
            *("run --framework neox --gpus 8 --model pythia-70m --steps 10 -o conf", "huggingface --gpus 8 -o here.yml"),
            *(
                "huggingface --gpus 8 -o conf/here.yaml",
                "huggingface --gpus 8 -o .",
                "huggingface --gpus 8 -o here.json",
                "deepspeed --gpus 8 -o there.json",
                "run -o x.yaml --gpus 8",
            ),
            *(
                "huggingface --from old.yaml",
                "huggingface --from old.yaml --gpus 4 -o -",
                "deepspeed --from old.yaml --gpus 4 --lr 1e-3 -o -",
            ),
            *(
                "deepspeed --from old.yaml --gpus 4 --steps 50 --micro-batch 2 -o -",
                "neox --from old.yaml --gpus 4 --model pythia-70m -o -",
            ),
            *("huggingface --from m.yml --gpus 4 -o -", "huggingface --from bad.yaml", "huggingface --from missing.yaml"),
            *(
                "huggingface --from other.yaml",
                "huggingface --from two.sh",
                "huggingface --from two.sh:2 --gpus 8 -o -",
                "accelerate --from launch.yaml -o -",
                "accelerate --from launch.yaml --gpus 16 -o -",
            ),
            *(
                "huggingface --gpus 8 --global-batch 12",
                "huggingface --gpus 8 --offload",
                "neox --gpus 8",
                "trl --gpus 8 --trainer dpo -o -",
            ),
            *("huggingface --gpus 8 --target transformers==4.57.1 --warmup 0.1 -o -", "huggingface --gpus 8 --target x==1", "nothing"),
            *(
                "huggingface --gpus 8 --gpu-memory 80GB",
                "huggingface --gpus 8 --gpu-memory 80GB --model llama-3.1-8b --seq-length 2048 -o -",
            ),
            *("huggingface --gpus 1 --gpu-memory 10 --model llama-3.1-8b --seq-length 2048 -o -", "huggingface --gpus 8 --tokens 1e9"),
            *("trl --gpus 8 --gpu-memory 80GB --model llama-3.1-8b --seq-length 512 --lora --micro-batch 2 -o -",),
            *("huggingface --gpus 8 --warmup 0 --steps 10 -o -", "huggingface --gpus 8 --warmup -1", "huggingface --gpus 8 --lr 0"),
        ),
        ({"train.yaml": "mine\n", "requirements.txt": "transformers==4.57.1\n", "pyproject.toml": ""}, "huggingface --gpus 8"),
        (
            {"train.yaml": "mine\n", "conf/huggingface.schema.json": "{}", "requirements.txt": "transformers==4.57.1\n", "setup.py": ""},
            *("huggingface --gpus 8 --force", "huggingface --gpus 8 -o conf", "huggingface --gpus 8 --target transformers==5.1.0 -o -"),
        ),
    ),
    "schema": (({}, "", "nope", "nope --draft 7"),),
    "rule": (({}, "BAT001", "batch-mismatch", "bat001 --format json", "BAT999", "XYZ", "KEY105 --format markdown", "TYP200"),),
}


def shown(arguments, capsys, before):
    """A command line, what it prints, its exit status, and the files that it writes."""
    try:
        status = main(arguments)
    except SystemExit as stopped:
        status = stopped.code
    printed = capsys.readouterr()
    yield f"$ cfglint {shlex.join(arguments)}"
    yield from printed.out.splitlines()
    yield from (f"! {line}" for line in printed.err.splitlines())
    if status:
        yield f"status {status}"
    for path, text in sorted(texts_below(".").items()):
        if before.get(path) != text:
            yield f"--- {path}"
            yield from text.splitlines() if len(text) < LONGEST else [f"{text.count(chr(10))} lines"]


LONGEST = 3000  # characters of a file that is shown


def texts_below(folder):
    """The contents of the files of a folder by their path."""
    found = {}
    for top, _, names in os.walk(folder):
        for name in names:
            path = os.path.normpath(os.path.join(top, name))
            with open(path, encoding="utf-8") as file:
                found[path] = file.read()
    return found


def lay_out(files):
    """Write files below the working directory."""
    for name, text in files.items():
        os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
        with open(name, "w", encoding="utf-8") as out:
            out.write(text)


def spelling(scene, arguments):
    """The words of the command that a scene is about."""
    return [scene] if scene != "runs" else ["init"] if "--declare" in arguments else ["check", "--show", "runs"]


@pytest.mark.parametrize("command", SCENES)
def test_transcript(command, root, updating, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "100")
    links = tmp_path.parent / f"{tmp_path.name}-links"  # a cfglint that is a link on the PATH, as pipx makes it
    links.mkdir()
    (links / "cfglint").symlink_to(os.path.join(os.path.dirname(sys.executable), "cfglint"))
    monkeypatch.setenv("PATH", str(links), prepend=os.pathsep)
    lines = []
    for number, (files, *command_lines) in enumerate(SCENES[command]):
        for place, arguments in enumerate(command_lines):
            lines += [f"=== {command} {arguments} (files: {', '.join(files) or 'none'})"]
            folder = tmp_path / str(number) / str(place)
            folder.mkdir(parents=True)
            monkeypatch.chdir(folder)
            lay_out(files)
            lines += shown([*spelling(command, arguments), *shlex.split(arguments)], capsys, files)
    lines = [line.replace(str(tmp_path), "/tmp").replace(f'"cfglint": "{__version__}"', '"cfglint": "0"') for line in lines]
    check_parts(root / "tests" / "cli" / "expected" / command, "a command line: its exit status and what it prints", lines, updating)
