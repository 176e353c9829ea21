"""Exceptions of Python, torch and PEFT that many mistakes raise: what causes them, the most frequent first.

Their text alone names no rule; a traceback through the code that a rule is about, the kind, or the files of the run do.
"""

from __future__ import annotations

import re

BUILT_IN = r"'(?:NoneType|str|int|float|bool|list|dict|tuple|set|function|builtin_function_or_method)'"
ROW = "a row of the data set that is empty, or without the expected columns or messages"
MISSING = "a value that is missing: a key of a config, a column or a split of the data set, the padding token of a tokenizer"
TYPE = "a value of another type than the program expects: a string for a list or a mapping"
NUMBER = "a number that is written as a string: YAML reads `1e-5` as one, write `1.0e-5` (`cfglint rule TYP200`)"
EMPTY = "a value that is empty or null where a number is needed"
OF_TEXT = "a number with a comma, a unit or a quote in the config"
UNFILLED = "a placeholder that is not filled in"
VALUES = "versions that do not fit: a function returns another number of values"
FEW = "an empty data set, or fewer rows than one batch of all processes"
ZERO = "a size of 0 in the config: steps, processes, accumulation"
VOCABULARY = "token ids outside the vocabulary: added tokens need resized embeddings"
LONG = "rows longer than the positions of the model"
SHAPES = "weights that do not fit the model: a checkpoint or an adapter of another one, another vocabulary, a layer that was replaced"
LENGTHS = "rows of different lengths in one batch: padding or the collator"
MODEL = "sizes of the model's config that contradict each other"
PRECISION = "weights and inputs of different precision: load the model in the one that the training uses"
ADDED = "layers that were added in fp32"
MAPPED = "`device_map` together with a trainer that moves the model"
DEVICE = "inputs or a second model that the program leaves on another device"
MODULES = "`target_modules` names layers of another architecture: print `model.named_modules()`"
PATTERN = "a list of one name, which TRL passes to PEFT as a pattern (`cfglint rule TRL066`)"
GROUPS = "GRPO with fewer samples of all processes than `num_generations`: raise micro batch, accumulation or processes"
STEP = "a step or a length of 0 in the program or its data"
LABELS = "labels that are fewer than the logits: the collator, or the column that the loss takes them from"
CUT = "rows that are cut inside of an image or a video: raise the maximum length (`cutoff_len`, `max_length`)"
PACKAGES = "packages whose releases do not fit each other: compare the release that has the attribute with those that are installed"
OVERRIDDEN = "a method that the program overrides: the installed release passes it an argument that its signature does not have"
CALLED = "packages whose releases do not fit each other: the caller is of another release than the function"
UNPICKLED = "worker processes that are spawned and need a copy of it: set `dataloader_num_workers: 0` (and no processes for the data set)"
SIZES = "two sizes that do not divide: make the first a multiple of the second (batch, GPUs, parallel sizes, layers, heads, experts)"
CLASSES = "labels that are not below the number of classes (`num_labels`), or that are not counted from 0"
SIGNATURE = "a call with a keyword that is misspelt, or without one that is required: compare it with the signature"
KEY = "a key that a config, a checkpoint or a chat template does not have"
COMMAND = "a program that is not installed, or not on the `PATH` of the run"
FOLDER = "a relative path: it is looked for in the working directory of the run, not beside the file that names it"
WORD = "a word that the option does not allow, or typographic quotes (\u201c \u201d) and blanks that became a part of it"
BROKEN = "an option that is not given, or a line continuation that cuts it off (`cfglint rule LCH001`)"
PARSED = "a program of another release than the package that defines its arguments"
CONFIG = "a config of another release, or of another program, than the one that reads it"
UNLAUNCHED = "a program that expects this plugin, started without `accelerate launch` or with a config of another `distributed_type`"
TIED = "tied embeddings (`tie_word_embeddings` of the model's config), which are saved or sharded once, under the other name"
SHARDED = "an optimizer that was made before FSDP divided the weights: make it after, or prepare both in one call"
ACCESS = (
    "an index outside of a tensor (token ids, positions), or a kernel that does not support the sizes or the GPU: `CUDA_LAUNCH_BLOCKING=1`"
)
SAVED = "a checkpoint of another number of processes, another model or another way of sharding"
ORDER = "ZeRO stage 3 with modules that are not called in the same order in each step: branches, experts, frozen or unused parts"
GENERATION = "generation between training steps with parameters that are still gathered"
OF_CODE = "a condition of the code at the end of the traceback, which has no message of its own"
CAUSES = tuple(
    (re.compile(pattern), causes)
    for pattern, causes in (
        (r"^IndexError: (?:list|tuple|string) index out of range|^IndexError: pop from", (ROW, "a list of a config that is too short")),
        (r"^IndexError: Target -?\d+ is out of bounds", (CLASSES,)),
        (r"^IndexError: index out of range in self", (VOCABULARY, LONG)),
        (r"^TypeError: '[<>]=?' not supported between instances of", (NUMBER, EMPTY)),
        (r"^TypeError: unsupported operand type\(s\) for", (NUMBER, EMPTY)),
        (r"^TypeError: 'str' object cannot be interpreted as an integer", (NUMBER,)),
        (rf"^TypeError: {BUILT_IN} object (?:is not|does not support|cannot be)|^TypeError: argument of type {BUILT_IN}", (MISSING, TYPE)),
        (rf"^AttributeError: {BUILT_IN} object has no attribute", (MISSING, TYPE)),
        (r"^ValueError: (?:invalid literal for int|could not convert string to float)", (OF_TEXT, UNFILLED)),
        (r"^ValueError: (?:not enough|too many) values to unpack", (VALUES, ROW)),
        (r"^ZeroDivisionError", (FEW, ZERO)),
        (
            r"^RuntimeError: (?:mat1 and mat2 shapes|The (?:expanded )?size of (?:the )?tensor\b|shape '.*' is invalid|size mismatch)",
            (SHAPES, LENGTHS, MODEL),
        ),
        (r"^ValueError: Expected input batch_size", (LABELS, VALUES, LENGTHS)),
        (r"^RuntimeError: shape mismatch: value tensor", (CUT, LENGTHS)),
        (
            r"^AttributeError: 'AcceleratorState' object has no attribute '\w+_plugin'",
            (UNLAUNCHED,),
        ),
        (r"^AttributeError: '(?:argparse\.)?Namespace' object has no attribute", (PARSED,)),
        (r"^AttributeError: (?:type object '\w+'|'[A-Z]\w*[a-z]\w*' object) has no attribute", (PACKAGES,)),
        (r"^(?:AttributeError|_?pickle\.PicklingError|TypeError): (?:Can't (?:get local object|pickle)|cannot pickle)", (UNPICKLED,)),
        (r"^SystemExit: 2 \(error: argument ", (WORD,)),
        (r"^SystemExit: 2 \(error: the following arguments are required", (BROKEN,)),
        (r"^omegaconf\.errors\.ConfigAttributeError", (CONFIG,)),
        (r"^KeyError: '(?:model\.)?(?:lm_head|embed_tokens)\.weight'", (TIED,)),
        (r"optimizer couldn't be switched to its sharded version", (SHARDED,)),
        (r"CUDA error: an illegal memory access", (ACCESS,)),
        (r"^(?:RuntimeError|ValueError): Size mismatch\b", (SAVED, SHAPES)),
        (r"^AssertionError: \{'id': .*'status': |^RuntimeError: still have inflight params|parameter fetch queue", (ORDER, GENERATION)),
        (r"^RuntimeError: Error\(s\) in loading state_dict", (SHAPES, MODEL)),
        (
            r"^RuntimeError: (?:[Ee]xpected (?:object of )?scalar type|expected m1 and m2|mat1 and mat2 must have the same dtype)",
            (PRECISION, ADDED),
        ),
        (r"^RuntimeError: Expected all tensors to be on the same device", (MAPPED, DEVICE)),
        (r"^ValueError: Target modules .* not found in the base model", (MODULES, PATTERN)),
        (r"^ValueError: range\(\) arg 3 must not be zero", (GROUPS, STEP)),
        (r"^AssertionError:?$|^StopIteration:?$", (OF_CODE,)),
    )
)
# Those of exceptions that rules predict by their text, too: they are named where none does.
WITHOUT_RULE = tuple(
    (re.compile(pattern), causes)
    for pattern, causes in (
        (r"\b(?:divisible by|be a multiple of)\b", (SIZES,)),
        (r"^TypeError: (?:\w+\.)+(?!__init__)\w+\(\) got an unexpected keyword argument", (OVERRIDDEN, CALLED)),
        (r"^TypeError: [\w.]+\(\) (?:got an unexpected keyword argument|missing \d+ required)", (CALLED, SIGNATURE)),
        (r"^KeyError: (?:'[\w-]+'|None|\d+)$", (ROW, KEY)),
        (r"^FileNotFoundError: \[Errno 2\] No such file or directory: '[\w-]+'$", (COMMAND, FOLDER)),
        (r"^FileNotFoundError|Cannot open .* due to \[Errno 2\]", (FOLDER,)),
        (r"^ValueError: Could not find module \w+ in `transformers`", (PACKAGES,)),
    )
)


def causes_of(text: str) -> tuple[str, ...]:
    """The causes of an exception that many mistakes raise, the most frequent first; empty for one whose text is specific."""
    return next((causes for pattern, causes in CAUSES if pattern.search(text)), ())


def causes_without_rule(text: str) -> tuple[str, ...]:
    """The same, of an exception that no rule predicts."""
    return causes_of(text) or next((causes for pattern, causes in WITHOUT_RULE if pattern.search(text)), ())
