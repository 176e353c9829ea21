"""Documents that are made to break a parser, a reader or a report: told at their place, in little time, and nothing is executed."""

from __future__ import annotations

import json
import os

import pytest
from soundness import WATCHED, strict

from cfglint.source.parse import parse

TRAINER = "per_device_train_batch_size: 4\noutput_dir: out\n"  # two lines
DEEPSPEED = '{"train_micro_batch_size_per_gpu": 4, '
DIGITS = "9" * 5000
NOTHING = ""  # no finding: the framework reads it, too
EITHER = None  # read or not, as the release of Python has it


def levels(number, line):
    """One line for each level of nesting."""
    return "".join(line * depth + "a:\n" for depth in range(1, number))


def bomb(entry, width, height):
    """Anchors that each repeat the one before."""
    return "".join(f"a{level}: &a{level} {entry(', '.join([f'*a{level - 1}'] * width))}\n" for level in range(1, height + 1))


YAML = {
    "alias-bomb-10": ("a0: &a0 x\n" + bomb("[{}]".format, 9, 10), "SRC004", 7),
    "alias-bomb-7": ("a0: &a0 x\n" + bomb("[{}]".format, 9, 7), "SRC004", 7),
    "merge-bomb": ("a0: &a0 {k: 1}\n" + bomb("{{<<: [{}]}}".format, 9, 10), "SRC004", 7),
    "merge-of-many": ("y: &y {a: 1}\nx:\n" + "  <<: *y\n" * 11_000, "SRC004", 3338),
    "self": ("x: &a [*a]\n", "SRC004", 3),
    "self-merged": ("x: &a\n  <<: *a\n", "SRC004", 4),
    "flow": ("x: " + "[" * 10_000, "SRC004", 3),
    "flow-mappings": ("x: " + "{a: " * 10_000, "SRC004", 3),
    "dashes": ("x:\n" + "- " * 10_000 + "x\n", "SRC004", 4),
    "questions": ("? " * 10_000 + "x\n", "SRC004", 3),
    "blocks": ("a:\n" + levels(2000, " "), "SRC004", 203),
    "tagged-levels": ("x: " + "!!seq [" * 190 + "]" * 190 + "\n", EITHER, 0),
    "anchored-levels": ("x: " + "".join(f"&a{level} !!map {{a: " for level in range(190)) + "1" + "}" * 190 + "\n", EITHER, 0),
    "anchors": ("x:\n" + "".join(f"- &a{number} 1\n" for number in range(50_000)), NOTHING, 0),
    "nul-escaped": ('x: "\\0\\x1b]0;x\\a"\n', NOTHING, 0),
    "control": ("x: 1\ny: \x07\n", "SRC001", 4),
    "control-after-letters": ("# é\nx: \x1b[2J\n", "SRC001", 4),
    "digits": (f"max_steps: {DIGITS}\n", "SRC002", 3),
    "digits-that-python-reads": ("max_steps: " + "9" * 4000 + "\n", "SRC004", 3),
    "digits-as-text": (f"max_steps: '{DIGITS}'\n", "TYP200", 3),
    "digits-hexadecimal": ("max_steps: 0x" + "F" * 5000 + "\n", "SRC004", 3),
    "digits-binary": ("seed: !!int 0b" + "1" * 20_000 + "\n", "SRC004", 3),
    "digits-base-60": ("max_steps: 1" + ":1" * 100_000 + "\n", "SRC004", 3),
    "digits-base-60-float": ("max_steps: 1" + ":1" * 100_000 + ".5\n", "SRC002", 3),
    "digits-after-a-point": ("warmup_ratio: 0." + "1" * 100_000 + "\n", NOTHING, 0),
    "exponent": ("max_steps: 1.0e+999999999\n", "TYP200", 3),
    "exponent-as-text": ("learning_rate: 1e999999999\n", "TYP200", 3),
    "date": ("seed: 2024-99-99\n", "SRC002", 3),
    "time": ("seed: 2024-01-01 99:99:99\n", "SRC002", 3),
    "duplicates": ("seed: 1\n" * 3000, "KEY001", 3),
    "quotes": ("x: " + '"' * 9999 + "\n", "SRC002", 3),
    "block-without-end": ("x: |\n  " + "a" * 100_000, NOTHING, 0),
    "flow-without-end": ("x: 'a\n" * 2, "SRC002", 4),
    "breaks-of-another-kind": ("# c\u2028x: 1\u2029y: 2\x85z: 3\n", NOTHING, 0),
    "documents": ("---\na: 1\n" * 5000, "SRC002", 4),
    "odd-keys": ("? [a, {b: c}]\n: 1\n? !!binary AAAA\n: 2\n", "SRC002", 3),
    "interpolation": ("x: " + "${" * 20_000 + "\n", NOTHING, 0),
    "ignore-open": ("seed: 1 # cfglint: ignore[" + "[" * 20_000 + "\n", "SUP001", 3),
    "ignore-many": ("seed: 1 # cfglint: ignore[" + "A," * 20_000 + "]\n", "SUP001", 3),
    "ignore-everything": ("seed: 1 # cfglint: ignore[\x85*, .*, %s, ../x, <b>]\n", "SUP001", 3),
    "ignore-hashes": ("# cfglint:\n" + "#" * 500_000 + "\n", "SUP001", 3),
    # tags, each of which some loader makes an object of
    "tag-system": ("x: !!python/object/apply:os.system ['touch owned']\n", "SRC002", 3),
    "tag-new": ("x: !!python/object/new:subprocess.Popen [['touch', 'owned']]\n", "SRC002", 3),
    "tag-object": ("x: !!python/object:os._wrap_close {}\n", "SRC002", 3),
    "tag-name": ("x: !!python/name:os.system\n", "SRC002", 3),
    "tag-module": ("x: !!python/module:antigravity\n", "SRC002", 3),
    "tag-tuple": ("x: !!python/tuple [1]\n", "SRC002", 3),
    "tag-verbatim": ("x: !<tag:yaml.org,2002:python/object/apply:os.system> ['touch owned']\n", "SRC002", 3),
    "tag-binary": ("x: !!binary '%%%é'\n", "SRC002", 3),
    "tag-float": ("x: !!float junk\n", "SRC002", 3),
    "tag-int": ("x: !!int junk\n", "SRC002", 3),
    "tag-bool": ("x: !!bool junk\n", "SRC002", 3),
    "tag-timestamp": ("x: !!timestamp 9999-99-99\n", "SRC002", 3),
    "tag-omap": ("x: !!omap [a, b]\n", "SRC002", 3),
    "tag-of-a-tool": ("x: !reference [.a, b]\n", "SRC002", 3),
    "tag-long": ("x: !" + "a" * 100_000 + " 1\n", "SRC002", 3),
}
JSON = {
    "nested": ('"x": ' + "[" * 10_000, "SRC004", 1),
    "nested-objects": ('"x": ' + '{"a":' * 10_000, "SRC004", 1),
    "digits": (f'"steps_per_print": {DIGITS}}}', "SRC002", 1),
    "digits-that-python-reads": ('"gradient_accumulation_steps": ' + "9" * 4000 + "}", "SRC004", 1),
    "digits-as-text": (f'"gradient_accumulation_steps": "{DIGITS}"}}', "BAT", 1),
    "digits-nearly-as-many": ('"gradient_accumulation_steps": ' + "9" * 500 + ', "train_batch_size": ' + "8" * 500 + "}", "BAT001", 1),
    "exponent": ('"gradient_accumulation_steps": 1e999999999}', "SRC002", 1),
    "nan": ('"gradient_clipping": NaN\n}', "", 0),
    "infinity": ('"gradient_clipping": -Infinity\n}', "", 0),
    "duplicates": ('"train_micro_batch_size_per_gpu": 4,' * 3000 + '"x": 1}', "KEY001", 1),
    "surrogates": ('"\\ud800": "\\udfff", "zero_optimization": {"stage": "\\ud800"}}', "TYP102", 1),
    "escapes-cut": ('"x": "' + "\\u" * 10_000, "SRC002", 1),
    "controls": ('"x": "a\x1b[2Jb"}', "SRC002", 1),
    "comment-without-end": ("/* " + "x" * 10_000, "SRC002", 1),
    "commas": ("," * 10_000, "SRC002", 1),
    "quotes": ('"x": ' + '"' * 9999, "SRC002", 1),
}
BYTES = {
    "nul.yaml": (TRAINER.encode() + b"x: \0\n", "SRC001", 3),
    "invalid.yaml": (TRAINER.encode() + b"x: \xff\n", "SRC001", 3),
    "surrogate.yaml": (TRAINER.encode() + b"x: \xed\xa0\x80\n", "SRC001", 3),
    "cut.yaml": (TRAINER.encode() + "x: é".encode()[:-1], "SRC001", 3),
    "utf-16.yaml": (TRAINER.encode("utf-16"), "SRC001", 1),
    "utf-16-be.yaml": (b"\xfe\xff" + TRAINER.encode("utf-16-be"), "SRC001", 1),
    "utf-32.yaml": (TRAINER.encode("utf-32"), "SRC001", 1),
    "utf-32-be.yaml": (b"\0\0\xfe\xff" + TRAINER.encode("utf-32-be"), "SRC001", 1),
    "cr.yaml": ((TRAINER + "seed: 010 # c\n").replace("\n", "\r").encode(), "TYP001", 3),
    "directives.yaml": (b"%TAG !e! tag:yaml.org,2002:python/\n---\nx: !e!name:os.system\n" + TRAINER.encode(), "SRC002", 3),
    "nul.json": (b'{"train_micro_batch_size_per_gpu": 4,\n"\0": 1}', "SRC001", 2),
    "invalid.json": (b'{"train_micro_batch_size_per_gpu": 4,\n"x": "\xc3\x28"}', "SRC001", 2),
    "utf-16.json": ('{"train_micro_batch_size_per_gpu": 4}'.encode("utf-16"), "SRC001", 1),
}
DOCUMENTS = {
    **{f"{name}.yaml": ((TRAINER + text).encode(), code, line) for name, (text, code, line) in YAML.items()},
    **{f"{name}.json": ((DEEPSPEED + text).encode(), code, line) for name, (text, code, line) in JSON.items()},
    **BYTES,
}
LARGE = {  # characters that are repeated up to a little below the limit of a file's size
    "brackets.json": (DEEPSPEED + '"x": ', "[", "SRC004"),
    "objects.json": (DEEPSPEED + '"x": ', '{"a":', "SRC004"),
    "escapes.json": (DEEPSPEED + '"x": "', "\\u", "SRC002"),
    "quotes.json": (DEEPSPEED + '"x": ', '"', "SRC002"),
    "brackets.yaml": (TRAINER + "x: ", "[", "SRC004"),
    "dashes.yaml": (TRAINER + "x:\n", "- ", "SRC004"),
    "questions.yaml": (TRAINER, "? ", "SRC004"),
    "hashes.yaml": (TRAINER + "x: 1 ", "#", NOTHING),
    "words.yaml": (TRAINER + "x: ", "word ", NOTHING),
    "double-quotes.yaml": (TRAINER + "x: ", '"', "SRC002"),
    "single-quotes.yaml": (TRAINER + "x: '", "''", "SRC002"),
    "tabs.yaml": (TRAINER + "x: ", "\t", NOTHING),
    "tabs-after-a-bar.yaml": (TRAINER + "x: |", " \t", NOTHING),
    "key.yaml": (TRAINER, "per_device_train_batch_siz", "SRC002"),
    "control.yaml": (TRAINER + "x: ", "\x01", "SRC001"),
}
BEYOND = {  # what takes more than its share for each character, where it is not looked at once
    "strings.json": (DEEPSPEED + '\n"x": [' + "'''a'''" * 60_000 + "]}", NOTHING),
    "constants.json": (DEEPSPEED + '"x": [' + "NaN," * 120_000 + ",]}", "SRC002"),
    "comments-on-a-line.json": (DEEPSPEED + "/**/" * 100_000 + "# cfglint: ignore[X]\n}", "SUP001"),
    "returns.yaml": (TRAINER.replace("\n", "\r") + "# c\r" * 150_000, NOTHING),
    "statements.yaml": (TRAINER + "run_name: " + "{%" * 200_000 + "\n", "SRC002"),
    "closed-statements.yaml": (TRAINER + "run_name: '" + "{%%}" * 50_000 + "\n", "SRC002"),
    "interpolations.yaml": (TRAINER + 'run_name: "' + "${" * 200_000 + '"\n', NOTHING),
    "nested-interpolations.yaml": (
        "model_name_or_path: m\nstage: sft\nfinetuning_type: lora\ntemplate: a\ndataset: x\noutput_dir: " + "${" * 5000 + "}" * 5000 + "\n",
        "SRC004",
    ),
    "open-comments.json": (DEEPSPEED + '"x": $Y, ' + "/*" * 200_000, "SRC002"),
    "open-string.json": (DEEPSPEED + '"x": $Y, "' + '\\"' * 200_000, "SRC002"),
    "long-numbers.yaml": (TRAINER + "max_steps: 1" + ":1" * 300_000 + "\n", "SRC004"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, good):
    """All hostile documents beside the healthy file."""
    folder = tmp_path_factory.mktemp("documents")
    (folder / ".git").mkdir()
    (folder / good.name).write_text(good.text)
    for name, (data, *_) in DOCUMENTS.items():
        (folder / name).write_bytes(data)
    return folder


def told_of(report, name):
    """(code, line) of every finding in a file."""
    return [(found["code"], found["line"]) for found in report["diagnostics"] if found["file"] == name]


@pytest.fixture(scope="module")
def report(folder, limited):
    """What one `check` of all of them tells."""
    return strict(limited(["check", "--format", "json", *DOCUMENTS, "good.json"], folder).sound(2).out)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_finding_at_its_place(report, name):
    _, code, line = DOCUMENTS[name]
    assert name in [run["files"][0] for run in report["runs"]]
    found = told_of(report, name)
    if code is EITHER:
        assert {each[0] for each in found if each[0].startswith("SRC")} <= {"SRC004"}
    elif code:
        assert [each for each in found if each[0].startswith(code) and each[1] == line], found
    else:
        assert not [each for each in found if each[0].startswith("SRC")], found


def test_the_next_file_is_checked(report, good):
    assert (good.code, good.line) in told_of(report, good.name)


def test_a_file_above_the_limit_is_not_read(tmp_path, limited, good):
    (tmp_path / good.name).write_text(good.text)
    for name, size in (("flat.yaml", 57_000_000), ("one.json", 49_000_000), ("huge.json", 10**12), ("over.json", 5_000_001)):
        (tmp_path / name).touch()
        os.truncate(tmp_path / name, size)
    names = [*sorted(each for each in os.listdir(tmp_path) if each != good.name), good.name]
    done = limited(["check", "--kind", "deepspeed", *names], tmp_path, memory=100, seconds=2).sound(2)
    assert done.out.count("SRC004 limit-exceeded") == 4
    assert "one.json: has 49,000,000 bytes, the limit is 5,000,000" in done.out
    assert good.told in done.out
    (tmp_path / "flat.yaml").write_bytes(b"x" * 2)
    assert good.told in limited(["check", "."], tmp_path, memory=100, seconds=2).sound(1).out


def checked(limited, good, folder, documents, **limits):
    """(file, code) of what is found in documents beside the healthy file, which must be told, too."""
    (folder / good.name).write_text(good.text)
    for name, text in documents.items():
        (folder / name).write_bytes(text.encode())
    done = limited(["check", "--format", "json", "--jobs", "1", *documents, good.name], folder, **limits).sound()
    found = {(each["file"], each["code"]) for each in json.loads(done.out)["diagnostics"]}
    assert (good.name, good.code) in found
    return found


def test_files_just_below_the_limit(tmp_path, limited, good):
    size = 4_900_000
    documents = {name: head + unit * ((size - len(head)) // len(unit)) + "\n" for name, (head, unit, _) in LARGE.items()}
    found = checked(limited, good, tmp_path, documents)
    assert found >= {(name, code) for name, (_, _, code) in LARGE.items() if code}
    assert not {(name, code) for name, code in found if code.startswith("SRC") and LARGE.get(name, ("", "", code))[2] != code}


def test_time_grows_no_faster_than_the_file(tmp_path, limited, good):
    found = checked(limited, good, tmp_path, {name: text for name, (text, _) in BEYOND.items()}, memory=400)
    assert found >= {(name, code) for name, (_, code) in BEYOND.items() if code}


def test_a_thousand_fixes_in_a_long_file(tmp_path, limited, good):
    text = TRAINER + "".join(f"k{number}: {number}\n" for number in range(50_000)) + "".join(f"n{number}: None\n" for number in range(1000))
    (tmp_path / "x.yaml").write_text(text)
    (tmp_path / good.name).write_text(good.text)
    done = limited(["check", "x.yaml", good.name, "--format", "html", "--output", "x.html"], tmp_path, seconds=15).sound(1)
    assert "1 error, 1000 warnings" in done.err
    page = (tmp_path / "x.html").read_text()
    assert "x.yaml:50997" in page
    assert good.code in page


def test_a_file_has_so_many_parts_and_no_more(tmp_path, limited, good):
    text = DEEPSPEED + '"x": [' + "[]," * 1_600_000 + "1]}"
    assert ("x.json", "SRC004") in checked(limited, good, tmp_path, {"x.json": text}, memory=400)


def test_half_of_a_pair_in_a_text_that_came_from_no_file():
    document = parse("x", 'output_dir: 1\n"\ud800": 2\n', "yaml")
    assert [(problem.kind, problem.start) for problem in document.problems] == [("control", 15)]
    assert document.find(("output_dir",))[1].raw == "1"
    assert parse("x", '{"\ud800": 2}', "json").find(("\ud800",))[1].raw == "2"


# ---- nothing is executed


def test_nothing_is_executed_fetched_or_written(folder, limited):
    names = [name for name, (data, *_) in DOCUMENTS.items() if len(data) < 15_000 or name.startswith("tag")]
    done = limited([], folder, stdin=json.dumps(names).encode(), program=("-B", "-c", WATCHED), seconds=20).sound(0)
    told = json.loads(done.out)
    assert (told["seen"], told["litter"], told["bugs"]) == ([], [], [])
    assert [len(statuses) for statuses in told["ended"].values()] == [len(names)] * 4
    assert {status for statuses in told["ended"].values() for status in statuses} == {0, 1, 2}
    assert set(told["ended"]["check"]) <= {0, 1, 2}


def test_the_watch_sees_what_it_is_for(tmp_path, limited):
    script = WATCHED.replace("status = main([command, name, *options])", 'status = os.system("true") or open("litter", "w").close()')
    done = limited([], tmp_path, stdin=b'["x"]', program=("-B", "-c", script)).sound(0)
    assert [each.split()[0] for each in json.loads(done.out)["seen"]] == ["os.system", "open"] * 4


# ---- files that others name

REFERENCES = {
    "itself": "deepspeed: itself.yaml",
    "itself-thrice": "deepspeed: ./itself-thrice.yaml\nfsdp_config: x/../itself-thrice.yaml\naccelerator_config: itself-thrice.yaml",
    "device": "deepspeed: /dev/zero",
    "pipe": "deepspeed: pipe.json\nfsdp_config: pipe.json\naccelerator_config: pipe.json",
    "folder": "deepspeed: .",
    "memory": "deepspeed: /proc/self/mem",
    "long": "deepspeed: " + "x" * 100_000 + ".json",
    "deep": "deepspeed: " + "x/" * 50_000 + "ds.json",
    "nul": 'deepspeed: "good.json\\0.json"',
    "surrogate": 'deepspeed: "\\ud800.json"',
    "escape": 'deepspeed: "\\e[2J.json"',
    "dash": 'deepspeed: "--output=owned"',
    "shell": "deepspeed: '| touch owned'",
    "address": "deepspeed: http://localhost:1/ds.json",
    "list": "deepspeed: [" + "good.json, " * 10_000 + "]",
    "one-of-two": "deepspeed: two-of-two.yaml",
    "two-of-two": "deepspeed: one-of-two.yaml",
}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes in the file system here")
def test_files_that_others_name(tmp_path, limited, good):
    os.mkfifo(tmp_path / "pipe.json")
    documents = {f"{name}.yaml": f"{TRAINER}{text}\nseed: 010\n" for name, text in REFERENCES.items()}
    found = checked(limited, good, tmp_path, documents)
    assert {name for name, code in found if code == "TYP001"} >= {*documents} - {"one-of-two.yaml", "two-of-two.yaml"}
    assert not os.path.exists(tmp_path / "owned")


def test_a_chain_of_names_is_not_followed_to_its_end(tmp_path, limited, good):
    for number in range(300):
        (tmp_path / f"{number}.yaml").write_text(f"{TRAINER}accelerator_config: {number + 1}.yaml\n")
    (tmp_path / good.name).write_text(good.text)
    done = limited(["check", "--format", "json", "--jobs", "1", "."], tmp_path, seconds=5).sound(1)
    report = strict(done.out)
    assert max(len(run["files"]) for run in report["runs"]) == 2
    assert ("./good.json", good.code) in {(each["file"], each["code"]) for each in report["diagnostics"]}


# ---- reports of what a document holds

SHOWN = {
    "keys.json": '{"train_micro_batch_size_per_gpu": 4, "\\ud800": 1, "\\u001b[2J": 2, "train_batch_siz\\ud800": 7, "\\ud800": 3}',
    "values.json": '{"train_micro_batch_size_per_gpu": "\\udc00\\u0000\\u001b]0;x", "zero_optimization": {"stage": "<script>\\ud83d"}}',
    "bidi.json": '{"train_micro_batch_size_per_gpu": "\\u202e\\u2066]]>\\uffff", "optimizer": {"type": "```\\n::error::x%0A\\r"}}',
    "keys.yaml": TRAINER + '"\\ud800\\e[2J": 010\n"\\u202e</script><!--": 1:30\n"::add-mask::x": None\n',
}


def test_every_report_of_it_can_be_read(tmp_path, limited, good, formats, reports):
    for name, text in {**SHOWN, good.name: good.text}.items():
        (tmp_path / name).write_text(text)
    limited(["check", *SHOWN, good.name, *formats], tmp_path).sound(1)
    limited(["explain", "keys.yaml", "--format", "json", "--output", "account.json"], tmp_path).sound(0)
    texts = reports(tmp_path)
    assert "<script>\\ud83d" not in texts["html"]
    assert strict((tmp_path / "account.json").read_bytes().decode("utf-8"))["files"] == ["keys.yaml"]
