"""What the rows of a class refuse, in words: the rows after one that raises run as if it had not, so that all of it is found at once."""

from __future__ import annotations

from cfglint.evaluate import Reason, Unknown
from cfglint.evaluate.operations import all_of
from cfglint.findings.rule import pages_of_checks
from cfglint.findings.vocabulary import Kind, Stage
from cfglint.frameworks.refusal import FAILURE, Refusal, Words
from cfglint.frameworks.releases.versions import Version
from cfglint.frameworks.rows.evaluation import CODE, Evaluation, cannot_fail, every
from cfglint.frameworks.rows.expressions import Raised, Row, truth_of, walk
from cfglint.frameworks.rows.table import table_of
from cfglint.source import cached
from cfglint.source.annotations import Any, Callable, ConfigTable, Iterable, Iterator, Mapping, Sequence, Set
from cfglint.source.load_results import copied
from cfglint.source.numbers import hollow

PROCESSES = Unknown(Reason("machine", "the number of processes"))
SOME_SIZES = (1, 2, 8)  # numbers of processes of which some may be refused
BATCH = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
FIELDS = (["f"], ["f?"], ["f!"], ["has"])
ASKED = (["fact"], ["self"], ["?"], ["env"])  # what is not known from the fields that are named


def refused_batch(kind: str, function: str, release: Version, sizes: Sequence[object], world_size: object) -> str:
    """The exception of the rows of a constructor about the global batch, micro batch and accumulation; empty if it accepts them."""
    run = Evaluation({**dict(zip(BATCH, map(hollow, sizes), strict=True)), "world_size": world_size}, lambda *_: None)
    try:
        run.run(table_of(kind).rows("batch", function, release))
    except Raised as raised:
        return f"{raised.kind}: {raised.message}"
    return ""


def unknown_field(name: str) -> Unknown:
    return Unknown(Reason("argument", f"`{name}`"))


class Pages:
    """Which page of a kind speaks of a row: `checks` of the pages have words of its message, with the fields of its condition behind it in
    brackets, or `set FIELD`; one page has `*` for all others.
    """

    def __init__(self, kind: Kind) -> None:
        self.marks = [(mark, code) for code, marks in pages_of_checks(kind).items() for mark in marks]
        self.others = next(code for mark, code in self.marks if mark == "*")

    def __call__(self, row: Row) -> str:
        """The page of a row: the one with the longest words."""
        words = words_of(row)
        return max(((len(mark), code) for mark, code in self.marks if mark in words), default=(0, self.others))[1]


def words_of(row: Row) -> str:
    """What `checks` of pages are compared with: the message of a row with the fields of its condition, or what it sets."""
    say = row.get("say", "")
    text = say if isinstance(say, str) else "".join(part for part in say[1:] if isinstance(part, str))
    fields = dict.fromkeys(each[1] for each in walk(row["when"]) if isinstance(each, list) and each[:1] == ["f"])
    return f"{text} [{', '.join(fields)}]" if "raise" in row else f"put {row['key']}" if "put" in row else f"set {row.get('set')}"


@cached
def pages_of(kind: Kind) -> Pages:
    return Pages(kind)


def row_exceptions(kind: Kind) -> Iterator[tuple[str, str]]:
    """The page and the text of every exception that the checks of a kind raise."""
    return table_of(kind).messages(lambda _, row: pages_of(kind)(row))


class Plan:
    """The rows of a release by the stage that runs them. From the second file on each row that does nothing by default has the fields that
    it reads: it does nothing either where none of these differs from the default that this was found with, which may be another one for
    the next file (a framework around this one fills fields, a program has its own). `switches` are those without which a row does nothing.
    """

    def __init__(self, rows: Mapping[Stage, Sequence[Row]]) -> None:
        self.by_stage = rows
        self.rows = [row for found in rows.values() for row in found]
        self.reads: list[frozenset[str] | None] = []
        self.learned: Mapping[str, Any] = {}
        self.switches = [[*switches_of(row)] for row in self.rows]
        self.is_used = False

    def relevant(self, evaluation: Evaluation, different: Set[str]) -> Iterator[Row]:
        """The rows that may do something where some fields differ from their defaults, or are set by other rows."""
        if not self.reads:
            yield from self.rows
            return
        values = evaluation.values
        for row, reads, switches in zip(self.rows, self.reads, self.switches, strict=True):
            if reads is None or not reads.isdisjoint(different) or not reads.isdisjoint(evaluation.changed):
                for name in switches:
                    value = values.get(name)
                    if not value and not isinstance(value, Unknown):
                        break
                else:
                    yield row

    def learn(self, defaults: Mapping[str, Any], varying: Set[str]) -> None:
        """Find the rows that do nothing by default, with what they read; facts of the environment and varying fields may be others for the
        next file.
        """
        self.learned = defaults
        run, kept = Evaluation(copied({**defaults}), lambda *_: None), dict[str, frozenset[str]]()
        for row in self.rows:
            parts = [each for key, part in row.items() if key != CODE for each in walk(part) if isinstance(each, list)]
            names = {part[1] for part in parts if part[:1] in FIELDS and isinstance(part[1], str)}
            fields = names.union(*(kept.get(part[1], frozenset()) for part in parts if part[:1] == ["v"]))
            if "let" in row:
                kept[row["let"]] = frozenset(fields)
            varies = "rows" in row or not fields.isdisjoint(varying) or any(part[:1] in ASKED for part in parts)
            try:
                holds = "let" in row or all_of([truth_of(guard) for guard in row["when"]], wanted=True, failure=Raised)(run)
                if holds is not False:
                    run.run([row])
            except Raised:
                holds = True
            self.reads.append(frozenset(fields) if holds is False and not varies else None)

    def changed(self, defaults: Mapping[str, Any]) -> Iterator[str]:
        """The fields with another default than the one that was learned with."""
        for name in defaults.keys() | self.learned.keys() if self.reads else ():
            before, now = self.learned.get(name), defaults.get(name)
            if before is not now and (type(before) is not type(now) or before != now):
                yield name

    def stage_of(self, row: Row) -> Stage:
        return next(stage for stage, rows in self.by_stage.items() if any(row is each for each in every(rows)))


def switches_of(row: Row) -> Iterator[str]:
    """The fields that have to be set for a row, without anything before them that may fail."""
    for guard in row["when"] if "let" not in row else ():
        if not isinstance(guard, list) or not cannot_fail(guard):
            return
        if guard[0] == "f":
            yield guard[1]


def at_fault(raised: Raised, read: Sequence[str], written: Mapping[str, Any]) -> str:
    """The field that Python fails on: the last one that was looked up; of two operands the one that is written and no number."""
    types = raised.message.split("'")[1::2] if "' and '" in raised.message else []
    fields = {each[1] for part in raised.row.values() for each in walk(part) if isinstance(each, list) and each[:1] in FIELDS}
    operands = [name for name in read[-1:-3:-1] if name in fields and name in written and type(written[name]).__name__ in types]
    return min(operands, key=lambda name: isinstance(written[name], int | float), default=read[-1] if read else "")


class Check:
    """A plan on some values: `written` are those of the file, `defaults` what holds where it has none; `varying` are the fields whose
    default depends on the launch. `page_of` is the page of a row: the kind of its refusals. `enums` has the names of the classes of fields
    whose values are members of an Enum.
    """

    evaluation: type[Evaluation] = Evaluation
    enums: Mapping[str, str] = {}
    depends_on_processes = False  # whether some numbers of processes are refused and others are not, and theirs is not known

    def __init__(
        self,
        plan: Plan,
        written: Mapping[str, Any],
        defaults: Mapping[str, Any],
        varying: Iterable[str],
        facts: Callable[..., Any],
        page_of: Callable[[Row], str],
    ) -> None:
        self.plan = plan
        self.written = written
        self.defaults = defaults
        self.varying = {*varying}
        self.facts = facts
        self.page_of = page_of
        if plan.is_used and not plan.reads:
            plan.learn(defaults, self.varying)
        plan.is_used = True
        self.varying.update(plan.changed(defaults))

    def run(self, written: Mapping[str, Any]) -> tuple[Evaluation, list[Raised]]:
        filled = {name: copied(value) if isinstance(value, (dict, list)) else value for name, value in self.defaults.items()}
        evaluation, found = self.evaluation({**filled, **written}, self.facts, self.enums), list[Raised]()
        rows = self.plan.relevant(evaluation, self.varying | written.keys())
        while True:
            try:
                evaluation.run(rows)
            except Raised as raised:  # noqa: PERF203
                raised.key, raised.entry = at_fault(raised, evaluation.read, written), evaluation.entry
                raised.state = evaluation.moment()
                raised.__context__ = None  # whose frames would keep the config
                found.append(raised.with_traceback(None))
                if name := raised.row.get("let") or raised.row.get("set"):  # unknown to the rows after it
                    (evaluation.kept if "let" in raised.row else evaluation.values)[name] = Unknown(Reason("program", raised.kind))
            else:
                return evaluation, found

    def refusals(self, words: Words) -> list[Refusal]:
        """The refusals; of those with the same cause the first one."""
        evaluation, raised = self.run(copied({**self.written}))
        if any("raise" in row for row in evaluation.undecided):
            self.depends_on_processes = self._differs_by_processes()
        found: list[Refusal] = []
        failed: list[Refusal] = []
        for each in raised:
            refusal = self.refusal(each, raised, words)
            known = any(other.key in refusal.keys for other in found)
            if refusal.kind == FAILURE and each.key not in self.written:  # on what a refused value would have set
                known = known or any(not set(other.keys).isdisjoint(refusal.keys) for other in found)
            earlier = next((other for other in failed if other.key in refusal.keys), None)
            same = next((other for other in failed if other.exception == refusal.exception and refusal.key in other.keys), None)
            if same is not None and len(refusal.keys) < len(same.keys):  # the one that is about less else
                failed.remove(same)
                earlier = None
            if known or (refusal.kind == FAILURE and earlier is not None):
                continue
            if earlier is not None:  # this one says better why Python fails on the value
                failed.remove(earlier)
                refusal.exception = earlier.exception
            (failed if refusal.kind == FAILURE else found).append(refusal)
        return [*found, *failed]

    def _differs_by_processes(self) -> bool:
        defaults, found = self.defaults, set[int]()
        names = [name for name, value in defaults.items() if value is PROCESSES]
        for size in SOME_SIZES if names else ():
            self.defaults = {**defaults, **dict.fromkeys(names, size)}
            found.add(len(self.run(copied({**self.written}))[1]))
        self.defaults = defaults
        return len(found) > 1

    def refusal(self, raised: Raised, others: list[Raised], words: Words) -> Refusal:
        from cfglint.frameworks.rows.reasons import Condition, Explanation

        condition = Condition(raised.row, self.plan.rows, raised.state, self.written)
        converts = raised.kind in ("ValueError", "KeyError")[: 1 + condition.converts] and not raised.row.keys().isdisjoint(("set", "put"))
        page = self.page_of(raised.row) if raised.intended or converts else FAILURE
        explained = Explanation(condition, page, raised.message, words)
        before = {id(other.row) for other in others}

        def lifts(changed: ConfigTable, key: str) -> bool:
            after = {id(each.row) for each in self.run(copied(changed))[1]}
            return id(raised.row) not in after and after <= before

        said = f"{raised.kind}: {raised.message}" if raised.message else raised.kind
        keys = explained.keys
        if page == FAILURE and (raised.key in self.written or "'NoneType'" in said) and raised.key:
            inside = [each for each in keys if each.startswith(f"{raised.key}.")]
            keys = [*dict.fromkeys((*inside, *([] if inside else [raised.key]), *keys))]
        if "raise" not in raised.row:  # the key of a section on which a conversion fails
            keys.sort(key=lambda each: not each.endswith(f".{raised.entry}"))
        remedies: Any = (lambda: explained.remedies(self.written, lifts)) if page != FAILURE else []
        found = Refusal(page, keys, explained.sentence, said, remedies, self.plan.stage_of(raised.row))
        found.read = explained.read
        return found
