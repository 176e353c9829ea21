"""Which findings of a run predict the exception of its log."""

from __future__ import annotations

from types import SimpleNamespace

from cases import each_case
from cfglint.explanation.failed_run import attach, predicting
from cfglint.explanation.failures import NOT_PREDICTED, Failure
from cfglint.findings.diagnostic import Diagnostic, Place

RAISED = "ValueError: --load_best_model_at_end requires the save and eval strategy to match, but found - Evaluation strategy: no"
SPACED = RAISED.replace(" requires", "  requires")
ALIKE = RAISED.replace("no", "steps")
OTHER = "ValueError: `temperature` has to be a positive number that is not the present one"


def finding(code, exception=None, message="a finding"):
    place = Place("train.yaml", 3, 1, 3, 1, 0, 0, "")
    return Diagnostic(code, "name", "error", place, "/key", message, exception=exception, help="set both")


def failure(exception=RAISED, rules=("HFT006",), details=()):
    return Failure("exception", 9, "it raised", [*details], exception=exception, rules=[*rules])


@each_case(
    ("findings", "expected"),
    [
        ([finding("HFT006", RAISED), finding("HFT006", ALIKE)], [RAISED]),  # the same words
        ([finding("HFT006", ALIKE), finding("KEY202", SPACED)], [SPACED]),  # but for spaces, whatever the rule is
        ([finding("KEY202", ALIKE), finding("HFT006")], [ALIKE]),  # other values in the same words
        ([finding("HFT006"), finding("KEY202", OTHER)], [None]),  # the rule alone
        ([finding("KEY202", OTHER), finding("KEY202")], []),
        ([], []),
    ],
)
def test_the_findings_that_predict_an_exception(findings, expected):
    assert [each.exception for each in predicting(failure(), findings)] == expected


def test_what_is_said_of_an_exception_with_the_findings_of_its_run():
    documents, facts = [SimpleNamespace(path="train.yaml")], SimpleNamespace(gpus=8)
    run = SimpleNamespace(diagnostics=[finding("HFT006", ALIKE, "strategies differ")], documents=documents, facts=facts)
    predicted, unknown = failure(rules=["KEY202"], details=[NOT_PREDICTED, "more"]), failure(OTHER, [], [NOT_PREDICTED])
    attach([predicted, unknown], run)
    assert (predicted.details, predicted.rules) == (["more", "train.yaml:3: error HFT006 strategies differ"], ["HFT006"])
    assert predicted.remedy == "set both"
    assert (unknown.details, unknown.rules) == ([NOT_PREDICTED, "no finding of cfglint in train.yaml predicts it"], [])
