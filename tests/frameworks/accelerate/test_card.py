"""The card of the instances that an accelerate file names."""

from __future__ import annotations

import json

from cases import each_case
from cfglint.cli import main


@each_case(
    ("instance", "codes"),
    [("ml.p3.16xlarge", ["GPU200"]), ("ml.p4d.24xlarge", []), ("ml.unknown.large", []), ("", [])],
)
def test_an_instance_has_a_card(tmp_path, monkeypatch, capsys, instance, codes):
    monkeypatch.chdir(tmp_path)
    named = f"ec2_instance_type: {instance}\n" if instance else ""
    kind = "compute_environment: AMAZON_SAGEMAKER\ndistributed_type: DATA_PARALLEL\nmixed_precision: fp16\n"
    (tmp_path / "accelerate.yaml").write_text(kind + named)
    (tmp_path / "train.yaml").write_text("output_dir: out\nper_device_train_batch_size: 1\ntf32: true\nlearning_rate: 1.0e-5\n")
    main(["check", "train.yaml", "accelerate.yaml", "--run", "--format", "json", "--target", "transformers==5.23.0"])
    found = json.loads(capsys.readouterr().out)["diagnostics"]
    assert [each["code"] for each in found if each["code"].startswith("GPU2")] == codes
