"""What an editor is told at a cursor (`|` in a text), without an editor."""

from __future__ import annotations

from cases import each_case
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.run.checked import CheckedRun
from cfglint.server import answers
from cfglint.source.parse import parse

DEEPSPEED = '{"train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": 2, "zero_optimization": {"stage": 2}}'
TRAINER = "output_dir: out\ndeepspeed: ds.json\nper_device_train_batch_size: 4\ngradient_accumulation_steps: 2\n"


class Place:
    """The run of files with a cursor in one of them."""

    def __init__(self, files, kinds, **facts):
        name, text = next((name, text) for name, text in files.items() if "|" in text)
        self.offset = text.index("|")
        self.text = text.replace("|", "")
        documents = [parse(path, content.replace("|", ""), "json" if path.endswith("json") else "yaml") for path, content in files.items()]
        self.run = CheckedRun(documents, kinds, LaunchFacts(kind_given=True, **facts))
        self.document = next(document for document in documents if document.path == name)
        self.kind = kinds[list(files).index(name)]

    def hover(self):
        found = answers.hover(self.run, self.document, self.kind, self.offset)
        return None if found is None else (found[0], self.text[found[1] : found[2]])

    def completions(self):
        syntax = self.document.path.rpartition(".")[2]
        return answers.completions(self.run, self.text, self.kind, syntax, self.offset)

    def definitions(self):
        texts = {each.path: each.text for each in self.run.documents}
        return [(path, texts[path][start:end]) for path, start, end in answers.definitions(self.run, self.document, self.offset)]


def trainer(text, **facts):
    return Place({"train.yaml": text}, ["huggingface"], **facts)


def joined(trainer_text, deepspeed_text=DEEPSPEED, **facts):
    return Place({"train.yaml": trainer_text, "ds.json": deepspeed_text}, ["huggingface", "deepspeed"], **facts)


def test_hover_on_a_finding_has_its_page_the_value_and_the_key():
    text, marked = trainer("output_dir: out\nlearning_rate: 2e-|5\n").hover()
    value, finding, key = text.split("\n\n---\n\n")
    assert marked == "2e-5"
    assert value == 'learning rate: **"2e-5"** (train.yaml:2)'
    assert finding.startswith("**error TYP200 string-for-number**: `learning_rate`")
    assert "\n\nraises `TypeError: " in finding
    assert "Source: " in finding  # the manual page
    assert key.startswith("`learning_rate` (transformers): integer or number, default 5e-05\n\n")


def test_hover_on_a_key_marks_the_key():
    text, marked = trainer("output_dir: out\nper_device_train_|batch_size: 4\ngradient_accumulation_steps: 2\n", gpus=8).hover()
    assert marked == "per_device_train_batch_size"
    assert text.startswith("micro batch: **4** (train.yaml:2)\n\n---\n\n`per_device_train_batch_size` (transformers): integer")


def test_hover_between_the_keys_says_nothing():
    assert trainer("output_dir: out\n\n|\nlearning_rate: 1.0e-5\n").hover() is None


def test_hover_on_a_typo_has_the_help():
    text = "base_model: m\nlearning_rate: 1.0e-4\ndatasets: [{path: d, type: alpaca}]\nmicro_batchsize|: 4\n"
    found, marked = Place({"config.yml": text}, ["axolotl"]).hover()
    assert marked == "micro_batchsize"
    assert "\n\nhelp: did you mean `micro_batch_size`?\n\n" in found


def test_a_suppressed_finding_is_not_shown():
    place = trainer("output_dir: out\nlearning_rate: 2e-|5\n")
    for each in place.run.diagnostics:
        each.suppressed = True
    assert "TYP200" not in place.hover()[0]


@each_case(
    ("text", "target", "history"),
    [
        ("output_dir: out\neval_stra|tegy: steps\n", "4.46.0", 'one of "no", "steps", "epoch", default "no", since 4.41.0'),
        ("output_dir: out\nlr_scheduler_ty|pe: linear\n", "5.23.0", '"greedy", default "linear"'),
        ("output_dir: out\ngroup_by_len|gth: true\n", "5.23.0", "boolean, default false, removed in 5.2.0, now `train_sampling_strategy`"),
    ],
)
def test_hover_has_the_history_of_a_key(text, target, history):
    found, _ = trainer(text, target={"transformers": target}).hover()
    assert history in found.split("(transformers): ")[1].split("\n")[0]


def test_hover_has_the_default_of_the_trainer_in_its_release():
    text = "output_dir: out\nmodel_name_or_path: m\ndataset_name: d\ntempera|ture: 0.5\n"
    for target, default in (({"trl": "0.17.0", "transformers": "4.51.3"}, "0.9"), ({}, "1.0")):
        found, _ = Place({"grpo.yaml": text}, ["trl"], trainer="grpo", target=target).hover()
        assert f", default {default}" in found


@each_case(
    ("place", "expected"),
    [
        (joined(TRAINER.replace("ds.json", "ds.|json")), [("ds.json", "")]),
        (joined(TRAINER, DEEPSPEED.replace("auto", "au|to")), [("train.yaml", "per_device_train_batch_size: 4")]),
        (
            joined(TRAINER.replace("steps: 2", "steps: 4"), DEEPSPEED.replace('steps": 2', 'steps": |2')),
            [("train.yaml", "4")],
        ),
        (trainer("a: &x 1\nlearning_rate: *|x\n"), [("train.yaml", "&x 1")]),
        (trainer("output_dir: |out\n"), []),
        (trainer("|\n\nlearning_rate: 1.0e-5\n"), []),
    ],
    ids=lambda case: case[0].text,
)
def test_definitions(place, expected):
    assert place.definitions() == expected


@each_case(
    ("place", "typed", "expected"),
    [
        (trainer("output_dir: out\nlr_scheduler_type: co|"), "cosine", ("cosine", "lr_scheduler_type", False)),
        (trainer("output_dir: out\nlr_scheduler_type: co|"), "linear", ("linear", "lr_scheduler_type (default)", False)),
        (trainer('output_dir: out\neval_strategy: "n|"\n'), "no", ("no", "eval_strategy (default)", False)),
        (trainer("output_dir: out\neval_strategy: n|\n"), "no", ('"no"', "eval_strategy (default)", False)),
        (trainer("output_dir: out\nbf16: |\n"), "true", ("true", "bf16", False)),
        (trainer("output_dir: out\nbf16: |\n"), "false", ("false", "bf16 (default)", False)),
        (trainer('output_dir: out\nbf16: "|"\n'), "true", None),  # a string is no boolean
        (trainer("output_dir: out\nlearning_|"), "learning_rate", ("learning_rate", "integer or number, default 5e-05", True)),
        (trainer("output_dir: out\n|", target={"transformers": "5.23.0"}), "group_by_length", None),
        (trainer("output_dir: out\n|", target={"transformers": "4.40.0"}), "eval_strategy", None),
        (Place({"ds.json": '{"zero_optimization": {|}}'}, ["deepspeed"]), "stage", ('"stage"', None, True)),
        (Place({"ds.json": '{"zero_optimization": {"|"}}'}, ["deepspeed"]), "stage", ("stage", None, True)),
        (Place({"ds.json": '{"zero_optimization": {"stage": |}}'}, ["deepspeed"]), "2", ("2", "zero_optimization.stage", False)),
        (Place({"ds.json": '{"optimizer": [|]}'}, ["deepspeed"]), "type", None),
    ],
    ids=lambda case: f"{case[0].text} {case[1]}",
)
def test_completions(place, typed, expected):
    found = {each.label: each for each in place.completions()}
    if expected is None:
        assert typed not in found
        return
    text, detail, is_key = expected
    assert (found[typed].text, found[typed].is_key) == (text, is_key)
    assert detail is None or found[typed].detail == detail


def test_a_completion_replaces_the_word_before_the_cursor():
    place = trainer("output_dir: out\nlearning_|")
    [start] = {each.start for each in place.completions()}
    assert place.text[start:] == "learning_"


@each_case(
    ("place", "expected"),
    [
        (
            trainer(TRAINER.replace("deepspeed: ds.json\n", "|"), gpus=8),
            ("per_device_train_batch_size", "global batch 64 on 8 GPUs: 4 x 2 x 8"),
        ),
        (
            trainer(TRAINER.replace("deepspeed: ds.json\n", "|"), gpus=1),
            ("per_device_train_batch_size", "global batch 8 on 1 GPU: 4 x 2 x 1"),
        ),
        (trainer(TRAINER.replace("deepspeed: ds.json\n", "|")), None),
        (trainer("|output_dir: out\n", gpus=8), None),
        (joined(TRAINER, "|" + DEEPSPEED, gpus=8), None),  # the trainer's keys give it
        (
            Place({"ds.json": '|{"train_batch_size": 64}'}, ["deepspeed"], gpus=8),
            ('"train_batch_size"', "global batch 64 on 8 GPUs: 8 x 1 x 8"),
        ),
    ],
    ids=lambda case: case[0].text,
)
def test_batch_lens(place, expected):
    found = answers.batch_lens(place.run, place.document)
    assert (found if found is None else (place.text[found[0] :].partition(":")[0], found[1])) == expected
