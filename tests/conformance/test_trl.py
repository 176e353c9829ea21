"""What cfglint predicts for a TRL file, and what the installed TRL's parser and its dataclasses do with it."""

from __future__ import annotations

import pytest

from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.run.checked import CheckedRun
from cfglint.source.parse import parse

transformers = pytest.importorskip("transformers", reason="transformers is not installed: nothing to compare with")
trl = pytest.importorskip("trl", reason="trl is not installed: nothing to compare with")

HEAD = "output_dir: out\nuse_cpu: true\nbf16: false\n"  # no GPU is needed
CASES = [
    "seed: 1\n",
    "debug: underflow_overflow\n",
    "debug: [underflow_overflow]\n",
    "debug: UNDERFLOW_OVERFLOW\n",
    "debug: underflow_overflow tpu_metrics_debug\n",
    'debug: ""\n',
    "debug: null\n",
    "parallelism_config: x\n",
    'parallelism_config: ""\n',
    "parallelism_config: none\n",
    "datasets: org/data\n",
    "datasets: [{path: org/data}]\n",
    "datasets: {path: org/data}\n",
    "datasets: [{paht: org/data}]\n",
    "datasets: [{}]\n",
    "datasets: [null]\n",
    "datasets:\n",
    "datasets: 5\n",
    "max_steps: 1e3\n",
    "learning_rate: 1e-5\n",
    "packing: maybe\n",
    "max_length: none\n",
    "liger_kernel_config: x\n",
    "unknown_key: 1\n",
]


def refusal(path, monkeypatch):
    """The exception of the real parser and dataclasses; None when they take the file."""
    classes = (trl.ScriptArguments, trl.SFTConfig, trl.ModelConfig, trl.DatasetMixtureConfig)
    monkeypatch.setattr("sys.argv", ["train.py", "--config", str(path)])
    try:
        trl.TrlParser(classes).parse_args_and_config()
    except (Exception, SystemExit) as error:
        return error
    return None


@pytest.mark.parametrize("text", CASES)
def test_the_parser_agrees(text, tmp_path, monkeypatch, capsys):
    path = tmp_path / "train.yaml"
    path.write_text(HEAD + text)
    target = {"trl": trl.__version__, "transformers": transformers.__version__}
    facts = LaunchFacts(1, None, target, complete=True, kind_given=True, strict_keys=True, trainer="sft")
    run = CheckedRun([parse("train.yaml", HEAD + text, "yaml")], ["trl"], facts)
    error = refusal(path, monkeypatch)
    predicted = [each.exception for each in run.diagnostics if each.severity == "error"]
    assert bool(predicted) == (error is not None), error or predicted
    if isinstance(error, SystemExit):
        printed = capsys.readouterr().err.rpartition("error: ")[2].strip()
        assert predicted == [f"SystemExit: 2 ({printed})"]
    elif error is not None:
        assert predicted[0].startswith(f"{type(error).__name__}: {error}"[:60])
