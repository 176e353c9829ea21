"""What a file, its name or its surroundings say never acts: not on a terminal, not in a page, not in a workflow."""

from __future__ import annotations

import json
import os
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
import yaml
from soundness import BUGS, harmless, strict

import cfglint
from cfglint.cli import main
from cfglint.report import FORMATS

pytestmark = pytest.mark.skipif(os.name == "nt", reason="names of files that Windows does not take")

MARK = "zqx"  # is part of every text that nobody may obey
PAYLOADS = [
    *("<script>zqx()</script>", "</script><script>zqx()</script>", "<img src=x onerror=zqx()>", '"><svg onload=zqx()>'),
    *("' autofocus onfocus='zqx()", "javascript:zqx()", "{{ 7*7 }}zqx{% raw %}", "<!-- zqx -->", "]]><zqx/>", "&lt;zqx&gt;&#0;"),
    *("[zqx](javascript:zqx)", "![zqx](https://zqx.example/x.png)", "`zqx` `` ``` ~~~", "```\n</details>\n<zqx>", "| zqx \\| zqx |"),
    *("@zqx #123 GH-1", "https://zqx.example", "::set-output name=zqx::1", "\n::add-mask::zqx", "%0A::error::zqx", "##[add-mask]zqx"),
    *("\x1b[31mzqx\x1b[0m\x07", "\x1b]8;;https://zqx\x07", "\x9b31mzqx", "\u202ezqx", "\u2028zqx\u2029", "\r\nzqx", "\x08\x08zqx\x7f"),
    *("\ufeffzqx\ufffe", "=zqx()|'x'!A0", "\U000e0041zqx", "a\\u001bzqx"),
]
NAMES = [
    *("<img src=x onerror=zqx()>.json", "\x1b[31mzqx.json", "\u202ezqx\n::error::zqx.json", "zqx`|[x](y) @zqx.json", "'\"&zqx,:%0A.json"),
    "```zqx.json",
]
TEXT_ONLY = ("aria-label", "title", "content")  # attributes that may hold words of a file


class Fragment(HTMLParser):
    """HTML, held to it that nothing from outside is an element, an attribute or a script."""

    def __init__(self, text):
        super().__init__()
        self.inside, self.policy, self.scripts = "", "", 0
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.inside = tag
        self.scripts += tag == "script"
        assert tag not in ("img", "iframe", "object", "embed", "base", "link", "audio", "video", "template", "math")
        for name, value in attributes:
            assert not name.startswith("on")
            assert MARK not in tag + name
            assert MARK not in (value or "") or name in TEXT_ONLY, (tag, name, value)
            assert name not in ("href", "src") or value.startswith("#")
        given = dict(attributes)
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"]

    def handle_data(self, data):
        if self.inside == "style":
            assert MARK not in data
        elif self.inside == "script" and MARK in data:
            assert "<" not in data
            json.loads(data)

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")


class Page(Fragment):
    """A whole page, which also forbids what it does not hold, and has its own two scripts at most."""

    def __init__(self, text):
        super().__init__(text)
        assert self.policy.startswith("default-src 'none'; ")
        assert not re.search(r"https?:|\*|'self'|data:|unsafe-eval", self.policy)
        assert self.scripts <= 2


def as_text(text):
    assert harmless(text)


def as_json(text):
    strict(text)
    assert text.isascii()


def as_junit(text):
    names = {element.tag for element in ElementTree.fromstring(text).iter()}
    assert names <= {"testsuites", "testsuite", "testcase", "failure", "skipped", "system-out"}
    assert harmless(text)


def as_github(text):
    """As a runner reads it: a command a line, whose properties end at commas, and whose name at the first blank."""
    for line in text.splitlines():
        found = re.fullmatch(r"::(error|warning|notice) ((?:[A-Za-z]+=[^,:]*,?)+)::(.*)", line)
        assert found, line
        assert {part.partition("=")[0] for part in found[2].split(",")} <= {"file", "line", "endLine", "col", "endColumn", "title"}
    assert harmless(text)


def as_markdown(text):
    """Without fenced blocks, code spans and the tags of its own, nothing is left that means anything."""
    plain, fence = [], None
    for line in text.splitlines():
        ticks = re.match(r"`{3,}", line)
        if fence is None and ticks:
            fence = ticks[0]
        elif fence is not None:
            fence = None if line == fence else fence
        else:
            plain.append(line)
    assert fence is None
    rest = re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", "\n".join(plain))
    rest = re.sub(r"</?(?:details|summary)>|<code>[^<>]*</code>: [^<>]*|<!-- cfglint -->", "", rest)
    assert not [sign for sign in ("<", ">", "](", "@", "#1", "://", MARK) if sign in rest.replace("->", "")], rest
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in plain if line.startswith("|")}) <= 1
    assert harmless(text)


def as_csv(text):
    assert harmless(text)
    assert MARK not in text


HOLDS = {
    "text": as_text,
    "full": as_text,
    "concise": as_text,
    "json": as_json,
    "sarif": as_json,
    "gitlab": as_json,
    "junit": as_junit,
    "github": as_github,
    "markdown": as_markdown,
    "html": Page,
    "csv": as_csv,
}


def trainer(payloads):
    """A trainer file that says every payload as value and as key, in comments where YAML allows it."""
    known = (
        *(
            "per_device_train_batch_size",
            "learning_rate",
            "lr_scheduler_type",
            "optim",
            "eval_strategy",
            "save_strategy",
            "num_train_epochs",
        ),
        *("max_steps", "report_to", "fsdp", "deepspeed", "seed", "bf16", "logging_steps", "warmup_steps", "gradient_accumulation_steps"),
    )
    lines = [f"{key}: {json.dumps(payloads[place % len(payloads)])}" for place, key in enumerate(known)]
    lines += ["weight_decay: .nan", "adam_epsilon: -.inf"]
    lines += [f"{json.dumps(each)}: [{json.dumps(each)}]" for each in payloads]
    shown = [each for each in payloads if harmless(each) and "\n" not in each]
    lines += [f"output_dir: out  # cfglint: ignore[{each.replace('[', '(').replace(']', ')')}] {each}" for each in shown[:1]]
    lines += [f"# cfglint: ignore[BAT001, {re.sub(r'[^!-~]|[][,]', '', each)}] {each}" for each in shown]
    return "\n".join(lines) + "\n"


def deepspeed(payloads):
    """A DeepSpeed file that does."""
    error = dict.fromkeys(("stage", "allgather_partitions", "reduce_bucket_size", "offload_optimizer"), payloads[0])
    content = {
        "train_batch_size": 32,
        "train_micro_batch_size_per_gpu": 4,
        "gradient_accumulation_steps": 5,
        "zero_optimization": {**error, **{each: each for each in payloads}},
        "optimizer": {"type": payloads[0], "params": {"lr": payloads[-1], **{each: each for each in payloads}}},
        "scheduler": {"type": payloads[0], "params": {each: each for each in payloads}},
        "fp16": {"enabled": payloads[0]},
        "gradient_clipping": float("nan"),
        **{each: {each: each} for each in payloads},
    }
    return json.dumps(content, indent=1) + "\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A project in which everything that can say something says what nobody may obey."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    for number in range(3):
        part = PAYLOADS[number::3]
        (tmp_path / f"t{number}.yaml").write_text(trainer(part), encoding="utf-8", newline="")
        (tmp_path / f"d{number}.json").write_text(deepspeed(part))
    for name in NAMES:
        (tmp_path / name).write_text(deepspeed([name]))
    entries = [{"code": "BAT001", "file": name, "key": name, "message": name} for name in NAMES + PAYLOADS]
    (tmp_path / "accepted\u202e.json").write_text(json.dumps({"cfglint-baseline": 1, "findings": entries}))
    policies = {"allOf": [{"required": [f"{MARK}{number}"], "x-message": each} for number, each in enumerate(PAYLOADS[::7])]}
    (tmp_path / "policies").write_text(json.dumps(policies | {"properties": {each: {"type": "null"} for each in PAYLOADS[::7]}}))
    tables = f'policy-schema = "policies"\nselect = {json.dumps(["A", "B", "D", "H", "I", "K", "N", "P", "R", "S", "T"])}\n'
    (tmp_path / "cfglint.toml").write_text(tables + 'baseline = "accepted\u202e.json"\n', encoding="utf-8")
    return tmp_path


@pytest.fixture
def run(capsys):
    """Run a command: its status, with what it printed held to its format."""

    def held(form, *arguments):
        status = main([*arguments, "--format", form])
        said = capsys.readouterr()
        for bug in BUGS:
            assert bug not in said.out + said.err
        assert harmless(said.err)
        HOLDS[form](said.out)
        return status, said.out

    return held


@pytest.fixture
def in_every_format(capsys, tmp_path_factory):
    """Run a command once, for its report in every format, each held to it: its status and the reports."""

    def held(*arguments):
        made = tmp_path_factory.mktemp("made")
        status = main([*arguments, *(part for form in FORMATS for part in ("--format", form, "--output", str(made / form)))])
        said = capsys.readouterr()
        assert harmless(said.err)
        reports = {form: (made / form).read_bytes().decode("utf-8") for form in FORMATS}
        for form, text in reports.items():
            assert "INT000" not in text or form == "sarif"  # which lists every rule
            HOLDS[form](text)
        return status, reports

    return held


def test_check(folder, in_every_format):
    status, reports = in_every_format("check", *sorted(os.listdir()), "--gpus", "8", "--strict-keys", "--jobs", "1", "--skip-unrecognized")
    assert status == 1
    for form, text in reports.items():
        assert text.count(MARK) > 100, form


def test_diff(folder, in_every_format):
    for before, after in (("d0.json", "d1.json"), ("t0.yaml", "t1.yaml"), (NAMES[0], NAMES[2])):
        _, reports = in_every_format("diff", before, after)
        for form in ("text", "json", "markdown", "html"):
            assert MARK in reports[form], form


@pytest.mark.parametrize("form", ["text", "json", "html"])
def test_explain(folder, run, form):
    for name in ("d0.json", "t1.yaml", *NAMES):
        assert run(form, "explain", name, "--gpus", "8")[0] == 0


@pytest.mark.parametrize("form", ["text", "json", "html", "markdown", "csv"])
def test_plan(folder, run, form):
    for name in NAMES:
        content = {"train_batch_size": 32, "train_micro_batch_size_per_gpu": 4, "optimizer": {"type": "AdamW", "params": {"lr": 1e-4}}}
        (folder / name).write_text(json.dumps(content))
        status, out = run(form, "plan", name, "--gpus", "8,16", "--global-batch", "64")
        assert status == 0
        assert form == "csv" or MARK in out


def test_fix(folder, run, monkeypatch):
    """Also what a terminal is shown of a difference, which is otherwise the bytes of the file, to be piped on."""
    for name in ("d0.json", "t2.yaml", *NAMES):
        content = {"train_batch_size": 32, "train_micro_batch_size_per_gpu": 4, "fp16": {"enabled": name}, name: PAYLOADS}
        if name in NAMES:
            (folder / name).write_text(json.dumps(content))
        run("text", "fix", name, "--check", "--unsafe-fixes")
        run("json", "fix", name, "--check", "--gpus", "8", "--global-batch", "64")
    (folder / NAMES[1]).write_text('{"train_batch_size": 32, "train_micro_batch_size_per_gpu": 4}')
    assert run("text", "fix", NAMES[1], "--diff", "--gpus", "8", "--global-batch", "64")[0] == 0
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    (folder / NAMES[1]).write_text('{"train_batch_size": 32, "train_micro_batch_size_per_gpu": 4, "x": "\x9b\u202e"}', encoding="utf-8")
    status, out = run("text", "fix", NAMES[1], "--diff", "--gpus", "8", "--global-batch", "64")
    assert status == 0
    assert "+++ b/\\x1b[31mzqx.json" in out


def test_colours_are_the_only_escapes(folder, monkeypatch, capsys):
    """On a terminal, without the colours that were asked for."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for arguments in (["check", ".", "--gpus", "8", "--jobs", "1"], ["diff", "d0.json", "d1.json"], ["diff", NAMES[1], NAMES[2]]):
        main(arguments)
        out = capsys.readouterr().out
        assert "\x1b[" in out
        assert harmless(re.sub(r"\x1b\[[0-9;]*m", "", out))


@pytest.mark.parametrize("form", ["text", "json", "html"])
def test_a_log_against_files(folder, run, form):
    banner = "***** Running training *****\n  Num examples = 1,000\n  Num Epochs = 3\n  Instantaneous batch size per device = 4\n"
    banner += "  Total train batch size (w. parallel, distributed & accumulation) = 64\n  Gradient Accumulation steps = 2\n"
    banner += "  Total optimization steps = 48\n"
    log = NAMES[0].replace(".json", "\x1b]0;\u202e.log")
    (folder / log).write_text("".join(f"{each} world_size = 8\n" for each in PAYLOADS) + banner, encoding="utf-8")
    for name in NAMES[:2]:
        (folder / name).write_text('{"output_dir": "out", "per_device_train_batch_size": 3, "max_steps": 7}')
        status, out = run(form, "explain", log, name, "--kind", "huggingface")
        assert status == 1
        assert MARK in out


@pytest.mark.parametrize("kind", ["huggingface", "deepspeed", "neox", "run"])
def test_a_config_made_of_another_one(folder, capsys, kind):
    """Nothing of the old files gets into the new ones but values in their place."""
    known = "per_device_train_batch_size: 4\nlearning_rate: 1.0e-5\ngradient_accumulation_steps: 2\nnum_train_epochs: 1\n"
    for number, name in enumerate(("t0.yaml", "t1.yaml", "t2.yaml")):
        strange = "".join(f"{json.dumps(each)}: {json.dumps(each)}\n" for each in PAYLOADS[number::3])
        fields = ("output_dir", "optim", "lr_scheduler_type", "logging_dir", "run_name")
        strange += "".join(f"{key}: {json.dumps(each)}\n" for key, each in zip(fields, PAYLOADS[number::3], strict=False))
        (folder / name).write_text(known + strange, encoding="utf-8")
        status = main(["new", kind, "--from", name, "--gpus", "8", "-o", "-"])
        said = capsys.readouterr()
        assert status in (0, 2)
        assert "internal error" not in said.err
        assert harmless(said.out + said.err)
        for part in re.split(r"^==> .* <==$", said.out, flags=re.MULTILINE):
            assert MARK not in "".join(map(str, yaml.safe_load(part) or {}))


def test_notebooks(folder):
    for name in ("d0.json", "t1.yaml", *NAMES):
        text = (folder / name).read_text(encoding="utf-8")
        for made in (cfglint.check({name: text}, gpus=8), cfglint.diff({name: text}, {name: text.replace("32", "40")})):
            Fragment(made._repr_html_())
            assert harmless(str(made))
