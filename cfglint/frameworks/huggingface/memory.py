"""The memory settings of a trainer's files: dtypes, optimizer, loss, adapters, sharding.

Source: transformers 5.23.0 training_args.py and trainer.py, 4.57.6 and 4.46.3 where they differ; accelerate 1.15.0 accelerator.py; peft
0.21.2 tuners/lora (`autocast_adapter_dtype` since 0.12), utils/constants.py for default targets. Keys that belong to the script
(`torch_dtype`, `use_peft`, `lora_r`, `load_in_4bit`, `attn_implementation`, `max_length`) have the names of TRL's ModelConfig.
"""

from __future__ import annotations

import ast
import re

from cfglint.batch.memory import settings as modes
from cfglint.batch.memory.loss import implementation
from cfglint.batch.memory.optimizer import kind_of
from cfglint.batch.memory.settings import Fsdp, Lora, Settings
from cfglint.evaluate import Unknown
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.huggingface.fields import DTYPE_KEYS, defaults
from cfglint.frameworks.memory.estimate import GPUS_FLAG, ROW_KEYS
from cfglint.frameworks.memory.inputs import Inputs, Model
from cfglint.frameworks.peft.adapters import DECISIVE
from cfglint.frameworks.peft.fields import DEFAULTS
from cfglint.frameworks.peft.lora import unknown_in
from cfglint.launch.program import MISSING, AdapterCall, ProgramFacts
from cfglint.launch.programs.row_functions import cut_lengths
from cfglint.source.annotations import Collection, ConfigMapping, ConfigValue, Iterator, Operand
from cfglint.source.python.nodes import walk
from cfglint.source.record import Record, changed

NAMED = re.compile(
    r"lora|peft|tuner|(?:^|_)tune_|tunable|trainable|adapter|quant|freeze|frozen|unfreez|finetuning_type|train_type|sft_type|dora|ia3|(?:^|_)bits?(?:_|$)|[48]_?bit"
).search
# The names that programs have for the fields of their `LoraConfig`, and what switches LoRA and 4- or 8-bit weights on.
LORA_SWITCHES = ("use_peft", "use_lora", "lora_enable", "enable_lora", "lora", "use_peft_lora", "peft_enabled", "lora_tune")
QLORA_SWITCHES = ("q_lora", "qlora", "use_qlora")  # false: adapters on weights that are not quantised, or none at all
LORA_FIELDS = {
    "r": ("lora_r", "lora_rank", "lora_dim"),
    "target_modules": ("lora_target_modules", "lora_target", "target_modules", "lora_modules"),
    "lora_dropout": ("lora_dropout",),
    "modules_to_save": ("lora_modules_to_save", "modules_to_save"),
}
QUANTIZED_BY = {
    4: ("load_in_4bit", *QLORA_SWITCHES, "use_4bit", "use_4bit_quantization"),
    8: ("load_in_8bit", "use_8bit", "use_8bit_quantization"),
}
BITS = ("bits", "quantization_bit", "quant_bits", "quant_bit")
LORA_NAMES = frozenset(
    (
        *(*LORA_SWITCHES, *BITS, *(name for names in (*LORA_FIELDS.values(), *QUANTIZED_BY.values()) for name in names)),
        *("lora_alpha", "lora_bias", "lora_weight_path", "double_quant", "quant_type", "use_nested_quant", "use_rslora"),
        *("bnb_4bit_quant_type", "bnb_4bit_compute_dtype", "bnb_4bit_use_double_quant", "bnb_4bit_quant_storage"),
        *("bnb_4bit_quant_storage_dtype", "use_double_quant"),
    )
)
OFF = (False, None, "", "full", "none", "None", "False", "false")
WIDE = (16, 32)  # bits of weights that are not quantised
CASTS = "prepare_model_for_kbit_training"
CALLS = frozenset(("get_peft_model", "PeftModel", "LoraConfig", "BitsAndBytesConfig", CASTS, "requires_grad_"))
NEWEST_TORCH = "2.13.0"
NEWEST_PEFT = "0.21.2"
FUSED_EXPERTS = (5,)  # from here on the experts of a layer are two parameters, which bitsandbytes leaves alone
ALWAYS_FUSED = ("gpt_oss", "llama4", "dbrx")
SDPA_BY_DEFAULT = (4, 36)  # before: eager, unless a program replaces it
CHECKPOINT_DTYPE = (5,)  # from here on a model is loaded in its checkpoint's dtype; before in fp32
FP32_ADAPTERS = (0, 12)  # peft
RANK = 8  # peft's default
HALVES = (("source_max_len", "target_max_len"), ("max_source_length", "max_target_length"))  # a row is both together
PASSAGES = (("query_max_len", "passage_max_len", "train_group_size"), ("q_max_len", "p_max_len", "train_n_passages"))
GROUP = 8  # the default of FlagEmbedding and Tevatron: passages for each query
LONG = 8192  # rows that are not packed are rarely longer, whatever the limit is
IMAGES = re.compile(r"^(vision_|mm_|image_|video_|tune_mm|mm_tunable)").match
LIGER_KEYS = ("use_liger_kernel", "use_liger")
FUSED_ATTENTION = ("sdpa", "flash", "kernels-community", "flex")
DEFAULT_TARGETS = ("q_proj", "v_proj")  # of a model type for which PEFT has none, and which it refuses
HEAD_SIZED = ("lm_head", "embed_tokens", "embed_in", "embed_out", "wte")
GRADIENTS_SHARDED = ("shard_grad_op", "hybrid_shard_zero2", "2", "5")
NOT_SHARDED = ("no_shard", "3")


class TrainerMemory(Record):
    """The memory settings of a trainer's run as the release determines them; assumptions made on the way are collected in `assumed`."""

    config: TrainerConfig
    model: Model
    assumed: list[str] = []
    unread: list[str] = []  # settings that are not modelled, so that the estimate is of class C
    all_trained_assumed: bool = False
    row_keys: tuple[str, ...] = ROW_KEYS
    understood: frozenset[str] = frozenset()  # the arguments for adapters and quantisation that the trainer's own script has

    # ---- looking up

    def value(self, name: str) -> Operand:
        """The value of an argument, of the trainer's class or of the script; else the default that the run's program has for it."""
        arguments, program = self.config.arguments, self.config.facts.launch.program
        if name in arguments.defaults:
            return arguments[name]
        if name in self.config.values:
            return self.config.values[name]
        field = program.fields.get(name) if program is not None else None
        if field is not None:
            return field.default if field.default is not MISSING else None
        calls = (self.call.model, self.call.quantization) if self.call is not None else ()
        return next((document.values[name] for document in calls if document is not None and name in document.values), None)

    @property
    def call(self) -> AdapterCall | None:
        """The one model of the run's program that has an adapter or quantised weights, whatever its arguments are."""
        code = self.config.facts.launch.code
        calls = code.adapters if code is not None else ()
        return calls[0] if len(calls) == 1 and calls[0].is_certain and not calls[0].is_open else None

    def first(self, *names: str) -> Operand:
        return next((found for found in map(self.value, names) if found is not None), None)

    # ---- the settings

    def inputs(self) -> Inputs:
        config, shape = self.config, self.model.shape
        sequence, micro = self.sequence(), config.batch.micro_batch.integer or 0
        accumulation, ranks = config.batch.accumulation.value, max(config.batch.data_parallel.integer or 0, 0)
        settings = Settings(
            micro_batch=max(micro, 0) or 1,
            sequence=sequence or 1,
            loaded=self.loaded(),
            autocast=self.autocast(),
            checkpointing=bool(self.checkpointing()),
            attention=self.attention(),
            optimizer=self.optimizer(),
            loss=modes.LOSS_FUSED if self.liger() else implementation(config.version),
            fused_kernels=self.liger(),
            accumulation=accumulation if type(accumulation) is int else 1,
            lora=self.lora(),
            quantization=self.quantization(),
            kbit_fp32=self.prepares_quantized(),
            fused_experts=bool(shape.experts) and (config.version >= FUSED_EXPERTS or shape.model_type in ALWAYS_FUSED),
            varying=not self.packed,
            ranks=ranks or 1,
        )
        if not ranks:
            self.assumed.append(f"1 GPU ({GPUS_FLAG})")
        settings = self.sharded(settings)
        if settings.sharded in (modes.ZERO, modes.FSDP) and not ranks:
            self.unread.append(f"1 GPU ({GPUS_FLAG})")
        self.unread += [*self.doubts(), *filter(None, (self.model.assumption,))]
        self.unread += ["the quantised checkpoint is like nf4"] if self.model.quantised else []
        self.unread += ["images, video, sound and their encoder are not counted"] if shape.architecture.text_only else []
        unmeasured = self.lora_by_name or self.call is not None
        settings = changed(settings, own_code=bool(self.unread) or self.value("trust_remote_code") is True, unmeasured=unmeasured)
        others, assumed = self.alternatives(settings), tuple(dict.fromkeys([*self.unread, *self.assumed]))
        settings, *others = map(self.of_framework, (settings, *others))
        return Inputs(settings, tuple(others), assumed, sequence is not None, micro > 0, self.all_trained_assumed)

    def of_framework(self, settings: Settings) -> Settings:
        return settings

    def alternatives(self, settings: Settings) -> list[Settings]:
        """With another dtype of the loaded weights if a script determines it, adapters of other layers, attention with padding."""
        found, attention = [], self.value("attn_implementation")
        if not self.dtype_known:
            found.append(changed(settings, loaded=modes.BF16 if settings.loaded == modes.FP32 else modes.FP32))
        if settings.lora is not None and self.lora_by_name:
            found.append(changed(settings, lora=changed(settings.lora, targets=(modes.ALL_LINEAR,))))
            found.extend(changed(each, checkpointing=True) for each in (settings, *found) if not settings.checkpointing)
        if settings.attention == modes.FUSED and attention is None and self.config.version < SDPA_BY_DEFAULT:
            found.append(changed(settings, attention=modes.EAGER))
        if settings.attention == modes.FUSED and settings.micro_batch > 1 and attention == "sdpa" and not self.packed:
            found.append(changed(settings, attention=modes.MASKED))
        return found

    def sequence(self) -> int | None:
        """The tokens per row: those of the files, else those of the flag, of the program's tokenizer, or of the model's positions."""
        for name in self.row_keys:
            length = self.value(name)
            if type(length) is int and length > 0:
                return self.row(length)
        for halves in HALVES:
            lengths = [self.value(name) for name in halves]
            if all(type(each) is int and each > 0 for each in lengths):
                return self.row(sum(lengths))
        flag = self.config.facts.seq_length
        if flag is not None:
            self.assumed.append(f"rows of {flag} tokens")
        if flag:
            return flag
        for names in PASSAGES:  # a sample of contrastive training: a query and its passages
            query, passage, group = map(self.value, names)
            if type(query) is int and type(passage) is int:
                count = group if type(group) is int else GROUP
                self.unread.append(f"a query of {query} and {count} passages of {passage} tokens")
                if query + count * passage:
                    return query + count * passage
                break
        code = self.config.facts.launch.code  # `tokenizer(..., truncation=True, max_length=512)`
        cuts = [self.value(name) if isinstance(name, str) else name for name in set(cut_lengths(code.scopes))] if code is not None else []
        if len(cuts) == 1 and type(cuts[0]) is int and cuts[0] > 0:
            return self.row(cuts[0])
        longest = self.model.shape.longest_row
        if not longest:
            return None
        self.unread.append(f"rows of {longest} tokens, the model's limit")
        groups = [group for *_, name in PASSAGES if type(group := self.value(name)) is int]
        return longest * max([1, *groups])  # a cross-encoder reads the query with each passage

    def row(self, length: int) -> int:
        """The tokens of a row, which a limit gives for full rows only."""
        if not self.packed and length > LONG:
            self.unread.append(f"rows of {length} tokens, the limit")
        elif not self.packed:
            self.assumed.append(f"rows of {length} tokens")
        return length

    @property
    def packed(self) -> bool:
        return bool(self.value("packing"))

    @property
    def written_dtype(self) -> Operand:
        """The dtype to load the model in, as an argument or a keyword of the model; None if it is not set."""
        kwargs = self.value("model_init_kwargs")
        inner = next((kwargs[key] for key in DTYPE_KEYS if kwargs.get(key) is not None), None) if isinstance(kwargs, dict) else None
        return inner if inner is not None else self.first(*DTYPE_KEYS)

    @property
    def dtype_known(self) -> bool:
        """Whether the files determine the dtype of the loaded weights; before transformers 5 the script does if they do not set it."""
        return self.written_dtype is not None or self.config.version >= CHECKPOINT_DTYPE

    def loaded(self) -> str:
        written = self.written_dtype
        if isinstance(written, str) and written in modes.DTYPES:
            return modes.DTYPES[written]
        if written is None and self.config.version < CHECKPOINT_DTYPE:
            self.assumed.append("fp32 load (the default before transformers 5)")
            return modes.FP32
        checkpoint = self.model.checkpoint or modes.BF16
        self.assumed.append(f"{checkpoint} load (the checkpoint's dtype)")
        return checkpoint

    def autocast(self) -> str | None:
        """The dtype of mixed precision: that of the trainer, else that of the launcher."""
        launcher = self.config.launcher
        own = next((name for name in (modes.BF16, modes.FP16) if self.value(name) is True), None)
        named = launcher.precision if launcher is not None else None
        return own or {"bf16": modes.BF16, "fp8": modes.BF16, "fp16": modes.FP16}.get(named or "")

    def checkpointing(self) -> ConfigValue:
        return self.config.arguments.checkpointing or self.fsdp_option("activation_checkpointing") in (True, "true")

    def attention(self) -> str:
        named = self.value("attn_implementation")
        if named == "eager":
            return modes.EAGER
        if not isinstance(named, str) or not named.startswith(FUSED_ATTENTION):
            self.assumed.append("flash or sdpa attention")
        return modes.FUSED

    def optimizer(self) -> str:
        name, torch = self.config.arguments.optimizer, self.config.facts.version("torch", NEWEST_TORCH)
        if isinstance(name, Unknown):
            name = defaults(self.config.version)["optim"]
        kind = kind_of(name, torch) if isinstance(name, str) else None
        if kind is None:
            self.unread.append(f"optimizer {name} like AdamW")
        return kind or modes.ADAM_FUSED

    def liger(self) -> bool:
        return any(self.value(name) is True for name in LIGER_KEYS)

    # ---- adapters and quantisation

    def doubts(self) -> list[str]:
        """The assumptions that all weights are trained, where arguments or code may limit that and are not modelled."""
        facts, values = self.config.facts, self.config.values
        if isinstance(self.value("use_peft"), bool):  # the other arguments are then those of TRL's ModelConfig
            return []
        images = next((name for name in values if isinstance(name, str) and IMAGES(name)), None)
        seen = [f"all weights are trained, and images do not count, in spite of `{images}`"] if images is not None else []
        if self.lora_by_name:
            others = {name: value for name, value in values.items() if name not in LORA_NAMES}
            return [*seen, *limits(others, None, self.understood)]
        if facts.launch.doubts:
            seen.append("all weights are trained: the parser of the arguments is only likely")
        elif facts.launch.program is not None and facts.launch.not_read:
            seen.append("all weights are trained: the program was not read completely")
        if self.lora_fields is not None:
            return seen
        limiting = list(limits(values, facts.launch.program, self.understood))
        self.all_trained_assumed = bool(limiting)
        return [*seen, *limiting]

    def lora(self) -> Lora | None:
        fields = self.lora_fields
        if fields is None:
            return None
        if self.lora_by_name:
            self.assumed.append("LoRA as its arguments are named")
        targets = self.targets(fields.get("target_modules"))
        return self.adapters(fields.get("r"), targets, fields.get("lora_dropout"), fields.get("modules_to_save"))

    @property
    def lora_fields(self) -> ConfigMapping | None:
        """The fields of the run's `LoraConfig`: of the trainer's own arguments, of the program's call, or as arguments name them."""
        call, is_on = self.call, self.value("use_peft") is True
        if not is_on and call is not None and call.adapter is not None:
            return None if set(DECISIVE) & set(unknown_in(call.adapter.values)) else call.adapter.values
        return {field: self.first(*names) for field, names in LORA_FIELDS.items()} if is_on or self.lora_by_name else None

    @property
    def lora_by_name(self) -> bool:
        """Whether only the names of arguments say that the run has adapters: the program that reads them is not known."""
        if isinstance(self.value("use_peft"), bool) or self.call is not None:
            return False
        given = self.config.values
        switches = [given[name] for name in LORA_SWITCHES if name in given]
        ranks = [given[name] for name in LORA_FIELDS["r"] if type(given.get(name)) is int]
        on = any(each == 1 for each in (*switches, *map(given.get, QLORA_SWITCHES)))  # 1 is true as well
        return on or (not switches and any(rank > 0 for rank in ranks))

    def adapters(self, rank: object, targets: tuple[str, ...], dropout: object, saved: object) -> Lora:
        """The adapters as peft creates them, from 0.12 on in fp32 whatever the base model's dtype is."""
        size, modules = rank if type(rank) is int and rank > 0 else RANK, saved if isinstance(saved, list) else []
        is_fp32 = self.config.facts.version("peft", NEWEST_PEFT) >= FP32_ADAPTERS
        left_out = dropout if isinstance(dropout, (int, float)) else 0.0
        return Lora(size, targets, left_out, sum(name in HEAD_SIZED for name in modules), is_fp32)

    def targets(self, written: object) -> tuple[str, ...]:
        """The modules that get adapters: the named ones, else peft's default for the model type."""
        if isinstance(written, str):
            return tuple(part.strip() for part in written.split(",") if part.strip())
        if isinstance(written, list) and written:
            return tuple(name for name in written if isinstance(name, str))
        known, _ = DEFAULTS.get(self.model.shape.model_type, (DEFAULT_TARGETS, ()))
        return known if isinstance(known, tuple) else DEFAULT_TARGETS

    def quantization(self) -> str:
        if self.model.quantised and not self.value("load_in_8bit"):
            return modes.NF4
        bits = self.first(*BITS) if self.lora_by_name else None
        names = QUANTIZED_BY if self.lora_by_name else {4: ("load_in_4bit",), 8: ("load_in_8bit",)}
        if bits == 4 or any(self.value(name) is True for name in names[4]):
            is_double = self.first("use_bnb_nested_quant", "bnb_4bit_use_double_quant", "double_quant") is True
            return modes.NF4_DOUBLE if is_double else modes.NF4
        return modes.INT8 if bits == 8 or any(self.value(name) is True for name in names[8]) else modes.NONE

    def prepares_quantized(self) -> bool:
        """Whether `prepare_model_for_kbit_training` casts norms, embeddings and head to fp32; a program decides that itself."""
        program = self.config.facts.launch.program
        return self.call is None or program is None or uses(program, (CASTS,))

    # ---- sharding

    def fsdp_option(self, name: str) -> Operand:
        """An option of FSDP by its name without prefix: the trainer's section, else the launcher's."""
        launcher = self.config.launcher
        sections = [self.config.section("fsdp_config") or {}]
        if launcher is not None and launcher.fsdp_version:
            sections.append(launcher.section("fsdp_config"))
        written = (section.get(key) for section in sections for key in (name, f"fsdp_{name}"))
        return next((value for value in written if value is not None), None)

    def sharded(self, settings: Settings) -> Settings:
        """The settings with DeepSpeed, each `"auto"` filled in, FSDP (`full_shard`, FULL_SHARD and 1 are equivalent) or DDP."""
        config, launcher = self.config, self.config.launcher
        if config.uses_deepspeed:
            from cfglint.frameworks.deepspeed.config import DeepSpeedConfig
            from cfglint.frameworks.deepspeed.memory import with_engine

            engine = config.deepspeed.engine() if config.deepspeed is not None else None
            if isinstance(engine, DeepSpeedConfig):
                return with_engine(settings, engine, self.model)
            self.unread.append("ZeRO as its defaults are: the DeepSpeed file cannot be seen")
            return changed(settings, strategy=modes.ZERO)
        written = self.value("fsdp")
        words = " ".join(map(str, written)) if isinstance(written, list) else str(written or "")
        names = {*words.lower().split(), str(self.fsdp_option("sharding_strategy") or "").lower()}
        if not (config.uses_fsdp or (launcher is not None and launcher.fsdp_version)) or names & {*NOT_SHARDED}:
            return changed(settings, strategy=modes.DDP)
        gathered = bool(names & {*GRADIENTS_SHARDED}) or str(self.fsdp_option("reshard_after_forward")).lower() == "false"
        offload = "offload" in words or str(self.fsdp_option("offload_params") or self.fsdp_option("cpu_offload")).lower() == "true"
        if settings.lora is not None and settings.autocast is not None:
            self.assumed.append("the middle of a 16-bit and an fp32 residual stream")
        return changed(settings, strategy=modes.FSDP, fsdp=Fsdp(parameters_sharded=not gathered, offload=offload))


def limits(values: ConfigMapping, program: ProgramFacts | None, understood: Collection[str]) -> Iterator[str]:
    """The argument, or else the code, that may limit what is trained; one that is false switches off the code and other defaults."""

    def is_off(name: str, value: object) -> bool:
        return not isinstance(value, Unknown) and (value in OFF or ("bit" in name and value in WIDE))

    given = {name: value for name, value in values.items() if isinstance(name, str) and NAMED(name) and name not in understood}
    for name, value in given.items():
        if not is_off(name, value):
            yield f"all weights are trained in spite of `{name}`"
            return
    fields = program.fields if program is not None else {}
    own = {name: field.default for name, field in fields.items() if NAMED(name) and name not in values and name not in understood}
    switched_off = any(value is False for value in (*given.values(), *own.values()))
    on = next((name for name, value in own.items() if value is True or not (switched_off or is_off(name, value))), None)
    if on is not None:
        yield f"all weights are trained in spite of the default of `{on}`"
    elif program is not None and not switched_off and uses(program, CALLS):
        yield f"all weights are trained, although {program.path} calls functions for adapters or quantisation"


def uses(program: ProgramFacts, names: Collection[str]) -> bool:
    nodes = (node for scope in program.scopes for node in walk(scope.node))
    named = (node.id if isinstance(node, ast.Name) else node.attr for node in nodes if isinstance(node, ast.Name | ast.Attribute))
    return not {*named}.isdisjoint(names)


def inputs(config: TrainerConfig, model: Model) -> Inputs | None:
    return TrainerMemory(config, model).inputs() if config.parsed else None
