"""A finding is worth what the allowed releases make of it: an error only if every one of them refuses the run."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from cases import each_case
from cfglint.cli import main
from cfglint.findings.diagnostic import ERROR, Diagnostic, Place
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.releases._modelled import RELEASES
from cfglint.rules.catalogue import every_rule
from cfglint.run import allowed_releases
from cfglint.run.allowed_releases import is_of_other_files, next_place, words
from cfglint.run.checked import CheckedRun
from cfglint.run.discovery import Discovery

NEWEST = RELEASES["transformers"]
LLAMAFACTORY = "stage: sft\nmodel_name_or_path: m\ndataset: d\ntemplate: qwen\noutput_dir: out\ndo_train: true\n"
SFT = "output_dir: out\nmax_length: 512\nload_best_model_at_end: true\neval_strategy: steps\n"
TRAINER = "output_dir: out\nper_device_train_batch_size: 2\n"


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def run(config, requirements="", *options):
        (tmp_path / "train.yaml").write_text(config)
        (tmp_path / "requirements.txt").write_text(requirements)
        status = main(["check", "train.yaml", "--kind", "huggingface", "--strict-keys", "--format", "json", *options])
        printed = capsys.readouterr()
        report = json.loads(printed.out)
        return report["diagnostics"], report["runs"][0], printed.err, status

    return run


def test_what_every_allowed_release_refuses_is_an_error(check):
    (found,), run, _, status = check(TRAINER + "evaluation_strategy: steps\n")
    assert (found["severity"], run["verdict"], status) == ("error", "reject", 1)
    assert "since" not in found


def test_what_some_allowed_releases_take_is_a_warning_that_names_the_others(check):
    (found,), run, said, status = check(TRAINER + "warmup_ratio: 0.1\n")
    assert (found["severity"], found["fails_at"], run["verdict"], status) == ("warning", None, None, 0)
    assert found["since"] == {"transformers": "5.15.0"}
    assert found["depends_on"] == [{"kind": "release", "what": "the release of transformers (it is not pinned)"}]
    assert (
        f"; for transformers {NEWEST} (newest known); 1 finding depends on the release of transformers, which is not pinned: --target"
        in said
    )


@pytest.mark.parametrize("pin", ["transformers==5.23.0\n", "transformers>=5.16\n"])
def test_a_pin_or_a_bound_decides(check, pin):
    (found,), run, _, _ = check(TRAINER + "warmup_ratio: 0.1\n", pin)
    assert (found["severity"], run["verdict"], run["target"]["transformers"]) == ("error", "reject", "5.23.0" if "==" in pin else NEWEST)


def test_a_target_decides(check):
    (found,), _, _, _ = check(TRAINER + "warmup_ratio: 0.1\n", "", "--target", "transformers==5.23.0")
    assert found["severity"] == "error"


def test_the_newest_allowed_release_gives_the_findings(check):
    found, run, _, _ = check(TRAINER + "evaluation_strategy: steps\n", "transformers>=4.40,<4.46")
    assert run["target"]["transformers"] == "4.45.2"
    assert "error" not in {each["severity"] for each in found}


def test_a_clean_run_and_a_pinned_one_are_evaluated_once(check, monkeypatch):
    monkeypatch.setattr(CheckedRun, "at", lambda *_: pytest.fail("evaluated again"))
    assert check(TRAINER)[0] == []
    assert check(TRAINER + "warmup_ratio: 0.1\n", "transformers==5.23.0\naccelerate==1.15.0")[1]["verdict"] == "reject"


def test_a_fix_of_such_a_finding_is_not_safe(check, tmp_path):
    check(TRAINER + "warmup_ratio: 0.1\n")
    main(["fix", "train.yaml", "--kind", "huggingface"])
    assert "warmup_ratio" in (tmp_path / "train.yaml").read_text()


def test_explain_says_what_it_depends_on(check, capsys):
    check(TRAINER + "warmup_ratio: 0.1\n")
    main(["explain", "train.yaml", "--kind", "huggingface", "--strict-keys"])
    said = " ".join(capsys.readouterr().out.split())
    assert "Whether it would start is not known: it depends on the release of transformers, which is not pinned" in said


def test_an_error_is_asked_before_each_change_and_at_the_oldest_release():
    places = allowed_releases.places_to_ask([0, 4, 9], 9)
    assert places == sorted(places, reverse=True)
    assert {3, 8, 0} <= {*places} <= {*range(9)}


def test_each_package_varies_by_itself(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.yaml").write_text(TRAINER + "model_name_or_path: m\ndataset_name: d\nwarmup_ratio: 0.1\n")
    (tmp_path / "requirements.txt").write_text("trl==1.16.0\n")
    main(["check", "train.yaml", "--kind", "trl", "--trainer", "sft", "--strict-keys", "--format", "json"])
    found = json.loads(capsys.readouterr().out)["diagnostics"]
    assert {name for each in found for name in each.get("since", {})} == {"transformers"}


def test_the_release_of_an_engine_whose_config_is_nested(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "requirements.txt").write_text("deepspeed==0.14.5\n")
    (tmp_path / "accelerate.yaml").write_text(
        "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\nnum_processes: 8\nmixed_precision: bf16\n"
        "deepspeed_config:\n  zero_stage: 2\n  gradient_accumulation_steps: 1\n"
    )
    (tmp_path / "train.py").write_text("from transformers import Trainer, TrainingArguments\nTrainer(args=TrainingArguments('out'))\n")
    (tmp_path / "run.sh").write_text("accelerate launch --config_file accelerate.yaml train.py\n")
    main(["check", "run.sh", "--format", "json"])
    assert json.loads(capsys.readouterr().out)["runs"][0]["target"]["deepspeed"] == "0.14.5"


def test_the_overrides_of_a_launch_line_are_asked_at_every_allowed_release(tmp_path, monkeypatch, capsys):
    """verl 0.8 stopped reading the micro batch of all GPUs together."""
    monkeypatch.chdir(tmp_path)
    actor, rollout = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"
    (tmp_path / "run.sh").write_text(
        f"python3 -m verl.trainer.main_ppo algorithm.adv_estimator=rloo {actor}.ppo_micro_batch_size=64 {rollout}.name=vllm"
        f" {rollout}.log_prob_micro_batch_size_per_gpu=16 actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=16\n"
    )
    assert main(["check", "run.sh", "--format", "json"]) == 0
    [found] = [each for each in json.loads(capsys.readouterr().out)["diagnostics"] if each["severity"] != "info"]
    assert (found["code"], found["severity"], found["since"]) == ("VRL018", "warning", {"verl": "0.8.0"})


def test_an_argument_of_older_releases_of_swift(tmp_path, capsys):
    """ms-swift 4.1 no longer has `train_type`."""
    (tmp_path / "run.sh").write_text("swift sft --model org/model --dataset data.jsonl --train_type lora\n")
    main(["check", str(tmp_path / "run.sh"), "--format", "json"])
    (found,) = json.loads(capsys.readouterr().out)["diagnostics"]
    assert (found["code"], found["severity"], found["since"]) == ("SWF001", "warning", {"ms-swift": "4.1.0"})


@each_case(
    "files",
    [
        {"train.yaml": TRAINER + "fp16: true\nbf16: true\ndeepspeed: ds.json\n", "ds.json": '{"fp16": {"enabled": false}, "typo": 1}'},
        {"run.sh": "swift sft --model m --dataset d.jsonl --train_type lora --deepspeed zero9 --lr_scheduler_type cosin\n"},
        {"train.yaml": "base_model: m\nmicro_batch_size: 1\ndatasets: [{path: d, type: sharegpt}]\nfsdp: [full_shard]\nadaptr: lora\n"},
    ],
)
def test_each_rule_and_the_errors_alone_give_what_all_rules_together_give(tmp_path, files):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (run,) = Discovery(LaunchFacts()).runs([str(tmp_path / next(iter(files)))])
    found = run.findings()
    assert any(each.severity == ERROR for each in found)
    assert [each for each in run.findings(ERROR) if each.severity == ERROR] == [each for each in found if each.severity == ERROR]
    for code in {each.code for each in found}:
        assert run.findings_of(code) == [each for each in found if each.code == code]


@each_case(
    ("code", "package", "expected"),
    [("SWF001", "deepspeed", True), ("SWF001", "ms-swift", False), ("DSP001", "deepspeed", False), ("BAT001", "deepspeed", False)],
)
def test_an_engine_is_not_asked_between_the_ends_about_what_others_refuse(code, package, expected):
    every_rule()
    assert is_of_other_files(code, package) is expected


@pytest.mark.parametrize(
    ("changed", "low", "high", "place"),
    [([], 0, 8, 4), ([3], 0, 8, 3), ([3], 2, 8, 3), ([3], 3, 8, 5), ([3, 8], 3, 8, 7)],
)
def test_a_release_beside_a_change_is_asked_before_the_middle(changed, low, high, place):
    assert next_place(changed, low, high) == place


def test_an_import_that_only_releases_in_the_middle_have_is_a_warning(tmp_path, monkeypatch, capsys):
    """`LossKwargs` is in transformers 4.47 to 4.53: neither the oldest nor the newest allowed release has it."""
    monkeypatch.chdir(tmp_path)
    imports = "from transformers.utils import LossKwargs\nfrom transformers import TrainingArguments\n"
    (tmp_path / "train.py").write_text(imports + "TrainingArguments('o')\n")

    def severities(requirements):
        (tmp_path / "requirements.txt").write_text(requirements)
        main(["check", "train.py", "--format", "json"])
        return [each["severity"] for each in json.loads(capsys.readouterr().out)["diagnostics"]]

    assert severities("transformers>=4.35\n") == ["warning"]
    assert severities("transformers>=4.54\n") == ["error"]


def test_the_names_in_a_key_are_its_letters_digits_and_underscores():
    assert words("/optimizer/params/lr_1") == ["optimizer", "params", "lr_1"]
    assert words("--max-länge") == ["max", "länge"]
    assert words("") == []


@pytest.mark.parametrize(
    ("name", "pin", "config", "severity", "since"),
    [
        ("llamafactory", "llamafactory==0.9.3", LLAMAFACTORY, "warning", "4.51.0"),
        ("trl", "trl==0.24.0", SFT, "error", None),
    ],
)  # fmt: skip
def test_a_stated_framework_leaves_the_transformers_that_it_accepts(tmp_path, monkeypatch, capsys, name, pin, config, severity, since):
    """LLaMA-Factory 0.9.3 runs with transformers 4.45.0 to 4.52.4, and 4.51.0 removed `evaluation_strategy`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.yaml").write_text(config + ("evaluation_strategy: 'no'\n" if name == "llamafactory" else "save_strategy: epoch\n"))
    (tmp_path / "requirements.txt").write_text(pin)
    main(["check", "train.yaml", "--kind", name, *(["--trainer", "sft"] if name == "trl" else []), "--gpus", "1", "--format", "json"])
    found = json.loads(capsys.readouterr().out)["diagnostics"]
    assert [(each["severity"], each.get("since", {}).get("transformers")) for each in found if each["severity"] != "info"] == [
        (severity, since)
    ]


def test_the_engine_of_a_run_at_another_release_is_loaded_for_rules_that_look_at_it(tmp_path):
    (tmp_path / "ds.json").write_text('{"zero_optimization": {"stage": 2, "overlap_com": true}, "train_micro_batch_size_per_gpu": "auto"}')
    (tmp_path / "train.yaml").write_text(TRAINER + "deepspeed: ds.json\nevaluation_strategy: steps\n")
    (run,) = Discovery(LaunchFacts()).runs([str(tmp_path / "train.yaml")])
    kinds = [config.kind for config in run.configs]
    other = run.at({"transformers": "4.57.6"})
    assert other.findings_of("HFT006") == []
    assert [config.kind for config in other.configs] == kinds[:1]
    assert other.findings(ERROR)
    assert [config.kind for config in other.configs] == kinds == ["huggingface", "deepspeed"]
    assert all(config.without_remedies for config in other.configs)


OLDER = {"transformers": ["4.40.0", "4.41.0", "4.42.0"], "trl": ["0.7.0", "0.8.0"]}
ASKED = {"transformers": "4.43.0", "trl": "0.9.0"}


@each_case(
    ("given", "packages", "since"),
    [
        (lambda transformers, trl: True, OLDER, {}),
        (lambda transformers, trl: transformers >= "4.41.0", OLDER, {"transformers": "4.41.0"}),
        (lambda transformers, trl: transformers == "4.43.0", OLDER, {"transformers": "4.43.0"}),
        (lambda transformers, trl: trl == "0.9.0", OLDER, {"trl": "0.9.0"}),
        (lambda transformers, trl: transformers >= "4.42.0" and trl >= "0.8.0", OLDER, {"transformers": "4.42.0", "trl": "0.8.0"}),
        (lambda transformers, trl: transformers >= "4.41.0" or trl >= "0.8.0", OLDER, ASKED),  # not with the oldest of both
        (lambda transformers, trl: transformers >= "4.41.0", {"trl": OLDER["trl"]}, {}),  # the other one is pinned
    ],
)
def test_since_which_releases_a_finding_is_given(given, packages, since):
    search = allowed_releases.Search(SimpleNamespace(target=ASKED), packages)
    search.at = lambda target: SimpleNamespace(gives=lambda diagnostic: given(**{**ASKED, **target}))
    finding = Diagnostic("HFT006", "strategies", "warning", Place("a.yaml", 1, 1, 1, 1, 0, 0, ""), "/eval_strategy", "do not match")
    assert search.since(finding) == since


GENERATIONS = (
    "NPROC_PER_NODE=2 swift rlhf --rlhf_type grpo --reward_funcs accuracy --model m --dataset d"
    " --eval_strategy no --gradient_accumulation_steps 3"
)


@each_case(
    ("generations", "targets", "severity", "since"),
    [
        (4, (), "warning", {"trl": "0.18.0"}),  # which has the check; ms-swift takes the release before, too
        (8, (), "error", None),  # more than a generation has: 0.17.0 refuses it at the first step
        (4, ("trl==0.19.1",), "error", None),
    ],
)
def test_the_releases_of_a_library_that_a_framework_takes_decide(tmp_path, capsys, generations, targets, severity, since):
    script = tmp_path / "run.sh"
    script.write_text(f"{GENERATIONS} --per_device_train_batch_size 1 --num_generations {generations}\n")
    wanted = [word for target in ("ms-swift==3.5.1", *targets) for word in ("--target", target)]
    main(["check", str(script), "--format", "json", *wanted])
    report = json.loads(capsys.readouterr().out)
    [found] = report["diagnostics"]
    assert (found["code"], found["severity"], found.get("since")) == ("SWF020", severity, since)
    assert report["runs"][0]["verdict"] == ("reject" if severity == "error" else None)
