"""Launch lines of verl: what the composed config and its checks give, compared with recordings of the real verl."""

from __future__ import annotations

import json

import pytest

from cases import each_case
from cfglint.cli import main

ACTOR, ROLLOUT = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"
LINE = (
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.train_batch_size=1024"
    f" {ACTOR}.ppo_mini_batch_size=256 {ACTOR}.ppo_micro_batch_size_per_gpu=16 {ROLLOUT}.n=5 {ROLLOUT}.name=vllm"
    f" {ROLLOUT}.log_prob_micro_batch_size_per_gpu=16 actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=16"
)


class Result:
    """The answer of `check` about the one run of a line."""

    def __init__(self, printed):
        report = json.loads(printed)
        self.run = report["runs"][0] if report["runs"] else {}
        self.found = [(each["code"], each["severity"]) for each in report["diagnostics"] if each["severity"] != "info"]
        self.verdict, self.resolved = self.run.get("verdict"), self.run.get("resolved", {})


@pytest.fixture
def checked(tmp_path, capsys):
    """The answer about a line, at a release of verl."""

    def run(line, release="0.9.1", files=(), script="run.sh"):
        for name, text in {script: f"{line}\n", "cfglint.toml": "", **dict(files)}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        target = ["--target", f"verl=={release}"] if release else []
        main(["check", str(tmp_path / script), "--format", "json", "--num-examples", "10000", *target])
        return Result(capsys.readouterr().out)

    return run


@each_case(
    ("release", "numbers"),
    [
        ("0.9.1", {"updates_per_step": 4, "mini_batch_per_gpu": 160, "mini_batch_samples": 1280, "padding_samples": 0, "accumulation": 10}),
        ("0.5.0", {"updates_per_step": 4, "mini_batch_per_gpu": 160, "mini_batch_samples": 1280, "steps_per_epoch": 9, "total_steps": 270}),
    ],
)
def test_samples_and_updates_of_a_step(checked, release, numbers):
    resolved = checked(LINE, release).resolved
    assert {key: resolved[key] for key in numbers} == numbers
    assert (resolved["global_batch"], resolved["rollout_n"], resolved["samples_per_step"]) == (1024, 5, 5120)


@each_case(("release", "steps"), [("0.4.0", 19), ("0.8.0", 19), ("0.9.1", 9)])
def test_the_loader_draws_its_own_number_of_prompts_before_0_9(checked, release, steps):
    assert checked(f"{LINE} +data.gen_batch_size=512", release).resolved["steps_per_epoch"] == steps


def test_config_files_of_another_package_may_have_any_key(checked):
    words = f"hydra.searchpath=[pkg://other.config] {ACTOR}.engine.tp=2"
    found = checked(f"{LINE} {words}")
    assert (found.verdict, ("VRL002", "error") in found.found) == (None, False)
    assert ("VRL002", "error") in checked(f"{LINE} hydra.searchpath=[pkg://verl.trainer.config] {ACTOR}.engine.tp=2").found


@each_case(
    ("words", "micro", "accumulation"),
    [
        (f"{ACTOR}.ppo_micro_batch_size_per_gpu=16", 16, 10),
        (f"{ACTOR}.ppo_micro_batch_size_per_gpu=null {ACTOR}.ppo_micro_batch_size=128", 16, 10),  # of all GPUs
        (f"{ACTOR}.ppo_micro_batch_size_per_gpu=24", 24, 6),  # 160 / 24, rounded down
    ],
)
def test_micro_batches_of_the_oldest_release(checked, words, micro, accumulation):
    resolved = checked(f"{LINE} {words}", "0.3.0").resolved
    assert (resolved["micro_batch"], resolved["accumulation"]) == (micro, accumulation)


def test_an_estimator_that_is_a_number_is_none(checked):
    assert ("VRL011", "error") in checked(f"{LINE} algorithm.adv_estimator=1e3", "0.4.1").found
    assert ("VRL011", "error") not in checked(f"{LINE} algorithm.adv_estimator=1e3", "0.9.1").found


MEGATRON = f"{LINE} {ACTOR}.megatron.tensor_model_parallel_size=2 {ACTOR}.megatron.pipeline_model_parallel_size=2"


@each_case(
    ("release", "words", "found"),
    [
        ("0.9.1", "", []),
        ("0.7.1", "", []),
        # an expert group of tensor parallel x expert x pipeline has more GPUs than there are
        ("0.9.1", f"{ACTOR}.megatron.expert_model_parallel_size=4", ["VRL013"]),
        ("0.9.1", f"{ACTOR}.megatron.expert_model_parallel_size=4 {ACTOR}.megatron.expert_tensor_parallel_size=1", []),
        # before 0.8 the iterator of Megatron's actor takes complete mini batches only, from 0.9 on a step is padded
        ("0.7.1", f"{ACTOR}.ppo_mini_batch_size=320", ["VRL027"]),
        ("0.9.1", f"{ACTOR}.ppo_mini_batch_size=320", []),
        ("0.9.1", f"{ROLLOUT}.tensor_model_parallel_size=3", ["VRL023"]),
    ],
)
def test_sizes_of_megatron(checked, release, words, found):
    run = checked(f"{MEGATRON} {words} {'model_engine=megatron' if release != '0.7.1' else '--config-name=ppo_megatron_trainer'}", release)
    assert [code for code, severity in run.found if severity == "error"] == found
    assert (run.resolved["data_parallel"], run.resolved["tensor_parallel"], run.resolved["pipeline_parallel"]) == (2, 2, 2)


def test_0_9_fills_the_last_mini_batch_with_padding(checked):
    line = LINE.replace("batch_size=1024", "batch_size=96").replace("n=5", "n=1").replace("size_per_gpu=16", "size_per_gpu=4")
    line = line.replace("mini_batch_size=256", "mini_batch_size=64")
    resolved = checked(line).resolved
    assert (resolved["padding_samples"], resolved["updates_per_step"]) == (32, 2)


def test_a_rounded_down_mini_batch_before_0_8(checked):
    line = LINE.replace("mini_batch_size=256", "mini_batch_size=100").replace("n=5", "n=1").replace("per_gpu=16", "per_gpu=4")
    resolved = checked(line, "0.5.0").resolved
    assert (resolved["mini_batch_per_gpu"], resolved["mini_batch_samples"]) == (12, 96)


def test_an_unknown_variable_hides_nothing_else(checked):
    run = checked(f'{LINE} "data.max_prompt_length=$LENGTH" data.train_batch_ize=3')
    assert run.found == [("VRL002", "error")]
    assert run.resolved["global_batch"] == 1024


def test_a_batch_from_an_unknown_variable_is_unknown(checked):
    run = checked(LINE.replace("batch_size=1024", '"batch_size=$BATCH"').replace('data.train_"', '"data.train_'))
    assert (run.verdict, run.resolved["global_batch"], run.resolved["samples_per_step"]) == ("accept", None, None)


def test_the_home_of_a_script_is_a_path(checked):
    assert checked(f'{LINE} data.train_files="$HOME/train.parquet"').found == []


def test_without_a_release_an_unknown_key_is_a_warning(checked):
    assert checked(f"{LINE} lean.goals=2", "").found == [("VRL002", "warning")]


def test_of_a_line_for_a_fork_only_the_keys_and_the_gpus_are_known(checked):
    fork = "lean.goals=2 retriever.topk=3 max_turns=4"
    assert ("VRL003", "error") in checked(f"{LINE} +data.shuffle=False", "").found
    run = checked(f"{LINE} {fork} +data.shuffle=False", "")
    assert (run.verdict, run.found) == (None, [("VRL002", "warning")])
    assert run.resolved["global_batch"] == 1024


def own_copy(config, code="", version="0.5.0.dev"):
    """The files of a copy of verl whose config is a single file."""
    return {
        "verl/__init__.py": "import os\n",
        "verl/version/version": version,
        "verl/trainer/__init__.py": "",
        "verl/trainer/main_ppo.py": "import hydra\n",
        "verl/trainer/config/ppo_trainer.yaml": config,
        "verl/trainer/ppo/ray_trainer.py": code,
    }


OWN = """\
lean: {goals: 1}
data: {train_batch_size: 64}
actor_rollout_ref:
  actor:
    strategy: fsdp
    ppo_mini_batch_size: 32
    ppo_micro_batch_size_per_gpu: 4
    use_dynamic_bsz: false
    ppo_epochs: 1
  rollout: {name: vllm, n: 2, log_prob_micro_batch_size_per_gpu: 4, tensor_model_parallel_size: 2}
algorithm: {adv_estimator: grpo, use_kl_in_reward: false}
critic: {strategy: fsdp}
trainer: {nnodes: 1, n_gpus_per_node: 8, total_epochs: 1}
"""
OWN_LINE = "python3 -m verl.trainer.main_ppo"
DIVISIBLE = 'assert total % each == 0, f"real_train_batch_size ({total}) must be divisible by minimal possible batch size ({each})."\n'


def test_the_config_of_a_copy_of_verl_is_composed(checked):
    """Such copies have keys of their own: 81 of 100 public lines of vendored copies have some."""
    run = checked(f"{OWN_LINE} lean.goals=2", "", files=own_copy(OWN))
    assert (run.found, run.verdict, run.resolved["samples_per_step"]) == ([], "accept", 128)


def test_a_copy_of_verl_composes_the_config_that_its_program_names(checked):
    program = 'import hydra\n\n@hydra.main(config_path="{}", config_name="own", version_base=None)\ndef main(config):\n    pass\n'
    files = {**own_copy("{}"), "verl/trainer/main_ppo.py": program.format("../../conf"), "conf/own.yaml": OWN}
    run = checked(f"{OWN_LINE} lean.goals=2", "", files=files)
    assert (run.found, run.verdict, run.resolved["samples_per_step"]) == ([], "accept", 128)
    files["verl/trainer/main_ppo.py"] = program.format("xxx/conf")
    run = checked(f"{OWN_LINE} lean.gaols=2", "", files=files)
    assert (run.found, run.verdict) == ([], None)


def test_a_key_that_a_copy_of_verl_does_not_have(checked):
    run = checked(f"{OWN_LINE} lean.gaols=2", "", files=own_copy(OWN))
    assert (run.found, run.verdict) == ([("VRL002", "error")], "reject")


def test_the_samples_of_a_prompt_are_not_known_where_the_config_of_a_copy_has_no_such_key(checked):
    run = checked(OWN_LINE, "", files=own_copy(OWN.replace(" n: 2,", "")))
    assert (run.found, run.resolved["global_batch"], run.resolved["samples_per_step"]) == ([], 64, None)


@each_case(("words", "found"), [("", []), ("actor_rollout_ref.rollout.n=1", [("VRL041", "warning")])])
def test_a_copy_may_draw_the_samples_of_a_group_by_a_key_of_its_own(checked, words, found):
    assert checked(f"{OWN_LINE} {words}", "", files=own_copy(OWN.replace(" n: 2,", " n: 1, n_agent: 5,"))).found == found


def test_the_keys_of_a_copy_in_a_folder_with_its_version_are_known(checked):
    files = {f"verl-0.5.x/{name}": text for name, text in own_copy(OWN).items()}
    assert checked(f"{OWN_LINE} lean.goals=2", "", files=files).found == []
    assert checked(f"{OWN_LINE} lean.gaols=2", "", files=files).found == [("VRL002", "error")]


@each_case(
    ("code", "found", "verdict"),
    [(DIVISIBLE, [("VRL014", "error")], "reject"), ("", [], "accept")],
)
def test_a_copy_fails_by_the_checks_that_its_code_has(checked, code, found, verdict):
    run = checked(f"{OWN_LINE} data.train_batch_size=33", "", files=own_copy(OWN, code))
    assert (run.found, run.verdict) == (found, verdict)


def test_a_copy_without_the_workers_of_engines_has_none_of_their_checks(checked):
    config = OWN.replace("ppo_micro_batch_size_per_gpu: 4", "ppo_micro_batch_size: 8\n    ppo_micro_batch_size_per_gpu: null")
    files = own_copy(config, version="")
    assert ("VRL018", "warning") not in checked(OWN_LINE, "", files=files).found
    assert ("VRL018", "warning") in checked(OWN_LINE, "", files={**files, "verl/workers/engine_workers.py": ""}).found


@each_case("value", ["{path_to_model}", "<path to the model>/actor"])
def test_a_placeholder_in_a_page_is_an_unknown_value(checked, value):
    line = f"{OWN_LINE} 'actor_rollout_ref.model.path={value}' data.train_batch_size=32"
    files = own_copy(OWN.replace("  actor:\n", "  model: {path: m}\n  actor:\n"))
    run = checked(f"```bash\n{line}\n```", "", files=files, script="README.md")
    assert (run.found, run.resolved["samples_per_step"]) == ([], 64)
    assert checked(line, "", files=files).found == [("VRL001", "error")]


def test_a_check_without_a_message_is_not_certain_in_a_copy(checked):
    run = checked(f"{OWN_LINE} data.train_batch_size=16", "", files=own_copy(OWN))
    assert (run.found, run.verdict) == ([("VRL017", "warning")], None)


@each_case(
    ("code", "found"),
    [
        ("assert config.data.train_batch_size >= config.actor_rollout_ref.actor.ppo_mini_batch_size\n", ["VRL017"]),
        ("# assert config.data.train_batch_size >= config.actor_rollout_ref.actor.ppo_mini_batch_size\nassert gpus > 0\n", []),
    ],
)
def test_a_check_without_a_message_that_a_copy_has_left_out(checked, code, found):
    files = {**own_copy(OWN), "verl/trainer/ppo/ray_trainer.py": code}
    assert [each for each, _ in checked(f"{OWN_LINE} data.train_batch_size=16", "", files=files).found] == found


def test_a_null_that_a_copy_asks_for(checked):
    line = f"{OWN_LINE} actor_rollout_ref.actor.ppo_mini_batch_size=null"
    for code, found in [("", ["VRL010"]), ("if actor.ppo_mini_batch_size is not None:\n    normalize()\n", [])]:
        files = {**own_copy(OWN), "verl/workers/fsdp_workers.py": code}
        assert [each for each, _ in checked(line, "", files=files).found] == found


@each_case(
    ("code", "found", "verdict"),
    [('ESTIMATORS = ["mine"]\n', [], "accept"), ("", [("VRL011", "warning")], None)],
)
def test_a_copy_accepts_the_choices_that_its_code_names(checked, code, found, verdict):
    run = checked(f"{OWN_LINE} algorithm.adv_estimator=mine", "", files=own_copy(OWN, code))
    assert (run.found, run.verdict) == (found, verdict)


def test_a_copy_has_its_own_reward_managers(checked):
    config = OWN + "reward_model: {enable: false, reward_manager: mine}\n"
    files = {**own_copy(config, version="0.3.1.dev"), "verl/trainer/ppo/reward.py": 'MANAGERS = ["mine"]\n'}
    assert checked(OWN_LINE, "", files=files).found == []


def test_a_copy_of_an_old_release_gets_no_verdict(checked):
    run = checked(f"{OWN_LINE} lean.goals=2", "", files=own_copy(OWN, version="0.1"))
    assert (run.found, run.verdict, run.resolved["global_batch"]) == ([], None, 64)
    assert checked(f"{OWN_LINE} lean.goals=2", "", files=own_copy(OWN, version="0.2.0")).verdict == "accept"
    elsewhere = checked(f"cd /data/repository\n{OWN_LINE} lean.goals=2", "", files=own_copy(OWN, version="0.1"))
    assert (elsewhere.found, elsewhere.resolved["global_batch"]) == ([], 64)


@pytest.mark.parametrize(("copy", "script"), [("fork", "fork/examples/run.sh"), ("a/verl", "a/scripts/run.sh")])
def test_a_copy_of_verl_beside_or_above_the_script_has_its_own_keys(checked, copy, script):
    files = {f"{copy}/{name}": text for name, text in own_copy(OWN).items()}
    run = checked(f"{OWN_LINE} lean.goals=2 trainer.gone=1", "", {".git/HEAD": "", **files}, script)
    assert run.found == [("VRL002", "error")]


@each_case(
    ("search_path", "release"),
    [("file://verl/trainer/config", "0.9.1"), ("pkg://verl.trainer.config", "0.7.1")],
)
def test_a_config_of_the_project_that_extends_that_of_the_release(checked, search_path, release):
    own = f"hydra: {{searchpath: [{search_path}]}}\ndefaults: [ppo_trainer, _self_]\ndata: {{train_batch_size: 512}}\nmine: 1\n"
    line = LINE.replace(" data.train_batch_size=1024", "")
    run = checked(f"{line} --config-path=$PWD/config --config-name=own mine=2", release, files={"config/own.yaml": own})
    assert (run.found, run.verdict, run.resolved["global_batch"]) == ([], "accept", 512)


def test_a_config_folder_of_the_user_is_not_guessed(checked):
    run = checked(f"{LINE} --config-path=/data/config --config-name=mine own.key=1")
    assert (run.found, run.verdict, run.resolved["global_batch"]) == ([], None, None)


def test_a_line_that_starts_another_program_of_verl_is_no_run_of_this_kind(checked):
    run = checked("python3 -m verl.trainer.main_ppo_other data.x=1")
    assert not any(code.startswith("VRL") for code, _ in run.found)


@each_case(
    ("text", "found", "batch"),
    [
        ("defaults: [ppo_trainer, _self_]\ndata: {train_batch_size: 1000}\n", ["VRL015", "VRL015", "VRL015", "VRL019"], 1000),
        ("defaults: [ppo_trainr, _self_]\n", ["VRL001"], None),
        ("data: [\n", ["SRC002"], None),
    ],
)
def test_a_config_file_of_the_kind_extends_the_release(tmp_path, capsys, text, found, batch):
    (tmp_path / "own.yaml").write_text(text)
    assert main(["check", str(tmp_path / "own.yaml"), "--kind", "verl", "--target", "verl==0.9.1", "--format", "json"]) == 1
    result = Result(capsys.readouterr().out)
    assert ([code for code, _ in result.found], result.resolved["global_batch"]) == (found, batch)


@each_case(
    ("release", "words", "found"),
    [
        ("0.7.1", f"{ACTOR}.strategy=foo", ["VRL011"]),
        ("0.7.1", f"{ACTOR}.strategy=foo trainer.use_legacy_worker_impl=disable", []),
        ("0.5.0", f"{ACTOR}.strategy=foo", ["VRL011"]),
        ("0.9.1", "algorithm.use_kl_in_reward=True algorithm.kl_ctrl.type=linear", ["VRL011"]),
        ("0.9.1", "algorithm.kl_ctrl.type=linear", []),  # read only where the reward has a KL term
    ],
)
def test_choices_that_a_run_reads(checked, release, words, found):
    assert [code for code, severity in checked(f"{LINE} {words}", release).found if severity == "error"] == found


@each_case(
    ("text", "found"),
    [
        ("defaults: [ppo_trainer, _self_]\nhydra: {searchpath: ['pkg://verl.trainer.config']}\n", []),
        ("defaults: [ppo_trainer\ndata: {\n", [("VRL001", "error")]),
        ("- a\n", [("VRL001", "error")]),
    ],
)
def test_a_primary_config_that_does_not_load(checked, text, found):
    line = LINE.replace(" algorithm", " --config-path=$PWD --config-name=own algorithm", 1)
    assert checked(line, files={"own.yaml": text}).found == found


def test_each_key_that_the_config_lacks_is_said_but_not_those_of_a_missing_option(checked):
    assert checked(f"{LINE} trainer.gone=1 trainer.gone.more=2").found == 2 * [("VRL002", "error")]


# What the real releases say of keys that the line removes or leaves open; a key that only `get` looks up may be missing.
@each_case(
    ("release", "words", "found"),
    [
        ("0.4.1", "~reward_model.enable", [("VRL035", "error")]),
        ("0.9.1", "~trainer.resume_mode", [("VRL035", "error")]),
        ("0.9.1", "~algorithm.kl_ctrl", []),
        ("0.9.1", "~algorithm.kl_ctrl algorithm.use_kl_in_reward=True", [("VRL035", "error")]),
        ("0.9.1", "~data.trust_remote_code", []),
        ("0.9.1", "trainer.device=???", [("VRL035", "error")]),
        ("0.9.1", "trainer.v1.trainer_mode=asynchronous", [("VRL011", "error")]),
        ("0.9.1", "trainer.save_freq=null", [("VRL010", "error")]),
        ("0.9.1", "data.val_batch_size=64.0", [("VRL010", "error")]),
        ("0.9.1", "data.val_batch_size=0", []),
        ("0.9.1", "+data.gen_batch_size=-1", [("VRL010", "error")]),
        ("0.9.1", "+data.gen_batch_size=-1 trainer.v1.sampler.sync_refill_failed_groups=True", []),
        (
            "0.5.0",
            f"{ACTOR}.strategy=megatron critic.strategy=megatron",
            [("VRL035", "error")] * 3,
        ),  # of which ppo_trainer.yaml has nothing
    ],
)
def test_keys_that_the_program_reads_have_values(checked, release, words, found):
    assert checked(f"{LINE} {words}", release).found == found
