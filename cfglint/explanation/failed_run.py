"""A failure in a log with the files of its run: the findings that predict it, and what the memory estimate says."""

from __future__ import annotations

from cfglint.batch.memory.estimate import DOES_NOT_FIT, GIB, PROBABLY_NOT
from cfglint.explanation.failures import NOT_PREDICTED, OUT_OF_MEMORY, Failure
from cfglint.explanation.predicted import is_alike, rules_of
from cfglint.findings.diagnostic import Diagnostic
from cfglint.frameworks.memory.estimate import rounded
from cfglint.run.checked import CheckedRun
from cfglint.source.annotations import Iterable


def attach(failures: Iterable[Failure], run: CheckedRun) -> None:
    """Add to each failure what the files of its run say about it."""
    for failure in failures:
        if failure.kind == OUT_OF_MEMORY:
            failure.details += about_memory(run, failure.needed)
        elif failure.exception:
            diagnostics = predicting(failure, run.diagnostics)
            failure.details = [line for line in failure.details if line != NOT_PREDICTED or not diagnostics]
            failure.details += [
                f"{diagnostic.place.file}:{diagnostic.place.line}: {diagnostic.severity} {diagnostic.code} {diagnostic.message}"
                for diagnostic in diagnostics
            ]
            failure.rules = list(dict.fromkeys(diagnostic.code for diagnostic in diagnostics)) or failure.rules
            failure.causes = [] if diagnostics else failure.causes
            failure.remedy = failure.remedy or next((diagnostic.help for diagnostic in diagnostics if diagnostic.help), "")
            if not diagnostics:
                unknown = "" if run.facts.gpus is not None else ", as far as it is known without the number of GPUs (--gpus N)"
                failure.details.append(f"no finding of cfglint in {run.documents[0].path} predicts it{unknown}")


def about_memory(run: CheckedRun, needed: float | None) -> list[str]:
    """What the estimate says about the memory of a run, which needed at least so many GiB when it failed."""
    memory = run.memory
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
    quoted = [diagnostic for diagnostic in found if diagnostic.exception and set(rules_of(diagnostic.exception)) & set(failure.rules)]
    same = [diagnostic for diagnostic in found if diagnostic.exception and diagnostic.exception.split() == failure.exception.split()]
    alike = [diagnostic for diagnostic in found if diagnostic.exception and is_alike(failure.exception, diagnostic.exception)]
    return same or alike or quoted or [diagnostic for diagnostic in found if diagnostic.code in failure.rules]
