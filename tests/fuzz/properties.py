"""What has to hold for any case: each property runs cfglint on it and raises Broken where it does not."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import os
import re
import shutil
import signal
import sys
import traceback
from decimal import Decimal
from xml.etree import ElementTree

import hjson
import yaml
from mutators import read, syntax_of
from styles import Unspeakable, write

from cfglint.cli import fix as fix_command
from cfglint.cli import main
from cfglint.cli.argument_parser import Parser
from cfglint.cli.asked_runs import runs_of
from cfglint.cli.options import UsageError
from cfglint.project.settings_file import Configuration
from cfglint.report import FORMATS
from cfglint.rewrite.apply_fixes import apply_fixes
from cfglint.run.paths import ScanStats, UnknownKindError
from cfglint.source import edit
from cfglint.source.change import DELETE, INSERT, RENAME, REPLACE, EditRefused
from cfglint.source.document import MAPPING

SECONDS = 10  # of one command on a small file: far more than any needs
MOST_NODES = 5000  # of a tree that is compared node by node
# Findings that speak of how a thing is written, so that they go or come with the manner.
OF_SPELLING = re.compile(r"SRC\d+|SUP\d+|TYP00\d|TYP303|KEY001")
# The syntax that a kind is read in, whatever the file's name says.
SYNTAX = {"deepspeed": "json", "neox": "yaml", "accelerate": "yaml", "axolotl": "yaml"}
EXPLAINED = ("text", "json", "html")
PLANNED = ("text", "json", "markdown", "csv", "html")


class Broken(Exception):
    """A property that does not hold. `about` tells this failure from others of the property."""

    def __init__(self, name, about, detail):
        super().__init__(f"{name}: {about}\n{detail}")
        self.name = name
        self.about = about
        self.detail = detail

    @property
    def signature(self):
        """The same for failures that are likely one."""
        return f"{self.name}: {self.about}"


class Hang(BaseException):
    """A command took too long; no handler of cfglint's takes it."""


class Answer:
    """What a command printed, and its exit status."""

    def __init__(self, status, out, err):
        self.status = status
        self.out = out
        self.err = err

    @property
    def told(self):
        """Standard output as JSON."""
        return json.loads(self.out)

    @property
    def runs(self):
        """The runs of `check --format json`, each with the findings in its files."""
        if not self.out:
            return []
        told = self.told
        for run in told["runs"]:
            run["diagnostics"] = []
        for each in told["diagnostics"]:
            next(run for run in told["runs"] if each["file"] in run["files"])["diagnostics"].append(each)
        return told["runs"]


class Bench:
    """A folder where cases are laid out and commands are run, in this process."""

    def __init__(self, folder):
        self.folder = folder
        self.commands = 0
        self.codes = set()
        os.chdir(folder)

    def lay(self, case):
        """Put a case's files, and nothing else, into the folder."""
        for name in os.listdir(self.folder):
            path = os.path.join(self.folder, name)
            shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
        for name, text in case.files.items():
            if os.path.dirname(name):
                os.makedirs(os.path.dirname(name), exist_ok=True)
            with open(name, "wb") as out:
                out.write(encoded(text))

    def texts(self, case):
        """What is in the case's files now."""
        return {name: contents(name) for name in case.files}

    def run(self, *arguments, stdin=b""):
        """Run a command; Broken for a traceback, an internal error or a hang."""
        self.commands += 1
        out, err = io.StringIO(), io.StringIO()
        name = arguments[0]
        before = sys.stdin
        sys.stdin = io.TextIOWrapper(io.BytesIO(stdin))
        try:
            with limit(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                status = main(list(arguments))
        except SystemExit as ended:
            status = ended.code
        except Hang as hang:
            raise Broken("hang", f"{name} at {where(hang)}", " ".join(arguments)) from hang
        except Exception as error:
            raise Broken("crash", f"{name}: {type(error).__name__} at {where(error)}", traceback.format_exc()) from error
        finally:
            sys.stdin = before
        answer = Answer(status, out.getvalue(), err.getvalue())
        bug = re.search(r"internal error in ([^.]*): (\w+)", answer.out + answer.err)
        if bug:
            raise Broken("internal error", f"{bug[1]}: {bug[2]}", answer.out + answer.err)
        if status not in (0, 1, 2):
            raise Broken("exit status", f"{name}: {status}", answer.err)
        return answer

    def check(self, case, *flags):
        """The runs of `check --format json`."""
        runs = self.run("check", *case.paths, *case.flags, "--format", "json", *flags).runs
        self.codes.update(each["code"] for run in runs for each in run["diagnostics"])
        return runs


def where(error):
    """The innermost place of an exception in cfglint."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "cfglint/" in frame.filename]
    return f"{frames[-1].filename.rpartition('cfglint/')[2]}:{frames[-1].name}" if frames else "?"


@contextlib.contextmanager
def limit(seconds=SECONDS):
    """Raise Hang after so many seconds of this process: a machine that is busy with others is no hang."""

    def ring(number, frame):
        raise Hang

    signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def encoded(text):
    """A text as bytes; lone surrogates become what no decoder takes."""
    return text.encode("utf-8", "surrogatepass")


def contents(name):
    """The bytes of a file."""
    with open(name, "rb") as file:
        return file.read()


def require(holds, name, about, detail=""):
    """Raise Broken unless something holds."""
    if not holds:
        raise Broken(name, about, detail)


def findings(runs):
    """(file, code, key, severity) of every finding, sorted."""
    return sorted((each["file"], each["code"], each["key"], each["severity"]) for run in runs for each in run["diagnostics"])


def verdicts(runs):
    """What each run came to, without its findings."""
    return [(run["files"], run["verdict"], run["fails_at"], run["resolved"]) for run in runs]


# check


def sound(bench, case, rng):
    """The answer is of one piece: verdict, moment, places and edits fit each other and the files."""
    if any("cfglint:" in text for text in case.files.values()):
        return
    bench.lay(case)
    found = bench.check(case)
    require(any(run["verdict"] == "reject" for run in found) == bool(errors(found)), "sound", "verdict", str(verdicts(found)))
    for run in found:
        require((run["fails_at"] is None) == (run["verdict"] != "reject"), "sound", "fails_at", str(run["fails_at"]))
        for each in run["diagnostics"]:
            text = decoded(contents(each["file"]))
            lines = re.split(r"\r\n|\r|\n", text)
            require(1 <= each["line"] <= len(lines), "sound", f"line of {each['code']}", str(each))
            require(1 <= each["column"] <= len(lines[each["line"] - 1]) + 2, "sound", f"column of {each['code']}", str(each))
            require(each["severity"] != "error" or each["fails_at"], "sound", f"no fails_at in {each['code']}", str(each))
            for change in (each.get("fix") or {"edits": []})["edits"]:
                length = len(decoded(contents(change["file"])))
                require(0 <= change["start"] <= change["end"] <= length, "sound", f"edit of {each['code']}", str(each))


def decoded(data):
    """The text that offsets count in."""
    return data.decode("utf-8", "replace").removeprefix("\ufeff")


def reported(bench, case, rng):
    """Every format can be made, and what programs read is well formed."""
    bench.lay(case)
    form = rng.choice(FORMATS)
    made = bench.run("check", *case.paths, *case.flags, "--format", form)
    well_formed(form, made.out)
    require("\x1b" not in made.out, "report", f"escape in {form}", made.out[:500])


def well_formed(form, text):
    """Raise Broken where a report is not what its format is."""
    try:
        if form in ("json", "sarif", "gitlab") and text:
            json.loads(text)
        elif form == "junit" and text:
            ElementTree.fromstring(text)
        text.encode("utf-8")
    except (ValueError, ElementTree.ParseError) as error:
        raise Broken("report", f"{form}: {type(error).__name__}", str(error)) from error


def explained(bench, case, rng):
    """`explain` and `plan` answer in every format."""
    bench.lay(case)
    form = rng.choice(EXPLAINED)
    well_formed(form, bench.run("explain", *case.paths, *case.flags, "--format", form).out)
    form = rng.choice(PLANNED)
    flags = without(case.flags, "--gpus")
    gpus = rng.choice(("8", "1,2,3", "8-64", "7", "1000000"))
    extra = rng.choice(([], [], ["--global-batch", rng.choice(("1", "64", "1000003"))], ["--from-gpus", "8"], ["--max-micro-batch", "4"]))
    well_formed(form, bench.run("plan", *case.paths, *flags, "--gpus", gpus, *extra, "--format", form).out)


def compared(bench, case, rng, other):
    """`diff` answers in every format, and finds nothing between a file and itself."""
    both = {f"old/{name}": text for name, text in other.files.items()} | {f"new/{name}": text for name, text in case.files.items()}
    bench.lay(case.__class__(both))
    form = rng.choice(FORMATS)
    well_formed(form, bench.run("diff", "old", "new", *case.flags_but_run, "--format", form).out)
    same = bench.run("diff", "new", "new", *case.flags_but_run, "--format", "json")
    if same.status != 2:
        for each in same.told["changes"]:
            different = [part for part in ("consequences", "settings", "new", "gone") if each[part]]
            require(not different, "diff", f"a run differs from itself: {different}", same.out[:2000])


# fix


def exact(bench, case, rng):
    """Each fix that is offered changes what it says and nothing else, to parsers that are not ours."""
    bench.lay(case)
    for run in runs(case):
        for each in run.diagnostics:
            if each.fix is None:
                continue
            for document in run.documents:
                changes = [change for path, change in each.fix.changes if path == document.path]
                spans = [part for part in each.fix.edits if part.file == document.path]
                if changes:
                    one_fix(each.code, document, changes, spans)


def one_fix(code, document, changes, spans):
    """Hold one fix of one file against its changes."""
    after = document.text
    for span in reversed(spans):
        after = after[: span.start] + span.text + after[span.end :]
    with contextlib.suppress(EditRefused):
        require(edit.apply(document, changes) == after, "exact", f"{code}: edits and changes differ", after)
    confined(code, document, changes, spans)
    before = pairs(document.text, document.syntax)
    if before is None:
        return
    wanted = changed(before, changes, document.syntax)
    found = pairs(after, document.syntax)
    detail = f"{document.text}\n=>\n{after}\n{wanted}\n{found}"
    require(wanted == found, "exact", f"{code}: {changes[0].kind} changes more than it says", detail)


def confined(code, document, changes, spans):
    """No edit of a single replacement leaves the value, and an insertion takes nothing away."""
    if len(changes) != 1:
        return
    [change] = changes
    key, node = document.find(change.path)
    if change.kind == INSERT:
        gone = "".join(document.text[span.start : span.end] for span in spans)
        require(not gone.strip(), "exact", f"{code}: an insertion takes text away", repr(gone))
    elif change.kind == REPLACE and node is not None and document.find(change.path[:-1])[1].kind == MAPPING:
        inside = all(node.head <= span.start and span.end <= max(node.end, node.head) for span in spans)
        merged = not any(name is key for name, _ in document.find(change.path[:-1])[1].pairs())
        require(inside or merged, "exact", f"{code}: a replacement leaves its value", str(spans))


def pairs(text, syntax):
    """A text as nested lists of pairs, as PyYAML or a JSON library has it; None where it has nothing, or too much."""
    try:
        if syntax == "yaml":
            return of_yaml(yaml.compose(text, Loader=yaml.SafeLoader), [])
        return of_json(text) if syntax == "json" else None
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError, IndexError, AttributeError, KeyError, TypeError):
        return None


def of_yaml(node, count):
    """A node of PyYAML's; aliases as what they stand for."""
    count.append(1)
    if len(count) > MOST_NODES:
        raise OverflowError
    if isinstance(node, yaml.MappingNode):
        return ["map", [[key.value if isinstance(key, yaml.ScalarNode) else "?", of_yaml(value, count)] for key, value in node.value]]
    if isinstance(node, yaml.SequenceNode):
        return ["list", [of_yaml(item, count) for item in node.value]]
    return ["none"] if node is None else [node.tag, node.value]


def of_json(text):
    """A JSON text, numbers as they are spelled; hjson where it is none."""
    hooks = {"object_pairs_hook": lambda members: ["map", [list(pair) for pair in members]]}
    try:
        return as_lists(json.loads(text, parse_int=Spelled, parse_float=Spelled, **hooks))
    except ValueError:
        return as_lists(hjson.loads(text, **hooks))


class Spelled(str):
    """A number as its text."""


def as_lists(value):
    """Leaves as [type, text], so that they compare as YAML's do."""
    if isinstance(value, list):
        if value[:1] == ["map"] and len(value) == 2 and isinstance(value[1], list):
            return ["map", [[key, as_lists(item)] for key, item in value[1]]]
        return ["list", [as_lists(item) for item in value]]
    if isinstance(value, (Spelled, int, float)) and not isinstance(value, bool):
        return ["number", str(Decimal(str(value)).normalize())]
    return [type(value).__name__, str(value)]


def changed(tree, changes, syntax):
    """A tree of pairs after changes."""
    tree = copy.deepcopy(tree)
    for change in changes:
        part = tree
        last = change.path if change.kind == INSERT else change.path[:-1]
        for step in last:
            part = part[1][step] if part[0] == "list" else next(value for key, value in reversed(part[1]) if key == step)
        name = change.key if change.kind == INSERT else change.path[-1]
        value = None if change.kind in (DELETE, RENAME) else pairs(change.text, syntax)
        if change.kind == INSERT:
            part[1].append([name, value])
            continue
        if part[0] == "list":
            part[1][name] = value
            continue
        found = [index for index, (key, _) in enumerate(part[1]) if key == name]
        if change.kind == REPLACE and not found:
            part[1].append([name, value])
            continue
        index = found[-1 if change.occurrence is None else change.occurrence]
        if change.kind == DELETE:
            del part[1][index]
        elif change.kind == RENAME:
            part[1][index][0] = change.key
        else:
            part[1][index][1] = value
    return tree


def runs(case):
    """The runs that `fix` would look at."""
    parser = Parser("fix", "")
    fix_command.add_arguments(parser)
    arguments = parser.parse_args([*case.paths, *without(case.flags, "--gpus")])
    try:
        with limit():
            return [*runs_of(arguments, Configuration(), ScanStats())]
    except (UsageError, UnknownKindError):
        return []


def without(flags, name):
    """Flags without one that has a value."""
    kept = list(flags)
    while name in kept:
        place = kept.index(name)
        del kept[place : place + 2]
    return kept


def settled(bench, case, rng):
    """`fix` leaves nothing to fix, takes the findings away that it names, and makes nothing worse."""
    case = case.__class__(case.files, without(case.flags, "--gpus"), case.named)
    unsafe = ["--unsafe-fixes"] if rng.random() < 0.4 else []
    bench.lay(case)
    before = bench.check(case)
    files = bench.texts(case)
    titles = [title for run in runs(case) for _, title in apply_fixes(run, bool(unsafe)).titles]
    promised = bench.run("fix", *case.paths, *case.flags, *unsafe, "--check")
    require(bench.texts(case) == files, "fix", "--check writes")
    done = bench.run("fix", *case.paths, *case.flags, *unsafe)
    fixed = bench.texts(case)
    require((promised.status == 1) == (fixed != files) or done.status == 2, "fix", "--check and fix disagree", promised.err)
    after = bench.check(case)
    if [run["files"] for run in after] != [run["files"] for run in before]:
        return  # a key that names a file got its right name, so there is more to look at now
    again = bench.run("fix", *case.paths, *case.flags, *unsafe)
    require(bench.texts(case) == fixed, "fix", f"not idempotent: {' '.join(told.split()[1] for told in again.out.splitlines())}", again.out)
    if fixed == files or not loads(before):
        return
    left = {(code, key) for _, code, key, _ in findings(after)}
    for title in titles:
        code, _, rest = title.partition(" ")
        key = "/" + rest.partition(": ")[0]
        there = {each for each in left if each == (code, key)}
        require(not there, "fix", f"{code} is still there", f"{title}\n{shown(fixed)}")
    worse = errors(after) - errors(before)
    if errors(before):
        return  # what it would have died of besides shows once it gets there
    if any(run["verdict"] is None for run in before):
        return  # a file with several unknown keys is taken for a fork's and gets warnings; with one renamed, it may not be
    about = f"new error {sorted(code for code, _ in worse)} after {sorted({title.split()[0] for title in titles})}"
    require(not worse, "fix", about, f"{titles}\n{sorted(worse)}\n{shown(fixed)}")


def loads(runs):
    """Whether every run gets past the reading of its files."""
    return all(run["fails_at"] != "load" for run in runs)


def errors(runs):
    """(code, key) of every error."""
    return {(code, key) for _, code, key, severity in findings(runs) if severity == "error"}


def shown(files):
    """Files as text, for a report."""
    return "\n".join(f"--- {name}\n{data.decode('utf-8', 'replace')}" for name, data in files.items())


def reaches(bench, case, rng):
    """`fix` to a global batch reaches it, or says why not.

    Files change all the same where a value is left to set outside them, and by offered fixes where no target can be computed.
    """
    if "--kind" not in case.flags:
        return  # a kind is told by its share of the keys, and a new key may make it doubtful
    case = case.__class__(case.files, without(case.flags, "--gpus"), case.named)
    gpus, batch = rng.choice(((8, 64), (8, 256), (16, 512), (4, 6), (2, 7), (64, 1024), (1, 32), (8, 4)))
    flags = rng.choice(([], ["--max-micro-batch", "4"], ["--from-gpus", "8"], ["--max-micro-batch", "16", "--from-gpus", "2"]))
    bench.lay(case)
    files = bench.texts(case)
    wanted = ["--gpus", str(gpus), "--global-batch", str(batch), *flags]
    done = bench.run("fix", *case.paths, *case.flags, *wanted, "--format", "json")
    after = bench.texts(case)
    if done.status:
        require(bool(done.err.strip()) or bool(done.out), "target", "refused without a word")
        changed_files = {name for name in files if after[name] != files[name]}
        entries = done.told["runs"] if done.out else []
        told = {each["file"] for entry in entries if entry["needs"] or not entry["plan"] for each in entry["changed"]}
        require(changed_files <= told or len(entries) > 1, "target", "refused, and a file changed", done.out + done.err + shown(after))
        require(not changed_files or len(entries) > 1 or done.status == 2, "target", f"partly done, and status {done.status}", done.out)
        return
    entries, found_runs = done.told["runs"], bench.check(case, "--gpus", str(gpus))
    require(len(entries) == len(found_runs), "target", "fix and check see other runs", done.out + shown(after))
    for entry, run in zip(entries, found_runs, strict=True):
        require(entry["plan"]["feasible"] and entry["plan"]["global_batch"] == batch, "target", "another target", done.out)
        found = run["resolved"]["global_batch"]
        require(found == batch, "target", "fix says reached, check says another batch", f"{found}\n{done.out}\n{shown(after)}")
        codes = {each["code"] for each in run["diagnostics"] if each["severity"] == "error"}
        require("BAT001" not in codes, "target", "the batch does not multiply up", shown(after))
    again = bench.run("fix", *case.paths, *case.flags, *without(wanted, "--from-gpus"), "--from-gpus", str(gpus))
    require(bench.texts(case) == after or again.status, "target", "not idempotent", again.out)


# what the answer does not depend on


def restyled(bench, case, rng):
    """The same trees written in another manner give the same findings."""
    bench.lay(case)
    before = bench.check(case)
    if any(
        SYNTAX.get(kind, syntax_of(name)) != syntax_of(name)
        for run in before
        for name, kind in zip(run["files"], run["kinds"], strict=True)
    ):
        return
    kind = case.flags[case.flags.index("--kind") + 1] if "--kind" in case.flags else None
    lax = kind == "deepspeed" and len(case.files) == 1
    files = {}
    for name, text in case.files.items():
        syntax = syntax_of(name)
        if syntax == "text":
            files[name] = text
            continue
        tree = read(text, syntax)
        if "cfglint:" in text or "\ufffd" in decoded(encoded(text)) or twins(text, syntax):
            return
        try:
            files[name] = write(tree, syntax, rng, lax=lax) if tree is not None else text
        except (Unspeakable, ValueError):
            return
        if not lax and repr(read(files[name], syntax)) != repr(tree):
            raise Broken("harness", "a manner says something else", f"{text}\n=>\n{files[name]}")
    if not loads(before):
        return
    bench.lay(case.replace(files))
    after = bench.check(case)
    one, other = ([each for each in findings(found) if not OF_SPELLING.fullmatch(each[1])] for found in (before, after))
    lost, come = sorted(set(one) - set(other)), sorted(set(other) - set(one))
    codes = sorted({each[1] for each in (*lost, *come)})
    require(not codes, "manner", f"{codes}", f"lost {lost}\ncome {come}\n{files}")
    if all(verdict["resolved"] for verdict in before):
        require(len(before) == len(after), "manner", "runs", str(files))
        for old, new in zip(before, after, strict=True):
            different = {name for name in old["resolved"] if old["resolved"][name] != new["resolved"].get(name)}
            require(not different, "manner", f"resolved {sorted(different)}", f"{old['resolved']}\n{new['resolved']}\n{files}")


def twins(text, syntax):
    """Whether a mapping of a text has a key twice, or something is merged."""
    tree = pairs(text.removeprefix("\ufeff"), syntax)
    return tree is None or any_twins(tree)


def any_twins(tree):
    """The same of a tree of pairs."""
    if tree[0] == "map":
        keys = [key for key, _ in tree[1]]
        return len(set(keys)) != len(keys) or "<<" in keys or any(any_twins(value) for _, value in tree[1])
    return tree[0] == "list" and any(map(any_twins, tree[1]))


def from_stdin(bench, case, rng):
    """Standard input and the file give the same answer."""
    bench.lay(case)
    if case.named != 1 or "--run" in case.flags:
        return
    name = case.paths[0]
    flags = [*case.flags, "--format", "json"]
    file = bench.run("check", name, *flags)
    piped = bench.run("check", "-", "--stdin-filename", name, *flags, stdin=contents(name))
    if file.out and piped.out:
        one, other = file.runs, piped.runs
        codes = sorted({each[1] for each in {*findings(one)} ^ {*findings(other)}})
        require(one == other, "stdin", f"{codes or 'something'} differs", f"{file.out}\n{piped.out}")
    require(file.status == piped.status, "stdin", "exit status", f"{file.err}\n{piped.err}")


def ordered(bench, cases, rng):
    """The order of the files on the command line is that of the answers and changes nothing else; so do several processes, and a folder."""
    files = {f"d{number}/{name}": text for number, case in enumerate(cases) for name, text in case.files.items()}
    first = [f"d{number}/{case.paths[0]}" for number, case in enumerate(cases)]
    bench.lay(cases[0].__class__(files))
    flags = rng.choice((["--gpus", "8"], [], ["--gpus", "8", "--num-examples", "1000"]))
    alone = [run for path in first for run in bench.run("check", path, *flags, "--format", "json").runs]
    mixed = rng.sample(first, len(first))
    together = bench.run("check", *mixed, *flags, "--format", "json").runs
    map_blocks = bench.run("check", *mixed, *flags, "--format", "json", "--jobs", "3").runs
    require(together == map_blocks, "order", "--jobs changes the answer", differing(together, map_blocks))
    one, other = (sorted(found, key=lambda run: run["files"]) for found in (alone, together))
    require(one == other, "order", "files change each other's answers", differing(one, other))
    folder = [bench.run("check", ".", *flags, "--format", "json", *jobs).runs for jobs in ([], ["--jobs", "2"])]
    require(folder[0] == folder[1], "order", "--jobs changes the answer of a folder", differing(*folder))


def differing(one, other):
    """The first runs in which two answers differ."""
    different = [pair for pair in zip(one, other, strict=False) if pair[0] != pair[1]]
    return json.dumps(different[:1], indent=1)[:4000] or f"{len(one)} and {len(other)} runs"


ONE = (sound, exact, settled, reaches, restyled, from_stdin, reported, explained)
