"""The training samples of LLaMA-Factory: local files of `dataset_info.json`, which its loader cuts, mixes and divides (data/loader.py)."""

from __future__ import annotations

import json
import os

from cfglint.data.slices import rows_of_split
from cfglint.frameworks.llamafactory.config import LlamaFactoryConfig, comma_list
from cfglint.frameworks.training_data.files import held_out, rows, unknown
from cfglint.frameworks.training_data.samples import Samples
from cfglint.source.annotations import ConfigMapping, ConfigTable, ConfigValue
from cfglint.source.files import FileProblem, read_bytes
from cfglint.source.root import root_of

ELSEWHERE = ("hf_hub_url", "ms_hub_url", "om_hub_url", "script_url", "cloud_file_name")
PAIR = ("chosen", "rejected")
COLUMNS = {"chosen": "chosen", "rejected": "rejected"}
TAGS = {  # where the data set sets none (data/parser.py)
    "role_tag": "from",
    "user_tag": "human",
    "assistant_tag": "gpt",
    "observation_tag": "observation",
    "function_tag": "function_call",
    "system_tag": "system",
}
DROPPED = "rows without a prompt and a response are dropped"


def samples(config: LlamaFactoryConfig) -> Samples | None:
    """The samples of the data sets that the run names, mixed, without those that are held out; None if it trains on none, or streams."""
    named = config.own("dataset")
    if not isinstance(named, (str, list)) or not named or not config.trains or config.own("streaming") or config.own("tokenized_path"):
        return None
    at, info = config.data_sets
    if not info:
        return None
    parts: list[Samples] = []
    for name in dict.fromkeys(comma_list(named)):
        part = of_data_set(config, os.path.dirname(at), name, info.get(name))
        if part is None or part.count is None:
            return part
        parts.append(part)
    counts = [part.count or 0 for part in parts]
    files = tuple(file for part in parts for file in part.files)
    total, strategy = sum(counts), config.own("mix_strategy")
    if len(parts) > 1 and strategy in ("interleave_under", "interleave_over"):
        if config.own("interleave_probs"):
            return unknown("`interleave_probs` draws the rows at random", *files)
        total = len(parts) * (min(counts) if strategy == "interleave_under" else max(counts))
    left = held_out(total, config.own("val_size"))
    if left is None:
        return unknown(f"`val_size` {config.own('val_size')} leaves no sample", *files)
    if config.packs:
        return unknown("rows are packed into blocks, whose number depends on their lengths", *files)
    why = next((part.why for part in parts if part.why), "")
    return Samples(left, files, why, sum(part.rows or 0 for part in parts))


def of_data_set(config: LlamaFactoryConfig, folder: str, name: str, described: ConfigValue) -> Samples | None:
    table: ConfigTable = described if isinstance(described, dict) else {}
    file = table.get("file_name")
    if any(key in table for key in ELSEWHERE) or not isinstance(file, str):
        return None
    path = os.path.join(folder, file)
    if not os.path.exists(path):
        return None
    found = rows(config, path)
    if found.count is None:
        return unknown(found.why, *found.files)
    count, wanted, most = rows_of_split(table.get("split", "train"), found.count), table.get("num_samples"), config.own("max_samples")
    if count is None:
        return unknown(f"`split` of `{name}` is {table['split']}", *found.files)
    if isinstance(wanted, int):
        count = wanted
    if isinstance(most, int):
        count = min(count, most)
    return Samples(count, found.files, "" if all(keeps_rows(path, table) for path in found.files) else DROPPED, found.count)


def keeps_rows(path: str, table: ConfigTable) -> bool:
    """Whether no row of a file is dropped; false where that was not read."""
    form = table.get("formatting", "alpaca")
    if form not in ("alpaca", "sharegpt") or not path.endswith((".json", ".jsonl")):
        return False
    try:
        data = read_bytes(path, 64_000_000, root_of(path)).decode("utf-8-sig")
        read = json.loads(data) if data.lstrip()[:1] == "[" else [json.loads(line) for line in data.split("\n") if line.strip()]
    except (FileProblem, ValueError, RecursionError):
        return False
    columns = {**COLUMNS, **table.get("tags", TAGS), **table.get("columns", {"response": "output", "messages": "conversations"})}
    ranking = bool(table.get("ranking"))
    if form == "sharegpt":
        return all(isinstance(row, dict) and alternates(row, columns, ranking) for row in read)
    # a row has a string as its response, or a pair of them (data/converter.py:86)
    responses = [columns.get(name) for name in (PAIR if ranking else ("response",))]
    return all(isinstance(row, dict) and isinstance(row.get(name), str) for row in read for name in responses)


def alternates(row: ConfigMapping, columns: ConfigMapping, ranking: bool) -> bool:
    """Whether the turns of a row of the form `sharegpt` are a user's and an assistant's in turn (data/converter.py:132)."""
    turns, role = row.get(columns.get("messages")), columns.get("role_tag")
    if not isinstance(turns, list) or not all(isinstance(turn, dict) and role in turn for turn in turns):
        return False
    said = [turn[role] for turn in turns]
    said = said[1:] if said[:1] == [columns.get("system_tag")] else said
    of_turn = [[columns.get(f"{name}_tag") for name in names] for names in (("user", "observation"), ("assistant", "function"))]
    in_order = all(tag in of_turn[place % 2] for place, tag in enumerate(said))
    pair = not ranking or all(isinstance(row.get(columns.get(name)), dict) for name in PAIR)
    return in_order and pair and bool(said) and len(said) % 2 == ranking
