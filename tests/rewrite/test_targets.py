"""What a target does to the files of a run: the folder `targets` holds the files of each case, and behind `=>` what comes of them.

A case is lines `target: NAME=VALUE ...`, then `file: NAME` before the text of each file; the first file is the run. Of a target, `gpus`
and `batch` are asked for, `most` is the largest micro batch, `now` and `from` are the current GPUs (of the launch, of the command line),
`expected` is the declared global batch; `whole` says that the files are the whole run, `plan` that they do not have to be edited.
"""

from __future__ import annotations

import difflib
from pathlib import Path

from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.rewrite.own_sizes import reach_target
from cfglint.rewrite.retarget import MissingFactError, current_gpus, is_filled_elsewhere, is_recorded, tuned
from cfglint.run.discovery import Discovery
from cfglint.source.change import EditRefused
from records import check_cases

FOLDER = Path(__file__).parent / "targets"
KINDS = {"ds.json": "deepspeed", "train.yaml": "huggingface", "config.yml": "neox", "launch.yaml": "accelerate"}


def parsed(case):
    """(targets, files) of a case."""
    targets, files, name = [], {}, ""
    for line in case.split("\n"):
        mark, _, rest = line.partition(": ")
        if mark == "target":
            targets.append(dict((each.split("=") if "=" in each else (each, "")) for each in rest.split()))
        elif mark == "file":
            name = rest
            files[name] = ""
        else:
            files[name] += f"{line}\n"
    return targets, files


def run_for(files, asked):
    """The run of the first file, with what is known of its launch."""
    facts = LaunchFacts(gpus=int(asked["now"]) if "now" in asked else None, complete="whole" in asked)
    if "from" in asked:
        facts = facts.replace(from_gpus=int(asked["from"]))
    if "expected" in asked:
        facts = facts.replace(expected_numbers={"global_batch": int(asked["expected"])})
    if "memory" in asked:
        facts = facts.replace(gpu_memory=float(asked["memory"]), model=asked.get("model"))
    first = next(iter(files))
    discovery = Discovery(facts, KINDS.get(first))
    if first in KINDS:
        return discovery.together([first])[0]
    return next(iter(discovery.runs([first])), None)


def outcome(files, asked):
    run = run_for(files, asked)
    if run is None:
        yield "  no run"
        return
    gpus, batch, most = (int(asked[name]) if name in asked else None for name in ("gpus", "batch", "most"))
    try:
        found = reach_target(run, run.facts, gpus, batch, most, edits="plan" not in asked)
    except MissingFactError as missing:
        yield f"  missing: {missing} | {missing.for_command_line}"
        return
    except EditRefused as refused:
        yield f"  refused: {refused.message}"
        return
    chosen, solution = found.solution.chosen, found.solution
    if chosen is None:
        below, above = (None if each is None else each.global_batch for each in (solution.below, solution.above))
        yield f"  out of reach: {below} below, {above} above, {solution.gpus_below} or {solution.gpus_above} GPUs"
    else:
        yield f"  {chosen.micro_batch} x {chosen.accumulation} x {chosen.data_parallel} = {chosen.global_batch} on {found.gpus}"
    bound, before = found.memory_bound, found.before
    flags = {"unbounded": found.unbounded, "planned": found.planned, "recorded": is_recorded(run, found.gpus)}
    flags |= {"filled elsewhere": is_filled_elsewhere(run), f"memory allows {bound and bound.size}": bound is not None}
    said = ", ".join(each for each in flags if flags[each])
    yield f"  from {current_gpus(run, run.facts)} GPUs, {before and before.global_batch.integer}; {said}"
    for name, text in found.texts.items():
        yield from (f"  {name} {line}" for line in difflib.ndiff(files[name].splitlines(), text.splitlines()) if line[0] in "+-")
    for title, changes in (("changed", found.changed), ("by hand", found.by_hand)):
        yield from (f"  {title}: {each.file} {each.key} {each.before} -> {each.after}" for each in changes)
    yield from (f"  needs {each.key} {each.value}" for each in found.needs)
    yield from (f"  {key} = {value}" for key, value in found.values.items())
    if found.held:
        yield f"  held: {' '.join(each.pointer for each in found.held)}"
    if chosen is not None and not found.needs:
        after = found.after()
        numbers = [after.resolved[each] for each in ("micro_batch", "accumulation", "data_parallel", "global_batch")]
        yield f"  then {numbers[0]} x {numbers[1]} x {numbers[2]} = {numbers[3]}, {after.verdict}"
    if tuned(run):
        yield f"  tuned: {', '.join(f'{each.name} {each.value}' for each in tuned(run))}"


def test_targets(tmp_path, monkeypatch, updating):
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)

    def answer(case):
        targets, files = parsed(case)
        for old in tmp_path.rglob("*.*"):
            if old.is_file():
                old.unlink()
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text, encoding="utf-8")
        for asked in targets:
            yield " ".join(f"{name}={value}" if value else name for name, value in asked.items())
            yield from outcome(files, asked)

    check_cases(FOLDER, answer, updating)
