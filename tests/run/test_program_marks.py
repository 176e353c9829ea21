"""By which words a program is one that may train."""

from __future__ import annotations

from itertools import product

from cases import each_case
from cfglint.run.quick_scan import has_marks, marks

PACKAGES = ("transformers", "trl", "deepspeed", "unsloth")
CALLS = (
    "TrainingArguments",
    "Seq2SeqTrainingArguments",
    "HfArgumentParser",
    "TrlParser",
    "deepspeed.initialize",
    "SFTConfig",
    "DPOConfig",
    "GRPOConfig",
)


@each_case(("package", "call"), [*product(PACKAGES, CALLS)])
def test_a_package_and_a_call_tell_a_program(package, call):
    assert has_marks(f"import {package}\nx = {call}(y)\n".encode())


@each_case("package", PACKAGES)
def test_a_package_alone_tells_none(package):
    assert not has_marks(f"import {package}\nrun()\n".encode())


@each_case("call", [each.decode() for each in marks()])
def test_a_call_alone_tells_none(call):
    assert has_marks(f"import others\nx = {call}y)\n".encode()) == any(each in call for each in PACKAGES)


@each_case(
    ("text", "expected"),
    [
        ("from accelerate import Accelerator\na = Accelerator()\na.backward(x)\n", True),
        ("from accelerate import Accelerator\na = Accelerator()\n", False),
        ("from accelerate import Accelerator\na.backward(x)\n", False),
        ("a = Accelerator()\na.backward(x)\n", False),
        ('{"cell_type": "code", "source": ["!torchrun train.py"]}', True),
        ('{"cell_type": "code", "source": ["%%bash\\n", "torchrun train.py"]}', True),
        ('{"cell_type": "code", "source": ["torchrun train.py"]}', False),
        ('{"cell_type": "code", "source": ["!ls"]}', False),
        ('{"source": ["!torchrun train.py"]}', False),
    ],
)
def test_loops_and_notebooks(text, expected):
    assert has_marks(text.encode()) == expected
