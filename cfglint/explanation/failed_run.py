"""A failure in a log with the files of its run: the findings that predict it, and what the memory estimate says."""

from __future__ import annotations

from cfglint.explanation.failures import NOT_PREDICTED, OUT_OF_MEMORY, Failure
from cfglint.explanation.predicted import is_alike, rules_of
from cfglint.findings.diagnostic import Diagnostic
from cfglint.run.checked import CheckedRun
from cfglint.source.annotations import Iterable


def attach(failures: Iterable[Failure], run: CheckedRun) -> None:
    """Add to each failure what the files of its run say about it."""
    for each in failures:
        if each.kind == OUT_OF_MEMORY:
            each.details += about_memory(run, each.needed)
        elif each.exception:
            found = predicting(each, run.diagnostics)
            each.details = [line for line in each.details if line != NOT_PREDICTED or not found]
            each.details += [f"{one.place.file}:{one.place.line}: {one.severity} {one.code} {one.message}" for one in found]
            each.rules = list(dict.fromkeys(one.code for one in found)) or each.rules
            each.causes = [] if found else each.causes
            if not found:
                each.details.append(f"no finding of cfglint in {run.documents[0].path} predicts it")


def about_memory(run: CheckedRun, needed: float | None) -> list[str]:
    """What the estimate says about the memory of a run, which needed at least so many GiB when it failed."""
    from cfglint.batch.memory.estimate import DOES_NOT_FIT, GIB, PROBABLY_NOT
    from cfglint.frameworks.memory.estimate import memory_of, rounded

    memory = memory_of(run.configs[0]) if run.configs else None
    if memory is None:
        return ["the memory of this run cannot be estimated from its files: pass --model"]
    remedies = [memory.remedy] if memory.remedy else []
    if memory.verdict in (None, DOES_NOT_FIT) or memory.judgement.startswith(PROBABLY_NOT):
        return [f"the estimate: {memory.line}", *remedies]
    peak = f"{rounded(memory.estimate.total)} GiB"
    if needed is None:
        return [f"the estimate of {peak} is too low for this run, which ran out of memory", *remedies]
    wrong = "is too low" if needed * GIB > memory.estimate.total else "leaves out what else was in the memory of the GPU"
    return [f"this run needed at least {needed:.2f} GiB at this moment; the estimate of {peak} {wrong}", *remedies]


def predicting(failure: Failure, diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The findings of a run that predict an exception: those that quote it, else those of the rules that predict it."""
    found = list(diagnostics)
    quoted = [each for each in found if each.exception and set(rules_of(each.exception)) & set(failure.rules)]
    same = [each for each in found if each.exception and each.exception.split() == failure.exception.split()]
    alike = [each for each in found if each.exception and is_alike(failure.exception, each.exception)]
    return same or alike or quoted or [each for each in found if each.code in failure.rules]
