"""The training samples of runs whose data lies beside them."""

import json

import pytest

from cases import each_case
from cfglint.cli import main

LLAMAFACTORY = {
    "model_name_or_path": "m", "stage": "sft", "do_train": True, "finetuning_type": "lora", "template": "qwen", "cutoff_len": 512,
    "output_dir": "out", "per_device_train_batch_size": 1, "num_train_epochs": 1, "dataset": "a",
}  # fmt: skip
AXOLOTL = {
    "base_model": "m", "datasets": [{"path": "data/a.jsonl", "type": "alpaca"}], "micro_batch_size": 1, "gradient_accumulation_steps": 1,
    "num_epochs": 1, "learning_rate": 1e-4, "output_dir": "out", "sequence_len": 512,
}  # fmt: skip


@pytest.fixture
def counted(tmp_path, monkeypatch, capsys):
    """(`num_examples_from`, total steps) of a config, or of a line, in a project with data."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path.parent / "cache"))
    (tmp_path / ".git").mkdir()
    data = tmp_path / "data"
    data.mkdir()
    (data / "a.jsonl").write_text('{"instruction": "a", "output": "b"}\n' * 100)
    (data / "b.json").write_text(json.dumps([{"instruction": "a", "output": "b"}] * 30))
    (data / "n.json").write_text(json.dumps([{"instruction": "a", "output": None}]))
    info = {name: {"file_name": file} for name, file in (("a", "a.jsonl"), ("b", "b.json"), ("n", "n.json"), ("gone", "gone.json"))}
    turns = [{"from": "system", "value": "s"}, {"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]
    (data / "s.json").write_text(json.dumps([{"conversations": turns}, {"conversations": turns[1:]}]))
    (data / "t.json").write_text(json.dumps([{"conversations": turns}, {"conversations": turns[:2]}]))
    (data / "o.json").write_text(json.dumps([{"messages": [{"role": "user"}, {"role": "assistant"}]}]))
    (data / "two").mkdir()
    (data / "two" / "x.json").write_text((data / "b.json").read_text())
    (data / "two" / "y.json").write_text((data / "b.json").read_text())
    for place, count in (("of/train.jsonl", 9), ("of/dev-0.jsonl", 4), ("by/train/x.jsonl", 6), ("by/test/x.jsonl", 2)):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text("{}\n" * count)
    info |= {name: {"file_name": f"{name}.json", "formatting": "sharegpt"} for name in "sto"} | {"two": {"file_name": "two"}}
    info["o"] |= {"columns": {"messages": "messages"}, "tags": {"role_tag": "role", "user_tag": "user", "assistant_tag": "assistant"}}
    info["p"] = {"file_name": "b.json", "columns": {"prompt": "instruction"}}
    info |= {"hub": {"hf_hub_url": "x/y"}, "more": {"file_name": "b.json", "num_samples": 45}}
    (data / "dataset_info.json").write_text(json.dumps(info))

    def run(kind, config, *options):
        name = "train.sh" if isinstance(config, str) else "train.json" if kind == "huggingface" else "train.yaml"
        (tmp_path / name).write_text(config if isinstance(config, str) else json.dumps(config))
        kinds = [] if isinstance(config, str) else ["--kind", kind]
        main(["check", name, *kinds, "--gpus", "1", "--format", "json", *options])
        [entry] = json.loads(capsys.readouterr().out)["runs"]
        return entry.get("num_examples_from"), entry["resolved"]["total_steps"]

    return run


@each_case(
    ("changes", "rows"),
    [
        ({}, 100),
        ({"dataset": "a,b"}, 130),
        ({"dataset": "a,a"}, 100),
        ({"max_samples": 40}, 40),
        ({"dataset": "a,b", "max_samples": 40}, 70),
        ({"val_size": 0.1}, 90),
        ({"val_size": 10}, 90),
        ({"max_samples": 55, "val_size": 0.1}, 49),
        ({"dataset": "more"}, 45),
        ({"dataset": "s"}, 2),
        ({"dataset": "o"}, 1),
        ({"dataset": "two"}, 60),
        ({"dataset": "a,b", "mix_strategy": "interleave_under"}, 60),
        ({"dataset": "a,b", "mix_strategy": "interleave_over"}, 200),
    ],
)
def test_what_llamafactory_makes_of_its_files(counted, changes, rows):
    entry, steps = counted("llamafactory", {**LLAMAFACTORY, **changes})
    assert (entry["rows"], entry["certain"], steps) == (rows, True, rows)


@each_case(
    ("changes", "rows"),
    [({"dataset": "n"}, 1), ({"dataset": "t"}, 2), ({"dataset": "p"}, 30), ({"val_size": 1.0}, None), ({"packing": True}, None)],
)
def test_what_llamafactory_may_drop_is_no_number_of_steps(counted, changes, rows):
    entry, steps = counted("llamafactory", {**LLAMAFACTORY, **changes})
    assert (entry["rows"], entry["certain"], steps) == (rows, False, None)
    assert entry["why"]


@each_case("dataset", ["hub", "a,hub", "gone", "unlisted"])
def test_data_that_is_not_here_is_not_counted(counted, dataset):
    assert counted("llamafactory", {**LLAMAFACTORY, "dataset": dataset}) == (None, None)


def test_the_user_knows_better(counted):
    assert counted("llamafactory", LLAMAFACTORY, "--num-examples", "7") == (None, 7)


@each_case(
    ("changes", "rows"),
    [
        ({"split": "train[:25%]"}, 25),
        ({"split": "train[-10:]"}, 10),
        ({"path": "json", "data_files": ["data/a.jsonl", "data/b.json"]}, 130),
        ({"path": "json", "data_files": "data/[ab].json*"}, 130),
        ({"split": "test"}, None),
        ({"path": "of"}, 9),
        ({"path": "by", "split": "test[:1]"}, 1),
    ],
)
def test_a_part_of_the_data_of_axolotl(counted, changes, rows):
    entry, _ = counted("axolotl", {**AXOLOTL, "datasets": [{**AXOLOTL["datasets"][0], **changes}]})
    assert entry["rows"] == rows


def test_axolotl_has_at_most_its_rows(counted):
    entry, steps = counted("axolotl", {**AXOLOTL, "val_set_size": 0.05})
    assert (entry["rows"], entry["certain"], steps) == (95, False, None)


def test_a_part_of_a_file_of_swift(counted):
    line = "swift sft --model m --dataset data/a.jsonl#30 data/b.json --split_dataset_ratio 0 --output_dir out\n"
    entry, _ = counted("", line)
    assert (entry["files"], entry["rows"], entry["certain"]) == (["data/a.jsonl", "data/b.json"], 60, False)


def test_a_counted_number_makes_no_error(counted):
    config = {**LLAMAFACTORY, "dataloader_drop_last": True, "per_device_train_batch_size": 200}
    assert counted("llamafactory", config)[0]["rows"] == 100
    assert main(["check", "train.yaml", "--kind", "llamafactory", "--gpus", "1", "--run"]) == 0


def test_explain_names_the_files(counted, capsys):
    counted("axolotl", AXOLOTL)
    main(["explain", "train.yaml", "--all", "--kind", "axolotl", "--gpus", "1"])
    shown = " ".join(capsys.readouterr().out.split())
    assert "samples at most 100 100 rows of data/a.jsonl" in shown
    assert "total steps at most 100" in shown


LOADS = """
import os
from datasets import load_dataset, load_from_disk
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

HERE = os.path.dirname(os.path.abspath(__file__))
data = {}
args = TrainingArguments("out", per_device_train_batch_size=1, num_train_epochs=1)
Trainer(AutoModelForCausalLM.from_pretrained("m"), args, train_dataset=data).train()
"""
A = 'load_dataset("json", data_files="data/a.jsonl", split="train")'


@each_case(
    ("data", "rows", "certain"),
    [
        (A, 100, True),
        ('load_dataset("json", data_files=os.path.join(HERE, "data", "a.jsonl"))["train"]', 100, True),
        ('load_dataset("json", data_files={"train": ["data/a.jsonl", "data/b.json"]})["train"]', 130, True),
        (f"{A}.map(len).shuffle(seed=1).rename_column('a', 'b')", 100, True),
        (f"{A}.map(len, batched=True)", 100, True),
        (f"{A}.train_test_split(test_size=0.25)['train']", 75, True),
        (f"{A}.train_test_split(30)['test']", 30, True),
        (f"{A}.select(range(40))", 40, True),
        (f"{A}.filter(len)", 100, False),
        ('load_dataset("json", data_files="data/*.jsonl", split="train")', 100, True),
        ('load_dataset("json", data_files=["data/?.jsonl", "data/b.json"], split="train[:13]")', 13, True),
        ('load_dataset("json", data_files="data/a.jsonl", split="train[:10%]")', 10, True),
        ('load_dataset("of", split="train")', 9, True),
        ('load_dataset("of")["validation"]', 4, True),
        ('load_dataset("of", split="train[:3]")', 3, True),
        ('load_dataset("./by").map(len)["train"]', 6, True),
        ('load_dataset("data/two")["train"]', 60, True),
        ('load_dataset("json", data_files={"dev": "data/a.jsonl"}, split="dev[90:]").select(range(4))', 4, True),
    ],
)
def test_what_a_program_loads(counted, tmp_path, data, rows, certain):
    (tmp_path / "train.py").write_text(LOADS.format(data))
    entry, steps = counted("", "python train.py\n")
    assert (entry["rows"], entry["certain"], steps) == (rows, certain, rows if certain else None)


@each_case(
    "data",
    [
        f"{A}.map(len, batched=True, remove_columns=['a'])",
        f"{A}[10:20]",
        'load_dataset("json", data_files="data/**", split="train")',
        'load_dataset("json", data_files="data/*.gone", split="train")',
        'load_dataset("json", data_files="../*.jsonl", split="train")',
        'load_dataset("json", data_files="data/a.jsonl", split="train[:10%](pct1_dropremainder)")',
        'load_dataset("json", data_files="https://host/a.jsonl", split="train")',
        'load_dataset("json", data_files="../a.jsonl", split="train")',
        'load_dataset("json", data_files=input(), split="train")',
        'load_dataset("json", data_files="data/a.jsonl", split="train", streaming=True)',
        'load_dataset("owner/name", split="train")',
        'load_from_disk("data")',
    ],
)
def test_what_is_not_known_of_a_program(counted, tmp_path, data):
    (tmp_path / "train.py").write_text(LOADS.format(data))
    entry, steps = counted("", "python train.py\n")
    assert entry is None or entry["rows"] is None
    assert steps is None


READS = """
import json, random
import pandas as pd
import torch
from datasets import Dataset, concatenate_datasets, load_dataset
from pathlib import Path
from sklearn.model_selection import train_test_split
from tqdm import tqdm
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

{}
args = TrainingArguments("out", per_device_train_batch_size=1, num_train_epochs=1)
Trainer(AutoModelForCausalLM.from_pretrained("m"), args, train_dataset=data).train()
"""
LINES = 'rows = [json.loads(line) for line in open("data/a.jsonl")]\n'
LOOP = """
def load(path):
    rows = []
    with open(path) as file:
        for line in file:
            line = line.strip()
            if not line:
                continue
            rows.append(json.loads(line))
    return rows
"""
LIST = """
with open("data/c.json", encoding="utf-8") as file:
    rows = json.load(file)
"""
OPENED = """
import io
def load(file, mode="r"):
    if not isinstance(file, io.IOBase):
        file = open(file, mode=mode)
    found = json.load(file)
    file.close()
    return found
"""
ENCODE = """
def encode(batch, key="a"):
    texts = []
    for each in batch[key]:
        text = ""
        for part in each:
            text += part
        texts.append(text)
    encoded = tokenizer(texts, truncation=True)
    encoded["labels"] = encoded["input_ids"].copy()
    return encoded
"""
TABLE = 'table = pd.read_json("data/c.json")\n'
OWN_LIST = """
class Own(Dataset):
    def __init__(self, rows):
        self.rows = []
        for row in rows:
            {}
            self.rows.append(row)
    def __len__(self):
        return len(self.rows)
    def encode(self, row):
        return str(row)
    def add(self, row):
        self.rows.append(row)
"""
CLASSES = """
class Rows(torch.utils.data.Dataset):
    def __init__(self, texts, labels):
        self.texts = texts
        self.labels = labels
    def __len__(self):
        return len(self.texts)

class Encoded(Dataset):
    def __init__(self, path):
        super().__init__()
        with open(path) as file:
            rows = json.load(file)
        self.batch = dict(input_ids=[tokenizer(row).input_ids for row in rows])
        self.rows = []
        for row in rows:
            self.rows.append(row)
    def __len__(self):
        return len(self.batch["input_ids"])
"""


@each_case(
    ("program", "rows", "certain"),
    [
        (LINES + "data = rows", 100, True),
        (LINES + "data = Dataset.from_list(rows)", 100, True),
        (LINES.replace(")]", ") if line.strip()]") + "data = Dataset.from_list([str(row) for row in rows]).shuffle()", 100, True),
        (LINES + "data = Dataset.from_list(rows[:40])", 40, True),
        (LINES + "data = Dataset.from_list(rows[40:-10]).train_test_split(0.1)['train']", 45, True),
        (LINES + "data = Dataset.from_list([row for row in rows if row['a']])", 100, False),
        (LOOP + "data = Dataset.from_list(load('data/a.jsonl'))", 100, True),
        (LINES + "rows.append(1)\ndata = rows", 101, True),
        (LINES + "rows += rows\ndata = rows", 200, True),
        (LINES.replace("json.loads(line)", "line") + "data = rows", 100, True),
        (LOOP.replace("rows = []", "rows = [1]") + "data = load('data/a.jsonl')", 101, True),
        (LOOP.replace("continue", "break") + "data = load('data/a.jsonl')", 100, False),
        (
            LOOP.replace("            rows.", "            if random.random() < 0.5:\n                rows.")
            + "data = load('data/a.jsonl')",
            100,
            False,
        ),
        (LOOP + "data = []\nfor name in ('a', 'a'):\n    data += load(f'data/{name}.jsonl')", 200, True),
        (LOOP + "data = []\ndata.extend(load('data/a.jsonl'))\ndata.append(1)", 101, True),
        (LIST + "data = [str(row) for row in rows]", 80, True),
        (LIST + "data = Dataset.from_dict({'a': [row['a'] for row in rows], 'b': list(rows)})", 80, True),
        (LIST + "random.shuffle(rows)\ncut = int(len(rows) * 0.9)\ndata = Dataset.from_list(rows[:cut])", 72, True),
        (LIST + "cut = len(rows) - 10\ndata = Dataset.from_list(rows[cut:])", 10, True),
        (LIST + "data = Dataset.from_list(rows).select(range(min(50, len(rows))))", 50, True),
        (LIST + "data, _ = train_test_split(rows, test_size=0.2, random_state=1)", 64, True),
        (LIST + "data = Dataset.from_list(rows).train_test_split(train_size=0.33)['train']", 26, True),
        (LIST + "data = [f(a) for a, b in zip(rows, [g(row) for row in rows])]", 80, True),
        (LIST + "data = []\nfor i, row in enumerate(tqdm(rows)):\n  try: data.append(row['a'])\n  except KeyError: pass", 80, False),
        (LIST + "data = []\nfor i in range(len(rows)):\n    data.append(rows[i])", 80, True),
        (f"data = concatenate_datasets([{A}, {A}.select(range(30))])", 130, True),
        (ENCODE + f"data = {A}.map(encode, batched=True, remove_columns=['a'])", 100, True),
        (f"data = {A}.map(lambda batch: tokenizer(batch['a']), batched=True, remove_columns=['a'])", 100, True),
        ("rows = json.loads(Path('data/c.json').read_text())\ndata = Dataset.from_list(rows)", 80, True),
        ("data = Dataset.from_list([{'a': 1}] + [{'a': 1}, {'a': 2}])", 3, True),
        ("data = [line for line in open('data/a.jsonl') if line.strip()]", 100, False),
        (LIST + "for row in list(rows):\n    rows.append(row)\ndata = rows", 160, True),
        (TABLE + "data = Dataset.from_pandas(table)", 80, True),
        (TABLE + "data = Dataset.from_pandas(table[['a']].sample(frac=1).reset_index(drop=True))", 80, True),
        (TABLE + "data = Dataset.from_pandas(table[table['a'] > 0])", 80, False),
        (TABLE + "data = Dataset.from_pandas(table.head(30))", 30, True),
        (TABLE + "data = Rows(table['a'].tolist(), table['a'].tolist())", 80, True),
        (LIST + "data = Rows(rows, [row['b'] for row in rows])", 80, True),
        (LIST + "data = Encoded('data/c.json')", 80, True),
        (OPENED + "data = load('data/c.json')", 80, True),
        (LIST + OWN_LIST.format("self.encode(row)") + "data = Own(rows)", 80, True),
    ],
)
def test_rows_that_a_program_reads_itself(counted, tmp_path, program, rows, certain):
    (tmp_path / "data" / "c.json").write_text(json.dumps([{"a": 1, "b": 2}] * 80))
    (tmp_path / "train.py").write_text(READS.replace("{}", CLASSES + program))
    entry, steps = counted("", "python train.py\n")
    assert (entry["rows"], entry["certain"], steps) == (rows, certain, rows if certain else None)


@each_case(
    "program",
    [
        LINES + "data = rows[::2]",
        LIST + "data = []\nfor row in rows:\n    data.append(row)\n    data.append(row)",
        LIST + "data = []\nfor row in rows:\n    for part in row:\n        data.append(part)",
        LIST + "data = {row['a']: row for row in rows}",
        LIST + "data = set(rows)",
        LIST + OWN_LIST.format("self.add(row)") + "data = Own(rows)",
        LIST + "rows.pop()\ndata = rows",
        ENCODE.replace("n encoded", "n {'a': sum(encoded['a'], [])}") + f"data = {A}.map(encode, batched=True, remove_columns=['a'])",
        ENCODE.replace("truncation", "return_overflowing_tokens") + f"data = {A}.map(encode, batched=True, remove_columns=['a'])",
        LIST + "data = Dataset.from_list(rows).map(group, batched=True, remove_columns=['a'])",
        LIST.replace("c.json", "dataset_info.json") + "data = rows",
        TABLE + "table.dropna(inplace=True)\ndata = Dataset.from_pandas(table)",
        TABLE.replace(")\n", ", nrows=3)\n") + "data = Dataset.from_pandas(table)",
        LINES + "extend(rows)\ndata = rows",
        LINES.replace("data/a", "gone") + "data = rows",
        "rows = [json.loads(line) for line in open('data/a.jsonl') for _ in range(2)]\ndata = rows",
        LOOP + "data = []\nfor name in ('a', 'b'):\n    data += load(f'data/{name}.jsonl')",
    ],
)
def test_rows_that_are_not_known_of_a_program(counted, tmp_path, program):
    (tmp_path / "data" / "c.json").write_text(json.dumps([{"a": 1, "b": 2}] * 80))
    (tmp_path / "train.py").write_text(READS.replace("{}", program))
    entry, steps = counted("", "python train.py\n")
    assert entry is None or entry["rows"] is None
    assert steps is None
