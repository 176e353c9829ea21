"""Pages in a real browser: no error, no request, nothing that keeps people out, filters and links that work.

Needs Chromium and Node.js (Debian: `chromium`, `nodejs`, `npm`), and once `npm ci` in this folder.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from cfglint.cli import main

HERE = Path(__file__).resolve().parent
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
NEEDED = {
    "Chromium is not installed": CHROMIUM,
    "Node.js is not installed": shutil.which("node"),
    "the packages of tests/browser are not installed (npm ci)": (HERE / "node_modules" / "playwright-core").is_dir(),
}
MISSING = [what for what, there in NEEDED.items() if not there]

pytestmark = pytest.mark.skipif(bool(MISSING), reason="; ".join(MISSING))

LOG = """\
***** Running training *****
  Num examples = 128,770
  Num Epochs = 3
  Instantaneous batch size per device = 8
  Total train batch size (w. parallel, distributed & accumulation) = 256
  Gradient Accumulation steps = 8
  Total optimization steps = 1,509
"""


@pytest.fixture(scope="module")
def told(root, tmp_path_factory):
    """What the browser has to say of one page of each command."""
    folder = tmp_path_factory.mktemp("pages")
    sides = [folder / "old", folder / "new"]
    for side, accumulation in zip(sides, (8, 4), strict=True):
        side.mkdir()
        for name in ("deepspeed.json", "trainer.yaml"):
            text = (root / "examples" / "good" / name).read_text(encoding="utf-8")
            changed = text.replace('steps": 8', f'steps": {accumulation}').replace("steps: 8", f"steps: {accumulation}")
            (side / name).write_text(changed, encoding="utf-8")
    log = folder / "train.log"
    log.write_text(LOG, encoding="utf-8")
    before = os.getcwd()
    os.chdir(root / "examples")
    try:
        for name, arguments in {
            "check": ["check", "bad", "good/deepspeed.json", "--gpus", "8"],
            "explain": ["explain", "good/trainer-zero3/train.yaml", "--gpus", "16", "--num-examples", "128770"],
            "unknown": ["explain", "good/trainer.yaml"],
            "log": ["explain", str(log)],
            "plan": ["plan", "good/deepspeed.json", "--gpus", "4,8,12,16,24,32", "--from-gpus", "8", "--time-per-step", "2"],
            "diff": ["diff", *map(str, sides), "--gpus", "8"],
        }.items():
            write(folder / f"{name}.html", arguments)
    finally:
        os.chdir(before)
    done = subprocess.run(["node", HERE / "inspect.mjs", str(CHROMIUM), str(folder)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def write(path, arguments):
    """The page of a command as a file."""
    from contextlib import redirect_stdout

    with open(path, "w", encoding="utf-8") as out, redirect_stdout(out):
        main([*arguments, "--format", "html"])


def test_every_page_is_looked_at_in_light_and_dark(told):
    assert {each["name"] for each in told["pages"]} == {f"{name}.html" for name in ("check", "explain", "unknown", "log", "plan", "diff")}
    assert {(each["width"], each["colorScheme"]) for each in told["pages"]} == {(1400, "light"), (390, "dark")}


def test_nothing_on_the_console_and_nothing_from_elsewhere(told):
    assert [(each["name"], each["messages"], each["requests"]) for each in told["pages"] if each["messages"] or each["requests"]] == []


def test_nothing_keeps_people_out(told):
    serious = [
        (each["name"], each["width"], *found)
        for each in told["pages"]
        for found in each["violations"]
        if found[0] in ("serious", "critical")
    ]
    assert serious == []


def test_no_page_is_wider_than_the_window(told):
    assert [(each["name"], each["width"], each["overflow"]) for each in told["pages"] if each["overflow"] > 0] == []


def test_filters(told):
    used = told["used"]
    assert 0 < used["errors"] < used["findings"]
    assert used["errorsOnly"]
    assert used["status"] == f"{used['errors']} of {used['findings']} findings"
    assert 0 < used["runsWithErrors"] == used["rowsWithErrors"] < used["runs"]
    assert 0 < used["ofOneRule"] < used["findings"]


def test_links(told):
    assert told["used"]["linkShowsWhatIsFiltered"]
    assert told["used"]["rulesOpen"] == 1
    assert told["used"]["listingsOpen"] == 1


def test_keyboard(told):
    assert told["used"]["firstStop"] == "Skip to the report"
    assert told["used"]["byKeyboard"] == told["used"]["errors"]
    assert told["used"]["outline"] != "none"


def test_print_opens_everything(told):
    assert told["used"]["closedInPrint"] == 0
    assert told["used"]["filtersInPrint"] == 0
