"""What TRL's trainers refuse of the options that they are given, as arguments of old releases or fields of their classes."""

from __future__ import annotations

from cfglint.evaluate import Reason, Unknown
from cfglint.findings.releases import Releases
from cfglint.frameworks.releases.versions import Version
from cfglint.source.annotations import Callable, Iterable, Iterator

# The releases of TRL whose trainers refuse options to load a model that they do not load themselves.
LOADED: dict[str, Releases] = {
    "SFTTrainer": Releases((0, 7, 3), (0, 15, 0), "SFT, in code"),
    "DPOTrainer": Releases((0, 7, 3), (0, 19, 0), "DPO"),
    "KTOTrainer": Releases((0, 8, 0), (0, 27, 0), "KTO"),
    "ORPOTrainer": Releases((0, 8, 2), of="ORPO"),
    "CPOTrainer": Releases((0, 8, 2), of="CPO"),
    "BCOTrainer": Releases((0, 10, 1), (1, 14, 0), "BCO"),
}
LOADING = (("model_init_kwargs", "model"), ("ref_model_init_kwargs", "ref_model"))
MODEL = Reason("program", "the model that the trainer gets", "it accepts the options with a name")
CLASSES_NAMED: Version = (0, 9, 2)  # from here on SFT and DPO name their classes of arguments in the message
PREPARED = Releases((0, 7, 5), (0, 15, 0), "`dataset_kwargs`")  # SFT passes them on as keywords (trl 0.8.5 trainer/sft_trainer.py:288)
PREPARATION: dict[str, Version] = {"append_concat_token": (), "add_special_tokens": (), "skip_prepare_dataset": (0, 8, 2)}
# A length that is compared with those of the samples or given to the tokenizer, and the exception about another type.
LENGTHS = {
    "DPOTrainer": ("max_length", "TypeError: '>' not supported between instances of 'int' and '{}'"),
    "SFTTrainer": ("max_seq_length", "TypeError: argument 'max_length': '{}' object cannot be interpreted as an integer"),
}
KEYWORDS_END: Version = (0, 12, 0)  # from here on the fields have the checks of the lengths


def refusals(
    trainer: str, release: Version, models: Iterable[str], given: Callable[[str], object]
) -> Iterator[tuple[str, str, tuple[Reason, ...]]]:
    """What a trainer refuses of its options: their names, with the exception and what that rests on."""
    of_class = {"SFTTrainer": "SFTConfig", "DPOTrainer": "DPOTrainer/DPOConfig"} if release >= CLASSES_NAMED else {}
    for (name, what), model in zip(LOADING, models, strict=True):
        if given(name) is not None and model != "a name" and release in LOADED.get(trainer, ()):
            passed = f"{name} to the {of_class[trainer]}, but" if trainer in of_class else f"{what}_kwargs to the {trainer}. But"
            yield name, f"ValueError: You passed {passed} your {what} is already instantiated.", () if model else (MODEL,)
    name, text = LENGTHS.get(trainer, ("", ""))
    if isinstance(length := given(name), (str, list, dict)) and release < KEYWORDS_END:
        yield name, text.format(type(length).__name__), ()
    text = refused_preparation(given("dataset_kwargs"), release) if trainer == "SFTTrainer" else ""
    if text:
        yield "dataset_kwargs", text, ()


def refused_preparation(options: object, release: Version) -> str:
    """The exception of SFT about `dataset_kwargs`; empty if it takes them."""
    if options is None or release not in PREPARED or isinstance(options, Unknown):
        return ""
    function = "SFTTrainer._prepare_dataset()"
    if not isinstance(options, dict):
        return f"TypeError: trl.trainer.sft_trainer.{function} argument after ** must be a mapping, not {type(options).__name__}"
    refused = [name for name in options if name not in PREPARATION or release < PREPARATION[name]]
    return f"TypeError: {function} got an unexpected keyword argument {refused[0]!r}" if refused else ""
