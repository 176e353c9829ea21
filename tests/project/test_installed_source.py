"""An unmodelled release whose source is installed or in the checkout: its fields and defaults are those of the source."""

from __future__ import annotations

import shutil

import pytest

from cfglint import check
from cfglint.cli import main
from cfglint.evaluate import Unknown
from cfglint.frameworks.trl.releases import HISTORY

CONFIG = """from dataclasses import dataclass, field
from transformers import TrainingArguments

WORDS = 3

@dataclass
class SFTConfig(TrainingArguments):
    way_of_packing: str = field(default="bfd", metadata={"choices": ["bfd", "wrapped"]})
    packing: bool = False
    max_length: int | None = field(default=WORDS * 100)
    computed: int = compute()
"""
TRAIN = "output_dir: out\npacking: false\n"


@pytest.fixture(autouse=True)
def _as_before():
    """The releases that a test learns are unknown to the others."""
    from cfglint.frameworks import framework, kinds
    from cfglint.frameworks.deepspeed.models import _models
    from cfglint.frameworks.huggingface.fields import FIELDS

    before = {**FIELDS}
    yield
    FIELDS.clear()
    FIELDS.update(before)
    for history in (each for kind in kinds() for each in framework(kind).histories()):
        history._learned.clear()
        history._by_name.clear()
    for model in _models.values():
        model.clear()


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with a made-up TRL in one of its folders."""
    monkeypatch.chdir(tmp_path)
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / ".git").mkdir()

    def with_source(folder, version="99.1.0", config=CONFIG, metadata=True):
        place = tmp_path / folder
        (place / "trl" / "trainer").mkdir(parents=True)
        (place / "trl" / "__init__.py").write_text(f'__version__ = "{version}"\n')
        (place / "trl" / "trainer" / "__init__.py").touch()
        (place / "trl" / "trainer" / "sft_config.py").write_text(config)
        (place / "trl" / "trainer" / "sft_trainer.py").touch()
        if metadata:
            (place / f"trl-{version}.dist-info").mkdir()
        return tmp_path

    return with_source


SITE = ".venv/lib/python3.12/site-packages"


def found(folder, text, **options):
    """(code, severity, key) of the findings about keys and values of a file."""
    path = folder / "train.yaml"
    path.write_text(text)
    outcome = check([str(path)], kind="trl", trainer="sft", strict_keys=True, **options)
    return [(each.code, each.severity, each.key) for each in outcome.diagnostics if each.code.startswith("TRL")]


def test_the_installed_source_says_which_keys_exist(project):
    """A key of the source is known, a removed one is not; all of it are warnings, as the checks are those of another release."""
    text = TRAIN + "way_of_packing: bfd\nno_such_field: bfd\n"
    assert found(project(SITE), text, target="installed") == [("TRL010", "warning", "/no_such_field")]


def test_the_environment_of_the_project_is_read_for_a_stated_release(project):
    """Without `--target installed`, the release that the project states has to be the installed one."""
    folder = project(SITE)
    (folder / "requirements.txt").write_text("trl==99.1.0\n")
    assert found(folder, TRAIN + "way_of_packing: bfd\n") == []
    (folder / "requirements.txt").write_text("trl==99.2.0\n")
    assert found(folder, TRAIN + "way_of_packing: bfd\n") == [("TRL010", "warning", "/way_of_packing")]


@pytest.mark.parametrize("place", ["", "src"])
def test_a_vendored_copy_is_read(project, place):
    assert found(project(place, metadata=False), TRAIN + "way_of_packing: bfd\nassistant_only_loss: true\n") == [
        ("TRL010", "warning", "/assistant_only_loss")
    ]


def test_defaults_are_those_of_the_source_and_computed_ones_are_unknown(project):
    from cfglint.frameworks.trl.source_fields import learned

    fields = learned(project(SITE) / SITE, lambda path: True)["sft"]
    assert fields["max_length"] == ("int|None", 300)
    assert fields["way_of_packing"] == ("str", "bfd", ("bfd", "wrapped"))
    assert fields["computed"] == ("int", None)
    other = project("other", config=CONFIG.replace("WORDS * 100", "words()[0] + 1")) / "other"
    assert isinstance(learned(other, lambda path: True)["sft"]["max_length"][1], Unknown)


def test_a_source_that_is_not_understood_leaves_the_nearest_release(project):
    """A file that Python cannot parse: the fields are those of the newest modelled release."""
    assert found(project(SITE, version="99.3.0", config="class SFTConfig("), TRAIN + "way_of_packing: bfd\n", target="installed") == [
        ("TRL010", "warning", "/way_of_packing")
    ]


def test_a_modelled_release_keeps_its_rows(project):
    """Whatever lies in the environment under its number."""
    before = HISTORY.fields("sft", (1, 16, 0))
    assert found(project(SITE, version="1.16.0"), TRAIN + "way_of_packing: bfd\n", target="installed") == [
        ("TRL010", "error", "/way_of_packing")
    ]
    assert HISTORY.fields("sft", (1, 16, 0)) is before


@pytest.mark.parametrize("default", ['"adamw_hf"', "make()"])
def test_an_optimizer_that_the_class_itself_does_not_choose(tmp_path, default):
    from cfglint.frameworks.huggingface.source_fields import learned

    folder = tmp_path / "transformers"
    folder.mkdir()
    (folder / "__init__.py").touch()
    text = f"@dataclass\nclass TrainingArguments:\n    output_dir: str = field()\n    optim: str = field(default={default})\n"
    (folder / "training_args.py").write_text(text)
    [[_, found, *_]] = [fact for name, fact in learned(tmp_path, lambda path: True)[0].items() if name == "optim"]
    assert found == "adamw_hf" or isinstance(found, Unknown)


AXOLOTL = """from pydantic import BaseModel, Field

class AxolotlInputConfig(BaseModel):
    base_model: str
    learning_rate: float
    micro_batches: int | None = 3
    new_kind: Something[int] = Field(default=make() + 1, brand_new=1)
"""
LLAMAFACTORY = {
    "model_args": "class ModelArguments:\n    model_name_or_path: str = field(default=None)\n    brand_new: int = field(default=2 * 3)\n",
    "data_args": "class DataArguments:\n    dataset: str = field(default=None)\n",
    "training_args": "class TrainingArguments(BaseTrainingArguments):\n    computed: int = field(default=make())\n",
    "finetuning_args": "class FinetuningArguments(Missing):\n    stage: str = field(default='sft')\n",
    "generating_args": "class GeneratingArguments:\n    top_p: float = field(default=0.7)\n",
    "parser": "",
}


def write_axolotl(folder, config):
    """A source of axolotl that has nothing but the schema of its config."""
    schemas = folder / "axolotl" / "utils" / "schemas"
    schemas.mkdir(parents=True)
    (folder / "axolotl" / "integrations").mkdir()
    (folder / "axolotl" / "__init__.py").touch()
    (schemas / "config.py").write_text(config)


def test_axolotl_fields_of_another_release(tmp_path):
    """An annotation without a rule takes anything, and a default that is computed is unknown; the rest is read."""
    from cfglint.frameworks.axolotl import FRAMEWORK
    from cfglint.frameworks.axolotl.releases import HISTORY as RELEASES_OF_AXOLOTL
    from cfglint.frameworks.releases.history import DEFAULT, TYPE

    write_axolotl(tmp_path, AXOLOTL)
    assert FRAMEWORK.learn((99, 1, 0), str(tmp_path), lambda path: True)
    fields = RELEASES_OF_AXOLOTL.fields("", (99, 1, 0))
    assert list(fields) == ["base_model", "learning_rate", "micro_batches", "new_kind"]
    assert fields["micro_batches"][TYPE : DEFAULT + 1] == (("|", "int", "None"), 3)
    assert fields["new_kind"][TYPE] == "Any"
    assert isinstance(fields["new_kind"][DEFAULT], Unknown)
    assert not FRAMEWORK.learn((99, 2, 0), str(tmp_path / "axolotl" / "utils"), lambda path: True)


ANNOTATIONS = {  # as pydantic reads them: a name or annotation without a rule takes anything
    "StrictStr": ("strict", "str"),
    "StrictBool": ("strict", "bool"),
    "StrictInt": ("strict", "int"),
    "PositiveInt": ("bounded", "int", {"exclusiveMinimum": 0}),
    "NonNegativeInt": ("bounded", "int", {"minimum": 0}),
    "PositiveFloat": ("bounded", "float", {"exclusiveMinimum": 0}),
    "Annotated[int, Field(ge=1)]": ("bounded", "int", {"minimum": 1}),
    "Annotated[float, Field(gt=0, le=2)]": ("bounded", "float", {"exclusiveMinimum": 0, "maximum": 2}),
    "Annotated[float, Field(lt=2)]": ("bounded", "float", {"exclusiveMaximum": 2}),
    "Annotated[list[str], MinLen(1)]": ("list", "str"),
    "str | None": ("|", "str", "None"),
    "Optional[int]": ("|", "int", "None"),
    "Union[int, str]": ("|", "int", "str"),
    "Literal['a', 'b']": ("literal", "a", "b"),
    "list[int]": ("list", "int"),
    "dict[str, int]": ("dict", "str", "int"),
    "tuple[int, str]": ("tuple", "int", "str"),
    "Resampling": ("enum", "Resampling", 0, 1, 2, 3, 4, 5),
    "OptimizerNames | str": ("|", ("enum", "OptimizerNames"), "str"),
    "conint(ge=1)": "Any",
    "datetime": "Any",
    **{name: name for name in ("int", "float", "bool", "str", "dict", "list", "tuple", "None", "Any")},
}


def test_axolotl_annotations_of_another_release(tmp_path):
    from cfglint.frameworks.axolotl import FRAMEWORK
    from cfglint.frameworks.axolotl.releases import HISTORY as RELEASES_OF_AXOLOTL
    from cfglint.frameworks.releases.history import TYPE

    lines = [f"    field_{number}: {annotation} = None\n" for number, annotation in enumerate(ANNOTATIONS)]
    write_axolotl(tmp_path, f"class AxolotlInputConfig(BaseModel):\n{''.join(lines)}")
    assert FRAMEWORK.learn((99, 1, 0), str(tmp_path), lambda path: True)
    read = [row[TYPE] for row in RELEASES_OF_AXOLOTL.fields("", (99, 1, 0)).values()]
    assert dict(zip(ANNOTATIONS, read, strict=True)) == ANNOTATIONS


def test_llamafactory_fields_of_another_release(tmp_path):
    """A base class that is not in the package is left out."""
    from cfglint.frameworks.llamafactory import FRAMEWORK
    from cfglint.frameworks.llamafactory.releases import arguments
    from cfglint.frameworks.releases.history import DEFAULT

    root = tmp_path / "llamafactory"
    (root / "hparams").mkdir(parents=True)
    (root / "data").mkdir()
    (root / "__init__.py").touch()
    (root / "data" / "template.py").write_text('register_template(name="mine")\n')
    for name, text in LLAMAFACTORY.items():
        (root / "hparams" / f"{name}.py").write_text(text)
    assert FRAMEWORK.learn((99, 1, 0), str(tmp_path), lambda path: True)
    assert {"brand_new", "dataset", "stage", "top_p", "computed"} <= arguments((99, 1, 0)).keys()
    assert "lora_rank" not in arguments((99, 1, 0))
    assert arguments((99, 1, 0))["brand_new"][DEFAULT] == 6
    assert isinstance(arguments((99, 1, 0))["computed"][DEFAULT], Unknown)


TRANSFORMERS = """from enum import Enum
from .utils import ExplicitEnum

class HubStrategy(ExplicitEnum):
    END = "end"
    AT_NIGHT = "at_night"

@dataclass
class TrainingArguments:
    output_dir: str = field(metadata={"help": "where"})
    hub_strategy: HubStrategy | str = field(default="at_night")
    way_of_saving: str = field(default="all")
    per_device_train_batch_size: int = field(default=2 * 3)
    gradient_accumulation_steps: int = field(default=1)
    report_to: str = field(default="none")
    new_kind: Something[int] = field(default=make() + 1)
"""
FILE = "output_dir: out\nway_of_saving: some\nhub_strategy: at_night\nnew_kind: [1]\n"


@pytest.fixture
def transformers(project, tmp_path):
    """A project with a made-up transformers in its environment."""
    root = tmp_path / SITE / "transformers"
    root.mkdir(parents=True)
    (root / "__init__.py").write_text('__version__ = "99.1.0"\n')
    (root / "training_args.py").write_text(TRANSFORMERS)
    (tmp_path / SITE / "transformers-99.1.0.dist-info").mkdir()
    (tmp_path / "train.yaml").write_text(FILE)
    return tmp_path


def test_the_fields_values_and_defaults_of_an_installed_transformers(transformers):
    """A new field, a new value of an Enum and a new default are known; a field of all modelled releases is not."""
    path = str(transformers / "train.yaml")
    run = check([path], kind="huggingface", strict_keys=True, target="installed").runs[0]
    assert ([(each.code, each.key) for each in run.diagnostics], run.resolved["micro_batch"]) == ([], 6)
    (transformers / "train.yaml").write_text(FILE + "adam_beta1: 0.8\n")
    run = check([path], kind="huggingface", strict_keys=True, target="installed").runs[0]
    assert [(each.severity, each.key) for each in run.diagnostics] == [("warning", "/adam_beta1")]


ACCELERATE = {
    "commands/config/config_args.py": """class BaseConfig:
    compute_environment: ComputeEnvironment
    distributed_type: DistributedType
    brand_new: Something[int] = 2 * 3

class ClusterConfig(BaseConfig):
    num_processes: int = -1
    num_machines: int = 1
    fsdp_config: dict = None

class SageMakerConfig(BaseConfig):
    region: str = "us-east-1"
""",
    "commands/launch.py": """def launch_command_parser():
    fsdp_args.add_argument("--fsdp_new_option", type=new_kind, default="x")
    other_args.add_argument("--other")
""",
    "utils/dataclasses.py": """class DistributedType(str, BaseEnum):
    FSDP = "FSDP"
    MULTI_NEW = "MULTI_NEW"

class DynamoBackend(str, BaseEnum):
    INDUCTOR = "INDUCTOR"
""",
}


def test_the_keys_and_types_of_an_installed_accelerate(project, tmp_path):
    """A new key of the file, of a block and a new distributed type are known; a key that the source lacks is not."""
    root = tmp_path / SITE / "accelerate"
    for name, text in ACCELERATE.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    for folder in ("", "commands", "commands/config", "utils"):
        (root / folder / "__init__.py").touch()
    (tmp_path / SITE / "accelerate-99.1.0.dist-info").mkdir()
    path = tmp_path / "launch.yaml"
    start = "compute_environment: LOCAL_MACHINE\nnum_processes: 8\nbrand_new: 1\n"
    text = start + "distributed_type: FSDP\nfsdp_config:\n  fsdp_new_option: y\n"
    path.write_text(text)
    assert [each.key for each in check([str(path)], kind="accelerate", target="installed").diagnostics] == []
    path.write_text(start + "distributed_type: MULTI_NEW\n")
    assert [each.code for each in check([str(path)], kind="accelerate", target="installed").diagnostics] == []
    path.write_text(text + "machine_rank: 0\n")
    found = check([str(path)], kind="accelerate", target="installed").diagnostics
    assert [(each.code, each.severity, each.key) for each in found] == [("ACC002", "warning", "/machine_rank")]


ZERO_CONFIG = """from deepspeed.runtime.config_utils import DeepSpeedConfigModel, Field

class DeepSpeedZeroConfig(DeepSpeedConfigModel):
    stage: int = 0
    brand_new: int = Field(3, ge=1)
    overlap_comm: Optional[bool] = None
"""

DEEPSPEED_CONFIG = """from .compiler import get_compile_config
from .zero.config import DeepSpeedZeroConfig

class DeepSpeedConfig:
    def initialize(self, given):
        self.zero_config = DeepSpeedZeroConfig(**given["zero_optimization"])
        self.compile_config = get_compile_config(given)
"""
COMPILER = """from deepspeed.runtime.config_utils import DeepSpeedConfigModel

class CompileConfig(DeepSpeedConfigModel):
    brand_new: bool = False

def get_compile_config(given):
    return CompileConfig(**given["compile"])
"""
DEEPSPEED = {"runtime/config_utils.py": "class DeepSpeedConfigModel(BaseModel):\n    pass\n", "runtime/config.py": DEEPSPEED_CONFIG}
INFERENCE = """from deepspeed.runtime.config_utils import DeepSpeedConfigModel

class WeightQuantConfig(DeepSpeedConfigModel):
    enabled: bool = True
"""


def written(root, files):
    """A package with some files."""
    for name, text in files.items():
        folder = (root / name).parent
        folder.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
        for each in (folder, *folder.parents):
            if each.is_relative_to(root):
                (each / "__init__.py").touch()


def test_the_models_of_deepspeed_are_those_that_its_config_makes(tmp_path):
    """A model may be in a file of any name; one that only inference uses is no section of the config."""
    from cfglint.frameworks.deepspeed.source_fields import learned

    files = {**DEEPSPEED, "runtime/zero/config.py": ZERO_CONFIG, "runtime/compiler.py": COMPILER, "inference/config.py": INFERENCE}
    written(tmp_path / "deepspeed", files)
    assert {name: [*fields] for name, fields in learned(tmp_path, lambda path: True).items()} == {
        "zero_optimization": ["stage", "brand_new", "overlap_comm"],
        "compile": ["brand_new"],
    }


FIELDS_OF_ZERO = """from enum import Enum
from deepspeed.runtime.config_utils import DeepSpeedConfigModel, Field
from .offload import DeepSpeedZeroOffloadParamConfig

SPEEDS = Literal["slow", "fast"]

class Mode(str, Enum):
    one = "one"
    two = "two"

class Inherited(DeepSpeedConfigModel):
    inherited: bool = True
    stage: str = "replaced"

class DeepSpeedZeroConfig(Inherited):
    stage: int = 0
    unset: int = None
    optional: Optional[int] = None
    limited: int = Field(3, ge=1, lt=10)
    renamed: float = Field(0.5, alias="other_name")
    listed: List[str] = Field(default_factory=lambda: list(["a", "b"]))
    chosen: Literal["x", "y"] = "x"
    several: List[SPEEDS] = []
    mode: Mode = Mode.one
    dtype: torch.dtype = torch.float16
    strange: Callable[[int], str] = None
    offload_param: Optional[DeepSpeedZeroOffloadParamConfig] = None
    untyped = 3
"""
OF_BOTH = {
    "inherited": ("bool", True, ""),
    "stage": ("int", 0, ""),
    "unset": ("int", None, ""),
    "optional": (("|", "int", "None"), None, ""),
    "limited": (("bounded", "int", (("minimum", 1), ("exclusiveMaximum", 10))), 3, ""),
    "renamed": ("float", 0.5, "other_name"),
    "listed": (("list", "str"), ("a", "b"), ""),
    "chosen": (("literal", "x", "y"), "x", ""),
    "several": (("list", ("literal", "slow", "fast")), (), ""),
    "mode": (("enum", "one", "two"), "one", ""),
    "dtype": ("torch.dtype", None, ""),
    "strange": ("Any", None, ""),
    "offload_param": (("|", ("model", "zero_optimization.offload_param"), "None"), None, ""),
}


@pytest.mark.parametrize(
    ("base", "differs"),
    [
        ("    pass\n", {}),
        (
            "    class Config:\n        extra = 'forbid'\n",
            {"unset": (("|", "int", "None"), None, ""), "strange": (("|", "Any", "None"), None, ""), "untyped": ("int", 3, "")},
        ),
    ],
    ids=["pydantic 2", "pydantic 1"],
)
def test_what_the_source_of_deepspeed_says_of_each_field(tmp_path, base, differs):
    """To pydantic 1 a default of null makes a field optional, and a field needs no annotation."""
    from cfglint.frameworks.deepspeed.source_fields import learned

    model = f"class DeepSpeedConfigModel(BaseModel):\n{base}"
    written(tmp_path / "deepspeed", {**DEEPSPEED, "runtime/config_utils.py": model, "runtime/zero/config.py": FIELDS_OF_ZERO})
    assert learned(tmp_path, lambda path: True)["zero_optimization"] == {**OF_BOTH, **differs}


def test_the_fields_of_an_installed_deepspeed(project, tmp_path):
    """A new key of a model is known with its limits; a key that the source lacks is refused, as a warning."""
    root = tmp_path / SITE / "deepspeed"
    written(root, {**DEEPSPEED, "runtime/zero/config.py": ZERO_CONFIG})
    (tmp_path / SITE / "deepspeed-99.1.0.dist-info").mkdir()
    path = tmp_path / "ds_config.json"

    def told(section):
        path.write_text(f'{{"train_batch_size": 8, "zero_optimization": {section}}}\n')
        found = check([str(path)], kind="deepspeed", target="installed").diagnostics
        return [(each.code, each.severity, each.key) for each in found]

    assert told('{"stage": 2, "brand_new": 4}') == []
    assert told('{"stage": 2, "brand_new": 0}') == [("TYP101", "warning", "/zero_optimization/brand_new")]
    assert told('{"stage": 2, "reduce_bucket_size": 5}') == [("KEY102", "warning", "/zero_optimization/reduce_bucket_size")]


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_copy_that_moves_with_its_runs_is_no_other_release(checkout, capsys):
    """The earlier run has the fields of the copy that is in the checkout now."""
    parsed = "(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\nTrainer(args=args).train()\n"
    files = {
        "src/transformers/__init__.py": '__version__ = "99.1.0"\n',
        "src/transformers/training_args.py": TRANSFORMERS,
        "train.py": f"from transformers import HfArgumentParser, Trainer, TrainingArguments\n{parsed}",
        "run.sh": "python train.py --output_dir out --learning_rate 1e-4\n",
    }
    for name, text in files.items():
        path = checkout.folder / "a" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    checkout.commit()
    (checkout.folder / "b").mkdir()
    checkout.git("mv", "a", "b/a")
    main(["review", "--base", "HEAD"])
    assert "->" not in capsys.readouterr().out
