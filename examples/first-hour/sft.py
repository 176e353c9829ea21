"""Fine-tunes a model on the answers of a help desk."""

from datasets import load_dataset
from trl import ModelConfig, ScriptArguments, SFTConfig, SFTTrainer, TrlParser

if __name__ == "__main__":
    parser = TrlParser((ScriptArguments, SFTConfig, ModelConfig))
    script_args, training_args, model_args = parser.parse_args_and_config()
    data = load_dataset(script_args.dataset_name)
    trainer = SFTTrainer(model_args.model_name_or_path, training_args, train_dataset=data["train"], eval_dataset=data["test"])
    trainer.train()
