"""The draft-07 schemas in ajv's strict mode: no keyword that it does not know, and the good examples are valid."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import yaml

from cfglint.frameworks.validation.schema import file_of, kinds

GOOD = Path(__file__).resolve().parents[2] / "examples" / "good"
EXAMPLES = {"axolotl": "axolotl.yml", "deepspeed": "deepspeed.json", "huggingface": "trainer.yaml", "neox": "neox-125M.yml"}
BAD = {"axolotl": {"micro_batch_size": "many"}, "deepspeed": {"train_batch_size": "half"}, "huggingface": {"learning_rate": "fast"}}
SCRIPT = """
const Ajv = require("ajv");
const cases = JSON.parse(require("fs").readFileSync(0));
const errors = [];
const results = cases.map(({schema, values}) => {
  const log = (text) => { errors.push(text) };
  const validate = new Ajv({strict: true, allErrors: true, verbose: true, logger: {log, warn: log, error: log}}).compile(schema);
  return values.map((value) => validate(value) ? [] : validate.errors.map((each) => each.parentSchema.description || each.message));
});
console.log(JSON.stringify({errors, results}));
"""


def values_of(kind):
    found = [BAD[kind]] if kind in BAD else []
    if kind in EXAMPLES:
        text = (GOOD / EXAMPLES[kind]).read_text(encoding="utf-8")
        found.insert(0, json.loads(text) if EXAMPLES[kind].endswith(".json") else yaml.safe_load(text))
    return found


def test_strict_mode(npm_package):
    cases = [{"schema": json.loads(Path(file_of(kind, "draft7")).read_text()), "values": values_of(kind)} for kind in kinds()]
    folder = npm_package("ajv", "8.20.0")
    done = subprocess.run(["node", "-e", SCRIPT], cwd=folder, input=json.dumps(cases), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["errors"] == []
    found = dict(zip(kinds(), answer["results"], strict=True))
    assert {kind: found[kind][0] for kind in EXAMPLES if found[kind][0]} == {}
    assert all(found[kind][1] for kind in BAD)
    assert "a number as a string, such as '1e-5'" in found["axolotl"][1]
