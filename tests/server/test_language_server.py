"""`cfglint server` as an editor sees it: a process, and the Language Server Protocol over its standard input and output."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading

import pytest

pytest.importorskip("pygls")
TRAINER = "output_dir: out\ndeepspeed: ds.json\nlearning_rate: 2e-5\nper_device_train_batch_size: 4\nwarmpu_steps: 10\n"
DEEPSPEED = (
    '{\n  "train_micro_batch_size_per_gpu": "auto",\n  "gradient_accumulation_steps": "auto",\n  "zero_optimization": {"stage": 2}\n}\n'
)
GRPO = "output_dir: out\nnum_generations: 8\nmax_completion_length: 256\nper_device_train_batch_size: 8\n"
PATIENCE = 30  # seconds that an answer may take on a busy machine


class Editor:
    """A client that speaks the protocol."""

    def __init__(self, folder, *options):
        self.folder = folder
        command = [sys.executable, "-m", "cfglint", "server", *options]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.messages = queue.Queue()
        self.number = 0
        self.versions = {}
        threading.Thread(target=self.listen, daemon=True).start()
        answer = self.ask("initialize", {"processId": None, "rootUri": folder.as_uri(), "capabilities": {}})
        self.capabilities = answer["capabilities"]
        self.tell("initialized", {})

    def listen(self):
        stream = self.process.stdout
        while line := stream.readline():
            length = int(line.split(b":")[1])
            while stream.readline().strip():
                pass
            self.messages.put(json.loads(stream.read(length)))

    def send(self, message):
        content = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(content) + content)
        self.process.stdin.flush()

    def tell(self, method, params):
        self.send({"method": method, "params": params})

    def ask(self, method, params):
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        while True:
            message = self.messages.get(timeout=PATIENCE)
            if message.get("id") == self.number:
                assert "error" not in message, message
                return message["result"]

    def uri(self, name):
        return (self.folder / name).as_uri()

    def open(self, name, text):
        self.tell("textDocument/didOpen", {"textDocument": {"uri": self.uri(name), "languageId": "yaml", "version": 1, "text": text}})

    def change(self, name, text):
        self.versions[name] = self.versions.get(name, 1) + 1
        document = {"uri": self.uri(name), "version": self.versions[name]}
        self.tell("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})

    def publication(self):
        """(URI, findings) that the server publishes next."""
        while True:
            message = self.messages.get(timeout=PATIENCE)
            if message.get("method") == "textDocument/publishDiagnostics":
                return message["params"]["uri"], message["params"]["diagnostics"]

    def findings(self, name):
        """What the server publishes next for a file."""
        while True:
            uri, found = self.publication()
            if uri == self.uri(name):
                return found

    def at(self, name, line, character):
        return {"textDocument": {"uri": self.uri(name)}, "position": {"line": line, "character": character}}

    def actions(self, name, line, only):
        place = {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 99}}
        context = {"diagnostics": [], "only": [only]}
        return self.ask("textDocument/codeAction", {"textDocument": {"uri": self.uri(name)}, "range": place, "context": context})

    def close(self):
        self.ask("shutdown", None)
        self.tell("exit", None)
        self.process.wait(PATIENCE)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()


@pytest.fixture
def editor(tmp_path):
    """An editor in an empty project folder."""
    (tmp_path / "cfglint.toml").write_text("gpus = 8\n")
    client = Editor(tmp_path)
    yield client
    client.close()


def by_code(found):
    return {each["code"]: each for each in found}


@pytest.mark.parametrize(
    "junk",
    [
        b'Content-Type: x\r\n\r\n{"jsonrpc": "2.0", "id": 7, "method": "shutdown"}',  # without its length, and without a line break
        b"no header\r\n\r\n",
        b"Content-Length: 99999999999999\r\n\r\n",
        b"Content-Length: many\r\n\r\n",
        b"\0\xff\r\n",
    ],
)
def test_what_is_no_message_is_skipped(editor, junk):
    editor.process.stdin.write(junk)
    editor.open("train.yaml", TRAINER)
    assert editor.findings("train.yaml")


def test_a_header_in_other_letters_is_understood(editor):
    content = b'{"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": %s}'
    document = {"textDocument": {"uri": editor.uri("train.yaml"), "languageId": "yaml", "version": 1, "text": TRAINER}}
    content %= json.dumps(document).encode()
    editor.process.stdin.write(b"content-length: %d\n\n" % len(content) + content)
    editor.process.stdin.flush()
    assert editor.findings("train.yaml")


def test_trainer_file_while_it_is_typed(editor):
    editor.open("train.yaml", TRAINER.replace("deepspeed: ds.json\n", ""))
    found = editor.findings("train.yaml")
    rate = next(each for each in found if each["range"]["start"]["line"] == 1)
    typo = next(each for each in found if each["range"]["start"]["line"] == 3)
    assert rate["severity"] == 2  # this Trainer casts it, TRL's parser would not
    assert rate["range"] == {"start": {"line": 1, "character": 15}, "end": {"line": 1, "character": 19}}
    assert "`learning_rate`" in rate["message"]
    assert rate["codeDescription"]["href"].endswith(f"/pages/{rate['code']}.md")
    assert "typo of `warmup_steps`" in typo["message"]

    [action] = editor.actions("train.yaml", 1, "quickfix")
    [edit] = action["edit"]["changes"][editor.uri("train.yaml")]
    assert edit["newText"] == "2.0e-5"

    [all_of_them] = editor.actions("train.yaml", 0, "source.fixAll")
    [edit] = all_of_them["edit"]["changes"][editor.uri("train.yaml")]
    assert (edit["range"]["start"], edit["newText"]) == ({"line": 1, "character": 16}, ".0")  # nothing else is replaced

    page = editor.ask("textDocument/hover", editor.at("train.yaml", 1, 16))["contents"]["value"]
    assert rate["code"] in page
    assert "learning_rate" in page

    editor.change("train.yaml", "output_dir: out\nlearning_rate: 2.0e-5\nper_device_train_batch_size: 4\nwarmup_steps: 10\n")
    assert editor.findings("train.yaml") == []


def test_change_of_the_other_file(editor):
    """Neither file is on the disk, so only the unsaved texts count."""
    editor.open("ds.json", DEEPSPEED)
    editor.open("train.yaml", TRAINER.replace("2e-5", "2.0e-5").replace("warmpu_steps: 10\n", "gradient_accumulation_steps: 8\n"))
    assert editor.findings("train.yaml") == []
    lenses = editor.ask("textDocument/codeLens", {"textDocument": {"uri": editor.uri("train.yaml")}})
    assert [each["command"]["title"] for each in lenses] == ["global batch 256 on 8 GPUs: 4 x 8 x 8"]

    editor.change("ds.json", DEEPSPEED.replace('"gradient_accumulation_steps": "auto"', '"gradient_accumulation_steps": 2'))
    uri, [found] = editor.publication()
    assert uri == editor.uri("ds.json")
    assert "gradient_accumulation_steps" in found["message"]
    [related] = found["relatedInformation"]
    assert related["location"]["uri"] == editor.uri("train.yaml")
    assert editor.ask("textDocument/definition", editor.at("ds.json", 2, 6)) == [related["location"]]

    editor.change("train.yaml", TRAINER.replace("2e-5", "2.0e-5").replace("warmpu_steps: 10\n", "gradient_accumulation_steps: 2\n"))
    assert editor.publication() == (editor.uri("ds.json"), [])


def test_file_that_names_an_open_one_is_read_from_disk(editor, tmp_path):
    """A DeepSpeed file full of "auto" means something only with the trainer file next to it."""
    (tmp_path / "train.yaml").write_text(
        "output_dir: out\ndeepspeed: ds.json\nper_device_train_batch_size: 4\ngradient_accumulation_steps: 8\n"
    )
    editor.open("ds.json", DEEPSPEED)
    assert editor.findings("ds.json") == []
    found = editor.ask("textDocument/hover", editor.at("ds.json", 1, 5))["contents"]["value"]
    assert "**4** (auto: per_device_train_batch_size)" in found


def test_completion(editor):
    text = "output_dir: out\nlearning_rate: 1.0e-5\nper_device_train_batch_size: 4\n"
    editor.open("train.yaml", text)
    editor.findings("train.yaml")
    editor.change("train.yaml", text + "gradient_acc")
    keys = editor.ask("textDocument/completion", editor.at("train.yaml", 3, 12))
    wanted = next(each for each in keys if each["label"] == "gradient_accumulation_steps")
    assert wanted["textEdit"]["range"] == {"start": {"line": 3, "character": 0}, "end": {"line": 3, "character": 12}}
    editor.change("train.yaml", text + "lr_scheduler_type: co")
    values = editor.ask("textDocument/completion", editor.at("train.yaml", 3, 21))
    assert "cosine" in [each["label"] for each in values]


def test_columns_are_utf16(editor):
    editor.open("train.yaml", "output_dir: out\nper_device_train_batch_size: 4\nrun_name: '😀' \nlearning_rate: 2e-5\n")
    assert [each["range"]["start"] for each in editor.findings("train.yaml")] == [{"line": 3, "character": 15}]
    text = '{"tensorboard": {"job_name": "😀"}, "zero_optimization": {"stage": 2, "overlap_com": true}, "train_batch_size": 8}'
    editor.open("ds.json", text)
    [found] = [each for each in editor.findings("ds.json") if "overlap_com" in each["message"]]
    assert found["range"]["start"]["character"] == text.index('"overlap_com"') + 1  # the emoji is two units


def test_settings_count(editor, tmp_path):
    (tmp_path / "cfglint.toml").write_text('gpus = 8\nignore = ["TYP", "KEY"]\n')
    editor.open("train.yaml", TRAINER.replace("deepspeed: ds.json\n", ""))
    assert editor.findings("train.yaml") == []
    editor.open("cfglint.toml", "gpus = 8\n")
    assert len(editor.findings("train.yaml")) >= 2


def test_fix_all_leaves_what_the_configuration_ignores(editor, tmp_path):
    (tmp_path / "cfglint.toml").write_text('ignore = ["TYP200"]\n')
    editor.open("train.yaml", "output_dir: out\nlearning_rate: 2e-5\nper_device_train_batch_size: 4\nwarmpu_steps: 10\n")
    assert [each["code"] for each in editor.findings("train.yaml")] == ["KEY200"]
    assert editor.actions("train.yaml", 0, "source.fixAll") == []
    editor.open("cfglint.toml", "gpus = 8\n")
    assert [each["title"] for each in editor.actions("train.yaml", 0, "source.fixAll")] == ["Apply all safe fixes of cfglint"]


def test_excluded_files_and_kinds(editor, tmp_path):
    (tmp_path / "cfglint.toml").write_text('exclude = ["old"]\n[kinds]\n"conf/*.yaml" = "huggingface"\n')
    editor.open("conf/small.yaml", "learning_rate: 2e-5\n")
    [found] = editor.findings("conf/small.yaml")
    assert found["severity"] == 1  # the kind is declared: HfArgumentParser reads it
    editor.open("old/train.yaml", TRAINER)
    editor.change("conf/small.yaml", "learning_rate: 2.0e-5\n")
    assert editor.publication() == (editor.uri("conf/small.yaml"), [])


@pytest.mark.parametrize(
    ("name", "text", "typed", "key"),
    [
        ("grpo.yaml", GRPO, "num_it", "num_iterations"),
        ("lora.yaml", "stage: sft\nfinetuning_type: lora\ntemplate: qwen\ndataset: a\nmodel_name_or_path: m\n", "cutoff", "cutoff_len"),
        ("axolotl.yml", "base_model: m\ndatasets:\n  - path: a\n    type: alpaca\nmicro_batch_size: 1\n", "sample_pa", "sample_packing"),
    ],
)
def test_other_trainers(editor, name, text, typed, key):
    editor.open(name, text)
    editor.findings(name)
    editor.change(name, text + typed)
    lines = text.count("\n")
    keys = editor.ask("textDocument/completion", editor.at(name, lines, len(typed)))
    assert key in [each["label"] for each in keys]
    editor.change(name, text + f"{key}: 1\n")
    assert f"`{key}` (" in editor.ask("textDocument/hover", editor.at(name, lines, 1))["contents"]["value"]


SCRIPT = """#!/bin/bash
accelerate launch --num_processes 8 train.py \\
    --output_dir out --learning_rate 1e-5 --per_device_train_batch_size 4 \\
    --bf16 true --save_total_limit 2 --num_train_epochs 3 --warmup_steps 10 --warm
"""


def test_launch_script_and_the_file_that_it_names(editor):
    editor.open("train.sh", SCRIPT)
    editor.findings("train.sh")
    keys = editor.ask("textDocument/completion", editor.at("train.sh", 3, len(SCRIPT.splitlines()[3])))
    assert {"warmup_steps"} <= {each["label"] for each in keys if each["label"].startswith("warm")}
    for column in (21, 24):  # the first dash, and the name
        assert "`learning_rate` (" in editor.ask("textDocument/hover", editor.at("train.sh", 2, column))["contents"]["value"]

    editor.open("train.yaml", TRAINER.replace("2e-5", "2.0e-5"))
    editor.open("ds.json", DEEPSPEED)
    place = editor.ask("textDocument/definition", editor.at("train.yaml", 1, 14))
    assert [each["uri"] for each in place] == [editor.uri("ds.json")]


def test_a_large_file_is_left_out_with_a_message(editor):
    editor.open("data.json", '{"train_batch_size": 8, "notes": "' + "x" * 1_000_000 + '"}')
    while True:
        message = editor.messages.get(timeout=PATIENCE)
        if message.get("method") == "window/showMessage":
            break
    assert "data.json: not checked while it is open" in message["params"]["message"]


HOSTILE = {
    "pattern.sh": "Y=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\n[[ $Y =~ ^(a+)+$ ]] && X=1\n",
    "loops.sh": "for v in {1..10}; do " * 12 + "true" + "; done" * 12 + "\n",
    "sum.sh": "a0=1\n" + "".join(f"a{number}='a{number - 1}+a{number - 1}'\n" for number in range(1, 39)) + "X=$((a38))\n",
    "itself.sh": "source $0\n" * 2_000,
    "brackets.sh": "((a\n" * 50_000,
}


def test_requests_are_answered_while_scripts_are_open_that_take_long_to_evaluate(editor):
    line = "torchrun --nproc_per_node 8 train.py --per_device_train_batch_size 4 --learning_rate 1e-5\n"
    editor.open("train.yaml", TRAINER.replace("deepspeed: ds.json\n", ""))
    for name, text in HOSTILE.items():
        editor.open(name, text + line)
    hover = editor.ask("textDocument/hover", editor.at("train.yaml", 1, 4))
    assert "learning_rate" in hover["contents"]["value"]
    for name, text in HOSTILE.items():
        editor.change(name, text + "\n" + line)
    assert editor.ask("textDocument/definition", editor.at("train.yaml", 1, 4)) == []
    assert "learning_rate" in editor.ask("textDocument/hover", editor.at("train.yaml", 1, 4))["contents"]["value"]


PROGRAM = """import yaml
from transformers import Trainer, TrainingArguments
cfg = yaml.safe_load(open("own.yaml"))
args = TrainingArguments("out", per_device_train_batch_size=4, bf16=cfg["bf16"], fp16=True, evaluation_strategy="no")
Trainer(args=args).train()
"""


def test_a_program_while_it_is_typed(editor, tmp_path):
    (tmp_path / "cfglint.toml").write_text('gpus = 8\ntarget = { transformers = "5.23.0" }\n')
    (tmp_path / "own.yaml").write_text("bf16: true\n")
    editor.open("train.py", PROGRAM)
    found = editor.findings("train.py")
    assert {each["code"] for each in found} == {"KEY202", "PRC200"}
    [action] = editor.actions("train.py", 3, "quickfix")
    [edit] = action["edit"]["changes"][editor.uri("train.py")]
    assert (edit["newText"], edit["range"]["start"]) == (
        "eval_strategy",
        {"line": 3, "character": PROGRAM.splitlines()[3].index("evaluation")},
    )
    lenses = editor.ask("textDocument/codeLens", {"textDocument": {"uri": editor.uri("train.py")}})
    assert [each["command"]["title"] for each in lenses] == ["global batch 32 on 8 GPUs: 4 x 1 x 8"]
    assert "**4**" in editor.ask("textDocument/hover", editor.at("train.py", 3, 35))["contents"]["value"]
    assert editor.ask("textDocument/completion", editor.at("train.py", 3, 35)) == []
    editor.open("own.yaml", "bf16: false\n")
    assert [each["code"] for each in editor.findings("train.py")] == ["KEY202"]


def test_a_program_that_trains_nothing(editor):
    editor.open("other.py", "print(1)\n")
    editor.open("train.py", PROGRAM.replace('cfg["bf16"]', "True"))
    assert {each["code"] for each in editor.findings("train.py")} == {"KEY202", "PRC200"}


def test_cells_of_a_notebook(editor):
    """The findings, edits and lenses of a notebook are those of its cells, at their lines."""
    cells = [editor.uri("t.ipynb") + f"#{number}" for number in range(3)]
    texts = [
        "# Train",
        "from transformers import TrainingArguments\n",
        'size = 4\nargs = TrainingArguments("é",\n  evaluation_strategy="no", output="x", deepspeed={"gradient_clipping": 2})\n',
    ]
    items = [{"uri": uri, "languageId": "python", "version": 1, "text": text} for uri, text in zip(cells, texts, strict=True)]
    kinds = [{"kind": 1 + bool(number), "document": uri} for number, uri in enumerate(cells)]
    notebook = {"uri": editor.uri("t.ipynb"), "notebookType": "jupyter-notebook", "version": 1, "cells": kinds}
    editor.tell("notebookDocument/didOpen", {"notebookDocument": notebook, "cellTextDocuments": items})
    found = dict(editor.publication() for _ in cells)
    assert [found[uri] for uri in cells[:2]] == [[], []]
    removed = next(each for each in found[cells[2]] if "evaluation_strategy" in each["message"])
    assert removed["range"] == {"start": {"line": 2, "character": 2}, "end": {"line": 2, "character": 21}}

    place = {"start": {"line": 2, "character": 0}, "end": {"line": 2, "character": 9}}
    asked = {"textDocument": {"uri": cells[2]}, "range": place, "context": {"diagnostics": [], "only": ["quickfix"]}}
    edits = [each["edit"]["changes"] for each in editor.ask("textDocument/codeAction", asked)]
    assert {cells[2]: [{"range": removed["range"], "newText": "eval_strategy"}]} in edits
    assert '"auto"' in [each["newText"] for edit in edits for each in edit[cells[2]]]  # without the escapes of the notebook's JSON
    position = {"line": 2, "character": 4}
    assert (
        removed["code"] in editor.ask("textDocument/hover", {"textDocument": {"uri": cells[2]}, "position": position})["contents"]["value"]
    )

    change = {
        "cells": {"textContent": [{"document": {"uri": cells[2], "version": 2}, "changes": [{"text": 'args = TrainingArguments("o")\n'}]}]}
    }
    editor.tell("notebookDocument/didChange", {"notebookDocument": {"uri": editor.uri("t.ipynb"), "version": 2}, "change": change})
    assert editor.publication() == (cells[2], [])
