"""Whether a line starts a training, by the name of its program, its arguments, or the functions that the program calls."""

from __future__ import annotations

from cfglint.launch.kinds import argument_classes
from cfglint.launch.launcher import launcher_of
from cfglint.launch.line import LaunchLine
from cfglint.launch.program import HF_PARSERS
from cfglint.launch.unmodelled import of_module
from cfglint.source.annotations import Callable
from cfglint.source.shell.command import is_placeholder
from cfglint.source.shell.tables import listed, names

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
TRAINED = "trained"  # `trained_eval.py` evaluates what has been trained
BACKWARD = ".backward("  # a call in a training loop of the program itself
ENGINE = "deepspeed.initialize("
TRAINER_CALL = "trainer.train("
TRAIN_CALL, TRAINER = ".train(", "Trainer("
INSTANTIATE = "instantiate"  # the function with which Hydra makes arguments of a config
EVALUATES = (".evaluate(", ".predict(")


def trains(line: LaunchLine, names: set[str], read: Callable[[str], str | None]) -> bool:
    """Whether a line starts a training; `names` are the names of the program's options, `read` returns the source of the program."""
    program = line.program.string.lower() if line.program is not None else ""
    if line.program is not None and line.program.known and (program.startswith("[") or is_placeholder(program)):
        return False  # a usage line: `deepy.py [script.py]`
    name = program.rpartition("/")[2] if not line.module else program
    if line.module and any(mark in name.rpartition(".")[2] for mark in OTHERS):  # `train.sample` samples
        name = name.rpartition(".")[2]
    elif line.module and PREPARES & set(name.split(".")[:-1]):  # `data.sft.convert` writes data
        name = name.rpartition(".")[2]
    given = len(names & ARGUMENTS)
    other, named = any(mark in name for mark in OTHERS), any(mark in name.replace(TRAINED, "") for mark in TRAINS)
    if "do_train" not in names and names & {"do_eval", "eval_only"} and not given:
        return False
    if launcher_of(line).trains_by_default:
        return not other or named
    for_training = named and not name.startswith(("eval", "infer", "generat", "predict", "test_", "merge", "preprocess", "compare"))
    if other and (not for_training or (not line.module and PREPARES & set(program.split("/")[:-1]))):
        return given > 1
    is_main = line.module and name.rpartition(".")[2].startswith("main") and bool(of_module(name))  # `recipe.dapo.main_dapo`
    if named or given > 1 or (is_main and not other):
        return True
    files = any(not file.role.startswith("launcher:") for file in line.files)
    if launcher_of(line).starts_programs and (given or files or "deepspeed" in names):
        return True
    return program_trains(line, read)


def program_trains(line: LaunchLine, read: Callable[[str], str | None]) -> bool:
    path = line.program_path
    text = read(path) if path is not None and path.endswith(".py") else None
    if text is None:
        return False
    if TRAINER_CALL in text or (BACKWARD in text and (launcher_of(line).starts_programs or ENGINE in text)):
        return True
    trains_it = TRAIN_CALL in text or not any(call in text for call in EVALUATES)  # else another module does
    return trains_it and TRAINER in text and any(f"{name}(" in text for name in (*HF_PARSERS, *argument_classes(), INSTANTIATE))
