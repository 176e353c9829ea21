from __future__ import annotations

import pytest

from cases import each_case
from cfglint.batch.cards import cards, offered
from cfglint.batch.memory.estimate import estimate, largest, largest_micro_batch, on_cards, possible, verdict
from cfglint.batch.memory.loss import implementation
from cfglint.batch.memory.optimizer import kind_of, step_bytes
from cfglint.batch.memory.settings import Lora, Settings, Zero
from cfglint.batch.memory.shape import UnknownShape, of_config
from cfglint.batch.shapes import config_of, shape_of
from cfglint.source.record import changed

LLAMA = shape_of("llama-3-8b")
RUN = Settings(sequence=2048, checkpointing=True)


def test_the_verdict_has_a_margin_on_both_sides() -> None:
    found = estimate(LLAMA, RUN)
    peak = found.total / 2**30
    verdicts = {factor: verdict(found, peak * factor) for factor in (0.5, 0.95, 1.0, 1.1, 1.5)}
    assert verdicts == {0.5: "does-not-fit", 0.95: "close", 1.0: "close", 1.1: "close", 1.5: "fits"}


def test_unknown_code_is_never_said_not_to_fit() -> None:
    found = estimate(changed(LLAMA, known=False), RUN)
    assert found.classification == "C"
    assert verdict(found, 1.0) == "close"


def test_more_gpus_need_room_for_communication() -> None:
    alone, many = (estimate(LLAMA, changed(RUN, ranks=count, strategy="fsdp")) for count in (1, 8))
    assert many.overhead - alone.overhead == pytest.approx(0.9 * 2**30)


@pytest.mark.parametrize("available", [20, 40, 79.2, 140])
def test_the_largest_micro_batch_is_the_last_one_with_its_verdict(available: float) -> None:
    run = changed(RUN, lora=Lora(16))
    surely = largest_micro_batch(LLAMA, available, [run])
    possibly = largest_micro_batch(LLAMA, available, [run], possible)
    assert surely <= possibly

    def said(size: int) -> str:
        return verdict(estimate(LLAMA, changed(run, micro_batch=size)), available)

    if surely:
        assert said(surely) == "fits"
    assert said(surely + 1) != "fits"
    assert said(possibly + 1) == "does-not-fit"


@each_case("limit", [0, 1, 2, 3, 7, 8, 9, 1000])
def test_the_search_finds_the_limit(limit: int) -> None:
    assert largest(lambda size: size <= limit) == limit


def test_other_possible_settings_widen_the_band_and_lower_the_class() -> None:
    found = estimate(LLAMA, RUN, changed(RUN, loaded="fp32"), changed(RUN, own_code=True))
    single = estimate(LLAMA, RUN)
    assert found.total == single.total
    assert found.low < single.low
    assert found.high > estimate(LLAMA, changed(RUN, loaded="fp32")).total
    assert found.classification == "C"


def test_adapters_under_fsdp_cover_both_widths_of_the_residual_stream() -> None:
    undecided = changed(RUN, strategy="fsdp", ranks=8, lora=Lora(16), autocast="bf16", micro_batch=32, loss="fused")
    found, half, full = (estimate(LLAMA, changed(undecided, residual=width)) for width in (None, 2, 4))
    assert half.total < found.total < full.total
    assert found.low == pytest.approx(half.total * 0.8)
    assert found.high == pytest.approx(full.total * 1.1)


@each_case(
    ("version", "kind"), [((4, 45, 2), "float"), ((4, 46, 0), "copy"), ((4, 48, 3), "copy"), ((4, 49, 0), "padded"), ((5, 23, 0), "padded")]
)
def test_the_loss_of_each_release(version: tuple[int, ...], kind: str) -> None:
    assert implementation(version) == kind


def test_a_model_type_that_has_not_been_read() -> None:
    config = {**config_of("llama-3-8b"), "model_type": "new_thing"}
    assert not of_config(config).known
    assert not of_config({**config_of("llama-3-8b"), "auto_map": {"AutoModel": "x.Y"}}).known
    assert of_config(config_of("llama-3-8b")).known


@each_case("missing", ["hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size", "intermediate_size"])
def test_a_config_without_a_size_is_refused(missing: str) -> None:
    config = {key: value for key, value in config_of("llama-3-8b").items() if key != missing}
    with pytest.raises(UnknownShape, match=missing):
        of_config(config)


def test_the_text_part_of_a_multimodal_config_is_used() -> None:
    assert of_config({"model_type": "thing", "text_config": config_of("llama-3-8b")}).parameters == LLAMA.parameters


def test_cards() -> None:
    assert offered("79.2") == offered("79.2 GiB") == 79.2
    assert offered("H100") == cards()["h100"].memory
    assert offered("80 GB") == 79.2
    for wrong in ("0", "-3", "card", "nan", "inf", ""):
        with pytest.raises(ValueError):  # noqa: PT011
            offered(wrong)


def test_what_nvidia_smi_shows_is_above_what_is_allocated() -> None:
    packed, varying = (estimate(LLAMA, changed(RUN, lora=Lora(16), varying=each)) for each in (False, True))
    kept = max(moment.activations + moment.logits for moment in packed.moments)
    assert packed.shown == pytest.approx(packed.total + packed.overhead + 0.4 * kept)
    assert packed.shown_low < packed.shown < packed.shown_high
    assert varying.shown > packed.shown
    assert varying.shown_high > packed.shown_high


def test_several_possible_settings_widen_what_is_shown() -> None:
    single = estimate(LLAMA, RUN)
    found = estimate(LLAMA, RUN, changed(RUN, loaded="fp32"))
    assert (found.shown, found.shown_low) == (single.shown, single.shown_low)
    assert found.shown_high > single.shown_high


def test_experts_that_are_parameters_are_not_quantized() -> None:
    shape = shape_of("qwen3-30b-a3b")
    layers, parameters = (
        estimate(shape, changed(RUN, quantization="nf4", lora=Lora(16), kbit_fp32=False, fused_experts=each)) for each in (False, True)
    )
    assert 15 < layers.moments[0].weights / 2**30 < 19
    assert 54 < parameters.moments[0].weights / 2**30 < 56


@each_case(
    ("torch", "kind", "copies"),
    [((1, 13), "adam_loop", 0.0), ((2, 0, 1), "adam_twice", 2.0), ((2, 1), "adam_foreach", 1.0), ((2, 13), "adam_foreach", 1.0)],
)
def test_releases_of_torch_make_more_or_fewer_copies_in_the_step(torch: tuple[int, ...], kind: str, copies: float) -> None:
    assert kind_of("adamw_torch", torch) == kind
    assert step_bytes(kind, 4, 1000, 0) == 4000 * copies
    assert step_bytes("adam_loop", 4, 1000, 300) == 2400


def test_the_step_of_an_engine_counts_the_copies_of_its_optimizer() -> None:
    run = changed(RUN, strategy="zero", ranks=8, zero=Zero(2))
    fused, once, twice = (estimate(LLAMA, changed(run, optimizer=each)) for each in ("adam_fused", "adam_foreach", "adam_twice"))
    partition = LLAMA.parameters / 8
    step = [found.moments[-1].total for found in (fused, once, twice)]
    assert step[1] == pytest.approx(step[0])  # the flat gradients were as large
    assert step[2] - step[1] == pytest.approx(4 * partition, rel=1e-6)


@each_case(
    ("shape", "words"),
    [
        ("llama-3-8b", "a 24 GB card, not a 16"),
        ("llama-3-70b", "more than an 80 GB card"),
        ("llama-3.2-1b", "a 16 GB card"),
    ],
)
def test_the_cards_that_a_run_fits_on(shape: str, words: str) -> None:
    assert on_cards(estimate(shape_of(shape), changed(RUN, lora=Lora(16)))) == words


def test_adapters_with_a_trainer_that_was_not_measured_are_better_known_than_full_training() -> None:
    run = changed(RUN, unmeasured=True)
    assert [estimate(LLAMA, each).classification for each in (run, changed(run, lora=Lora(16)))] == ["C", "B"]
