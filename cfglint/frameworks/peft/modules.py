"""The names of the modules of a model, from the `config.json` of its checkpoint; `tools/rebuild_modules.py` writes the table.

Where the config does not decide the condition of a module in it, it is taken for present.
"""

from __future__ import annotations

from functools import cache

from cfglint.frameworks.releases.history import DEFAULT, TYPE, Fields, History
from cfglint.frameworks.releases.versions import Version
from cfglint.source.annotations import ConfigMapping, ConfigTable, Iterator, Mapping
from cfglint.source.record import Record

LINEAR, OF_LINEAR, CONV1D, EMBEDDING, CONVOLUTION, ATTENTION, CONTAINER = "L", "S", "C", "E", "K", "A", "-"
ALL_LINEAR = (LINEAR, OF_LINEAR, CONV1D)
SUPPORTED = (*ALL_LINEAR, EMBEDDING, CONVOLUTION, ATTENTION)
CLASSES = "classes"  # the section of the classes of models; the others are classes that choose one
MOST_LAYERS = 200
DENSE, SPARSE = "dense", "sparse"


class Modules(Record):
    """The paths of the modules with what each is, the dimensions of the large parameters, and the path of the `output` layer."""

    model_type: str
    kinds: dict[str, str]
    parameters: dict[str, int]
    output: str

    def linear(self) -> list[str]:
        return [name for name, kind in self.kinds.items() if kind in ALL_LINEAR]

    def leaves(self) -> list[str]:
        """The names of the layers that an adapter can be put on, each once."""
        return list(dict.fromkeys(name.rpartition(".")[2] for name in self.linear() if name != self.output))


def modules_of(config: ConfigMapping, transformers: Version, auto: str = "") -> Modules | None:
    """The modules of a checkpoint's config; None if its architecture is unknown. `auto` is the class of transformers that chooses one."""
    model_type = config.get("model_type")
    if not isinstance(model_type, str) or "auto_map" in config:
        return None
    from cfglint.frameworks.peft._modules import NAMES

    name = class_of(config, model_type, auto, chosen_by(transformers))
    field = history().fields(CLASSES, transformers).get(name)
    if field is None:
        return None
    kinds: dict[str, str] = {}
    parameters: dict[str, int] = {}
    for prefix, key, label, place in field[TYPE]:
        words = []
        for word, _, condition in (entry.partition("?") for entry in NAMES[place].split(" ")):
            name_of_module, _, kind = word.partition(":")
            if name_of_module and holds(condition, config):
                words.append((name_of_module, kind or CONTAINER))
        for start in starts(prefix, key, label, config):
            for each, kind in words:
                if kind[0] == "P":
                    parameters.setdefault(start + each, int(kind[1]))
                else:
                    kinds.setdefault(start + each, kind)
            if prefix:
                kinds.setdefault(start.rstrip("."), CONTAINER)
    return Modules(model_type, kinds, parameters, field[DEFAULT])


@cache
def history() -> History:
    """The history of the table, which keeps the rows of the releases that were asked for."""
    from cfglint.frameworks.peft._modules import FIELDS

    return History(FIELDS)


def chosen_by(transformers: Version) -> dict[str, Fields]:
    """The classes that those of transformers which choose one have for each model type, in a release."""
    return {auto: history().fields(auto, transformers) for auto in history().sections if auto != CLASSES}


def class_prefix(model_type: str, transformers: Version) -> str:
    """How the classes of a causal language model begin: `Llama` of LlamaForCausalLM; empty for an unknown type."""
    name = class_of({}, model_type, "AutoModelForCausalLM", chosen_by(transformers))
    return next((name.partition(suffix)[0] for suffix in ("For", "LMHeadModel") if suffix in name), "")


def class_of(config: ConfigMapping, model_type: str, auto: str, chosen: Mapping[str, Fields]) -> str:
    """The class of a model: that which the program chooses by the model type, else the one that the config names."""
    if auto in chosen:
        return str(chosen[auto][model_type][TYPE]) if model_type in chosen[auto] else ""
    named = config.get("architectures")
    if auto and not auto.startswith("Auto"):
        return auto
    if isinstance(named, list) and named:
        return str(named[0])
    return next((str(types[model_type][TYPE]) for types in chosen.values() if model_type in types), "")


def holds(condition: str, config: ConfigMapping) -> bool:
    """Whether a config meets a condition; true if it does not say."""
    negated, asked = condition.startswith("!"), condition.removeprefix("!")
    key, _, text = asked.partition("~")
    if not key or key not in config:
        return True
    value = config[key]
    return (text in str(value) if text else bool(value)) is not negated


def starts(prefix: str, key: str, label: str, config: ConfigMapping) -> Iterator[str]:
    """The beginnings of the paths of a block: one for each layer that is of its kind."""
    if not prefix:
        yield ""
        return
    section, _, name = key.rpartition(".")
    own = config.get(section) if section else config
    own = own if isinstance(own, dict) else {}
    count = own.get(name)
    if count is None:
        count = next((own[each] for each in ALIASES.get(name, ()) if each in own), None)
    inner = own.get("text_config")
    text = inner if isinstance(inner, dict) else own
    for index in range(min(count, MOST_LAYERS) if type(count) is int else 1):
        if is_of_kind(label, index, text):
            yield f"{prefix}{index}."


ALIASES = {
    "num_hidden_layers": ("n_layer", "n_layers", "num_layers"),
    **dict.fromkeys(("n_layer", "n_layers", "num_layers"), ("num_hidden_layers",)),
}


def is_of_kind(label: str, index: int, config: ConfigTable) -> bool:
    """Whether a layer is of a kind: `full_attention`, `/sparse`, `linear_attention/dense`; true if the config does not decide it."""
    types, _, experts = label.partition("/")
    if types:
        named = (config.get(name) for name in ("layer_types", "layers_block_type", "block_types"))
        listed, interval = next((each for each in named if isinstance(each, list)), None), config.get("full_attention_interval")
        if listed is None and isinstance(interval, int) and interval:
            listed = ["linear_attention" if (each + 1) % interval else "full_attention" for each in range(index + 1)]
        if listed is not None and index < len(listed) and listed[index] not in types.split("+"):
            return False
    if experts:
        sparse = has_experts(index, config)
        return sparse is None or sparse is (experts == SPARSE)
    return True


def has_experts(index: int, config: ConfigTable) -> bool | None:
    listed = config.get("mlp_layer_types")
    if isinstance(listed, list) and index < len(listed):
        return bool(listed[index] == SPARSE)
    first = config.get("first_k_dense_replace")
    if isinstance(first, int):
        frequency = config.get("moe_layer_freq")
        return index >= first and (not isinstance(frequency, int) or index % (frequency or 1) == 0)
    step, dense = config.get("decoder_sparse_step"), config.get("mlp_only_layers")
    if isinstance(step, int) or isinstance(dense, list):
        experts = next((config[name] for name in ("num_experts", "num_local_experts", "n_routed_experts") if name in config), 1)
        return index not in (dense or []) and bool(experts) and (not isinstance(step, int) or step < 1 or (index + 1) % step == 0)
    return None
