"""What the rows of a class refuse, in words: the rows after one that raises run as if it had not, so that all of it is found at once."""

from __future__ import annotations

from cfglint.frameworks.refusal import FAILURE, Refusal
from cfglint.frameworks.row_evaluation import Evaluation, Raised, every
from cfglint.frameworks.row_reasons import Condition, Explanation
from cfglint.source.annotations import Any, Callable, ConfigTable, Mapping
from cfglint.source.load_results import copied

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.vocabulary import Stage
    from cfglint.frameworks.row_evaluation import Row
    from cfglint.frameworks.row_reasons import Words


class Check:
    """Rows by the stage that runs them, on some values: `written` are those of the file, `defaults` what holds where it has none.

    `page_of` is the page of a row: the kind of its refusals.
    """

    def __init__(
        self,
        rows: Mapping[Stage, list[Row]],
        written: Mapping[str, Any],
        defaults: Mapping[str, Any],
        facts: Callable[..., Any],
        page_of: Callable[[Row], str],
    ) -> None:
        self.rows = [row for found in rows.values() for row in found]
        self.stages = {id(row): stage for stage, found in rows.items() for row in every(found)}
        self.written = written
        self.defaults = defaults
        self.facts = facts
        self.page_of = page_of

    def run(self, written: Mapping[str, Any]) -> tuple[Evaluation, list[Raised]]:
        """The evaluation for values of a file, and what raises."""
        evaluation, rows, found = Evaluation({**self.defaults, **written}, self.facts), iter(self.rows), list[Raised]()
        while True:
            try:
                evaluation.run(rows)
            except Raised as raised:  # noqa: PERF203
                found.append(raised.with_traceback(None))
            else:
                return evaluation, found

    def refusals(self, words: Words) -> list[Refusal]:
        """The refusals; of those with the same cause the first one."""
        evaluation, raised = self.run(copied({**self.written}))
        found: list[Refusal] = []
        failed: list[Refusal] = []
        for each in raised:
            refusal = self.refusal(each, evaluation, raised, words)
            known = any(other.key in refusal.keys for other in found)
            earlier = next((other for other in failed if other.key in refusal.keys), None)
            if known or (refusal.kind == FAILURE and earlier is not None):
                continue
            if earlier is not None:  # this one says better why Python fails on the value
                failed.remove(earlier)
                refusal.exception = earlier.exception
            (failed if refusal.kind == FAILURE else found).append(refusal)
        return [*found, *failed]

    def refusal(self, raised: Raised, evaluation: Evaluation, others: list[Raised], words: Words) -> Refusal:
        """The refusal of a row."""
        page = self.page_of(raised.row) if raised.intended or raised.kind == "ValueError" else FAILURE
        explained = Explanation(Condition(raised.row, self.rows, evaluation, self.written), page, raised.message, words)
        before = {id(each.row) for each in others}

        def lifts(changed: ConfigTable, key: str) -> bool:
            after = {id(each.row) for each in self.run(copied(changed))[1]}
            return id(raised.row) not in after and after <= before

        remedies = explained.remedies(self.written, lifts) if page != FAILURE else []
        said = f"{raised.kind}: {raised.message}" if raised.message else raised.kind
        found = Refusal(page, explained.keys, explained.sentence, said, remedies, self.stages[id(raised.row)])
        found.read = explained.read
        return found
