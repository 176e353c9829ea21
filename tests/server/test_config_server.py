"""What the server of an editor computes from open files, without the process and the protocol around it."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("pygls")
from lsprotocol import types
from pygls.workspace import Workspace

from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.server.language_server import ConfigServer

TRAINER = "output_dir: out\ndeepspeed: ds.json\nlearning_rate: 2e-5\nper_device_train_batch_size: 4\nevaluation_strategy: epoch\n"
ENGINE = '{\n  "train_micro_batch_size_per_gpu": "auto",\n  "zero_optimization": {"stage": 2}\n}\n'
CELLS = ("# Train\n", "from transformers import TrainingArguments\n", 'n = 4\nargs = TrainingArguments("é",\n  evaluation_strategy="no")\n')
HERE = types.Position(2, 18)


class Opened:
    """A server with open files, and what it has sent to the editor."""

    def __init__(self, folder):
        self.folder, self.sent, self.said = folder, {}, []
        facts = LaunchFacts(gpus=8, target={"transformers": "5.23.0"})
        self.server = server = ConfigServer(lambda project, declared: facts, None)
        server.protocol._workspace = Workspace(folder.as_uri(), types.TextDocumentSyncKind.Incremental)
        server.text_document_publish_diagnostics = lambda each: self.sent.update({self.name(each.uri): each.diagnostics})
        server.window_show_message = lambda each: self.said.append(each.message)

    def uri(self, name):
        return f"{self.folder.as_uri()}/{name}"

    def name(self, uri):
        return uri.rpartition("/")[2]

    def checked(self, work, *arguments):
        """Do something that schedules a check, and check at once."""

        async def done():
            work(*arguments)
            self.server.check_now()

        self.sent.clear()
        asyncio.run(done())

    def open(self, **texts):
        for name, text in texts.items():
            uri = self.uri(name.replace("__", "."))
            self.server.workspace.put_text_document(types.TextDocumentItem(uri, "yaml", 1, text))
            self.checked(self.server.take, uri, True)

    def open_notebook(self, name, texts):
        cells = [types.TextDocumentItem(f"{self.uri(name)}#{number}", "python", 1, text) for number, text in enumerate(texts)]
        kinds = [types.NotebookCell(types.NotebookCellKind(1 + bool(number)), each.uri) for number, each in enumerate(cells)]
        notebook = types.NotebookDocument(self.uri(name), "jupyter-notebook", 1, kinds)
        self.server.workspace.put_notebook_document(types.DidOpenNotebookDocumentParams(notebook, cells))
        self.checked(self.server.take_notebook, self.uri(name))

    def findings(self):
        """`CODE line:column-line:column` by the name of the file."""
        return {name: [f"{each.code} {shown(each.range)}" for each in found] for name, found in self.sent.items() if found}

    def actions(self, name, line, only=None):
        """(title, the edits by file) of the actions at a line."""
        asked = types.Range(types.Position(line, 0), types.Position(line, 3))
        for each in self.server.actions(self.uri(name), asked, only):
            changes = {self.name(uri): [(shown(edit.range), edit.new_text) for edit in edits] for uri, edits in each.edit.changes.items()}
            yield each.title, changes


def shown(span):
    return f"{span.start.line}:{span.start.character}-{span.end.line}:{span.end.character}"


@pytest.fixture
def opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    return Opened(tmp_path)


def test_findings_are_those_of_the_open_contents_at_their_places(opened):
    opened.open(ds__json=ENGINE, train__yaml=TRAINER)
    assert opened.findings() == {"train.yaml": ["TYP200 2:15-2:19", "KEY202 4:0-4:19"]}
    [rate, _] = opened.sent["train.yaml"]
    assert (rate.severity, rate.source) == (types.DiagnosticSeverity.Warning, "cfglint")  # another program may convert it
    raised = "raises TypeError: '<=' not supported between instances of 'float' and 'str'"
    assert rate.message.endswith(f"\n{raised}\nwhether this fails (TypeError) depends on the parser of the file (`--kind` names it)")
    opened.open(train__yaml=TRAINER.replace("2e-5", "2.0e-5"))
    assert opened.findings() == {"train.yaml": ["KEY202 4:0-4:19"]}
    opened.checked(opened.server.drop, opened.uri("train.yaml"))
    assert opened.sent["train.yaml"] == []


def test_the_actions_at_a_line(opened):
    opened.open(ds__json=ENGINE, train__yaml=TRAINER)
    quick = ("rename to eval_strategy [KEY202]", {"train.yaml": [("4:0-4:19", "eval_strategy")]})
    found = [*opened.actions("train.yaml", 4)]
    assert found[0] == quick
    assert found[1:] == [*opened.actions("train.yaml", 0)]  # all safe fixes, wherever the cursor is
    [(title, changes)] = found[1:]
    assert title == "Apply all safe fixes of cfglint"
    assert [text for _, text in changes["train.yaml"]] == [".0e-5\nper_device_train_batch_size: 4\neval"]
    assert [*opened.actions("train.yaml", 4, [types.CodeActionKind.QuickFix])] == [quick]
    assert [*opened.actions("train.yaml", 4, ["refactor"])] == []
    assert [*opened.actions("other.yaml", 4)] == []


def test_what_is_shown_at_a_cursor(opened):
    server = opened.server
    opened.open(ds__json=ENGINE, train__yaml=TRAINER)
    hover = server.hover(opened.uri("train.yaml"), HERE)
    assert "TYP200" in hover.contents.value
    assert shown(hover.range) == "2:15-2:19"
    assert server.hover(opened.uri("train.yaml"), types.Position(9, 0)) is None
    [place] = server.definitions(opened.uri("train.yaml"), types.Position(1, 13))
    assert (opened.name(place.uri), shown(place.range)) == ("ds.json", "0:0-0:0")
    [place] = server.definitions(opened.uri("ds.json"), types.Position(1, 40))
    assert (opened.name(place.uri), shown(place.range)) == ("train.yaml", "3:0-3:30")
    assert server.definitions(opened.uri("train.yaml"), HERE) == []
    [lens] = server.lenses(opened.uri("train.yaml"))
    assert (lens.range.start.line, lens.command.title) == (3, "global batch 32 on 8 GPUs: 4 x 1 x 8")
    assert server.lenses(opened.uri("ds.json")) == []


def test_completions_replace_what_is_typed(opened):
    opened.open(train__yaml="output_dir: out\nper_device_train_batch_size: 4\nlearning_r\n")
    found = {each.label: each for each in opened.server.complete(opened.uri("train.yaml"), types.Position(2, 10))}
    edit = found["learning_rate"].text_edit
    assert (shown(edit.range), edit.new_text, found["learning_rate"].kind) == (
        "2:0-2:10",
        "learning_rate",
        types.CompletionItemKind.Property,
    )
    assert opened.server.complete(opened.uri("train.py"), types.Position(0, 0)) == []


def test_cells_of_a_notebook(opened):
    opened.open_notebook("t.ipynb", CELLS)
    assert "KEY202 2:2-2:21" in opened.findings()["t.ipynb#2"]
    assert opened.sent["t.ipynb#0"] == opened.sent["t.ipynb#1"] == []
    titles = dict(opened.actions("t.ipynb#2", 2, [types.CodeActionKind.QuickFix]))
    assert titles["rename to eval_strategy [KEY202]"] == {"t.ipynb#2": [("2:2-2:21", "eval_strategy")]}
    assert dict(opened.actions("t.ipynb#1", 0, [types.CodeActionKind.QuickFix])) == {}
    hover = opened.server.hover(opened.uri("t.ipynb#2"), types.Position(2, 4))
    assert "KEY202" in hover.contents.value
    assert shown(hover.range) == "2:2-2:21"
    assert opened.server.hover(opened.uri("t.ipynb#1"), types.Position(0, 4)) is None
    assert [opened.name(place.uri) for place in opened.server.definitions(opened.uri("t.ipynb#0"), types.Position(0, 0))] == []
    opened.checked(opened.server.drop, opened.uri("t.ipynb"))
    assert {name: found for name, found in opened.sent.items() if found} == {}


def test_problems_are_said_once(opened):
    (opened.folder / "cfglint.toml").write_text("gpuz = 8\n")
    opened.open(train__yaml=TRAINER)
    opened.open(train__yaml=TRAINER)
    large = '{"train_batch_size": 8, "notes": "' + "x" * 1_000_000 + '"}'
    opened.open(data__json=large)
    assert [each.partition(";")[0] for each in opened.said] == [
        "cfglint: cfglint.toml: unknown key `gpuz`",
        "cfglint: data.json: not checked while it is open: larger than 1,000,000 characters (`cfglint check` reads it)",
    ]


def test_a_bug_is_reported_and_the_files_are_checked_again(opened, monkeypatch):
    opened.open(train__yaml=TRAINER)
    monkeypatch.setattr(opened.server.files, "check", lambda changed: 1 / 0)
    opened.open(train__yaml=TRAINER)
    monkeypatch.undo()
    assert opened.said == [
        "cfglint: internal error: ZeroDivisionError: division by zero. This is a bug in cfglint; please report it with the files."
    ]
    assert opened.server.changed is None  # whatever has changed since
