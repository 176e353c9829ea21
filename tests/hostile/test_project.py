"""What surrounds the files: configuration, baseline, policy schema, lock files, command line, logs."""

from __future__ import annotations

import json
import os
import re
import sys

import pytest
from soundness import BUGS, harmless

from cfglint.cli import main
from cfglint.launch.overrides import Override, by_omegaconf
from cfglint.project import policy_schema
from cfglint.project.settings_file import LARGEST, MOST_DOTS
from cfglint.source.hydra.interpolation import interpolated, refers

pytestmark = pytest.mark.skipif(os.name == "nt", reason="devices and names of files as Windows does not have them")

TRAINER = "output_dir: out\nper_device_train_batch_size: 4\nlearning_rate: 1.0e-5\n"
pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes in the file system here")


@pytest.fixture
def told(folder, capsys):
    """Run a command here, in this process: its status and what it printed, with nothing that a terminal obeys."""

    def run(*arguments):
        try:
            status = main([*arguments])
        except SystemExit as left:
            status = left.code
        said = capsys.readouterr()
        for bug in BUGS:
            assert bug not in said.out + said.err
        assert harmless(said.out + said.err)
        return status, said.out, said.err

    return run


# ---- configuration

BROKEN = [
    ("gpus = ", "cfglint.toml: "),
    (b"\xff\xfeg\0p\0", "cfglint.toml: "),
    (b"gpus = 8\0", "cfglint.toml: "),
    (b"# \xff", "utf-8"),
    ("a = " + "[" * 100_000, "cfglint.toml: "),
    ("a = " + "{a=" * 100_000, "cfglint.toml: "),
    ("[" + ".".join("a" * 100_000) + "]", f"line 1 has a key of more than {MOST_DOTS:,} parts"),
    ("\n\n" + ".".join("a" * 100_000) + " = 1", f"line 3 has a key of more than {MOST_DOTS:,} parts"),
    ('"\\"" . ' + ".".join("a" * 100_000) + '."" = 1', f"line 1 has a key of more than {MOST_DOTS:,} parts"),
    ("gpus = " + "9" * 5000, "cfglint.toml: "),
    ("gpus = " + "9" * 4000, "`gpus` is more than"),
    ("gpus = 0x" + "f" * 5000, "`gpus` is more than"),
    ("gpus = -1", "`gpus` must not be negative"),
    ("gpus = true", "`gpus` must be an integer"),
    ("gpus = 1e400", "`gpus` must be an integer"),
    ("gpus = 1979-05-27", "`gpus` must be an integer"),
    ('gpus = "\\u001b[31m\\u0007"', "`gpus` must be an integer"),
    ('"\\u001b]0;title\\u0007" = 1', "unknown key `\\x1b]0;title\\x07`"),
    ('"\\u202e" = 1', "unknown key `\\u202e`"),
    ("select = 1\n", "`select` must be a list of strings"),
    ("select = 'DSP'\n", "`select` must be a list of strings"),
    ("select = [1]\n", "`select` must be a list of strings"),
    ("ignore = {a = 1}\n", "`ignore` must be a list of strings"),
    ("fail-on = []\n", "`fail-on` must be a string"),
    ("per-file-ignores = 1\n", "`per-file-ignores` must be a table"),
    ("per-file-ignores = {x = 1}\n", "`x` must be a list of strings"),
    (f'per-file-ignores = {{"{"*a" * 1000}" = ["BAT"]}}\n', "a pattern of `per-file-ignores` has more than"),
    ("[per-file-ignores]\n" + "".join(f"a{number} = []\n" for number in range(2000)), "`per-file-ignores` has more than 1,000 patterns"),
    ("target = 1\n", "`target` must be a table"),
    ('target = {transformers = ["4"]}\n', "target `transformers` must be a version"),
    ('target = {"\\u001b[31m" = "x"}\n', "target `\\x1b[31m` must be a version"),
    ("baseline = 1\n", "`baseline` must be a string"),
    ("policy-schema = 1\n", "`policy-schema` must be a table"),
    ("policy-schema = {neox = 1}\n", "`policy-schema` is a file, or a table"),
    ("run = 1\n", "`run` must be a list of tables"),
    ("run = [1]\n", "`run` must be a list of tables"),
    ("[[run]]\n", "a run requires `files`"),
    ("[[run]]\nfiles = []\n", "a run requires `files`"),
    ("[[run]]\nfiles = [1]\n", "a run requires `files`"),
    ("[[run]]\nfiles = ['good.json']\nkind = \"\\u001b[31m\"\n", "`kind` must be one of accelerate"),
    ("fail-on = 'never'\n", '`fail-on` must be one of info, warning, error, not "never"'),
    ("[[run]]\nfiles = ['good.json']\nset = 1\n", "`set` must be a table"),
    ("[[run]]\nfiles = ['good.json']\nset = {a = 0x" + "f" * 5000 + "}\n", "`set` contains a value that cannot be written"),
    ("[[run]]\nfiles = ['good.json']\nargs = 1\n", "`args` must be a string"),
    ("[[run]]\nfiles = ['good.json']\nstrict-keys = 1\n", "`strict-keys` must be a boolean"),
    (f"[[run]]\nfiles = ['good.json']\nnum-examples = {LARGEST + 1}\n", "`num-examples` is more than"),
    ("[[run]]\nfiles = ['good.json']\nglobal-batch = 0x1" + "0" * 4000, "`global-batch` is more than"),
    ("[[run]]\nfiles = ['good.json']\nargs = \"--x 'unclosed\"\n", "cfglint.toml, the run of good.json: --args: "),
    ("[[run]]\nfiles = ['good.json']\nset = {\"\" = 1}\n", "cfglint.toml, the run of good.json: --set =1: "),
    (f"[[run]]\nfiles = ['good.json']\nargs = \"{'x' * 1_000_000}\"\n", "--args: has 1,000,000 characters"),
]


@pytest.mark.parametrize(("content", "says"), BROKEN, ids=range(len(BROKEN)))
def test_a_broken_configuration_is_told_in_a_line(folder, told, content, says):
    (folder / "cfglint.toml").write_bytes(content if isinstance(content, bytes) else content.encode())
    status, out, err = told("check")
    assert (status, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1
    assert len(err) < 1500


def test_configurations_that_are_no_files(folder, told, limited, good):
    for name in ("folder", "loop", "nowhere", "zero", "pipe"):
        path = folder / name / "cfglint.toml"
        path.parent.mkdir()
        if name == "folder":
            path.mkdir()
        elif name == "pipe" and hasattr(os, "mkfifo"):
            os.mkfifo(path)
        else:
            path.symlink_to({"loop": "cfglint.toml", "zero": "/dev/zero"}.get(name, "no-such"))
        status, out, err = told("check", good.name, "--config", str(path))
        assert (status, out) == (2, ""), name
        assert err.startswith((f"cfglint: {path} ", f"cfglint: {path}: ")), err
    (folder / "cfglint.toml").mkdir()
    (folder / "pyproject.toml").symlink_to("/dev/zero")
    assert told("check", good.name)[0] == 1


def test_a_configuration_of_any_size(folder, limited, good):
    """Sixty megabytes, and a pyproject.toml that would be one if it were read whole."""
    for name in ("cfglint.toml", "pyproject.toml", "uv.lock", "requirements.txt"):
        with (folder / name).open("wb") as file:
            file.write(b'[tool.cfglint]\n\nname = "transformers"\nversion = "4.40.0"\n')
            file.truncate(60_000_000)
    ended = limited(["check", good.name], folder, memory=100).sound(2)
    assert "cfglint.toml: has 60,000,000 bytes, the limit is 5,000,000" in ended.err
    (folder / "cfglint.toml").unlink()
    assert good.told in limited(["check", good.name], folder, memory=100).sound(1).out


def test_dotted_keys_do_not_explode_where_versions_are_looked_for(folder, limited, good):
    """The parser of TOML takes the square of a key's parts in memory: two hundred kilobytes would be forty gigabytes."""
    (folder / "pyproject.toml").write_text("deepspeed." + ".".join("a" * 100_000) + " = 1\n")
    assert good.told in limited(["check", good.name], folder).sound(1).out


def test_declared_runs_lead_anywhere(folder, limited, good):
    """Each is told, and none keeps the next from being checked."""
    os.mkdir("sub")
    files = [
        "../../../../../../../../etc/passwd",
        "/dev/zero",
        "/dev/stdin",
        "sub",
        "/no/such/file",
        "\x1b[31m\u202e",
        "a\0b",
        "a\0b/c.json",
        "x" * 5000,
    ]
    if hasattr(os, "mkfifo"):
        os.mkfifo("pipe")
        files.append("pipe")
    runs = [f"[[run]]\nfiles = [{json.dumps(each)}, 'good.json']\nkind = 'deepspeed'\n" for each in files]
    many = f"[[run]]\nfiles = {json.dumps([f'no{number}.json' for number in range(3_000)])}\nkind = 'deepspeed'\n"
    strange = "[[run]]\nfiles = ['good.json']\nkind = 'deepspeed'\nset = {a = {b = [1, {c = 2}]}, \"\\u001b[31m\" = 1, x = 1979-05-27}\n"
    (folder / "cfglint.toml").write_text("".join([*runs, many, strange, f"[[run]]\nfiles = [{json.dumps(good.name)}]\n"]))
    refused = limited(["check"], folder).sound(2)
    assert "which is outside the project; pass --config to allow it" in refused.err
    ended = limited(["check", "--jobs", "1", "--config", "cfglint.toml"], folder).sound(2)
    assert ended.out.rindex(good.told) > ended.out.rindex("SRC001")
    assert not [char for char in ended.out + ended.err if not char.isprintable() and char != "\n"]


def test_a_file_that_is_declared_again_and_again(folder, limited):
    """Every one of them names another file, which is looked for among all the others."""
    (folder / "t.yaml").write_text(TRAINER + "deepspeed: ds.json\n")
    (folder / "ds.json").write_text("{}")
    listed = json.dumps(["other.json"] * 500 + ["t.yaml"] * 500)
    (folder / "other.json").write_text("{}")
    (folder / "cfglint.toml").write_text(f"[[run]]\nfiles = {listed}\nkind = 'deepspeed'\n")
    limited(["check"], folder).sound()


def test_patterns_do_not_explode(folder, limited, good):
    globs = ["*a" * 400 + "b", "[" * 900, "[a-" * 300, "?*" * 450, "**/" * 300, "\0", "(a+)+$", "[z-a]*", "[!", "\x1b[31m"]
    listed = ", ".join(f'{json.dumps(each)} = ["KEY", "(a+)+$"]' for each in globs)
    deep = folder / "/".join(["a" * 200] * 4)
    deep.mkdir(parents=True)
    (deep / good.name).write_text(good.text)
    (folder / "cfglint.toml").write_text(f"per-file-ignores = {{{listed}}}\n")
    ended = limited(["check", deep / good.name, good.name, "--select", ",".join(f"{number}(a+)+$*[" for number in range(1000))], folder)
    assert ended.sound(2).err.count("\n") < 20
    shown = limited(["check", deep / good.name, good.name], folder).sound(1).out
    assert good.told in shown.replace(":\n    ", ": ")  # a line break stands behind a place that is longer than a line


# ---- baselines


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "not valid JSON"),
        (b"\xff", "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (b'{"cfglint-baseline": ' + b"9" * 5000 + b"}", "not valid JSON"),
        (b'{"cfglint-baseline": 1, "findings": {}}', "not a baseline"),
        (b'{"cfglint-baseline": 1, "findings": [1]}', "1 is not a finding"),
        (b'{"cfglint-baseline": 1, "findings": ["\\u001b[31m"]}', "is not a finding"),
        (b'{"cfglint-baseline": 1, "findings": [' + b"[" * 500 + b"]" * 500 + b"]}", "is not a finding"),
        (b'{"cfglint-baseline": 1, "findings": [{"code": 1}]}', "is not a finding"),
        (b'{"cfglint-baseline": 1, "findings": [{"code": "a", "file": "a", "key": "", "message": "", "count": -1}]}', "is not a finding"),
        (
            b'{"cfglint-baseline": 1, "findings": [{"code": "a", "file": "\\ud800\\u0000", "key": "", "message": "", "count": 1e9}]}',
            "is not",
        ),
    ],
    ids=range(11),
)
def test_a_broken_baseline(folder, told, good, content, says):
    (folder / "accepted.json").write_bytes(content)
    status, out, err = told("check", good.name, "--baseline", "accepted.json")
    assert (status, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1


def test_baselines_that_are_no_files(folder, told, good):
    (folder / "cfglint.toml").write_text('baseline = "/dev/zero"\n')
    assert told("check")[0] == 2
    (folder / "cfglint.toml").unlink()
    (folder / "huge.json").touch()
    os.truncate("huge.json", 60_000_000)
    (folder / "loop.json").symlink_to("loop.json")
    if hasattr(os, "mkfifo"):
        os.mkfifo("pipe.json")
    for name in ("/dev/zero", ".", "huge.json", "loop.json", "pipe.json", "\x1b[31m", "a\0b"):
        status, out, err = told("check", good.name, "--baseline", name)
        assert (status, out) == (2, ""), name
        assert err.count("\n") == 1


def test_a_baseline_of_strange_findings(folder, told, good):
    """Names of files that no system has accept nothing, and are no bug."""
    strange = [
        {"code": "BAT001", "file": name, "key": "\ud800", "message": "\x1b[31m"} for name in ("\0", "\ud800", "/" * 5000, "../" * 999)
    ]
    (folder / "accepted.json").write_text(json.dumps({"cfglint-baseline": 1, "findings": strange}))
    status, out, _ = told("check", good.name, "--baseline", "accepted.json")
    assert status == 1
    assert good.told in out


# ---- policy schemas

DEEP = {"$defs": {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(60)} | {"d60": {"type": "string"}}}
AT_THE_KEY = "train_batch_size"
UNUSABLE = [
    ({"$schema": ["x"]}, "not a valid JSON Schema"),
    ({"$schema": "http://["}, "not a valid JSON Schema"),
    ({"$schema": 5}, "not a valid JSON Schema"),
    ({"$id": 5}, "not a valid JSON Schema"),
    ({"$id": "file:///etc/", "$ref": "passwd"}, "unresolvable reference 'passwd'"),
    ({"$ref": "#"}, "infinite recursion"),
    ({"properties": {AT_THE_KEY: {"$ref": "http://127.0.0.1:1/x"}}}, "unresolvable reference"),
    ({"properties": {AT_THE_KEY: {"$ref": "file:///etc/passwd"}}}, "unresolvable reference"),
    ({"properties": {AT_THE_KEY: {"$ref": "/etc/passwd"}}}, "unresolvable reference"),
    ({"properties": {AT_THE_KEY: {"$ref": "http://["}}}, "unresolvable reference"),
    ({"properties": {AT_THE_KEY: {"$ref": "\x1b[31m"}}}, "unresolvable reference"),
    ({"properties": {AT_THE_KEY: {"pattern": "("}}}, "not a valid JSON Schema"),
    ({"patternProperties": {"(": {}}}, "not a valid JSON Schema"),
    ({"properties": {AT_THE_KEY: {"multipleOf": 0}}}, "not a valid JSON Schema"),
    (
        {
            "$schema": "http://json-schema.org/draft-03/schema#",
            "extends": {"$ref": "#/x"},
            "properties": {"a": {"type": [{"$ref": "#/x"}]}},
        },
        "",
    ),
]


@pytest.mark.parametrize(("schema", "says"), UNUSABLE, ids=range(len(UNUSABLE)))
def test_a_policy_schema_that_cannot_be_used(folder, told, schema, says):
    (folder / "policy.json").write_text(json.dumps(schema))
    (folder / "cfglint.toml").write_text('policy-schema = "policy.json"\n')
    status, out, err = told("check", "good.json")
    assert (status, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1


HALF_USABLE = [
    {"properties": {AT_THE_KEY: {"$dynamicRef": "http://127.0.0.1:1/x"}}},
    {"properties": {AT_THE_KEY: {"$dynamicRef": "#nowhere"}}},
    {"properties": {AT_THE_KEY: {"$ref": "#/x/y"}}, "x": {"y": {"type": "no such"}}},
    {"properties": {AT_THE_KEY: {"$ref": "#/x/y"}}, "x": {"y": {"$ref": "file:///etc/passwd"}}},
    {"properties": {AT_THE_KEY: {"$ref": "#/title"}}, "title": "abc"},
    {"properties": {AT_THE_KEY: {"$ref": "#/examples"}}, "examples": ["abc"]},
    {"properties": {AT_THE_KEY: {"$ref": f"#/properties/{AT_THE_KEY}"}}},
]


@pytest.mark.parametrize("schema", HALF_USABLE, ids=range(len(HALF_USABLE)))
def test_a_policy_schema_that_breaks_on_a_file(folder, told, good, schema):
    (folder / "policy.json").write_text(json.dumps(schema))
    (folder / "cfglint.toml").write_text('policy-schema = "policy.json"\n')
    status, out, _ = told("check", good.name)
    assert status == 1
    assert good.told in out
    assert "HSE001 policy-violation: policy violation: the policy schema" in " ".join(out.split())


def test_policy_schemas_that_explode(folder, told, limited, good, monkeypatch, tmp_path_factory):
    """Their time is limited, and told, and the other findings are there."""
    recorder = tmp_path_factory.mktemp("recorder")
    watch = "import sys\nsys.addaudithook(lambda event, _: event.startswith(('socket.', 'urllib')) and sys.exit('the network was asked'))\n"
    (recorder / "sitecustomize.py").write_text(watch)
    (folder / "policy.json").write_text(json.dumps(DEEP | {"properties": {AT_THE_KEY: {"$ref": "#/$defs/d0"}}}))
    (folder / "cfglint.toml").write_text('policy-schema = "policy.json"\n')
    ended = limited(["check", good.name], folder, env={"PYTHONPATH": str(recorder)}).sound(1)
    assert "is not of type 'string'" in ended.out
    assert good.told in ended.out
    monkeypatch.setattr(policy_schema, "SECONDS", 0.2)
    (folder / good.name).write_text(good.text.replace("\n}", ',\n  "comment": "' + "a" * 50 + '"\n}'))
    regex = {"properties": {"comment": {"pattern": "^(a+)+$", "not": {"pattern": "^(a|a)*b$"}}}}
    accepting = {"$defs": {**DEEP["$defs"], "d60": True}, "properties": {AT_THE_KEY: {"$ref": "#/$defs/d0"}}}
    for schema in (regex, accepting):
        (folder / "policy.json").write_text(json.dumps(schema))
        _, out, _ = told("check", good.name)
        assert "HSE001 policy-violation: policy violation: the policy schema takes more than 0.2 seconds for this file" in " ".join(
            out.split()
        )
        assert good.told in out


@pipes
def test_policy_schemas_that_are_no_files(folder, told, good):
    os.mkfifo("pipe")
    (folder / "deep").write_text("[" * 100_000)
    (folder / "digits").write_text('{"maximum": ' + "9" * 5000 + "}")
    (folder / "text").write_text('"\x1b[31m"')
    for name in ("pipe", "/dev/zero", ".", "/no/such", "a\\u0000b", "deep", "digits", "text"):
        (folder / "cfglint.toml").write_text(f'policy-schema = "{name}"\n')
        status, out, err = told("check", good.name)
        assert (status, out) == (2, ""), name
        assert err.count("\n") == 1


# ---- files that name versions


def test_files_that_name_versions(folder, told, good):
    (folder / "t.yaml").write_text(TRAINER)
    os.mkdir("requirements")
    (folder / "requirements" / "loop.txt").symlink_to("loop.txt")
    (folder / "requirements-zero.txt").symlink_to("/dev/zero")
    (folder / "requirements.txt").write_text(
        "-r requirements.txt\n-r /dev/zero\n--index-url http://127.0.0.1:1\n-e git+ssh://x/transformers\n"
    )
    (folder / "poetry.lock").mkdir()
    if hasattr(os, "mkfifo"):
        os.mkfifo("uv.lock")
        os.mkfifo("requirements-pipe.txt")
    (folder / "pyproject.toml").write_bytes(b'transformers\xff = [[[\0 "deepspeed')
    status, out, err = told("check")
    assert status == 1
    assert good.told in out
    assert "2 files checked" in err


@pytest.mark.parametrize(
    "version",
    ["\x1b[31m4.40.0", "<script>", "9" * 5000, "4." * 50_000, "", "x", "²", "4.40.0\u202e", "-1", "4.40.0; rm -rf", "999999999999999999.1"],
    ids=range(11),
)
def test_versions_that_are_none(folder, told, good, version):
    (folder / "t.yaml").write_text(TRAINER)
    locked = "".join(f'[[package]]\nname = "{name}"\nversion = "{version}"\n\n' for name in ("transformers", "deepspeed"))
    (folder / "uv.lock").write_text(f"version = 1\n\n{locked}")
    (folder / "requirements.txt").write_text(f"transformers=={version}\ndeepspeed>={version}\n")
    (folder / "pyproject.toml").write_text(f"[project]\ndependencies = [{json.dumps(f'transformers=={version}')}]\n")
    status, out, err = told("check", "--gpus", "8")
    assert status in (0, 1)  # a version outside the modelled range makes findings warnings
    assert re.search(r"good\.json:2:23: (error|warning) BAT001", out)
    assert len(err) < 2000


# ---- the command line

LONG = "x" * 100_000
STRANGE = [
    ["--set", f"output_dir={LONG}"],
    ["--set", "a." * 50_000 + "a=1"],
    ["--set", "output_dir=" + "[" * 60_000],
    ["--set", "output_dir=" + "- " * 60_000],
    ["--set", "output_dir=" + "{a: " * 20_000],
    ["--set", "output_dir=[1"],
    ["--set", "output_dir=&a [*a, *a]"],
    ["--set", "output_dir=*nowhere"],
    ["--set", 'output_dir=!!python/object/apply:os.system ["touch canary"]'],
    ["--set", "output_dir=2024-99-99"],
    ["--set", "output_dir=${output_dir}", "--set", "a=${oc.env:HOME}", "--set", "b=${oc.create:${b}}"],
    ["--set", "output_dir=\x1b[31m\x07\udcff"],
    ["--set", "per_device_train_batch_size=0x" + "f" * 5000],
    ["--set", "per_device_train_batch_size=" + "9" * 5000],
    ["--args", LONG[:30_000]],
    ["--args", "--per_device_train_batch_size " + "9" * 5000 + " --= --=x -- --\x1b[31m --output_dir"],
    ["--section", "a." * 60_000 + "a"],
    ["--section", "."],
    ["--target", "transformers==999999999999999999999.1", "--target", "deepspeed==0.0.0.0.0.0"],
    ["--target", "transformers==" + "9" * 79],
    ["--num-examples", str(LARGEST), "--gpus", str(LARGEST)],
]


@pytest.mark.parametrize("given", STRANGE, ids=range(len(STRANGE)))
def test_strange_values_of_options(folder, told, given):
    (folder / "t.yaml").write_text(TRAINER)
    for command in (["check", "t.yaml", "--format", "json"], ["check", "t.yaml"], ["explain", "t.yaml"]):
        status, out, err = told(*command, *given)
        assert status in (0, 1) or (out == "" and err.count("\n") == 1)
        if "json" in command and status != 2:
            json.loads(out)
    assert not os.path.exists("canary")


@pytest.mark.parametrize(
    "given",
    [
        *(["--gpus", number] for number in ("0", "-1", "1e3", "9" * 5000, str(10**100), "²", "0x10", "", "\x1b[31m")),
        *(["--args", text] for text in ("--x 'unclosed", '"', "x" * 100_001)),
        *(
            ["--target", text]
            for text in ("\x1b[31m", "transformers", "transformers==", "==4", "transformers==x", "deepspeed==1.0; rm -rf")
        ),
        *(["--target", f"transformers=={text}"] for text in ("9." * 50, "4\x1b[31m", "4\u202e", "²", "4 5")),
        ["--num-examples", str(10**100)],
        ["--set", "\x1b[31m"],
        ["--kind", "\x1b[31m"],
        ["--config", "a\0b"],
        ["--config", "\x1b[31m"],
        ["--\x1b[31m\udcff"],
        ["-"],
        ["a\0b.json"],
        ["\x1b[31m\u202e.json"],
    ],
    ids=range(32),
)
def test_values_that_are_refused(told, given):
    status, _, err = told("check", "good.json", *given)
    assert status == 2
    assert len(err) < 6000


def test_deep_values_of_options_take_no_stack(folder, limited):
    """Parsers written in C end a process where Python would raise."""
    (folder / "t.yaml").write_text(TRAINER)
    deep = ["output_dir=" + text * 30_000 for text in ("[", "- ", "{a: ")]
    limited(["check", "t.yaml", *(part for each in deep for part in ("--set", each))], folder).sound(0)


@pytest.mark.parametrize(
    "name", ["a\nb.json", "\x1b[31m.json", "\udcff.json", "\u202e.json", "::error::.json", "../../x.json", "a\0b.json"]
)
def test_names_of_standard_input(told, monkeypatch, good, name):
    import io

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(good.text.encode())))
    status, out, _ = told("check", "-", "--stdin-filename", name)
    assert status == 1
    assert out.count("error BAT001") == 1


@pytest.mark.parametrize("command", ["rule", "schema", "new", "explain", "plan", "diff", "fix", "\x1b[31m"])
def test_other_commands_say_what_they_were_given(told, command):
    for strange in ("\x1b[31m\x07", "\u202e\u2028", "a\nb", "a\0b", "\udcff", "x" * 1000):
        assert told(command, strange, *([strange] if command == "diff" else []))[0] == 2


@pytest.mark.parametrize(
    ("given", "status"),
    [
        (["plan", "good.json", "--gpus", "1-99999999999", "--global-batch", "64"], 2),
        (["plan", "good.json", "--gpus", "8," * 100 + "\x1b[31m", "--global-batch", "64"], 2),
        (["plan", "good.json", "--gpus", str(10**17), "--global-batch", str(10**18)], 2),
        (["fix", "good.json", "--diff", "--gpus", str(10**18), "--global-batch", str(10**18)], 2),
        (["fix", "good.json", "--diff", "--gpus", "8", "--global-batch", str(10**100)], 2),
        (["new", "deepspeed", "--gpus", str(10**18), "--global-batch", str(10**18), "-o", "-"], 0),
        (["new", "huggingface", "--gpus", "8", "--global-batch", "64", "--tokens", "1e308", "--seq-length", "1", "-o", "-"], 0),
        (["new", "huggingface", "--gpus", "8", "--global-batch", "64", "--lr", "nan", "-o", "-"], 2),
    ],
    ids=range(8),
)
def test_numbers_beyond_all_bounds(told, given, status):
    assert told(*given)[0] == status


# ---- interpolation


def test_interpolation_never_asks_the_environment(told, folder, monkeypatch):
    """Nor by a name that is put together, nor because another key is followed."""
    monkeypatch.setenv("CFGLINT_SECRET", "hidden-from-reports")
    asked = [
        "${oc.env:CFGLINT_SECRET}",
        "${${part}.env:CFGLINT_SECRET}",
        "${ oc.env:CFGLINT_SECRET}",
        "${oc.decode:${oc.env:CFGLINT_SECRET}}",
    ]
    for text in asked:
        (folder / "t.yaml").write_text(f'{TRAINER}part: oc\nlogging_dir: ${{output_dir}}/logs\nmax_steps: "{text}"\nseed: "{text}"\n')
        for command in (["check", "--gpus", "8"], ["check", "--format", "json"], ["explain"]):
            _, out, err = told(command[0], "t.yaml", *command[1:])
            assert "hidden-from-reports" not in out + err
    kept = {"a": "${b}/x", "b": "y", "c": "${oc.env:CFGLINT_SECRET}", "d": ["${b}"], "e": "${c}"}
    assert interpolated(kept) == {"a": "y/x", "b": "y", "c": asked[0], "d": ["y"], "e": asked[0]}
    assert not refers({"c": asked[0], "d": [asked[1]]})


def test_interpolation_does_not_explode(folder, limited, good):
    doubled = "".join(f'a{number}: "${{a{number + 1}}}${{a{number + 1}}}"\n' for number in range(60)) + "a60: xxxxxxxx\n"
    nested = "".join(f"b{number}: [{{x: '${{b{number + 1}}}'}}, '${{b{number + 1}.0}}']\n" for number in range(60)) + "b60: [x]\n"
    chain = "".join(f'c{number}: "${{c{number + 1}}}"\n' for number in range(5000))
    looped = 'd: "${e}"\ne: "${d}"\nf: "${f}"\n'
    for number, text in enumerate((doubled, nested, chain, looped, f'g: "${{a}}{"${a" * 100_000}"\n')):
        (folder / f"t{number}.yaml").write_text(TRAINER + text)
    ended = limited(["check", "."], folder).sound(1)
    assert good.told in ended.out
    assert "6 files checked" in ended.err


def test_overrides_that_are_no_yaml_are_text():
    for text in ("[1", "&a [*a]", "*b", "!!python/name:os.system", "{a: " * 500, "\x1b", "2024-99-99"):
        assert by_omegaconf(Override("key", [text])) == text
    assert by_omegaconf(Override("key", ["[1, {a: b}]"])) == [1, {"a": "b"}]


@pytest.mark.parametrize("key", ["deepspeed", "lr_scheduler_kwargs", "accelerator_config", "fsdp_config"])
def test_json_in_a_value_nests_without_breaking(folder, told, key):
    for depth in (300, 980, 100_000):
        (folder / "t.yaml").write_text(TRAINER + f"{key}: '" + '{"a":' * depth + "1" + "}" * depth + "'\n")
        assert told("check", "t.yaml")[0] in (0, 1)
        assert told("explain", "t.yaml")[0] == 0


# ---- logs


def test_logs_of_every_kind(folder, told, limited):
    banner = "***** Running training *****\n  Num examples = 1,000\n  Num Epochs = 3\n  Instantaneous batch size per device = 4\n"
    banner += "  Total train batch size (w. parallel, distributed & accumulation) = 64\n  Gradient Accumulation steps = 2\n"
    banner += "  Total optimization steps = 48\n"
    escapes = "\x1b]0;title\x07\x9b31m\u202e"
    endless = f"train_batch_size {'.' * 1_100_000}\n" + "a\r" * 50_000 + "\n" + "\x1b[" * 200_000 + "0;" * 200_000 + "\n"
    texts = {
        "binary.log": os.urandom(300_000) + banner.encode(),
        "endless.log": ("-------------------- arguments --------------------\n" + endless + banner).encode(),
        "digits.log": banner.replace("48", "9" * 100_000).replace("64", "9" * 29).encode(),
        "none.log": (endless * 2).encode(),
        "escapes.log": (escapes + banner + escapes).replace("= 48", f"= 48 {escapes}").encode(),
        "zeros.log": banner.replace("64", "0").replace("= 2", "= 0").replace("= 4\n", "= 0\n").encode(),
        "wide.log": banner.encode("utf-16") + b"\xff",
    }
    for name, content in texts.items():
        (folder / name).write_bytes(content)
        if len(content) > 200_000:
            ended = limited(["explain", name], folder).sound(2 if name == "none.log" else 0)
            assert not [char for char in ended.out + ended.err if not char.isprintable() and char != "\n"], name
            continue
        for form in ("text", "json", "html"):
            assert told("explain", name, "--format", form)[0] == 0
    if hasattr(os, "mkfifo"):
        os.mkfifo("pipe.log")
        assert told("explain", "pipe.log")[0] == 2
    assert told("explain", "/dev/zero")[0] == 2
