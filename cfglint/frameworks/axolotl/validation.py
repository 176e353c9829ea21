"""`validate_config`: the values of the file through axolotl's checks and pydantic, in order (utils/config/__init__.py:543-605)."""

from __future__ import annotations

import functools

from cfglint.evaluate import Unknown
from cfglint.findings.releases import Releases
from cfglint.findings.remedy import remove_key, set_key
from cfglint.frameworks.axolotl import plugins
from cfglint.frameworks.axolotl.by_hand import ADAPTERS, BY_HAND, LORA, PLUGIN_ADAPTERS
from cfglint.frameworks.axolotl.fields import DATASET, OWN_NAMES, FieldReading, top_fields
from cfglint.frameworks.axolotl.refusals import DATA, KEPT, MODEL, TYPE, AxolotlModel, Data, code_of, refuses
from cfglint.frameworks.axolotl.releases import HISTORY, library
from cfglint.frameworks.axolotl.values import AxolotlValues
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.refusal import Refusal, Words
from cfglint.frameworks.releases.history import TYPE as READS
from cfglint.frameworks.releases.versions import Version
from cfglint.frameworks.rows.evaluation import Evaluation
from cfglint.frameworks.rows.expressions import Raised
from cfglint.frameworks.rows.table import Function, Selection, table_of
from cfglint.frameworks.rows.validators import WRAPPED
from cfglint.frameworks.validation.pydantic import Invalid
from cfglint.source.annotations import Any, Callable, ConfigMapping, ConfigTable, Iterator
from cfglint.source.load_results import copied

EACH_DATASET = Releases((0, 7, 0))  # each data set is validated first, as one of the model that `rl` implies
PREFERENCE: tuple[tuple[Version, tuple[str, ...]], ...] = (  # whose data sets are preferences
    ((), ("dpo",)),
    ((0, 12, 0), ("dpo", "simpo")),
    ((0, 13, 1), ("dpo", "ipo", "simpo")),
)
SYNTHETIC = "SyntheticDataset"
BEFORE, AFTER, FIELD_BEFORE, FIELD_AFTER = "before", "after", "field before", "field after"
TORCH = "2.13.0"
# What axolotl's validators ask the environment: CUDA devices, with the packages that a config asks for.
ENVIRONMENT = {
    "is_available": True,
    "is_fa2_hub_kernel_available": True,
    "is_flash_attn_2_available": True,
    "is_flash_attn_3_available": True,
    "is_fp8_available": True,
    "is_torch_npu_available": False,
}
# What axolotl finds out about the machine, with the releases that hand it on as keywords beside those of the file.
KEYWORDS = {"capabilities": Releases((), (0, 18, 0)), "env_capabilities": Releases((0, 6, 0), (0, 18, 0))}
SCHEMAS = Releases((0, 8, 0))  # the models lie in `utils/schemas`
MACHINE = {("capabilities", "n_gpu"): " on several GPUs", ("capabilities",): "", ("env_capabilities",): ""}
CONSTANTS = {"ALL_ATTENTION_FUNCTIONS": (), "Resampling.LANCZOS": 1, "Resampling.BILINEAR": 2, "Resampling.BICUBIC": 3}


def exceptions(_: str) -> Iterator[tuple[str, str]]:
    return table_of("axolotl").messages(lambda function, _: code_of(function))


def facts(release: Version, data: Data) -> Callable[..., Any]:
    """What the environment answers to the validators of a release."""

    def answer(name: str, *arguments: Any) -> Any:
        if name == "importable":
            return bool(arguments[0] != "deep_ep")  # no key asks for it by name
        if name == "version":
            return TORCH if arguments[0] == "torch" else library(arguments[0], release) if arguments[0] == "transformers" else None
        if name == "constant":
            return CONSTANTS.get(arguments[0])
        if name in ("supports_adapter", "adapter_supports_relora"):
            adapter = arguments[0]
            known = adapter in (ADAPTERS if name == "supports_adapter" else LORA) or PLUGIN_ADAPTERS.get(adapter) in data.plugins
            return known or (None if data.foreign_plugins else False)
        return ENVIRONMENT.get(name)

    return answer


@functools.cache
def selection(stage: str, release: Version, added: tuple[str, ...]) -> Selection:
    """The validators of a stage in a release, in order; `added` are the folders of the plugins."""
    functions = table_of("axolotl").functions(stage, release)
    own = [function for function in functions if "." not in function.name]
    place = min(table_of("axolotl").place(stage, release, "*"), len(own))  # the place of plugins in the order of a stage
    of_plugins = [
        function
        for folder in (added if stage == BEFORE else added[::-1])
        for function in functions
        if function.name.startswith(f"{folder}.")
    ]
    values: Callable[[], ConfigTable] = dict if BEFORE in stage else lambda: dict(top_fields(release, added).defaults)
    nothing = Data({}, [], False, release)
    return Selection([*own[:place], *of_plugins, *own[place:]], lambda: Evaluation(values(), facts(release, nothing)))


@functools.cache
def enums_of(release: Version, added: tuple[str, ...]) -> dict[str, str]:
    """The fields whose values are members of an Enum, which messages name by its class."""
    return {name: enum for name, row in top_fields(release, added).rows.items() if (enum := enum_in(row[READS]))}


def enum_in(annotation: Any) -> str:
    """The name of the Enum that a string becomes a member of; where a string is allowed as well, it stays one."""
    if not isinstance(annotation, tuple) or "str" in annotation[1:]:
        return ""
    if annotation[0] == "enum":
        return str(annotation[1])
    return next(filter(None, map(enum_in, annotation)), "")


def is_model(annotation: Any) -> bool:
    return isinstance(annotation, tuple) and (annotation[0] == "model" or any(map(is_model, annotation[1:])))


def capabilities(launch: LaunchFacts, transformers: Version) -> ConfigTable:
    """What axolotl finds out about a card (cli/config.py:350-390); one that is not known can do everything."""
    card = launch.card
    if card is None or not card.is_cuda:
        return {"bf16": True, "fp8": True, "tf32": True, "compute_capability": "sm_90"}
    from cfglint.frameworks.card_support import HOPPER, has_bf16, has_tf32, torch_release

    return {
        "bf16": has_bf16(card, torch_release(launch), transformers),
        "fp8": not card.below(*HOPPER),
        "tf32": has_tf32(card),
        "compute_capability": f"sm_{''.join(map(str, card.capability))}",
    }


class Validation:
    """The values of a file after each step of axolotl's validation.

    `refusals` are the errors of checks, `faults` the errors of fields, `dropped` the keys that no model has. `model` has the
    values if nothing is refused.
    """

    def __init__(self, config: AxolotlValues) -> None:
        self.gpus = config.facts.gpus
        self.capabilities = capabilities(config.facts, config.version)
        self.transformers = config.version
        self.release = config.own_version
        self.refusals: list[Refusal] = []
        self.faults: list[Invalid] = []
        self.dropped: list[tuple[str | int, ...]] = []
        self.model: AxolotlModel | None = None
        self.plugins: list[plugins.NamedPlugin] = []
        self.foreign = False
        self.additions: ConfigTable = {}
        self.values: ConfigMapping = {} if config.root is None else config.values
        if config.load_problems or not isinstance(config.root, dict | None):
            return
        self.plugins = plugins.plugins_of(self.values.get("plugins"), self.release)
        folders = [plugin.folder for plugin in self.plugins if plugin.folder]
        self.foreign = any(not plugin.folder and not plugin.ignored for plugin in self.plugins)
        data = Data(copied(self.values), folders, self.foreign, self.release)
        data.pop("axolotl_config_path", None)  # axolotl stores the path of the file here
        gpus = Unknown() if self.gpus is None else self.gpus
        machine: ConfigTable = {"capabilities": {**self.capabilities, "n_gpu": gpus}, "env_capabilities": {"torch_version": TORCH}}
        data.update(machine)
        if any(plugin.problem for plugin in self.plugins):
            return
        for folder in folders if self.release in plugins.REGISTERING else ():
            if folder in plugins.REGISTERED:
                self._attempt(plugins.REGISTERED[folder], data)
        self._datasets(data)
        repeated = next((key for key, releases in KEYWORDS.items() if self.release in releases and key in self.values), "")
        if repeated:  # which axolotl passes as a keyword of its own
            own = "utils.schemas.config" if self.release in SCHEMAS else "utils.config.models.input.v0_4_1"
            model_name = f"axolotl.{'integrations.config' if folders else own}.{MODEL}"
            says = f"{model_name}() got multiple values for keyword argument '{repeated}'"
            message = f"`{repeated}` is not for a file: axolotl finds it out"
            self.refusals.append(refuses(TYPE, repeated, message, says, remedy=remove_key(repeated), raises="TypeError"))
            return
        always = plugins.built_in(self.release)
        self._added = (*always, *(folder for folder in folders if folder not in always))
        self._facts = facts(self.release, data)
        self._stage(BEFORE, data, data, data.keys())
        for key in machine:
            data.pop(key, None)
        self.additions = data.additions
        model = self._fields(data)
        if not self.refusals and not self.faults and model is not None:
            vars(model).update(machine)
            self._stage(AFTER, model, vars(model), model.changed)
            for key in machine:
                vars(model).pop(key, None)
            if not self.refusals:
                # What is not set is left out of a nested model, so that one in which nothing is set is false (`exclude_none=True`).
                rows = top_fields(self.release, self._added).rows
                for name, value in vars(model).items():
                    is_nested = isinstance(value, dict) and name in rows and is_model(rows[name][READS])
                    if is_nested and all(part is None for part in value.values()):
                        vars(model)[name] = {}
                self.model = model

    def _stage(self, stage: str, subject: Data | AxolotlModel, values: ConfigTable, keys: Any) -> None:
        """Run the validators of a stage on the values, which may change; those of fields see the defaults of the others."""
        defaults = top_fields(self.release, self._added).defaults
        enums = {} if stage == BEFORE else enums_of(self.release, self._added)
        for function in selection(stage, self.release, self._added).that_use(keys, values):
            if "todo" in function.rows[0] and function.name in BY_HAND:
                self._attempt(BY_HAND[function.name], subject)
                continue
            evaluation = Evaluation({**defaults, **values} if stage == FIELD_BEFORE else values, self._facts, enums)
            try:
                evaluation.run(function.rows)
            except Raised as raised:
                self._raised(raised, function, evaluation)
            if stage == FIELD_BEFORE:
                values.update({name: evaluation.values[name] for name in evaluation.changed})
            if isinstance(subject, AxolotlModel):
                subject.changed.update(evaluation.changed)

    def _raised(self, raised: Raised, function: Function, evaluation: Evaluation) -> None:
        from cfglint.frameworks.rows.reasons import Condition, Explanation

        if "raise" not in raised.row and raised.kind not in WRAPPED:
            self._failed(raised.kind, raised.message, evaluation.read[-1] if evaluation.read else "")
            return
        said = raised.message
        exception = f"{raised.kind}: {said}"
        if raised.kind in WRAPPED:
            exception = f"ValidationError: 1 validation error for {MODEL}: {WRAPPED[raised.kind]}, {said}"
        condition = Condition(raised.row, function.rows, evaluation, self.values)
        fields = top_fields(self.release, self._added)
        flags, defaults = fields.rows, fields.defaults
        words = Words(KEPT, MACHINE, lambda key: key in flags and "bool" in str(flags[key][READS]))
        explained = Explanation(condition, function.name, said, words)

        def lifts(changed: ConfigTable, key: str) -> bool:
            if key not in self.values and evaluation.values.get(key, defaults.get(key)) != defaults.get(key):
                return False  # another key sets it, and would again
            try:
                Evaluation(copied(changed), self._facts).run(function.rows)
            except Raised as other:
                return other.message != said and key not in other.message
            return True

        keys, sentence = explained.keys, explained.sentence
        evaluation = condition.run = evaluation.moment()  # later validators change the values
        explained.values = values = evaluation.values
        self.refusals.append(Refusal(code_of(function.name), keys, sentence, exception, lambda: explained.remedies(values, lifts)))

    def _attempt(self, check: Callable[[Any], None], subject: object) -> None:
        try:
            check(subject)
        except Refusal as refusal:
            self.refusals.append(refusal.with_traceback(None))  # whose frames would keep the whole run in memory
        except (TypeError, AttributeError, ValueError, KeyError, ZeroDivisionError, OverflowError) as error:
            self._failed(type(error).__name__, str(error), subject.asked if isinstance(subject, Data) else "")

    def _failed(self, raises: str, says: str, key: object) -> None:
        """Note that a validator fails on a value that it does not expect."""
        if any(refusal.kind == TYPE for refusal in self.refusals):
            return
        value = self.values.get(key)
        remedy = set_key(str(key), int(value), ", without quotes") if isinstance(value, str) and value.isdecimal() else ""
        message = f"`{key}` has a value that axolotl cannot work with"
        self.refusals.append(refuses(TYPE, (str(key),) if key else (), message, says, remedy=remedy, raises=raises))

    def _datasets(self, data: Data) -> None:
        """Validate each data set as a model of its own first (utils/config/__init__.py:556-576)."""
        given, kind = data.get("datasets"), data.get("rl")
        if not given or self.release not in EACH_DATASET:
            return
        try:
            preferences = next(found for since, found in reversed(PREFERENCE) if since <= self.release)
            name = "DPODataset" if kind in preferences else "KTODataset" if kind == "kto" else DATASET
            for index, item in enumerate(given):
                if not isinstance(item, dict):
                    dict(item)  # raises the same exception as axolotl's own conversion
                    continue
                if not all(isinstance(key, str) for key in item):
                    raise TypeError("keywords must be strings")
                is_synthetic = name == DATASET and item.get("type") == "_synthetic" and HISTORY.has_section(SYNTHETIC, self.release)
                reading = FieldReading(self.release, self.transformers)
                try:
                    reading.model(SYNTHETIC if is_synthetic else name, item, ("datasets", index))
                except Invalid as invalid:
                    reading.faults.append(invalid.at(("datasets", index)))
                self.faults += reading.faults
                self.dropped += reading.dropped
        except (TypeError, ValueError, AttributeError) as error:
            mappings = isinstance(given, list) and all(isinstance(item, dict) for item in given)
            message = "an entry of `datasets` has a value of the wrong type" if mappings else "`datasets` is not a list of mappings"
            remedy = "" if mappings else "write a list of mappings with `path` and `type`"
            self.refusals.append(refuses(DATA, "datasets", message, str(error), remedy=remedy, raises=type(error).__name__))

    def _fields(self, data: Data) -> AxolotlModel | None:
        if not all(isinstance(key, str) for key in data):
            key = next(key for key in data if not isinstance(key, str))
            self.refusals.append(refuses(TYPE, (), f"the key {key!r} is not a string", "keywords must be strings", raises="TypeError"))
            return None
        self._stage(FIELD_BEFORE, data, data, data.keys())
        reading = FieldReading(self.release, self.transformers)
        converted = isinstance(data.get("datasets"), list) and bool(data["datasets"]) and self.release in EACH_DATASET
        given = {key: value for key, value in data.items() if key != "datasets" or not converted}
        values = reading.top(given, self._added)
        self.faults += reading.faults
        self.dropped += [path for path in reading.dropped if path[0] in self.values or len(path) > 1]
        values["datasets"] = data.get("datasets") if converted else values["datasets"]
        model = AxolotlModel(values, self.release)
        model.changed.update(data, *((OWN_NAMES[key],) for key in OWN_NAMES.keys() & data.keys()))
        faulty = {fault.path[0] for fault in reading.faults}
        self._stage(FIELD_AFTER, model, vars(model), model.changed - faulty)
        return model
