"""The rules of LLaMA-Factory."""
