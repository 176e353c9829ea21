"""The examples of the DeepSpeed rules before the installed DeepSpeed, up to the end of its config stage.

A bad example that a rule refuses at `load` or `config` has to be refused by the real loader and `DeepSpeedConfig`,
with the exception that the rule predicts; a good one, and one that dies later or only warns, has to be taken, if
cfglint has nothing else to say against its config stage. The world is only said to be as large as the example's.
"""

from __future__ import annotations

import pytest

from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.rules.engine import rules_for
from cfglint.run.discovery import Discovery

pytest.importorskip("torch", reason="torch is not installed: there is no framework to ask")
deepspeed = pytest.importorskip("deepspeed", reason="deepspeed is not installed: nobody to ask about its files")


class World:
    """Answers for `torch.distributed` in DeepSpeed's config code, which asks for nothing but ranks."""

    def __init__(self, real, size):
        self.real = real
        self.size = size

    def get_rank(self, *_, **__):
        return 0

    def get_world_size(self, *_, **__):
        return self.size

    def __getattr__(self, name):
        return getattr(self.real, name)


def examples():
    for rule in rules_for("deepspeed", ()):
        target = (rule.example.get("target") or {}).get("deepspeed", deepspeed.__version__)
        if rule.kinds == ("deepspeed",) and target == deepspeed.__version__ and rule.example.get("gpus", 1):
            for which in ("bad", "good"):
                text = getattr(rule, which)
                if isinstance(text, str) and text:
                    yield pytest.param(text, rule.example.get("gpus", 1), id=f"{rule.code}-{which}")


def refusal(path, gpus, monkeypatch):
    """The exception of the real config stage, as `Type: text`; None when it takes the file."""
    from deepspeed.runtime import config
    from deepspeed.runtime.tensor_parallel.init_utils import load_ds_config

    monkeypatch.setattr(config, "dist", World(config.dist, gpus))
    try:
        values = load_ds_config(str(path))
        if "sequence_parallel_size" in values and "data_parallel_size" in values:
            pytest.skip("a mesh of devices needs a process group of its real size")
        assert values.get("tensor_parallel", {}).get("autotp_size", 0) >= 0  # as initialize asks, before the config is built
        config.DeepSpeedConfig(values)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


@pytest.mark.parametrize(("text", "gpus"), list(examples()))
def test_the_config_stage_says_what_cfglint_predicts(text, gpus, tmp_path, monkeypatch):
    path = tmp_path / "ds_config.json"
    path.write_text(text, encoding="utf-8")
    facts = LaunchFacts(gpus=gpus, complete=True, kind_given=True, target={"deepspeed": deepspeed.__version__})
    run = Discovery(facts, "deepspeed").together([str(path)])[0]
    said = refusal(path, gpus, monkeypatch)
    predicted = [each for each in run.diagnostics if each.severity == "error" and each.fails_at in ("load", "config")]
    if not predicted:
        assert said is None
        return
    assert said is not None, [each.message for each in predicted]
    assert said.partition(":")[0] in {(each.exception or "").partition(":")[0].rpartition(".")[2] for each in predicted}
