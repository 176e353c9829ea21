"""Models in the Hugging Face cache of this machine."""

import json

from cases import each_case
from cfglint.cli import main
from cfglint.data.hub_cache import cache_folder, cached_rows, config_of

LLAMA = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "num_hidden_layers": 2, "hidden_size": 64, "vocab_size": 128,
         "intermediate_size": 128, "num_attention_heads": 4}  # fmt: skip
PROGRAM = """
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

model = get_peft_model(AutoModelForCausalLM.from_pretrained("owner/tiny"), LoraConfig(target_modules=["c_attn"]))
Trainer(model, TrainingArguments("out")).train()
"""


def download(folder, name, config):
    model = folder / ("models--" + name.replace("/", "--"))
    (model / "refs").mkdir(parents=True)
    (model / "refs" / "main").write_text("abc")
    (model / "blobs").mkdir()
    (model / "blobs" / "1").write_text(json.dumps(config))
    (model / "snapshots" / "abc").mkdir(parents=True)
    (model / "snapshots" / "abc" / "config.json").symlink_to("../../blobs/1")


@each_case(
    ("environment", "folder"),
    [
        ({"HF_HUB_CACHE": "/a", "HF_HOME": "/b"}, "/a"),
        ({"HF_HOME": "/b"}, "/b/hub"),
        ({"XDG_CACHE_HOME": "/c"}, "/c/huggingface/hub"),
    ],
)
def test_where_the_cache_is(environment, folder):
    assert cache_folder(environment) == folder


def test_a_model_in_the_cache(tmp_path):
    download(tmp_path / "hub", "owner/tiny", LLAMA)
    environment = {"HF_HOME": str(tmp_path)}
    assert config_of("owner/tiny", environment) == LLAMA
    assert [config_of(name, environment) for name in ("owner/other", "../x", "owner/tiny/..", "/etc", "", "a b")] == [None] * 6


def test_what_leads_out_of_the_cache_is_not_read(tmp_path):
    download(tmp_path / "hub", "owner/tiny", LLAMA)
    link = tmp_path / "hub" / "models--owner--tiny" / "snapshots" / "abc" / "config.json"
    link.unlink()
    (tmp_path / "secret.json").write_text("{}")
    link.symlink_to(tmp_path / "secret.json")
    assert config_of("owner/tiny", {"HF_HOME": str(tmp_path)}) is None


def test_it_is_asked_for_a_launch_here_only(tmp_path, monkeypatch, capsys):
    (tmp_path / ".git").mkdir()
    download(tmp_path / "home" / "hub", "owner/tiny", LLAMA)
    (tmp_path / "train.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    assert main(["check", "train.py"]) == 0
    capsys.readouterr()
    assert main(["check", "--", "python", "train.py"]) == 1
    assert "PFT001" in capsys.readouterr().out


def prepare(folder, path, count):
    inner = folder / "datasets" / path / "0.0.0" / "abc"
    inner.mkdir(parents=True)
    (inner / "dataset_info.json").write_text(json.dumps({"splits": {"train": {"name": "train", "num_examples": count}}}))


def test_the_rows_of_a_data_set_in_the_cache(tmp_path):
    environment = {"HF_HOME": str(tmp_path)}
    for path, count in (("Owner___open_chat/default", 7), ("two/a", 1), ("two/b", 2), ("plain/default", 3)):
        prepare(tmp_path, path, count)
    asked = [("Owner/OpenChat", "", "train"), ("two", "", "train"), ("two", "b", "train"), ("plain", "", "test"), ("../two", "a", "train")]
    assert [cached_rows(*each, environment) for each in asked] == [7, None, 2, None, None]


def test_the_rows_in_the_cache_count_for_a_launch_here_only(tmp_path, monkeypatch, capsys):
    (tmp_path / ".git").mkdir()
    prepare(tmp_path / "home", "owner___data/default", 100)
    program = "train = load_dataset('owner/data')['train']\nTrainer(None, TrainingArguments('out'), train_dataset=train).train()\n"
    imports = "from datasets import load_dataset\nfrom transformers import Trainer, TrainingArguments\n"
    (tmp_path / "train.py").write_text(imports + program)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    entries = []
    for command in (["train.py"], ["--", "python", "train.py"]):
        main(["check", "--format", "json", *command])
        entries.append(json.loads(capsys.readouterr().out)["runs"][0].get("num_examples_from"))
    assert entries[0] is None
    assert (entries[1]["rows"], entries[1]["certain"]) == (100, True)
