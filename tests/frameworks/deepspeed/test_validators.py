"""What the validators of the config models refuse, by their rows."""

from __future__ import annotations

from cases import each_case
from cfglint.frameworks.deepspeed._tables import MODELS, RELEASES
from cfglint.frameworks.deepspeed.models import COMPARED, CONVERTED, model_of, read_section
from cfglint.frameworks.deepspeed.validators import AFTER, FIELD
from cfglint.frameworks.rows.expressions import walk
from cfglint.frameworks.rows.validators import validators

NEWEST = RELEASES[-1]


@each_case(
    ("section", "values", "release", "refused"),
    [
        ("fp16", {"loss_scale": True}, NEWEST, ["fp16.loss_scale must be a number, not bool"]),
        ("fp16", {"loss_scale": "abc"}, NEWEST, ["fp16.loss_scale must be a number"]),
        ("fp16", {"loss_scale": "128"}, NEWEST, []),
        ("fp16", {"min_loss_scale": True}, NEWEST, ["fp16.min_loss_scale must be an integer, not bool"]),
        ("fp16", {"min_loss_scale": 1.5}, NEWEST, ["Input should be a valid integer, got a number with a fractional part"]),
        (
            "fp16",
            {"enabled": True, "loss_scale_window": 0},
            NEWEST,
            ["fp16.loss_scale_window must be > 0 when dynamic loss scaling is enabled (loss_scale=0)"],
        ),
        ("fp16", {"enabled": True, "loss_scale": 2, "loss_scale_window": 0}, NEWEST, []),
        (
            "zero_optimization",
            {"stage": 3, "compute_grad_norm": False},
            NEWEST,
            ["compute_grad_norm=false is supported only with ZeRO Stage 1 or 2"],
        ),
        ("zero_optimization", {"stage": 2, "compute_grad_norm": False}, NEWEST, []),
        (
            "zero_optimization",
            {"stage": 2, "offload_optimizer": {"device": "cpu", "ratio": 0.5}},
            NEWEST,
            ["Partial offloading only supported for ZeRO Stage 3."],
        ),
        ("zero_optimization", {"stage": 2, "offload_optimizer": {"device": "cpu", "ratio": 0.5}}, (0, 14, 0), []),  # pydantic 1
        ("zero_optimization.zenflow", {"select_strategy": "all"}, NEWEST, ['select_strategy must be one of "auto", "step", or "epoch"']),
        ("zero_optimization.zenflow", {"update_interval": 0}, NEWEST, ["If update_interval is a number, it must be at least 1"]),
    ],
)
def test_what_is_refused(section, values, release, refused):
    assert [each.text for each in read_section(model_of(section), values, release).faults] == refused


def test_the_fields_for_which_rows_are_loaded_are_those_that_the_rows_need():
    """Each check of several fields needs one of those of its section, and a section that lacks them is accepted in every release."""
    for section, (title, _) in MODELS.items():
        for release in RELEASES:
            rows = [row for each in validators("deepspeed", title, AFTER, release) for row in each.rows if "raise" in row]
            for row in rows:
                fields = {each[1] for guard in row["when"] for each in walk(guard) if isinstance(each, list | tuple) and each[0] == "f"}
                assert fields.intersection(COMPARED[section]), (section, release, row)
            assert {each.field for each in validators("deepspeed", title, FIELD, release)} <= {*CONVERTED.get(section, ())}
