from dataclasses import dataclass, field

from .training_args import TrainingArguments


@dataclass
class Seq2SeqTrainingArguments(TrainingArguments):
    generate: bool = field(default=False)
    generation_config: str | None = field(default=None)
