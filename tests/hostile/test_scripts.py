"""Launch scripts as an attacker would write them: nothing of them is run, and reading them ends."""

from __future__ import annotations

import json

import pytest
from soundness import WATCHED

LINE = (
    "torchrun --nproc_per_node 8 train.py --output_dir out --per_device_train_batch_size 4 --learning_rate 1e-5"
    " --save_total_limit 2 --per_device_eval_batch_size 1"
)
SCRIPTS = {
    "substitution.sh": f"N=$(touch owned; echo 8)\nM=`touch owned`\n{LINE} --seed $N --run_name $(touch owned) $M\n",
    "eval.sh": f'eval "touch owned"\neval "$(touch owned)"\neval "{LINE}"\n',
    "shells.sh": f"bash -c 'touch owned; {LINE}'\nsrun sh -c \"touch owned && {LINE}\"\n",
    "arithmetic.sh": f"a=1\nN=$((a[$(touch owned)] + 1))\nlet 'b = a[$(touch owned)]'\n{LINE} --seed $N\n",
    "document.sh": f"cat <<EOF > owned\n$(touch owned)\nEOF\n{LINE} --deepspeed owned\n",
    "redirection.sh": f"{LINE} > owned 2>> owned &> owned < <(touch owned) >(tee owned)\n",
    "trap.sh": f"trap 'touch owned' EXIT DEBUG ERR\ntorchrun() {{ touch owned; }}\nPATH=.:$PATH\n{LINE}\n",
    "source.sh": f". /dev/zero\nsource pipe\n. ../../../../etc/passwd\nsource <(touch owned)\n{LINE} --run_name $(< /etc/hostname)\n",
    "makefile": f"N := $(shell touch owned)\nall:\n\t@touch owned; {LINE} --seed $(N) --run_name $(shell touch owned)\n",
    "README.md": f"```sh\n$ touch owned; {LINE} --seed `touch owned`\n```\n```bash exec\n{LINE} $(touch owned)\n```\n",
    "read.sh": f"read -r X <<< $(touch owned)\nmapfile -t A < <(touch owned)\nf() {{ $X; }}\nIFS=`touch owned` X='touch owned' f\n{LINE}\n",
    "words.sh": f"{LINE} --run_name {{1..999999999}} --seed $(seq 1 999999999) $(printf '%0999999999d' 1) {{a..z}}{{a..z}}{{a..z}}\n",
    "patterns.sh": f"x=$(printf 'a%.0s' {{1..5000}})\n[[ $x =~ (a+)+b ]] && y=${{x//a*a*a*b/}}\ncase $x in *a*a*a*b) ;; esac\n{LINE} $y\n",
}
HUGE = {
    "quotes.sh": '"$(' * 330_000,
    "backquotes.sh": "`\\" * 500_000,
    "braces.sh": "${a:-" * 200_000,
    "arithmetic.sh": "x=$((" + "(" * 400_000 + "1" + ")" * 400_000 + "))",
    "loops.sh": "for i in {1..99}; do " * 6 + LINE + "; done" * 6,
    "functions.sh": "f() { g; g; }\ng() { f; f; }\nf\n" + LINE,
    "documents.sh": "cat <<A\n" * 100_000,
    "growth.sh": "a=xx\n" + "a=$a$a$a$a\n" * 60 + f"{LINE} $a",
    "arrays.sh": "A=(1 2 3)\n" + 'A=("${A[@]}" "${A[@]}" "${A[@]}")\n' * 60 + LINE + ' "${A[@]}"',
    "lines.sh": LINE + " --a 1" * 150_000,
    "prefixes.sh": "".join(f"X{number}=$X{number - 1}a " for number in range(1, 20_000)) + LINE,
    "separators.sh": "IFS=,\nX=" + "a," * 200_000 + f"\nmapfile -t A <<< $X\nfor x in $X; do {LINE} --run_name $x; done",
    "hosts.sh": f"deepspeed --include {'@'.join(f'w{number}:0-9999' for number in range(9000))} train.py --output_dir o",
    "branches.sh": "if x; then A=1; fi\n" * 20_000 + LINE,
}


def write(folder, name, text):
    (folder / name).write_text(text)
    return name


def test_nothing_of_a_script_is_executed_fetched_or_written(folder, limited):
    names = [write(folder, name, text) for name, text in SCRIPTS.items()]
    (folder / "train.py").write_text("__import__('os').system('touch owned')\n")
    done = limited([], folder, stdin=json.dumps(names).encode(), program=("-B", "-c", WATCHED), seconds=20).sound(0)
    told = json.loads(done.out)
    assert (told["seen"], told["litter"], told["bugs"]) == ([], [], [])
    unread = [name for name, status in zip(SCRIPTS, told["ended"]["check"], strict=True) if status == 2]
    assert unread == ["trap.sh"]  # its torchrun is a function of the script: nothing is launched


@pytest.mark.slow
@pytest.mark.parametrize("name", HUGE)
def test_a_huge_script_ends(folder, limited, name):
    write(folder, name, HUGE[name] + "\n" + LINE + "\n")
    limited(["check", name], folder, memory=700, seconds=12).sound()


def test_the_launches_beside_what_is_hostile_are_read(folder, limited):
    (folder / "train.py").touch()
    done = limited(["runs", write(folder, "eval.sh", SCRIPTS["eval.sh"]), "--format", "json"], folder).sound(0)
    [run] = json.loads(done.out)["runs"]
    assert (run["launch"]["line"], run["launch"]["processes"], run["resolved"]["micro_batch"]) == (3, 8, 4)


def test_every_call_of_a_program_is_checked_or_said(folder, limited):
    head = "from transformers import TrainingArguments\n"
    calls = [f'TrainingArguments(output_dir="o{number}", per_device_train_batch_size=-4)\n' for number in range(2000)]
    done = limited(["check", write(folder, "five.py", head + "".join(calls[:5])), "--format", "concise"], folder).sound()
    assert done.out.count("BAT004") == 5
    done = limited(["check", write(folder, "many.py", head + "".join(calls)), "--format", "concise"], folder).sound()
    assert done.out.count("BAT004") == 24
    assert "many.py: 24 of 2000 calls that build arguments checked" in done.err


def test_a_program_that_is_too_large_is_said(folder, limited):
    functions = "".join(f"def f{number}():\n    return {number}\nf{number}()\n" for number in range(400))
    call = 'from transformers import TrainingArguments\nTrainingArguments(output_dir="o")\n'
    done = limited(["check", write(folder, "large.py", call + functions)], folder).sound()
    assert "large.py: not read, because its code uses more than 300 functions" in done.err
