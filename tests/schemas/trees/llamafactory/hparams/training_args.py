from dataclasses import dataclass, field

from transformers import Seq2SeqTrainingArguments

BaseTrainingArguments = Seq2SeqTrainingArguments


@dataclass
class RayArguments:
    workers: int = field(default=1)


@dataclass
class TrainingArguments(RayArguments, BaseTrainingArguments):
    again: bool = field(default=False)
