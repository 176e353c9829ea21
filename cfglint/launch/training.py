"""Whether a line starts a training, by the name of its program, its arguments, or the functions that the program calls; and whether a
script can start one at all, by the words in it and in the files that it can source or call.

The latter only serves to end long evaluations: what cannot be excluded for certain is evaluated. Frameworks whose programs are recognised
by name, and whose arguments are not modelled, are named here as well.
"""

from __future__ import annotations

import os
import re
import sys
from functools import cache

from cfglint.launch.command import readable
from cfglint.launch.kinds import argument_classes
from cfglint.launch.launcher import launcher_of, launchers
from cfglint.launch.line import LaunchLine
from cfglint.launch.program import HF_PARSERS
from cfglint.source.annotations import Callable, Mapping
from cfglint.source.shell.command import is_placeholder
from cfglint.source.shell.tables import listed, names
from cfglint.source.shell.wrappers import PYTHON

TRAINS = listed(
    "train finetune fine_tune fine-tune finetuning sft dpo grpo ppo orpo kto simpo rlhf rloo pretrain run_clm "
    "run_mlm distill lora reward tune run_s2s run_asr trl run_translation run_summarization run_glue"
)
OTHERS = listed(
    "eval infer generat predict serve server preprocess pre_process process_data convert merge export benchmark "
    "demo vllm tokeniz download chat_cli chatbot recall metrics embedding dataset prepare sweep plot upload quantize test_ "
    "sample gen_ synthes extract filter score compare rerank_data webui cli_demo gradio setup.py pip"
)
PREPARES = names("data dataset datasets data_process preprocess eval evaluation")  # packages and folders whose programs do not train
ARGUMENTS = names(
    "per_device_train_batch_size gradient_accumulation_steps learning_rate lr num_train_epochs max_steps "
    "deepspeed_config train_batch_size micro_batch_size global_batch_size train_iters warmup_ratio warmup_steps "
    "num_epochs epochs lr_scheduler_type gradient_checkpointing do_train max_train_steps total_episodes peft_type "
    "micro_batch train_file ds_config lr_decay_style save_interval weight_decay n_epochs train_data"
)
IN_FOLDER = (">/", "]/", "}/")  # a folder is to be filled in, in which the named program is
TRAINED = re.compile("trained|tuned")  # `trained_eval.py` evaluates what has been trained
BACKWARD = ".backward("  # a call in a training loop of the program itself
ENGINE = "deepspeed.initialize("
TRAINER_CALL = "trainer.train("
TRAIN_CALL, TRAINER = ".train(", "Trainer"
INSTANTIATE = "instantiate"  # the function with which Hydra makes arguments of a config
EVALUATES = (".evaluate(", ".predict(")
DATA_PACKAGES = names("datasets numpy pandas polars pyarrow tqdm requests yaml orjson jsonlines huggingface_hub tabulate PIL")
IMPORTS = re.compile(r"^[ \t]*(?:from[ \t]+(\w*)|import[ \t]+(\w+(?:[ \t]*,[ \t]*\w+)*))", re.MULTILINE)
PROGRAM = re.compile(r"[\w.+@-]*\.py\b")
COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
INTERPRETER = re.compile(r"python[0-9.]*")
FOLLOWING = re.compile(r"""["']?(?:[ \t]+(?:\\\n[ \t]*)?-[uOBEsI]+(?=[ \t]))*[ \t]+(?:\\\n[ \t]*)?([^ \t\n;&|)]*)""")
HARMLESS = ("-c", "-V", "--version", "-h", "--help", "<<", "<<<")  # words after `python` with which it runs no file
TOKEN = re.compile(r"[\w.+-]+")
COMPOSED = re.compile(r"""([\w.+-]*)(?:\$\{[^}]*\}|\$\w+|\$\([^)]*\)|`[^`]*`)["']?([\w.+-]*)""")
COMPOSED_WHOLLY = re.compile(r"""(?:\$\{[^}]*\}|\$\w+)(?:\$\{[^}]*\}|\$\w+)""").search
READS = re.compile(
    r"""(?:^|[\s;&|(])(?:(?:source|\.)[ \t]+(?!-)(?=([^\s;&|]*))|(?:bash|sh|zsh|ksh|dash)[ \t]+(?=([^\n;&|]*)))""", re.MULTILINE
)
OPEN_NAME = re.compile(r"""[$`][^/\s]*(?:\s|$)""").search  # the last part of a path is a variable
DATA = (".txt", ".md", ".json", ".yaml", ".yml", ".toml", ".py", ".ipynb", ".csv", ".cfg", ".tf")  # sourced by name only
LONGEST = 1_000_000  # characters of a file
MOST = 20_000  # files of a project
CLEAR = 3  # characters that distinguish the composed name of a file from other strings
OVERRIDE = re.compile(r"[+~]{0,2}[A-Za-z_][\w.@/]*=|~[A-Za-z_][\w.@/]*$").match
# The beginning of a module's name, in lower case -> the name of the framework.
MODULES = {
    "openrlhf.": "another program of OpenRLHF",
    "torchtitan.": "torchtitan",
    "torchtune.": "torchtune",
    "maxtext.": "MaxText",
    "nemo.": "NeMo",
    "nemo_rl.": "NeMo RL",
    "nemo_automodel.": "NeMo AutoModel",
    "areal.": "AReaL",
    "roll.": "ROLL",
    "litgpt.": "LitGPT",
    "fairseq_cli.": "fairseq",
    "mlx_lm.": "MLX LM",
    "xtuner.": "XTuner",
    "swift.ray.": "Megatron-SWIFT with Ray",
    "verl.": "another program of verl",
    "recipe.": "a recipe of verl",
}
# The name of a program's file, or its beginning up to a star -> the name of the framework.
FILES = {
    "megatron_gpt_*": "NeMo",
    "pretrain_gpt.py": "Megatron-LM",
    "pretrain_bert.py": "Megatron-LM",
    "pretrain_t5.py": "Megatron-LM",
    "pretrain_mamba.py": "Megatron-LM",
    "pretrain_vlm.py": "Megatron-LM",
    "maxtext.py": "MaxText",
}
FOLDERS = {
    "openrlhf/": "another program of OpenRLHF",
    "torchtitan/": "torchtitan",
    "maxtext/": "MaxText",
    "nemo_rl/": "NeMo RL",
    "examples/nlp/": "NeMo",
}


def trains(line: LaunchLine, names: set[str], read: Callable[[str], str | None], module: str | None = None) -> bool:
    """Whether a line starts a training; `names` are the names of the program's options, `read` returns the source of the program, `module`
    is the file of one that is named as a module.
    """
    program = line.program.string.lower() if line.program is not None else ""
    to_fill_in = line.program is not None and line.program.known and (program.startswith("[") or is_placeholder(program))
    if to_fill_in and not any(end in program for end in IN_FOLDER):
        return False  # a usage line: `deepy.py [script.py]`
    name = program.rpartition("/")[2] if not line.module else program
    of_framework = line.module and bool(of_module(name))
    if of_framework:
        name = name.partition(".")[2]  # `openrlhf` itself names no training
    if line.module and any(mark in name.rpartition(".")[2] for mark in OTHERS):  # `train.sample` samples
        name = name.rpartition(".")[2]
    elif line.module and PREPARES & set(name.split(".")[:-1]):  # `data.sft.convert` writes data
        name = name.rpartition(".")[2]
    given = len({each.rpartition(".")[2] for each in names} & ARGUMENTS)  # `--training.max_steps` is `max_steps`
    other, named = any(mark in name for mark in OTHERS), any(mark in TRAINED.sub("", name) for mark in TRAINS)
    if "do_train" not in names and names & {"do_eval", "eval_only"} and not given:
        return False
    if launcher_of(line).trains_by_default:
        return not other or named
    for_training = named and not name.startswith(listed("eval infer generat predict test_ merge preprocess compare train_token"))
    if other and (not for_training or (not line.module and PREPARES & set(program.split("/")[:-1])) or only_handles_data(line, read)):
        return given > 1
    is_main = of_framework and name.rpartition(".")[2].startswith("main")  # `recipe.dapo.main_dapo`
    if named or given > 1 or (is_main and not other):
        return True
    files = any(not file.role.startswith("launcher:") for file in line.files)
    if launcher_of(line).starts_programs and (given or files or "deepspeed" in names):
        return True
    return program_trains(line, line.program_path or module, read)


def is_not_clear(line: LaunchLine) -> bool:
    """Whether a line that is not known to start a training may do so all the same: a launcher starts a program that names nothing else."""
    name = line.program.string.rpartition("/")[2].lower() if line.program is not None else ""
    launcher = launcher_of(line)
    return not line.trains and not launcher.is_one_process and not launcher.kind and name != "" and not any(mark in name for mark in OTHERS)


def only_handles_data(line: LaunchLine, read: Callable[[str], str | None]) -> bool:
    """Whether a program imports nothing but the standard library and packages of data, and starts no other program."""
    path = line.program_path
    text = read(path) if path is not None and path.endswith(".py") else None
    imported = [match[2] if match[1] is None else match[1] for match in IMPORTS.finditer(text or "")]
    roots = {root.strip() for names in imported for root in names.split(",")}
    return text is not None and bool(roots) and roots <= DATA_PACKAGES | sys.stdlib_module_names - {"subprocess", "runpy", "importlib"}


def program_trains(line: LaunchLine, path: str | None, read: Callable[[str], str | None]) -> bool:
    text = read(path) if path is not None and path.endswith(".py") else None
    if text is None:
        return False
    if TRAINER_CALL in text or (BACKWARD in text and (launcher_of(line).starts_programs or ENGINE in text)):
        return True
    names = (*HF_PARSERS, *argument_classes(), INSTANTIATE)
    if TRAIN_CALL in text:  # of a class of its own, perhaps, with arguments that another one of its own has
        return TRAINER in text and any(name in text for name in names)
    evaluates = any(call in text for call in EVALUATES)  # else another module trains
    return not evaluates and f"{TRAINER}(" in text and any(f"{name}(" in text for name in names)


def listed_below(root: str) -> dict[str, list[str]] | None:
    found: dict[str, list[str]] = {}
    count = 0
    for folder, folders, files in os.walk(root):
        folders[:] = [each for each in folders if each != ".git"]
        count += len(files) + len(folders)
        if count > MOST:
            return None
        for name in files:
            found.setdefault(name, []).append(os.path.join(folder, name))
    return found


def may_launch(text: str, names: Mapping[str, list[str]], read: Callable[[str], str | None]) -> bool:
    """Whether a script may start a training, itself or in a file of the project that it can reach; `names` are those files."""
    left, seen = [text], {text}
    while left:
        source = COMMENT.sub("", left.pop())
        given = sum(name in source or name.replace("_", "-") in source for name in ARGUMENTS) > 1
        programs = {*PROGRAM.findall(source)}
        texts = (read(path) or "" for name in programs for path in names.get(name, ()))
        if (
            words_of_launchers().search(source)
            or (given and programs)
            or any(mark in name.lower() for name in programs for mark in TRAINS)
            or any(TRAINER_CALL in program or BACKWARD in program for program in texts)
            or any(runs_training(source, match.end(), given) for match in INTERPRETER.finditer(source))
            or (reachable := mentioned(source, names)) is None
        ):
            return True
        for path in (path for name in reachable for path in names[name]):
            content = None if os.path.islink(path) else read(path)
            if os.path.islink(path) or (content is not None and len(content) > LONGEST):
                return True
            if content is not None and content not in seen:
                seen.add(content)
                left.append(content)
    return False


@cache
def words_of_launchers() -> re.Pattern[str]:
    records = [launcher for launcher in launchers().values() if launcher.name != PYTHON]
    parts = "|".join(re.escape(mark) for record in records for mark in record.marks)
    words = "|".join(re.escape(word) for record in records for word in record.words)
    return re.compile(rf"{parts}|(?<![\w-])(?:{words})(?![\w-])")


def runs_training(text: str, at: int, given: bool) -> bool:
    """Whether the command `python`, which ends at a position, may run a module that trains, or a program whose name is not written."""
    following = FOLLOWING.match(text, at)
    word = following[1].strip("\"'") if following is not None else ""
    if not word:  # the name of a package, or the value of a variable
        return given or " -m" in text
    if word in HARMLESS:
        return False
    name = word.rpartition("/")[2]
    return given or not name or name[0] in "-\"'" or "$" in name or "`" in name or any(mark in word.lower() for mark in TRAINS)


def mentioned(text: str, names: Mapping[str, list[str]]) -> set[str] | None:
    """The names of the project's files that a script may source or call; None if it composes names in a way that excludes none."""
    words = [match[1] or match[2] or "" for match in READS.finditer(text)]
    if any(map(COMPOSED_WHOLLY, words)):
        return None
    found = {*TOKEN.findall(text)} & names.keys()
    found.update(name for name in names if TOKEN.fullmatch(name) is None and name in text)
    for before, after in {match.groups() for match in COMPOSED.finditer(text)}:
        if len(before) + len(after) >= CLEAR:
            found.update(name for name in names if name.startswith(before) and name.endswith(after))
    if any(map(OPEN_NAME, words)):
        return found
    direct = {token for word in words for token in TOKEN.findall(word)}
    return {name for name in found if name in direct or not name.endswith(DATA)}


def unmodelled(line: LaunchLine) -> str:
    """The framework of a line's program that is not modelled; empty if it is none of those that are known by name."""
    if line.program is None or not line.program.value:
        return ""
    launcher, name = launcher_of(line), line.program.string
    if launcher.unmodelled or line.module:
        return launcher.unmodelled or of_module(name)
    path, file = name.lower(), name.lower().rpartition("/")[2]
    by_name = (title for pattern, title in FILES.items() if file == pattern or (pattern.endswith("*") and file.startswith(pattern[:-1])))
    return next((title for folder, title in FOLDERS.items() if folder in path), "") or next(by_name, "")


def unread_program(line: LaunchLine) -> str:
    """The program of a line whose parser is not modelled, because it takes overrides without dashes: `lr=1e-5`, `+seed=1`, `~model`."""
    overrides = (word for word in line.arguments if OVERRIDE(word.string))
    return readable(line.program.string) if line.program is not None and line.program.known and any(overrides) else ""


def of_module(name: str) -> str:
    return next((title for prefix, title in MODULES.items() if f"{name.lower()}.".startswith(prefix)), "")
