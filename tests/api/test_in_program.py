"""`cfglint.preflight` with objects like those of transformers and TRL; `tests/conformance/test_preflight.py` has the real ones."""

import json
import sys
from dataclasses import dataclass, field
from enum import Enum
from types import ModuleType, SimpleNamespace

import pytest

import cfglint
from cfglint.api import in_program


class Strategy(Enum):
    NO = "no"
    STEPS = "steps"


@dataclass
class Arguments:
    output_dir: str = "out"
    per_device_train_batch_size: int = 8
    gradient_accumulation_steps: int = 1
    num_train_epochs: float = 3.0
    eval_strategy: Strategy = Strategy.NO
    save_steps: float = 500
    deepspeed: object = None
    report_to: list = field(default_factory=list)
    computed: int = field(default=0, init=False)
    world_size = 4


Arguments.__module__ = "transformers.training_args"


@dataclass
class Own(Arguments):
    data_mix: str = "web"


class Trainer:
    def __init__(self, args, train_dataset=None, model=None):
        self.args, self.train_dataset, self.model = args, train_dataset, model


@pytest.fixture(autouse=True)
def releases(monkeypatch):
    """transformers 4.57.1 is imported, nothing else is; this is the only rank."""
    module = ModuleType("transformers")
    module.__version__ = "4.57.1"
    monkeypatch.setitem(sys.modules, "transformers", module)
    for name in in_program.RANKS:
        monkeypatch.delenv(name, raising=False)


def test_the_numbers_of_a_trainer(capsys):
    arguments = Arguments(per_device_train_batch_size=2, gradient_accumulation_steps=4)
    [run] = cfglint.preflight(Trainer(arguments, train_dataset=range(1000))).runs
    numbers = {name: run.resolved[name] for name in ("micro_batch", "accumulation", "data_parallel", "global_batch", "total_steps")}
    assert numbers == {"micro_batch": 2, "accumulation": 4, "data_parallel": 4, "global_batch": 32, "total_steps": 96}
    assert run.target["transformers"] == "4.57.1"
    assert capsys.readouterr().out == "cfglint: It would start.\ncfglint: global batch 32 = 2 x 4 x 4, 96 steps\n"


def test_only_values_that_differ_are_the_config():
    written = in_program.texts(Own(eval_strategy=Strategy.STEPS, report_to=["none"]), in_program.class_of(Own()))
    assert json.loads(written["arguments.json"]) == {"eval_strategy": "steps", "report_to": ["none"]}


def test_an_error_is_raised_with_the_findings(capsys):
    arguments = Arguments(deepspeed={"train_batch_size": 7, "zero_optimization": {"stage": 2}})
    with pytest.raises(cfglint.WouldFail) as caught:
        cfglint.preflight(arguments)
    assert "train_batch_size" in str(caught.value)
    assert [each.severity for each in caught.value.result.diagnostics if each.severity == "error"]
    assert "It would not start" in capsys.readouterr().out
    assert not cfglint.preflight(arguments, stop=False)


def test_other_ranks_are_silent(capsys, monkeypatch):
    monkeypatch.setenv("RANK", "3")
    cfglint.preflight(Arguments())
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("other", [object(), {"per_device_train_batch_size": 8}, SimpleNamespace(per_device_train_batch_size=8)])
def test_other_objects_are_refused(other):
    with pytest.raises(TypeError, match="expects a Trainer or its TrainingArguments"):
        cfglint.preflight(other)


def test_a_stream_has_no_length():
    [run] = cfglint.preflight(Trainer(Arguments(), train_dataset=iter(())), stop=False).runs
    assert run.resolved["total_steps"] is None


def test_the_callback_answers_when_the_training_begins(capsys):
    callback = cfglint.Preflight()
    loader = SimpleNamespace(dataset=range(64))
    assert callback.on_init_end(Arguments(), None, None) is None
    callback.on_train_begin(Arguments(), None, None, model=None, train_dataloader=loader)
    assert "global batch 32 = 8 x 1 x 4, 6 steps" in capsys.readouterr().out
    with pytest.raises(AttributeError):
        callback.unrelated  # noqa: B018


def config(**changes):
    values = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 1000}
    return SimpleNamespace(to_dict=lambda: {"model_type": "llama", **values, **changes})


@pytest.mark.parametrize(("trains", "known"), [((True, True), True), ((True, False), False)])
def test_the_shape_of_a_model_that_is_trained_whole(trains, known):
    model = SimpleNamespace(config=config(), parameters=lambda: [SimpleNamespace(requires_grad=each) for each in trains])
    assert (in_program.shape_of(model) is not None) is known


def test_the_memory_of_the_device(monkeypatch):
    assert in_program.memory_of_device() is None
    cuda = SimpleNamespace(
        is_initialized=lambda: True,
        current_device=lambda: 0,
        get_device_properties=lambda device: SimpleNamespace(total_memory=80 * 2**30),
    )
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    assert in_program.memory_of_device() == 80


def test_a_notebook_shows_the_result(capsys, monkeypatch):
    shell = SimpleNamespace(config={"IPKernelApp": {}})
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    result = cfglint.preflight(Arguments())
    assert capsys.readouterr().out == ""
    assert "<" in result._repr_html_()
