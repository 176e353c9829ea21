"""Memory where people meet it: explain, check, plan, fix, diff, declared runs."""

from __future__ import annotations

import json

import pytest

from cases import each_case
from cfglint.cli import main
from cfglint.frameworks.memory import estimate

TRAIN = """\
output_dir: out
per_device_train_batch_size: 8
gradient_accumulation_steps: 4
torch_dtype: bfloat16
max_seq_length: 4096
learning_rate: 2.0e-5
"""
MODEL = ("--model", "llama-3.2-1b", "--kind", "huggingface")
CARD = ("--gpu-memory", "80GB")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    (tmp_path / "t.yaml").write_text(TRAIN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def asked(capsys, *arguments):
    """(exit status, JSON)."""
    status = main([*arguments, "--format", "json"])
    return status, json.loads(capsys.readouterr().out)


def test_explain_has_what_the_contract_says(capsys):
    found = asked(capsys, "explain", "t.yaml", "--gpus", "1", *MODEL, *CARD)[1]["memory"]
    assert set(found) == {
        *("peak_gib", "low_gib", "high_gib", "available_gib", "verdict", "class", "moment", "terms", "largest_micro_batch", "assumed"),
        *("longest_row", "model", "would_fit", "shown_gib", "shown_low_gib", "shown_high_gib", "cards"),
    }
    assert found["verdict"] == "does-not-fit"
    assert found["shown_gib"] is None
    large = asked(capsys, "explain", "t.yaml", "--gpus", "1", *MODEL, "--gpu-memory", "B200")[1]["memory"]
    assert large["peak_gib"] < large["shown_gib"] <= large["shown_high_gib"] <= large["available_gib"]

    assert found["available_gib"] == 79.2
    assert found["verdict"] == "does-not-fit"
    assert found["low_gib"] < found["peak_gib"] < found["high_gib"]
    assert sum(found["terms"].values()) == pytest.approx(found["peak_gib"], abs=0.01)
    assert 0 < found["largest_micro_batch"]["surely"] <= found["largest_micro_batch"]["possibly"] < 8


def test_explain_without_a_card_has_no_verdict(capsys):
    found = asked(capsys, "explain", "t.yaml", "--gpus", "1", *MODEL)[1]["memory"]
    assert found["peak_gib"] > 0
    assert found["verdict"] is found["available_gib"] is found["largest_micro_batch"]["surely"] is None


def test_explain_without_a_model_says_which_flags_tell(capsys):
    main(["explain", "--all", "t.yaml"])
    assert "GPU memory: pass --model and --gpu-memory to see whether it fits." in capsys.readouterr().out


def test_explain_in_one_line(capsys):
    main(["explain", "--all", "t.yaml", "--gpus", "1", *MODEL, *CARD])
    text = " ".join(capsys.readouterr().out.split())
    assert "does not fit; peak in the loss backward: weights 2.3" in text
    assert "close estimate" in text


def test_check_warns_with_what_to_cut(capsys):
    status, told = asked(capsys, "check", "t.yaml", "--gpus", "1", *MODEL, *CARD)
    found = [each for each in told["diagnostics"] if each["code"] == "MEM001"]
    assert (status, len(found), found[0]["severity"], found[0]["key"]) == (0, 1, "warning", "/per_device_train_batch_size")
    assert "gradient checkpointing saves" in found[0]["help"] or "Liger" in found[0]["help"]


@pytest.mark.parametrize("arguments", [(), CARD, MODEL, (*MODEL, "--gpu-memory", "H200", "--set", "per_device_train_batch_size=1")])
def test_check_says_nothing_without_model_or_card_or_where_it_fits(capsys, arguments):
    told = asked(capsys, "check", "t.yaml", "--gpus", "1", *arguments)[1]
    assert not [each for each in told["diagnostics"] if each["code"].startswith("MEM")]


@pytest.mark.parametrize("command", ["check t.yaml", "check t.yaml --format html", "explain t.yaml", "init"])
def test_the_memory_of_a_run_is_estimated_once(command, capsys, monkeypatch):
    asked_for = []
    estimated = estimate.memory_of
    monkeypatch.setattr(estimate, "memory_of", lambda config: asked_for.append(config) or estimated(config))
    main([*command.split(), "--gpus", "1", *MODEL, *CARD])
    assert len(asked_for) == 1


def test_check_without_a_card_imports_nothing_of_it(script):
    code = "import sys; from cfglint.cli import main; main(['check', 't.yaml']); print([m for m in sys.modules if 'memory' in m])"
    assert script(code).strip().endswith("[]")


@pytest.fixture
def script(folder):
    import subprocess
    import sys

    return lambda code: subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=folder).stdout


def test_plan_is_bounded_and_tells_the_memory(capsys):
    told = asked(capsys, "plan", "t.yaml", "--gpus", "8", "--global-batch", "512", "--from-gpus", "8", *MODEL, *CARD)[1]
    found = told["plans"][0]
    assert found["memory"]["verdict"] == "fits"
    assert found["chosen"]["micro_batch"] <= found["memory"]["largest_micro_batch"]["surely"] < 8
    main(["plan", "t.yaml", "--gpus", "8", "--global-batch", "512", "--from-gpus", "8", *MODEL, *CARD])
    assert "fits" in capsys.readouterr().out
    unbounded = asked(capsys, "plan", "t.yaml", "--gpus", "8", "--global-batch", "512", "--from-gpus", "8", "--kind", "huggingface")[1]
    assert unbounded["plans"][0]["chosen"]["micro_batch"] == 8
    assert unbounded["plans"][0]["memory"] is None


def test_the_users_own_bound_wins_over_the_cards(capsys):
    told = asked(
        capsys, "plan", "t.yaml", "--gpus", "8", "--global-batch", "512", "--from-gpus", "8", "--max-micro-batch", "8", *MODEL, *CARD
    )
    assert told[1]["plans"][0]["chosen"]["micro_batch"] == 8


def test_fix_is_bounded(capsys, folder):
    assert main(["fix", "t.yaml", "--gpus", "8", "--global-batch", "512", *MODEL, *CARD]) == 0
    assert "does not surely fit into 79.2 GiB" in capsys.readouterr().out
    text = (folder / "t.yaml").read_text()
    assert "per_device_train_batch_size: 8" not in text


@pytest.mark.parametrize("command", ["plan", "fix"])
def test_the_bound_holds_where_nothing_fits(command, capsys, folder):
    """The micro batch of the file, 8, is not what is chosen because less does not fit either."""
    status = main([command, "t.yaml", "--gpus", "8", "--global-batch", "512", *MODEL, "--gpu-memory", "24", "--format", "json"])
    told = json.loads(capsys.readouterr().out)
    chosen = told["plans"][0]["chosen"] if command == "plan" else told["runs"][0]["plan"]
    assert (status, chosen["micro_batch"]) == (0, 1)
    if command == "fix":
        (folder / "t.yaml").write_text(TRAIN)
        main([command, "t.yaml", "--gpus", "8", "--global-batch", "512", *MODEL, "--gpu-memory", "12"])
        assert "micro batch 1: even that does not fit into 12 GiB" in capsys.readouterr().out


def test_no_headline_says_that_a_run_starts_that_does_not_fit(capsys):
    main(["explain", "t.yaml", "--gpus", "1", "--kind", "huggingface", *MODEL, "--gpu-memory", "8"])
    said = capsys.readouterr().out
    assert "does not fit into the GPU memory" in said
    assert "should start" not in said
    for command in ("check", "explain"):
        main([command, "t.yaml", "--gpus", "1", "--kind", "huggingface", *MODEL, "--gpu-memory", "8", "--format", "html"])
        page = capsys.readouterr().out
        assert "Would run out of GPU memory" in page
        assert "Should start" not in page


def test_diff_has_the_memory_as_a_consequence(capsys, folder):
    (folder / "u.yaml").write_text(TRAIN.replace("size: 8", "size: 2"))
    told = asked(capsys, "diff", "t.yaml", "u.yaml", "--gpus", "1", *MODEL, *CARD)[1]
    found = [each for change in told["changes"] for each in change["consequences"] if each["what"] == "memory"]
    assert len(found) == 1
    assert " GiB of 79.2 on each GPU (" in found[0]["text"]
    assert found[0]["text"].endswith(") fits")
    assert found[0]["before"] > found[0]["after"]


def test_a_declared_run_names_model_and_card(capsys, folder):
    (folder / "model").mkdir()
    (folder / "model" / "config.json").write_text('{"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "vocab_size": 50257}')
    (folder / "cfglint.toml").write_text(
        'gpu-memory = "24GB"\n[[run]]\nfiles = ["t.yaml"]\nkind = "huggingface"\ngpus = 1\nmodel = "model/config.json"\n'
    )
    told = asked(capsys, "check")[1]
    assert [each["code"] for each in told["diagnostics"] if each["code"] == "MEM001"] == ["MEM001"]


@each_case(
    "arguments", [("--gpu-memory", "huge"), ("--gpu-memory", "-1"), ("--model", "no-such"), ("--seq-length", "0"), ("--seq-length", "x")]
)
def test_values_that_make_no_sense(capsys, arguments):
    try:
        status = main(["explain", "t.yaml", *arguments])
    except SystemExit as ended:
        status = ended.code
    assert status == 2
    assert arguments[0] in capsys.readouterr().err


def test_a_configuration_with_an_unknown_card(folder, capsys):
    (folder / "cfglint.toml").write_text('gpu-memory = "gigantic"\n')
    assert main(["check", "t.yaml"]) == 2
    assert "gpu-memory" in capsys.readouterr().err


def test_a_page_shows_every_moment_against_the_card(capsys):
    assert main(["explain", "t.yaml", "--gpus", "1", *MODEL, *CARD, "--format", "html"]) == 0
    page = capsys.readouterr().out
    assert "GPU memory at each moment of a step" in page
    for name in ("forward end", "loss backward", "backward, top layer", "optimizer step", "79.2 GiB"):
        assert name in page
    main(["explain", "t.yaml", "--gpus", "1", "--kind", "huggingface", "--format", "html"])
    assert "GPU memory at each moment" not in capsys.readouterr().out


def test_new_takes_the_largest_micro_batch_that_surely_fits(capsys):
    facts = ("--gpus", "1", "--global-batch", "64", "--epochs", "1", "--seq-length", "2048", "-o", "-")
    model = ("--model", "llama-3.2-1b")
    assert main(["new", "huggingface", *facts, *model, "--gpu-memory", "H200"]) == 0
    large = capsys.readouterr()
    assert main(["new", "huggingface", *facts, *model, "--gpu-memory", "40GB"]) == 0
    small = capsys.readouterr()

    def micro(text):
        return int(text.partition("per_device_train_batch_size: ")[2].split()[0])

    assert micro(large.out) > micro(small.out) >= 1
    assert "does not surely fit into 39.4 GiB" in small.err
    assert main(["new", "huggingface", *facts, *model, "--gpu-memory", "8GB"]) == 0
    tiny = capsys.readouterr()
    assert micro(tiny.out) == 1
    assert "micro batch 1: even that does not fit into" in tiny.err
    assert main(["new", "huggingface", *facts, "--gpu-memory", "8GB"]) == 2
    assert "--model" in capsys.readouterr().err


NAMED = "model_name_or_path: meta-llama/Llama-3.1-8B\noutput_dir: out\ntorch_dtype: bfloat16\nlearning_rate: 2.0e-5\n"


def named(folder, **more):
    (folder / "n.yaml").write_text(NAMED + "".join(f"{key}: {value}\n" for key, value in more.items()))
    return "n.yaml"


def test_the_model_is_the_runs_own(capsys, folder):
    path = named(folder, per_device_train_batch_size=1, max_length=512)
    found = asked(capsys, "explain", path, "--gpus", "1", *CARD)[1]["memory"]
    assert (found["model"], found["class"], found["verdict"]) == ("llama-3-8b", "A", "fits")


def test_a_folder_with_a_known_name_is_an_assumption_without_a_confident_verdict(capsys, folder):
    path = named(folder, per_device_train_batch_size=64, max_length=4096)
    (folder / path).write_text((folder / path).read_text().replace("meta-llama", "/data/models"))
    found = asked(capsys, "explain", path, "--gpus", "1", *CARD)[1]["memory"]
    assert (found["class"], found["verdict"]) == ("C", "close")
    assert "/data/models/Llama-3.1-8B is llama-3-8b" in found["assumed"]


def test_an_unknown_name_needs_the_flag(capsys, folder):
    path = named(folder, per_device_train_batch_size=1)
    (folder / path).write_text((folder / path).read_text().replace("Llama-3.1-8B", "Unheard-of-8B"))
    main(["explain", "--all", path, "--gpus", "1", *CARD])
    assert "GPU memory: pass --model to see whether it fits." in capsys.readouterr().out


def test_without_the_length_of_the_rows_the_states_are_said(capsys, folder):
    path = named(folder, per_device_train_batch_size=4)
    found = asked(capsys, "explain", path, "--gpus", "1", "--gpu-memory", "H200")[1]["memory"]
    assert found["peak_gib"] is found["verdict"] is found["terms"]["activations"] is None
    assert found["terms"]["weights"] == pytest.approx(15.0, abs=0.1)
    assert found["longest_row"] > 512


def test_a_model_that_does_not_fit_without_activations_does_not_fit(capsys, folder):
    path = named(folder, per_device_train_batch_size=4)
    told = asked(capsys, "check", path, "--gpus", "1", "--gpu-memory", "24GB")[1]
    (found,) = [each for each in told["diagnostics"] if each["code"] == "MEM001"]
    assert "weights, gradients and optimizer states need 59.8 GiB on each GPU without activations" in found["message"]


def test_changes_that_together_fit_are_offered(capsys, folder):
    path = named(folder, per_device_train_batch_size=16, max_length=4096)
    main(["explain", path, "--gpus", "8", *CARD])
    text = " ".join(capsys.readouterr().out.split())
    assert "the run does not fit into the GPU memory" in text
    assert "ZeRO stage 3 or FSDP + micro batch 1 would fit: 48.4 GiB" in text


@each_case(
    ("more", "said"),
    [
        ((), "micro batch 1: even that does not fit into 79.2 GiB"),
        (("--max-micro-batch", "16"), "micro batch 16: not even 1 fits into 79.2 GiB"),
        (("--model", "llama-3.2-1b"), "micro batch at most"),
        (("--model", "llama-3.2-1b", "--max-micro-batch", "16"), "the largest that surely fits into 79.2 GiB"),
    ],
)
def test_fix_says_where_the_micro_batch_that_it_writes_does_not_fit(more, said, capsys, folder):
    path = named(folder, per_device_train_batch_size=16, max_length=4096)
    assert main(["fix", path, "--gpus", "8", "--global-batch", "256", "--diff", *CARD, *more]) == 0
    assert said in " ".join(capsys.readouterr().err.split())


def test_fix_and_plan_offer_the_same_changes_for_the_micro_batch_that_they_choose(capsys, folder):
    path = named(folder, per_device_train_batch_size=16, max_length=4096)
    main(["fix", path, "--gpus", "8", "--global-batch", "256", "--diff", *CARD])
    assert "ZeRO stage 3 or FSDP would fit: 48.4 GiB" in " ".join(capsys.readouterr().err.split())
    main(["plan", path, "--gpus", "8", "--global-batch", "256", *CARD])
    assert "Changes that make it fit (GPUs: changes):\n  8: ZeRO stage 3 or FSDP (48.4 GiB)" in capsys.readouterr().out


@each_case(
    ("card", "first", "headline"),
    [
        ("H200", "It would start, and it fits: about 59.8 of 139.8 GiB on each GPU.", "Should start<"),
        ("62", "It would start, and it probably fits: about 59.8 of 62 GiB on each GPU.", "Should start, and probably fits into GPU"),
        (
            "60",
            "It would start, but it probably does not fit: about 59.8 of 60 GiB on each GPU.",
            "Should start, but probably does not fit",
        ),
        ("40GB", "No errors found, but the run does not fit into the GPU memory: about 59.8 of 39.4 GiB", "Would run out of GPU memory"),
    ],
)
def test_the_first_line_counts_memory(card, first, headline, capsys, folder):
    given = ("explain", named(folder, per_device_train_batch_size=1, max_length=512), "--run", "--gpus", "1", "--gpu-memory", card)
    main([*given])
    assert " ".join(capsys.readouterr().out.split()).startswith(first)
    main([*given, "--format", "html"])
    assert headline in capsys.readouterr().out


def test_a_run_that_may_train_adapters_does_not_fit_only_if_all_weights_are_trained(capsys, folder):
    path = named(folder, per_device_train_batch_size=1, max_length=512, freeze_backbone="true")
    main(["explain", path, "--gpus", "1", "--gpu-memory", "40GB"])
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith("No errors found in this file, but it probably does not fit if all weights are trained: about ")
    main(["explain", path, "--gpus", "1", "--gpu-memory", "40GB", "--format", "html"])
    assert "No errors found in this file, but probably does not fit into GPU memory if all weights are trained" in capsys.readouterr().out


def test_plan_names_the_largest_micro_batch_with_the_other_splits(capsys, folder):
    path = named(folder, per_device_train_batch_size=1, max_length=512)
    main(["plan", path, "--run", "--gpus", "1", "--from-gpus", "1", "--global-batch", "8", "--gpu-memory", "60"])
    text = capsys.readouterr().out
    assert "64.0 (58-70) probably does not fit" in text
    assert "  1: 2 x 4, 4 x 2 (no micro batch surely fits, only 1 may)" in text


def test_a_given_card_is_the_only_one_that_is_assumed(capsys, folder):
    path = named(folder, per_device_train_batch_size=1, max_length=512)
    main(["explain", path, "--gpus", "1", "--gpu-memory", "A100"])
    text = " ".join(capsys.readouterr().out.split())
    assert "; A100 is the card with 79.2 GiB (A100-40GB: 39.4)" in text
    assert "H100" not in text


def test_a_comment_does_not_say_that_a_run_starts_that_does_not_fit(capsys, folder):
    before = named(folder, per_device_train_batch_size=1, max_length=512)
    (folder / "big.yaml").write_text((folder / before).read_text().replace("size: 1", "size: 32"))
    main(["review", before, "big.yaml", "--gpus", "1", "--gpu-memory", "65", "--format", "markdown"])
    text = capsys.readouterr().out
    assert "| yes -> **no** (memory) | 1 -> 32 |" in text
    assert "memory 59.8 -> 167 GiB of 65 on each GPU (150 to 184) does not fit" in text


def test_a_page_does_not_count_a_run_that_probably_does_not_fit_as_one_that_starts(capsys, folder):
    path = named(folder, per_device_train_batch_size=1, max_length=512)
    (folder / "small.yaml").write_text((folder / path).read_text().replace("Llama-3.1-8B", "Llama-3.2-1B"))
    main(["check", path, "small.yaml", "--gpus", "1", "--gpu-memory", "60", "--format", "html"])
    assert "1 of 2 runs should start; not known of 1" in capsys.readouterr().out


def test_the_memory_after_a_fix_is_that_on_its_gpus(capsys, tmp_path):
    """What it was before, on GPUs whose number was not known, is not compared with it."""
    (tmp_path / "a.yml").write_text(
        "base_model: NousResearch/Meta-Llama-3-8B\ndatasets:\n- {path: b, type: alpaca}\nsequence_len: 2048\nmicro_batch_size: 2\n"
        "gradient_accumulation_steps: 4\nlearning_rate: 0.0002\nbf16: true\ndeepspeed: ds.json\n"
    )
    (tmp_path / "ds.json").write_text('{"zero_optimization": {"stage": 3}, "bf16": {"enabled": true}, "train_batch_size": "auto"}')
    main(["fix", "a.yml", "--gpus", "8", "--global-batch", "64", "--diff"])
    assert "GiB on each GPU" in capsys.readouterr().err
