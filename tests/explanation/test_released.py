"""What packages do not have in some releases, as exceptions say it; the releases are those of their wheels (`tools/released_names.py`)."""

from __future__ import annotations

from cfglint.explanation.failures import failures_in
from cfglint.explanation.released import about, released
from cfglint.frameworks.releases.versions import parse_version
from tests.cases import each_case


@each_case(
    ("text", "said"),
    [
        (
            "ImportError: cannot import name 'cached_download' from 'huggingface_hub' (/x/__init__.py)",
            "`huggingface_hub.cached_download` was removed in huggingface-hub 0.26.0",
        ),
        ("AttributeError: module 'datasets' has no attribute 'load_metric'", "`datasets.load_metric` was removed in datasets 3.0.0"),
        ("AttributeError: module 'datasets' has no attribute 'load_dataset'", ""),  # all releases have it: another `datasets` hides it
        ("ModuleNotFoundError: No module named 'swift.llm.utils.nothing'", ""),
        (
            "TypeError: PeftAdapterMixin.load_adapter() got an unexpected keyword argument 'adapter_state_dict'",
            "the parameter `adapter_state_dict` of `PeftAdapterMixin.load_adapter` from 4.34.0 on: the installed release is older",
        ),
        (
            "TypeError: EngineArgs.__init__() got an unexpected keyword argument 'worker_extension_cls'",
            "vllm has the parameter `worker_extension_cls` of `EngineArgs.__init__` from 0.8.0 on",
        ),
        (
            "TypeError: __init__() got an unexpected keyword argument 'logging_dir'",  # of an old Python, which has no transformers 5
            "`logging_dir` of `Accelerator.__init__` was removed in accelerate 0.20.0",
        ),
        (
            "TypeError: OwnTrainer.training_step() got an unexpected keyword argument 'num_items_in_batch'",
            "has `num_items_in_batch` of `Trainer.training_step` from 4.46.0 on: give the method that overrides it this parameter",
        ),
        (
            "TypeError: Accelerator.accumulate() takes 2 positional arguments but 3 were given",
            "the parameters of `Accelerator.accumulate` changed in accelerate 0.22.0 (`*models`, `model`)",
        ),
        (
            "AttributeError: BertTokenizer has no attribute batch_encode_plus. Did you mean: '_encode_plus'?",
            "`PreTrainedTokenizerBase.batch_encode_plus` was removed in transformers 5.0.0",
        ),
        ("AttributeError: 'OwnTrainer' object has no attribute 'nothing'", ""),
        ("AttributeError: 'NoneType' object has no attribute 'use_fp16'", ""),
        ("AttributeError: 'Accelerator' object has no attribute 'use_fp16'", "`Accelerator.use_fp16` was removed in accelerate 1.0.0"),
        ("TypeError: OwnModel.forward() got an unexpected keyword argument 'adapter_names'", ""),  # its own, whatever others have
        ("TypeError: forward() got an unexpected keyword argument 'adapter_names'", ""),
        (
            "cannot import name 'SAFETENSORS_WEIGHTS_NAME' from 'peft.utils.other' (/x/peft/utils/other.py)",
            "was removed in peft 0.7.0, and came in 0.4.0: the installed release is not one between them",
        ),
        ("ValueError: no", ""),
    ],
)
def test_the_releases_that_have_what_is_missing(text, said):
    found = about(text)
    assert said in found
    assert bool(said) == bool(found)


def test_the_rule_of_an_exception_and_its_release_are_told_together():
    [failure] = failures_in(["TypeError: Accelerator.__init__() got an unexpected keyword argument 'project_dir'"])
    assert failure.rules == ["LCH020"]
    assert "from 0.16.0 on" in failure.remedy


def test_a_keyword_of_no_release_is_one_of_a_changed_package():
    [failure] = failures_in(["TypeError: DPOTrainer.__init__() got an unexpected keyword argument 'gamma'"])
    assert "no release of trl" in failure.remedy


def test_spans_are_in_order_and_of_known_packages():
    for package, spans in released().values():
        ends = [release for span in spans for release in span if release]
        assert ends == sorted(ends), (package, spans)
        assert all(parse_version(".".join(map(str, each))) == each for each in ends[:1])
