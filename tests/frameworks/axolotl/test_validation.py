"""Each refusal of `validate_config`: the lines that cause it, all of which are needed; each was seen with the real axolotl 0.21.0.

A case of `refusals/KIND.txt` is the lines that come to the keys which every file needs, then `=> /key: message`, other keys, axolotl's own
words and the remedy; `# 8 GPUs axolotl 0.7.0` above them are the launch and the release; without one it is the newest release, or, where
that gives something else, the newest one that has all of the keys. Those of `accepted.txt` are accepted by it, those of `completed.txt`
have a field of the model that it goes on with.
"""

from __future__ import annotations

import ast
import copy
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

import cfglint
import records
from cases import each_case
from cfglint.frameworks import modelled_releases
from cfglint.frameworks.axolotl import NEWEST, refusals
from cfglint.frameworks.axolotl.fields import top_fields
from cfglint.frameworks.axolotl.plugins import built_in, plugins_of
from cfglint.frameworks.axolotl.releases import HISTORY, RELEASES, TOP, library
from cfglint.frameworks.axolotl.validation import Validation
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.refusal import Refusal
from cfglint.frameworks.releases.versions import dotted, parse_version
from release_changes import ReleaseChanges
from remedies import done, remedies, sentence

HERE = Path(__file__).parent
PACKAGE = Path(cfglint.__file__).parent / "frameworks" / "axolotl"
BY_HAND = [PACKAGE / f"{name}.py" for name in ("by_hand", "plugins", "validation")]
MAKERS = [name for name, made in vars(refusals).items() if getattr(made, "__annotations__", {}).get("return") == "Refusal"]
RELEASE = parse_version(NEWEST)
WRAPPED = f"ValidationError: 1 validation error for {refusals.MODEL}: Value error, "  # around what a check raises
NEEDED = {"base_model": "org/model", "learning_rate": 2e-5, "datasets": [{"path": "data.jsonl", "type": "alpaca"}]}


def validated(lines, gpus, release=NEWEST):
    """What axolotl makes of lines that come to the keys which every file needs."""
    values = dict(NEEDED)
    for line in lines:
        values |= line
    version = parse_version(release)
    transformers = parse_version(library("transformers", version))
    config = SimpleNamespace(root=values, values=values, load_problems=[], facts=LaunchFacts(gpus=gpus), own_version=version)
    config.version = transformers
    return Validation(config)


def newest_with(keys):
    """The newest release in which none of some keys was removed."""
    removed = [until for key in keys for _, until in HISTORY.releases(TOP, key)[-1:] if until]
    return dotted(max(each for each in RELEASES if all(each < until for until in removed)))


class Case:
    """Lines, the GPUs of the launch, and the first thing that axolotl or pydantic refuses."""

    def __init__(self, text):
        self.text, _, outcome = text.partition("\n=> ")
        lines = self.text.splitlines()
        self.expected = outcome.partition("\n")[0]
        head = lines.pop(0).split() if lines[0].startswith("#") else []
        self.gpus = int(head[head.index("GPUs") - 1]) if "GPUs" in head else 1
        self.lines = [yaml.load(line, yaml.CSafeLoader) for line in lines]
        self.release = head[head.index("axolotl") + 1] if "axolotl" in head else NEWEST
        keys = [key for line in self.lines for key in line]
        if self.release == NEWEST and newest_with(keys) != NEWEST and self.refusal() != self.expected:
            self.release = newest_with(keys)

    def __repr__(self):
        return str(self.lines)

    def found(self, without=None, release=None):
        """What comes of all lines, or of all but one, in the release of the case or another one."""
        sizes = [{"micro_batch_size": 1, "gradient_accumulation_steps": 1}] if release else []  # older releases require them
        return validated([*sizes, *(line for line in self.lines if line is not without)], self.gpus, release or self.release)

    def refused(self, without=None, release=None):
        """What is refused, each with its place."""
        found = self.found(without, release)
        refused = [
            *(((each.paths or [()])[0], each.message) for each in found.refusals),
            *((each.path, each.message) for each in found.faults),
        ]
        return [f"/{'/'.join(map(str, path))}: {message}" for path, message in refused]

    def refusal(self, without=None, release=None):
        """The first thing that is refused."""
        return next(iter(self.refused(without, release)), "")

    def outcome(self):
        """The refusal with its other keys, the words of axolotl and the remedy; those of pydantic have a record of their own."""
        found = self.found()
        first = next(iter(found.refusals), Refusal("", [], ""))
        others, remedy = ", ".join(first.keys[1:]), sentence(first.help_for(found.values))
        raised = first.exception.replace(WRAPPED, "").replace("\n", " ")
        return [self.refusal(), *filter(None, (others and f"also {others}", raised and f"raises {raised}", remedy and f"help: {remedy}"))]


def cases(name):
    """The cases of a file beside this one."""
    return [Case(text) for text in read(name).split("\n\n")]


def read(name):
    return (HERE / name).read_text(encoding="utf-8").strip()


TITLED = {
    f"{path.stem}: {title}": Case("\n".join(lines))
    for path in sorted((HERE / "refusals").glob("*.txt"))
    for title, lines in records.read(path).items()
}
REFUSED = [*TITLED.values()]
ACCEPTED = cases("accepted.txt")
COMPLETED = [line.split(" => ") for line in read("completed.txt").splitlines()]


@pytest.fixture(scope="module")
def refused():
    """The (file, line) of all refusals that the cases reach."""
    places, make = set(), Refusal.__init__

    def making(refusal, *arguments, **keywords):
        caller = sys._getframe(1)
        while caller.f_code.co_filename == refusals.__file__:
            caller = caller.f_back
        places.add((Path(caller.f_code.co_filename), caller.f_lineno))
        make(refusal, *arguments, **keywords)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Refusal, "__init__", making)
        for case in REFUSED:
            case.refusal()
    return places


def test_what_is_refused(updating):
    """`CFGLINT_UPDATE=1` rewrites the messages."""
    known = {case.text: case for case in REFUSED}
    records.check_cases(HERE / "refusals", lambda text: (known.get(text) or Case(text)).outcome(), updating)


def test_every_refusal_by_hand_has_a_case(refused):
    missing = []
    for path in BY_HAND:
        lines = {line for file, line in refused if file == path}
        unreached = [call for call in refusals_in(path) if lines.isdisjoint(range(call.lineno, call.end_lineno + 1))]
        missing.extend(f"{path.relative_to(PACKAGE)}:{call.lineno}" for call in unreached)
    assert missing == []


@each_case("case", REFUSED)
def test_every_line_is_needed(case):
    """Without it nothing, something else or more is refused: older releases refuse a file without its sizes, too."""
    refused = case.refused()
    assert [line for line in case.lines if case.refused(without=line) == refused] == []


def test_what_a_release_changes_in_refusals(updating):
    """`CFGLINT_UPDATE=1` rewrites the record; a message that lists values is cut."""
    lines = []
    for title, case in TITLED.items():
        changes = ReleaseChanges(lambda release, case=case: {case.refusal(release=release)[:160]} - {""}).lines(
            modelled_releases("axolotl")
        )
        lines += [f"{records.MARK}{title}", *changes] if changes else []
    folder, purpose = HERE / "refusals_in_releases", "What a release of axolotl changes in what comes of a case of `refusals`."
    records.check_parts(folder, purpose, lines, updating)


@each_case("case", ACCEPTED)
def test_what_is_accepted(case):
    assert case.refusal() == ""


@each_case(("lines", "expected"), COMPLETED)
def test_what_is_completed(lines, expected):
    path, _, value = expected.partition(": ")
    name, _, key = path.partition(".")
    found = getattr(validated([yaml.load(line, yaml.CSafeLoader) for line in lines.split("; ")], gpus=1).model, name)
    assert (found[key] if key else found) == json.loads(value)


def set_by_validation(lines, beside=()):
    """A line for each field that validation sets to something else than the lines, or, without them, the model; `beside` are left out."""
    found = validated(lines, gpus=4)
    if found.model is None:
        return ["refused"]
    given = {key: value for line in (NEEDED, *lines) for key, value in line.items()}
    usual = {**top_fields(RELEASE, tuple(plugins_folders(found))).defaults, **given}
    values = {key: value for key, value in vars(found.model).items() if key not in ("changed", "release")}
    changed = {key: value for key, value in values.items() if value != usual.get(key) or type(value) is not type(usual.get(key))}
    return [each for key in sorted(changed) if (each := f"{key}: {written(changed[key])}") not in beside]


def written(value):
    """A value as JSON, a mapping without its keys that have no value."""
    return json.dumps({key: each for key, each in value.items() if each is not None} if isinstance(value, dict) else value, default=str)


def plugins_folders(found):
    """The plugins whose fields the model has."""
    always = built_in(RELEASE)
    return (*always, *(each.folder for each in found.plugins if each.folder and each.folder not in always))


def varied(lines):
    """Lines, all but one of them, and with one that says the opposite."""
    yield lines
    for at, line in enumerate(lines):
        yield [*lines[:at], *lines[at + 1 :]]
        opposite = {key: not value for key, value in line.items() if isinstance(value, bool)}
        if opposite:
            yield [*lines[:at], opposite, *lines[at + 1 :]]


def test_everything_that_is_completed(updating):
    """Of the lines of `completed.txt`, without one of them, and with the opposite of one. `CFGLINT_UPDATE=1` rewrites the record."""
    always = set_by_validation([])
    shown = [f"{records.MARK}the needed keys alone", *always]
    seen = set()
    for lines, _ in COMPLETED:
        for case in varied([yaml.load(line, yaml.CSafeLoader) for line in lines.split("; ")]):
            title = "; ".join(f"{key}: {json.dumps(value)}" for line in case for key, value in line.items())
            if title and title not in seen:
                seen.add(title)
                shown += [f"{records.MARK}{title}", *(set_by_validation(case, always) or ["nothing more"])]
    purpose = "The fields that axolotl's validation sets beyond what a file has, on 4 GPUs; those of the needed keys are said once."
    records.check_parts(HERE / "expected" / "completed", purpose, shown, updating)


# What one line has in place of `{}`, and whether all of them are refused, for the key before the colon, or none.
NAMES = """
{}: true
=> unsloth_cross_entropy_loss unsloth_lora_mlp unsloth_lora_qkv unsloth_lora_o unsloth_rms_norm unsloth_rope
=> s2_attention flash_attn_rms_norm

optimizer: polora; adapter: lora; {}: 1
=> lora_modules_to_save unfrozen_parameters peft_use_dora peft_trainable_token_indices lisa_step_interval reward_model process_reward_model
=> loraplus_lr_ratio lr_groups embedding_lr embedding_lr_scale

export: {quantize: [{}]}
=> accepted F32 F16 BF16 Q8_0 Q6_K Q5_K_M Q5_K_S Q5_0 Q4_K_M Q4_K_S Q4_0 Q4_1 Q3_K_L Q3_K_M Q3_K_S Q2_K Q2_K_S IQ4_XS IQ4_NL
=> accepted IQ3_M IQ3_S IQ3_XS IQ3_XXS IQ2_M IQ2_S IQ2_XS IQ2_XXS IQ1_M IQ1_S TQ1_0 TQ2_0 MXFP4_MOE

torch_compile: true; torch_compile_options: {{}: true}
=> accepted coordinate_descent_tuning coordinate_descent_check_all_directions shape_padding epilogue_fusion max_autotune_gemm
=> accepted fx_graph_cache assume_aligned_inputs comprehensive_padding decompose_mem_bound_mm triton.cudagraphs

attn_implementation: {}
=> accepted eager fp8 flash_attention_2 flash_attention_3 flash_attention_4 flex_attention sage sdpa xformers
=> flash flex sdp varlenn

selective_checkpointing: {save_modules: [{}]}; gradient_checkpointing: true; adapter: lora
=> gate_proj up_proj down_proj mlp mixer shared_experts shared_expert feedforward experts gate_projs up_projs down_projs
=> q_proj k_proj v_proj in_proj_qkv in_proj_z in_proj_b in_proj_a self_attn linear_attn o_proj out_proj
=> model language_model text_model decoder transformer backbone layers layer h blocks block

selective_checkpointing: {save: [{}]}; gradient_checkpointing: true; adapter: lora
=> aten::mm aten::addmm aten::matmul aten::bmm
=> accepted attention aten::gelu

batch_flattening: true; attn_implementation: {}
=> accepted flash_attention_2 flash_attention_3 flash_attention_4 flex_attention xformers sage kernels-community/flash-attn2
=> accepted kernels-community/flash-attn3 kernels-community/sage-attention
=> sdpa eager kernels-community/other

deepspeed: ds.json; optimizer: {}
=> muon muon_8bit q_galore_adamw8bit flash_adamw flash_sgd flash_lion

expert_parallel_size: 2; fsdp_config: {state_dict_type: FULL_STATE_DICT}; optimizer: {}
=> adamw_torch_4bit ao_adamw_4bit ao_adamw_fp8
=> accepted adamw_torch adamw_torch_8bit ao_adamw_8bit

plugins: [axolotl.integrations.kernels.KernelsPlugin]; nonexpert_quantization: {}
=> accepted none bf16 fp8 fp8_blockwise nf4 nvfp4

plugins: [axolotl.integrations.kernels.KernelsPlugin]; moe_grouped_backend: {}
=> accepted auto marlin cutlass deepgemm

plugins: [axolotl.integrations.kernels.KernelsPlugin]; expert_backend: {}
=> accepted scattermoe sonicmoe eager builtin

plugins: [axolotl.integrations.swanlab.SwanLabPlugin]; swanlab_project: p; swanlab_mode: {}
=> accepted cloud local offline disabled

eval_causal_lm_metrics: [{}]
=> accepted sacrebleu comet ter chrf perplexity

fsdp_config: {{}: true}
=> accepted sync_module_states backward_prefetch backward_prefetch_policy limit_all_gathers use_orig_params
=> sharding_strategy forward_prefetch

tokenizer_use_mistral_common: true; {}: [1]
=> tokens
"""


@each_case("text", NAMES.strip().split("\n\n"))
def test_names(text):
    template, *lists = text.splitlines()
    for names in lists:
        _, *listed = names.split()
        refused = listed[0] != "accepted"
        for name in listed if refused else listed[1:]:
            lines = [yaml.load(line.replace("{}", name), yaml.CSafeLoader) for line in template.split("; ")]
            found = validated(lines, gpus=1)
            assert bool(found.refusals or found.faults) is refused, name


BUNDLED = """
    context_parallel.ContextParallelPlugin coreweave.CoreWeavePlugin cut_cross_entropy.CutCrossEntropyPlugin densemixer.DenseMixerPlugin
    diffusion.DiffusionPlugin diffusion_decision.DiffusionDecisionPlugin expert_parallel.ExpertParallelPlugin
    fla_sm120_shim.FlaSm120ShimPlugin grokfast.GrokfastPlugin hatchery.HatcheryPlugin kd.KDPlugin kernels.KernelsPlugin
    liger.LigerPlugin llm_compressor.LLMCompressorPlugin lm_eval.LMEvalPlugin mixlora.MixLoraPlugin mora.MoraPlugin
    nebius.completion.NebiusCompletionPlugin
    nemo_gym.NemoGymPlugin spectrum.SpectrumPlugin swanlab.SwanLabPlugin
"""


def test_the_releases_that_bring_plugins():
    """The folders below `axolotl/integrations` of the wheels."""

    def known(release):
        named = plugins_of([f"axolotl.integrations.{name}" for name in BUNDLED.split()], parse_version(release))
        return {each.folder for each in named if each.folder}

    assert ReleaseChanges(known).lines(modelled_releases("axolotl")) == [
        "0.6.0: +cut_cross_entropy",
        "0.7.0: +kd",
        "0.10.0: +llm_compressor",
        "0.11.0: +densemixer",
        "0.13.1: +diffusion; +swanlab",
        "0.14.0: +kernels",
        "0.16.0: +nemo_gym",
        "0.17.0: +expert_parallel; +hatchery; +mora",
        "0.20.0: +context_parallel; +fla_sm120_shim; +mixlora; +nebius",
        "0.21.0: +coreweave; +diffusion_decision",
    ]


def test_the_classes_of_the_bundled_plugins():
    for name in BUNDLED.split():
        folder = name.partition(".")[0]
        [ours] = plugins_of([f"axolotl.integrations.{name}"], RELEASE)
        [short] = plugins_of([name.replace(".", ":", name.count(".")) if name.count(".") == 1 else name], RELEASE)
        [wrong] = plugins_of([f"axolotl.integrations.{name}s"], RELEASE)
        assert (ours.folder, ours.problem, short.folder) == (folder, "", folder)
        assert wrong.problem.startswith("AttributeError: module 'axolotl.integrations.")


@each_case(
    ("value", "problem"),
    [
        ([3], "AttributeError: 'int' object has no attribute 'partition'"),
        (["Plugin"], "ValueError: not enough values to unpack (expected 2, got 1)"),
        (["axolotl.integrations.no.Plugin"], "ModuleNotFoundError: No module named 'axolotl.integrations.no'"),
        (["somebody.Plugin"], ""),
        ("Plugin", "ValueError: not enough values to unpack (expected 2, got 1)"),
        ({"Plugin": 1}, "ValueError: not enough values to unpack (expected 2, got 1)"),
        (3, "TypeError: 'int' object is not iterable"),
    ],
)
def test_other_plugins(value, problem):
    [found] = plugins_of(value, RELEASE)
    assert (found.folder, found.problem) == ("", problem)


def test_no_plugins():
    assert [plugins_of(value, RELEASE) for value in ("", None, [], 0)] == [[], [], [], []]


@each_case(
    ("name", "problem"),
    [
        (3, "AttributeError: 'int' object has no attribute 'rsplit'"),
        ("Plugin", "ValueError: not enough values to unpack (expected 2, got 1)"),
        ("axolotl.integrations.liger.Plugin", "AttributeError: module 'axolotl.integrations.liger' has no attribute 'Plugin'"),
        ("axolotl.integrations.no.Plugin", ""),
        ("axolotl.integrations.mixlora.MixLoraPlugin", ""),
        ("liger:LigerPlugin", "ValueError: not enough values to unpack (expected 2, got 1)"),
    ],
)
def test_a_release_before_0_21_goes_on_only_without_what_it_cannot_import(name, problem):
    [found] = plugins_of([name], (0, 19, 0))
    assert (found.folder, found.problem) == ("", problem)


def refusals_in(path):
    """The calls of a module that make a refusal."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MAKERS:
            yield node


def after_remedies(case):
    """(actions, message, messages after them) for each remedy of the first refusal of a case that says everything."""
    found = validated(case.lines, case.gpus, case.release).refusals
    if not found:
        return
    pointer = "".join(f"/{step}" for step in (found[0].paths or [()])[0])
    values = dict(NEEDED)
    for line in case.lines:
        values |= line
    for actions in remedies(sentence(found[0].help_for(values))):
        left = validated([done(copy.deepcopy(values), actions, pointer)], case.gpus, case.release)
        yield actions, found[0].message, [each.message for each in left.refusals]


@pytest.mark.slow
def test_what_a_remedy_says_to_do_helps():
    wrong = [f"{case.text}\n{actions}" for case in REFUSED for actions, message, left in after_remedies(case) if message in left]
    assert wrong == []
