"""Policy schemas of a team, and expected numbers of declared runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from cfglint.cli import main
from cfglint.project.policy_schema import DEEPEST, MOST_TIMEOUTS, PolicySchemaError, PolicySchemas, plain

POLICY = {
    "properties": {
        "seed": {"const": 42, "x-message": "our runs are seeded with 42"},
        "learning_rate": {"type": "number", "exclusiveMaximum": 0.001},
        "report_to": {"enum": ["wandb"]},
    },
    "required": ["run_name"],
}
GOOD = "output_dir: out\nper_device_train_batch_size: 4\nrun_name: x\nseed: 42\n"


@pytest.fixture
def project(tmp_path, monkeypatch, capsys):
    """Write files, run `cfglint check` with them: (exit status, diagnostics, standard error)."""
    monkeypatch.chdir(tmp_path)

    def run(files, *arguments):
        for name, content in files.items():
            os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
            with open(name, "w", encoding="utf-8") as out:
                out.write(content if isinstance(content, str) else json.dumps(content))
        status = main(["check", *arguments, "--format", "json"])
        printed = capsys.readouterr()
        return status, json.loads(printed.out)["diagnostics"] if printed.out else [], printed.err

    return run


def policy_findings(found):
    return [(each["key"], each["line"], each["message"]) for each in found if each["code"] == "HSE001"]


def test_violations_are_findings_at_their_value(project):
    text = "output_dir: out\nper_device_train_batch_size: 4\nseed: 1\nlearning_rate: 0.01\n"
    files = {"cfglint.toml": 'policy-schema = "policy.json"\n', "policy.json": POLICY, "train.yaml": text}
    status, found, _ = project(files, "train.yaml", "--kind", "huggingface")
    assert policy_findings(found) == [
        ("", 1, "policy violation: 'run_name' is a required property"),
        ("/seed", 3, "policy violation: our runs are seeded with 42"),
        ("/learning_rate", 4, "policy violation: 0.01 is greater than or equal to the maximum of 0.001"),
    ]
    assert {each["severity"] for each in found if each["code"] == "HSE001"} == {"warning"}
    assert status == 1


def test_the_old_name_of_the_setting_is_accepted(project):
    files = {"cfglint.toml": 'house-schema = "policy.json"\n', "policy.json": POLICY, "train.yaml": GOOD + "seed: 1\n"}
    _, found, _ = project(files, "train.yaml", "--kind", "huggingface")
    assert "/seed" in [key for key, _, _ in policy_findings(found)]


def test_a_good_config_is_silent(project):
    files = {"cfglint.toml": 'policy-schema = "policy.json"\n', "policy.json": POLICY, "train.yaml": GOOD}
    assert project(files, "train.yaml", "--kind", "huggingface")[:2] == (0, [])


def test_a_schema_sees_what_the_reader_makes_of_the_text(project):
    policy = {"properties": {"learning_rate": {"type": "number"}}}
    files = {"cfglint.toml": 'policy-schema = "policy.json"\n', "policy.json": policy, "train.yaml": GOOD + "learning_rate: 1e-5\n"}
    found = project(files, "train.yaml", "--kind", "huggingface")[1]
    assert policy_findings(found) == [("/learning_rate", 5, "policy violation: '1e-5' is not of type 'number'")]


def test_a_table_has_one_schema_a_kind(project):
    clipping = {"properties": {"gradient_clipping": {"const": 1.0}}, "required": ["gradient_clipping"]}
    files = {
        "cfglint.toml": 'policy-schema = { deepspeed = "policy/ds.json" }\n',
        "policy/ds.json": clipping,
        "train.yaml": GOOD + "deepspeed: ds.json\n",
        "ds.json": '{"zero_optimization": {"stage": 2},\n "gradient_clipping": 0.5, "train_micro_batch_size_per_gpu": "auto"}',
    }
    found = project(files, "train.yaml")[1]
    assert policy_findings(found) == [("/gradient_clipping", 2, "policy violation: 1.0 was expected")]
    assert [each["file"] for each in found if each["code"] == "HSE001"] == ["ds.json"]


def test_each_key_that_is_not_allowed_is_told_at_its_place(project):
    section = {"properties": {"stage": True}, "patternProperties": {"^x": True}, "additionalProperties": False}
    policy = {"properties": {"zero_optimization": section}}
    text = '{"train_batch_size": 8,\n"zero_optimization": {\n"stage": 1,\n"overlap_comm": true,\n"reduce_scatter": true}}'
    files = {"cfglint.toml": 'policy-schema = "policy.json"\n', "policy.json": policy, "ds.json": text}
    found = project(files, "ds.json", "--kind", "deepspeed")[1]
    places = [(key, line) for key, line, _ in policy_findings(found)]
    assert places == [("/zero_optimization/overlap_comm", 4), ("/zero_optimization/reduce_scatter", 5)]


def test_a_file_that_cannot_be_read_is_not_held_to_them(project):
    files = {"cfglint.toml": 'policy-schema = "policy.json"\n', "policy.json": POLICY, "train.yaml": "output_dir: [\n"}
    status, found, _ = project(files, "train.yaml", "--kind", "huggingface")
    assert (status, policy_findings(found)) == (1, [])


def test_it_can_be_silenced_like_any_other(project):
    files = {
        "cfglint.toml": 'policy-schema = "policy.json"\n',
        "policy.json": POLICY,
        "train.yaml": GOOD.replace("seed: 42", "seed: 1  # cfglint: ignore[HSE001] a seed sweep"),
    }
    assert project(files, "train.yaml", "--kind", "huggingface")[:2] == (0, [])


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ("{", "not valid JSON"),
        ("[]", "a JSON Schema must be an object"),
        ('{"type": "numbr"}', "not a valid JSON Schema: at type"),
        ('{"properties": {"a": {"minimum": "x"}}}', "at properties/a/minimum"),
        ('{"properties": {"a": {"$ref": "#/$defs/none"}}}', "unresolvable reference"),
        ('{"properties": {"a": {"$ref": "https://example.org/other.json"}}}', "references must stay inside the file"),
        ('{"$ref": "#"}', "infinite recursion"),
    ],
)
def test_a_broken_schema_is_exit_2(project, schema, words):
    files = {"cfglint.toml": 'policy-schema = "policy.json"\n', "policy.json": schema, "train.yaml": GOOD}
    status, found, told = project(files, "train.yaml", "--kind", "huggingface")
    assert (status, found) == (2, [])
    assert "policy.json" in told
    assert words in told


def test_a_missing_schema_is_exit_2(project):
    status, _, told = project({"cfglint.toml": 'policy-schema = "none.json"\n', "train.yaml": GOOD}, "train.yaml")
    assert status == 2
    assert "none.json" in told


def test_what_is_nested_beyond_the_limit_is_null():
    value = []
    for _ in range(3_000):
        value = [{"a": value}]
    found = plain(value)
    for _ in range(DEEPEST):
        found = found["a"] if isinstance(found, dict) else found[0]
    assert found in ([None], {"a": None})


@pytest.mark.parametrize("value", ['["a.json"]', "{ deepspeed = 3 }", '{ nokind = "a.json" }'])
def test_the_configuration_key_takes_a_file_or_files_by_kind(project, value):
    status, _, told = project({"cfglint.toml": f"policy-schema = {value}\n", "train.yaml": GOOD}, "train.yaml")
    assert status == 2
    assert "policy-schema" in told


def test_older_dialects_are_read_as_such():
    old = PolicySchemas(
        {"": {"$schema": "http://json-schema.org/draft-04/schema#", "properties": {"a": {"maximum": 3, "exclusiveMaximum": True}}}}
    )
    assert [each.path for each in old.violations("deepspeed", {"a": 3})] == [("a",)]


def test_references_inside_the_file_are_followed():
    schema = {"$defs": {"small": {"maximum": 3}}, "properties": {"a": {"$ref": "#/$defs/small"}}}
    assert [each.path for each in PolicySchemas({"": schema}).violations("neox", {"a": 4})] == [("a",)]


def test_values_that_json_does_not_know():
    import datetime

    values = {1: "a", "when": datetime.date(2026, 1, 2), "many": ("x",), None: 3}
    known = {"1": {"const": "a"}, "when": {"type": "string"}, "many": {"type": "array"}}
    (violation,) = PolicySchemas({"": {"properties": known, "additionalProperties": False}}).violations("neox", values)
    assert (violation.path, violation.message) == (("None",), "`None` is not allowed here")


def test_long_messages_are_cut():
    (violation,) = PolicySchemas({"": {"properties": {"a": {"type": "number"}}}}).violations("neox", {"a": "x" * 10_000})
    assert len(violation.message) == 300


def test_a_schema_that_is_no_object():
    with pytest.raises(PolicySchemaError, match="must be an object"):
        PolicySchemas({"": 3})


def test_jsonschema_is_not_imported_without_a_house(tmp_path):
    (tmp_path / "train.yaml").write_text(GOOD)
    code = "import sys; from cfglint.cli import main; main(['check', 'train.yaml']); print('jsonschema' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, env=with_path())
    assert done.stdout == "False\n"


def with_path():
    import cfglint

    return {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(cfglint.__file__))}


DECLARED = '[[run]]\nfiles = ["ds.json"]\nkind = "deepspeed"\ngpus = 8\nglobal-batch = {}\n'
BATCH = '{"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 8}'


def promises(found):
    return [(each["severity"], each["key"], each["message"]) for each in found if each["code"] == "RUN100"]


def test_a_broken_promise_fails_and_names_both_numbers(project):
    status, found, _ = project({"cfglint.toml": DECLARED.format(512), "ds.json": BATCH})
    message = "global batch size is 256 = 4 x 8 x 8, expected 512"
    assert promises(found) == [("warning", "/train_micro_batch_size_per_gpu", message)]
    assert status == 1


def test_a_broken_promise_leaves_the_verdict(project, capsys):
    project({"cfglint.toml": DECLARED.format(512), "ds.json": BATCH})
    main(["check", "--format", "json"])
    assert json.loads(capsys.readouterr().out)["runs"][0]["verdict"] == "accept"


def test_a_kept_promise_is_silent(project):
    assert project({"cfglint.toml": DECLARED.format(256), "ds.json": BATCH})[:2] == (0, [])


def test_flags_can_break_a_promise(project):
    files = {"cfglint.toml": DECLARED.format(256), "ds.json": BATCH}
    assert [message for _, _, message in promises(project(files, "--gpus", "4")[1])] == [
        "global batch size is 128 = 4 x 8 x 4, expected 256"
    ]


def test_an_undecided_promise_is_info(project):
    toml = '[[run]]\nfiles = ["ds.json"]\nkind = "deepspeed"\nglobal-batch = 256\ntokens-per-step = 4096\n'
    status, found, _ = project({"cfglint.toml": toml, "ds.json": BATCH})
    assert [severity for severity, _, _ in promises(found)] == ["info", "info"]
    assert status == 0


def test_a_run_that_does_not_start_breaks_no_promise(project):
    status, found, _ = project({"cfglint.toml": DECLARED.format(256), "ds.json": "{"})
    assert promises(found) == []
    assert status == 1


def test_total_steps_point_at_what_decides_them(project):
    toml = '[[run]]\nfiles = ["train.yaml"]\nkind = "huggingface"\ngpus = 8\ntotal-steps = 1000\n'
    found = project({"cfglint.toml": toml, "train.yaml": GOOD + "max_steps: 500\n"})[1]
    assert promises(found) == [("warning", "/max_steps", "number of total steps is 500, expected 1000")]


def test_a_promise_can_be_silenced(project):
    text = '{"train_micro_batch_size_per_gpu": 4, # cfglint: ignore[RUN100] ramping up\n "gradient_accumulation_steps": 8}'
    assert project({"cfglint.toml": DECLARED.format(512), "ds.json": text})[:2] == (0, [])


def test_a_schema_that_takes_too_long_is_given_up_after_a_few_files(monkeypatch):
    schemas = PolicySchemas({"": {"properties": {"run_name": {"pattern": "^(a+)+$"}}}})
    monkeypatch.setattr("cfglint.project.policy_schema.SECONDS", 0.05)
    told = [next(schemas.violations("huggingface", {"run_name": "a" * 40 + "!"})).message for _ in range(MOST_TIMEOUTS + 1)]
    assert all("takes more than" in message for message in told[:-1])
    assert "is not applied to this file" in told[-1]


def test_a_schema_that_cannot_be_applied_is_a_violation_of_the_whole_file():
    """A division that overflows is seen only where the value is there."""
    policies = PolicySchemas({"": {"properties": {"seed": {"multipleOf": 0.5}}}})
    assert list(policies.violations("huggingface", {"seed": 1})) == []
    [found] = policies.violations("huggingface", {"seed": 10**400})
    assert found.path == ()
    assert found.message.startswith("the policy schema cannot be applied to this file: OverflowError: ")
