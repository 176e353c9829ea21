"""What pydantic makes of values, as it was seen with pydantic 2.13.5 and the real models."""

from __future__ import annotations

from cases import each_case
from cfglint.frameworks.axolotl import NEWEST, TRANSFORMERS
from cfglint.frameworks.axolotl._tables import RELEASES
from cfglint.frameworks.axolotl.fields import FieldReading
from cfglint.frameworks.axolotl.releases import HISTORY, PLUGIN, TOP
from cfglint.frameworks.releases.history import TYPE
from cfglint.frameworks.releases.versions import parse_version
from cfglint.frameworks.validation.pydantic import taken_as_they_are

RELEASE = parse_version(NEWEST)
FIELDS = HISTORY.fields(TOP, RELEASE)


def new_reading():
    return FieldReading(RELEASE, parse_version(TRANSFORMERS))


@each_case(
    ("field", "value", "read"),
    [
        ("micro_batch_size", "4", 4),
        ("micro_batch_size", 4.0, 4),
        ("learning_rate", "1e-5", "1e-5"),  # made a number by a validator
        ("num_epochs", 3, 3.0),
        ("val_set_size", "0.1", 0.1),
        ("save_steps", 10, 10),
        ("save_steps", 0.5, 0.5),
        ("bf16", "auto", "auto"),
        ("bf16", "yes", True),
        ("gradient_checkpointing", "offload", "offload"),
        ("chat_template", "tokenizer_default_fallback_chatml", "tokenizer_default_fallback_chatml"),
        ("tokens", ["a"], ["a"]),
        ("max_memory", {"0": "10GB", "cpu": 1}, {0: "10GB", "cpu": 1}),
        ("image_size", [2, "3"], [2, 3]),
        ("adapter", None, None),
    ],
)
def test_taken(field, value, read):
    reading = new_reading()
    got = reading.field(FIELDS[field], value, (field,))
    assert (got, reading.faults) == (read, [])
    assert type(got) is type(read)


@each_case(
    ("field", "value", "words"),
    [
        ("micro_batch_size", 2.5, "Input should be a valid integer, got a number with a fractional part"),
        ("sequence_len", "2e3", "Input should be a valid integer, unable to parse string as an integer"),
        ("save_strategy", False, "Input should be a valid string"),
        ("output_dir", None, "Input should be a valid string"),
        ("rl", "dpoo", "Input should be 'dpo', 'gdpo'"),
        ("bf16", "full", "Input should be 'auto'"),
        ("chat_template", "chatmll", "Input should be 'alpaca'"),
        ("tokens", {"a": 1}, "Input should be a valid list"),
        ("datasets", [], "List should have at least 1 item after validation, not 0"),
        ("mixlora_top_k", 0, "Input should be greater than or equal to 1"),
        ("image_size", [1, 2, 3], "Input should be a valid integer"),
    ],
)
def test_refused(field, value, words):
    reading = new_reading()
    reading.field(FIELDS[field], value, (field,))
    assert [fault.message[: len(words)] for fault in reading.faults] == [words]


def test_every_model_that_a_field_names_is_there():
    def models(reads):
        if isinstance(reads, tuple):
            if reads[0] == "model":
                yield reads[1]
            for part in reads[1:]:
                yield from models(part)

    for release in RELEASES:
        sections = HISTORY.at(release)
        named = {name for fields in sections.values() for row in fields.values() for name in models(row[TYPE])}
        assert named
        assert named <= {section for section in sections if section and not section.startswith(PLUGIN)}


def test_keys_of_nested_models_are_dropped_or_refused():
    reading = new_reading()
    reading.top(
        {
            "base_model": "m",
            "learning_rate": 1e-5,
            "fsdp_config": {"offload_param": True, "version": 2},
            "fp8_config": {"recipes": "rowwise"},
            "pretraining_dataset": [{"path": "a", "no_such": 1}],
        },
        (),
    )
    assert reading.dropped == [("fsdp_config", "offload_param")]
    assert [(fault.path, fault.kind) for fault in reading.faults] == [(("fp8_config", "recipes"), "unknown")]


@each_case("value", ["abc", "no", "[]", "[[a, b]]", "5"])
def test_mappings_of_a_data_set_are_indexed_before_their_type_is_checked(axolotl, value):
    text = f"base_model: m\nlearning_rate: 1e-4\ndatasets:\n  - {{path: d, type: chat_template, message_property_mappings: {value}}}\n"
    error = axolotl(text=text).diagnostics[0]
    assert (error.code, error.message) == ("AXL002", "`datasets.0`: a value in it has the wrong type")
    assert error.exception.startswith("TypeError: ")


@each_case(
    ("keys", "help_text"),
    [
        (
            "use_cce: true\n",
            "did you mean `cut_cross_entropy`? It needs the plugin axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin",
        ),
        ("liger_rms_nrm: true\n", "did you mean `liger_rms_norm`? It needs the plugin axolotl.integrations.liger.LigerPlugin in `plugins`"),
        ("plugins: [axolotl.integrations.liger.LigerPlugin]\nliger_rms_nrm: true\n", "did you mean `liger_rms_norm`?"),
        ("liger_rms_norm: true\n", "add the plugin axolotl.integrations.liger.LigerPlugin to `plugins`"),
    ],
)
def test_the_keys_of_plugins_are_known_to_suggestions(axolotl, keys, help_text):
    text = f"base_model: m\nlearning_rate: 1.0e-4\ndatasets:\n  - {{path: d, type: alpaca}}\n{keys}"
    found = [each.help for each in axolotl(text=text).diagnostics if each.code == "AXL005"]
    assert [each[: len(help_text)] for each in found] == [help_text]


@each_case(
    ("key", "meant"),
    [
        ("max_seq_length", "sequence_len"),
        ("num_train_epochs", "num_epochs"),
        ("per_device_train_batch_size", "micro_batch_size"),
        ("per_device_eval_batch_size", "eval_batch_size"),
        ("lr_scheduler_type", "lr_scheduler"),
        ("optim", "optimizer"),
        ("lora_rank", "lora_r"),
        ("train_on_split", "split"),
        ("run_name", "wandb_name"),
        ("report_to", "use_wandb"),
    ],
)
def test_the_keys_of_the_trainer_and_of_older_releases_are_known_by_their_names_here(axolotl, key, meant):
    assert [each.help for each in axolotl(f"{key}: 1\n").diagnostics if each.code == "AXL005"] in ([f"did you mean `{meant}`?"], [])


@each_case(
    ("line", "message"),
    [
        ("revision_of_model: 3", "`revision_of_model` is 3; it must be a string"),
        ("overrides_of_model_config: a", "`overrides_of_model_config` is a; it must be a mapping"),
        ("type_of_model: [a]", '`type_of_model` is ["a"]; it must be a string'),
        ("overrides_of_model_kwargs: x", "`overrides_of_model_kwargs` is x; it must be a mapping"),
        ("revision_of_model: main", None),
    ],
)
def test_fields_are_validated_under_the_names_of_the_code_as_well(axolotl, line, message):
    text = f"base_model: m\nlearning_rate: 1.0e-4\ndatasets:\n  - {{path: d, type: alpaca}}\n{line}\n"
    assert [each.message for each in axolotl(text=text).diagnostics] == ([message] if message else [])


@each_case(
    ("release", "key", "message"),
    [
        ("0.10.1", "context_parallel_size", "unknown key `context_parallel_size` is ignored by axolotl 0.10.1: it requires axolotl 0.12.0"),
        ("0.21.0", "my_key", "unknown key `my_key` is ignored by axolotl"),
    ],
)
def test_the_key_of_a_later_release_names_it(axolotl, release, key, message):
    found = [each.message for each in axolotl(f"{key}: 2\n", target={"axolotl": release}).diagnostics if each.code == "AXL005"]
    assert found == [message]


def test_values_that_are_taken_as_they_are_are_those_that_reading_does_not_convert():
    annotations = [row[TYPE] for rows in HISTORY.sections.values() for row in rows]
    assert any("{" in str(reads) for reads in annotations)  # one that has no hash
    for reads in annotations:
        for value in (None, True, 3, 0.5, "x", {"a": 1}, [1]):
            if type(value) in taken_as_they_are(reads):
                reading = new_reading()
                assert (reading.read(reads, value, ()), reading.faults) == (value, []), (reads, value)
