"""What PEFT does with a model: the fields of `LoraConfig`, the modules of architectures, and which of them an adapter is put on."""
