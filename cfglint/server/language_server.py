"""The Language Server Protocol around `open_files` and `answers`, with pygls."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import time

from lsprotocol import types
from pygls import uris
from pygls.lsp.server import LanguageServer

from cfglint.findings import diagnostic as findings
from cfglint.findings.diagnostic import Diagnostic, Fix
from cfglint.report.details import depending
from cfglint.report.links import PAGES, page_of
from cfglint.rewrite.apply_fixes import apply_fixes
from cfglint.rules.catalogue import every_rule
from cfglint.run.checked import CheckedRun
from cfglint.run.paths import is_program, is_script
from cfglint.server import answers
from cfglint.server.open_files import LARGEST, SETTINGS_FILES, Facts, OpenFiles
from cfglint.server.positions import Lines, NotebookCells
from cfglint.source.annotations import Any, BinaryFile, Callable, Syntax
from cfglint.source.document import Document, Part
from cfglint.source.files import FileProblem, syntax_by_name
from cfglint.source.python.literals import unescaped
from cfglint.version import __version__

SHORTEST_DELAY, LONGEST_DELAY = 0.02, 1.0  # seconds without a key press before the files are checked again
CHECKS = 2  # the delay is this many times the duration of a check, so that slow checks run less often
SEVERITIES = {
    findings.ERROR: types.DiagnosticSeverity.Error,
    findings.WARNING: types.DiagnosticSeverity.Warning,
    findings.INFO: types.DiagnosticSeverity.Information,
}
COLLECTOR = (700, 10, 10)  # Python's default thresholds: the command line raises them for short processes
FIX_ALL = types.CodeActionKind.SourceFixAll
LENGTH = b"Content-Length:"
MOST = 100_000_000  # bytes of one message
LONGEST_LINE = 1_000_000  # bytes that are searched for a header at once
NOTEBOOKS = types.NotebookDocumentSyncOptions([types.NotebookDocumentFilterWithNotebook("jupyter-notebook")])


class Messages:
    """A stream of messages, as pygls reads it: the lines of the headers, then as many bytes as the header says.

    A message without the header of its length cannot be told from the next header, which follows on the same line.
    """

    def __init__(self, stream: BinaryFile) -> None:
        self.stream = stream
        self.is_reported = False

    def readline(self) -> bytes:
        """The next line of headers, in the spelling that pygls knows; an unknown one stays as it is, and is ignored there."""
        line = self.stream.readline(LONGEST_LINE)
        name, mark, value = line.partition(b":")
        before, found, length = line.rpartition(LENGTH) if LENGTH in line else (b"", name.title() + mark == LENGTH, value)
        if not found:
            if line.strip() and not mark:
                self.report("a line that is no header")
            return line
        if before:
            self.report("a message without its length")
        if not length.strip().isdigit() or int(length) > MOST:
            self.report("a message of unknown length")
            return b"\n"
        return b"%s %d\r\n" % (LENGTH, int(length))

    def read(self, size: int) -> bytes:
        return self.stream.read(size)

    def report(self, what: str) -> None:
        """Say once on standard error what was skipped."""
        if not self.is_reported:
            self.is_reported = True
            print(f"cfglint: the editor sent {what}; it was skipped", file=sys.stderr, flush=True)


class ConfigServer(LanguageServer):
    """The server of one editor. Paths inside the editor's folder are relative to it, as in messages."""

    def __init__(self, facts: Facts, config: str | None) -> None:
        super().__init__("cfglint", __version__, types.TextDocumentSyncKind.Incremental, NOTEBOOKS)
        self.files = OpenFiles(facts, config)
        self.found: dict[str, list[Diagnostic]] = {}
        self.shown: dict[str, list[types.Diagnostic]] = {}  # the diagnostics that the editor shows, by URI
        self.waiting: asyncio.TimerHandle | None = None
        self.changed: set[str] | None = set()  # real paths of the files whose text has changed; None when anything may have
        self.delay = SHORTEST_DELAY
        self.reported: set[str] = set()  # problems that were already shown
        self.lines: dict[str, Lines] = {}
        self.notebooks: dict[str, NotebookCells] = {}  # by real path
        self.was_shut_down = False

    # Files

    def path_of(self, uri: str) -> str | None:
        """The path of a URI, relative to the working directory if it is inside, or of the notebook of a cell; None if it is not a file."""
        notebook = self.workspace.get_notebook_document(cell_uri=uri)
        uri = notebook.uri if notebook is not None else uri
        path = uris.to_fs_path(uri) if uri.startswith("file:") else None
        if path is None:
            return None
        here = os.getcwd()
        return os.path.relpath(path, here) if path.startswith(here + os.sep) else path

    def uri_of(self, path: str) -> str:
        """The URI of a path, as the editor spelled it if the file is open."""
        path = self.files.buffers.names.get(self.files.buffers.identity(path), path)
        return uris.from_fs_path(os.path.abspath(path)) or ""

    def lines_of(self, path: str) -> Lines:
        if path not in self.lines:
            try:
                text = self.files.buffers.read(path)[0]
            except FileProblem as problem:
                text = problem.text
            self.lines[path] = self.lines_in(text)
        return self.lines[path]

    def lines_in(self, text: str) -> Lines:
        """The lines of a content, with positions as the editor counts them."""
        return Lines(text, str(getattr(self.workspace.position_encoding, "value", self.workspace.position_encoding)))

    def cells_of(self, path: str) -> NotebookCells | None:
        """The cells of a notebook that the editor shows as such; None for another file."""
        return self.notebooks.get(self.files.buffers.identity(path))

    def take(self, uri: str, is_new: bool) -> None:
        """Store the content of an open file from the editor, and schedule a check."""
        path = self.path_of(uri)
        if path is not None:
            self.files.buffers.put(path, self.workspace.get_text_document(uri).source)
            self.check_soon(None if is_new or os.path.basename(path) in SETTINGS_FILES else self.files.buffers.identity(path))

    def take_notebook(self, uri: str) -> None:
        """Store the cells of an open notebook, and schedule a check."""
        path, notebook = self.path_of(uri), self.workspace.get_notebook_document(notebook_uri=uri)
        if path is not None and notebook is not None:
            document = self.workspace.get_text_document
            cells = [(cell.document, document(cell.document).source, cell.kind == types.NotebookCellKind.Code) for cell in notebook.cells]
            content = self.notebooks[self.files.buffers.identity(path)] = NotebookCells(cells)
            self.files.buffers.put(path, content.text)
            self.check_soon(None)

    def drop(self, uri: str) -> None:
        """Forget a file that was closed, with its findings."""
        path = self.path_of(uri)
        if path is not None:
            self.notebooks.pop(self.files.buffers.identity(path), None)
            self.files.buffers.drop(path)
            self.check_soon(None)

    def check_soon(self, changed: str | None) -> None:
        """Check after a moment without typing; `changed` is the real path of the changed file, None for any file."""
        if changed is None or self.changed is None:
            self.changed = None
        else:
            self.changed.add(changed)
        if self.waiting is not None:
            self.waiting.cancel()
        self.waiting = asyncio.get_running_loop().call_later(self.delay, self.check)

    def check_now(self) -> None:
        """Check the changes since the last check, so that an answer refers to the current contents."""
        if self.waiting is not None:
            self.check()

    def check(self) -> None:
        """Check the runs of the open files and send the changed findings to the editor."""
        if self.waiting is not None:
            self.waiting.cancel()
            self.waiting = None
        changed, self.changed = self.changed, set()
        self.lines.clear()
        began = time.monotonic()
        try:
            self.found = self.files.check(changed)
            self.publish()
        except Exception as error:
            self.changed = None
            self.report([f"internal error: {type(error).__name__}: {error}. This is a bug in cfglint; please report it with the files."])
            return
        why = f"not checked while it is open: larger than {LARGEST:,} characters (`cfglint check` reads it)"
        self.report([*self.files.problems, *(f"{path}: {why}" for path in self.files.too_large())])
        self.delay = min(LONGEST_DELAY, max(SHORTEST_DELAY, CHECKS * (time.monotonic() - began)))

    def publish(self) -> None:
        """Send the findings of the files for which they have changed."""
        by_uri: dict[str, list[types.Diagnostic]] = {}
        for path, diagnostics in self.found.items():
            cells = self.cells_of(path)
            by_uri.update((uri, []) for uri in (cells.contents if cells is not None else [self.uri_of(path)]))
            for diagnostic in diagnostics:
                uri = self.location(diagnostic.place.file, diagnostic.place.start, diagnostic.place.end).uri
                by_uri.setdefault(uri, []).append(self.diagnostic(diagnostic))
        for uri in sorted(self.shown.keys() - by_uri.keys()):
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))
        opened = self.workspace.text_documents
        for uri, each in by_uri.items():
            if self.shown.get(uri) != each:
                version = opened[uri].version if uri in opened else None
                self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, each, version))
        self.shown = by_uri

    def report(self, problems: list[str]) -> None:
        """Show the reasons why files are not checked, once."""
        for problem in problems:
            if problem not in self.reported:
                self.window_show_message(types.ShowMessageParams(types.MessageType.Warning, f"cfglint: {problem}"))
        self.reported = set(problems)

    # Values of the protocol

    def location(self, path: str, start: int, end: int) -> types.Location:
        """A span of a file, or of the cell that it begins in."""
        uri, lines, cells = self.uri_of(path), self.lines_of(path), self.cells_of(path)
        if cells is not None and cells.contents:
            (uri, start), (other, end) = cells.place(start), cells.place(end)
            content = cells.contents[uri]
            lines, end = self.lines_in(content), end if other == uri else len(content)
        return types.Location(uri, types.Range(types.Position(*lines.position(start)), types.Position(*lines.position(end))))

    def offset(self, path: str, uri: str, position: types.Position) -> int:
        cells = self.cells_of(path)
        if cells is None:
            return self.lines_of(path).offset(position.line, position.character)
        return cells.offset(uri, self.lines_in(cells.contents[uri]).offset(position.line, position.character))

    def diagnostic(self, each: Diagnostic) -> types.Diagnostic:
        raised = f"raises {each.exception}" if each.exception else None
        remedy = f"help: {each.help}" if each.help else None
        return types.Diagnostic(
            range=self.location(each.place.file, each.place.start, each.place.end).range,
            message="\n".join(text for text in (each.message, raised, each.note, depending(each), remedy) if text),
            severity=SEVERITIES[each.severity],
            code=each.code,
            code_description=page_link(each),
            source="cfglint",
            related_information=[
                types.DiagnosticRelatedInformation(self.location(place.file, place.start, place.end), text) for place, text in each.related
            ],
        )

    def edit(self, fix: Fix) -> types.WorkspaceEdit:
        changes: dict[str, list[types.TextEdit]] = {}
        for each in fix.edits:
            place = self.location(each.file, each.start, each.end)
            text = each.text if self.cells_of(each.file) is None else unescaped(each.text)
            changes.setdefault(place.uri, []).append(types.TextEdit(place.range, text))
        return types.WorkspaceEdit(changes)

    def replacements(self, path: str, text: str) -> dict[str, list[types.TextEdit]]:
        """The edits that turn a file's content into another, by URI: that of the file, or those of its cells."""
        cells = self.cells_of(path)
        if cells is None:
            return {self.uri_of(path): [replacement(self.lines_of(path), text)]}
        return {uri: [replacement(self.lines_in(cells.contents[uri]), each)] for uri, each in cells.changed(text).items()}

    # Requests

    def actions(self, uri: str, asked: types.Range, only: list[str] | None) -> list[types.CodeAction]:
        """The fixes of the findings in a range, and all safe fixes of the runs of the file."""
        self.check_now()
        path = self.path_of(uri)
        if path is None:
            return []
        identity = self.files.buffers.identity(path)
        named = [name for name in self.found if self.files.buffers.identity(name) == identity]
        found: list[types.CodeAction] = []
        for finding in (finding for name in named for finding in self.found[name]):
            if finding.fix is None or not wants(only, types.CodeActionKind.QuickFix):
                continue
            place = self.location(finding.place.file, finding.place.start, finding.place.end)
            # In a line of both: the cursor may be on the value of a key that a finding marks.
            shares_line = place.range.start.line <= asked.end.line and asked.start.line <= place.range.end.line
            if shares_line and (self.cells_of(path) is None or place.uri == uri):
                title = finding.fix.title if finding.fix.safe else f"{finding.fix.title} (changes what the run computes)"
                edit, shown = self.edit(finding.fix), [self.diagnostic(finding)]
                found.append(
                    types.CodeAction(f"{title} [{finding.code}]", types.CodeActionKind.QuickFix, shown, finding.fix.safe, edit=edit)
                )
        for run, _, _ in self.files.runs_of(path) if wants(only, FIX_ALL) else ():
            if all(diagnostic.fix is None or diagnostic.suppressed or not diagnostic.fix.safe for diagnostic in run.diagnostics):
                continue
            done = apply_fixes(run, suppress=lambda after: self.files.suppress(path, after))
            if done.texts:
                changes = {uri: edits for name, text in done.texts.items() for uri, edits in self.replacements(name, text).items()}
                found.append(types.CodeAction("Apply all safe fixes of cfglint", FIX_ALL, edit=types.WorkspaceEdit(changes)))
                break
        return found

    def runs_of(self, uri: str) -> list[tuple[CheckedRun, Document, str]]:
        self.check_now()
        path = self.path_of(uri)
        return self.files.runs_of(path) if path is not None else []

    def hover(self, uri: str, position: types.Position) -> types.Hover | None:
        for run, document, kind in self.runs_of(uri):
            found = answers.hover(run, document, kind, self.offset(document.path, uri, position))
            if found is not None:
                text, start, end = found
                return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text), self.location(document.path, start, end).range)
        return None

    def definitions(self, uri: str, position: types.Position) -> list[types.Location]:
        """The places that a key or value depends on, in the first run of the file that has any."""
        for run, document, _ in self.runs_of(uri):
            found = answers.definitions(run, document, self.offset(document.path, uri, position))
            if found:
                return [self.location(*place) for place in found]
        return []

    def complete(self, uri: str, position: types.Position) -> list[types.CompletionItem]:
        """Keys and values at the cursor, for the current or last known kind of the file."""
        path = self.path_of(uri)
        if path is None or is_program(path):
            return []
        self.lines.pop(path, None)
        lines = self.lines_of(path)
        offset = lines.offset(position.line, position.character)
        run, kind = self.run_at(path, offset)
        syntax: Syntax = "shell" if is_script(path) else syntax_by_name(path)
        return [
            types.CompletionItem(
                completion.label,
                kind=types.CompletionItemKind.Property if completion.is_key else types.CompletionItemKind.Value,
                detail=completion.detail,
                documentation=completion.documentation or None,
                filter_text=completion.text,
                text_edit=types.TextEdit(self.location(path, completion.start, offset).range, completion.text),
            )
            for completion in answers.completions(run, lines.text, kind, syntax, offset)
        ]

    def run_at(self, path: str, offset: int) -> tuple[CheckedRun | None, str]:
        """The run at an offset of a file, and the kind of the key or value there; empty if it is unknown."""
        runs = self.files.runs_of(path)
        for run, document, kind in runs:
            if not document.is_command or not isinstance(document, Part):
                return run, kind
            if document.extent[0] <= offset <= document.extent[1] + 1 and run.launch.is_main:
                return run, run.launch.consumer
        return None, "" if runs or is_script(path) else self.files.kinds.get(self.files.buffers.identity(path), "")

    def lenses(self, uri: str) -> list[types.CodeLens]:
        """The global batch above the batch keys, one line for each run of the file."""
        found: dict[str, types.CodeLens] = {}
        for run, document, _ in self.runs_of(uri):
            lens = answers.batch_lens(run, document)
            place = self.location(document.path, lens[0], lens[0]) if lens is not None else None
            if lens is not None and place is not None and (self.cells_of(document.path) is None or place.uri == uri):
                found.setdefault(f"{place.range.start.line} {lens[1]}", types.CodeLens(place.range, types.Command(lens[1], "")))
        return list(found.values())


def replacement(lines: Lines, text: str) -> types.TextEdit:
    """The shortest single edit that turns a content into another."""
    before = lines.text
    start = 0
    while start < min(len(before), len(text)) and before[start] == text[start]:
        start += 1
    tail = 0
    while tail < min(len(before), len(text)) - start and before[-1 - tail] == text[-1 - tail]:
        tail += 1
    first, last = lines.position(start), lines.position(len(before) - tail)
    return types.TextEdit(types.Range(types.Position(*first), types.Position(*last)), text[start : len(text) - tail])


def page_link(found: Diagnostic) -> types.CodeDescription | None:
    """The page of a rule: at its address, else in the clone that cfglint runs in, else None."""
    address = page_of(found)
    if address:
        return types.CodeDescription(address)
    clone = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    page = os.path.join(clone, PAGES, f"{found.code}.md")
    return types.CodeDescription(uris.from_fs_path(page) or "") if os.path.isfile(page) else None


def wants(only: list[str] | None, kind: str) -> bool:
    """Whether an editor requests a kind of actions: kinds are prefixes, `source` of `source.fixAll`."""
    return only is None or any(kind == each or kind.startswith(f"{each}.") for each in only)


def created(facts: Facts, config: str | None = None) -> ConfigServer:
    """A server with the notifications and requests of an editor registered."""
    server = ConfigServer(facts, config)

    def initialized(_: types.InitializedParams) -> None:
        root = server.workspace.root_path
        if root and os.path.isdir(root):
            os.chdir(root)
        asyncio.get_running_loop().call_soon(every_rule)  # imported before the first file is checked

    def shut_down(_: None) -> None:
        server.was_shut_down = True

    def code_actions(params: types.CodeActionParams) -> list[types.CodeAction]:
        only = [str(getattr(kind, "value", kind)) for kind in params.context.only] if params.context.only else None
        return server.actions(params.text_document.uri, params.range, only)

    handlers: dict[str, Callable[[Any], object]] = {
        types.INITIALIZED: initialized,
        types.SHUTDOWN: shut_down,
        types.TEXT_DOCUMENT_DID_OPEN: lambda params: server.take(params.text_document.uri, True),
        types.TEXT_DOCUMENT_DID_CHANGE: lambda params: server.take(params.text_document.uri, False),
        types.TEXT_DOCUMENT_DID_CLOSE: lambda params: server.drop(params.text_document.uri),
        types.TEXT_DOCUMENT_DID_SAVE: lambda _: server.check_soon(None),
        types.WORKSPACE_DID_CHANGE_WATCHED_FILES: lambda _: server.check_soon(None),
        types.NOTEBOOK_DOCUMENT_DID_OPEN: lambda params: server.take_notebook(params.notebook_document.uri),
        types.NOTEBOOK_DOCUMENT_DID_CHANGE: lambda params: server.take_notebook(params.notebook_document.uri),
        types.NOTEBOOK_DOCUMENT_DID_CLOSE: lambda params: server.drop(params.notebook_document.uri),
        types.TEXT_DOCUMENT_CODE_ACTION: code_actions,
        types.TEXT_DOCUMENT_HOVER: lambda params: server.hover(params.text_document.uri, params.position),
        types.TEXT_DOCUMENT_DEFINITION: lambda params: server.definitions(params.text_document.uri, params.position),
        types.TEXT_DOCUMENT_COMPLETION: lambda params: server.complete(params.text_document.uri, params.position),
        types.TEXT_DOCUMENT_CODE_LENS: lambda params: server.lenses(params.text_document.uri),
    }
    options = {
        types.TEXT_DOCUMENT_CODE_ACTION: types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix, FIX_ALL]),
        types.TEXT_DOCUMENT_COMPLETION: types.CompletionOptions(trigger_characters=['"', ":", " ", "-"]),
    }
    for name, handler in handlers.items():
        server.feature(name, options.get(name))(handler)
    return server


def serve(facts: Facts, config: str | None = None) -> int:
    """Serve one editor over standard input and output, all other output to standard error; return the status that its protocol requires."""
    gc.set_threshold(*COLLECTOR)
    server = created(facts, config)
    with os.fdopen(os.dup(sys.stdin.fileno()), "rb") as incoming, os.fdopen(os.dup(sys.stdout.fileno()), "wb") as outgoing:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        server.start_io(Messages(incoming), outgoing)  # type: ignore[arg-type]  # pygls calls `readline` and `read`
    return 0 if server.was_shut_down else 1
