"""`cfglint server` as an editor sees it: a process, and the Language Server Protocol over its standard input and output."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading

import pytest

pytest.importorskip("pygls")
pytestmark = pytest.mark.slow  # each test starts a server

TRAINER = "output_dir: out\ndeepspeed: ds.json\nlearning_rate: 2e-5\nper_device_train_batch_size: 4\nwarmpu_steps: 10\n"
DEEPSPEED = (
    '{\n  "train_micro_batch_size_per_gpu": "auto",\n  "gradient_accumulation_steps": "auto",\n  "zero_optimization": {"stage": 2}\n}\n'
)
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


def test_trainer_file_while_it_is_typed(editor):
    editor.open("train.yaml", TRAINER.replace("deepspeed: ds.json\n", ""))
    found = editor.findings("train.yaml")
    rate = next(each for each in found if each["range"]["start"]["line"] == 1)
    typo = next(each for each in found if each["range"]["start"]["line"] == 3)
    assert rate["severity"] == 2  # this Trainer casts it, TRL's parser would not
    assert rate["range"] == {"start": {"line": 1, "character": 15}, "end": {"line": 1, "character": 19}}
    assert "`learning_rate`" in rate["message"]
    assert rate["codeDescription"]["href"].endswith(f"/docs/rules.md#{rate['code'].lower()}")
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
