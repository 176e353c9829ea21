"""DeepSpeed's start-up checks and silent traps."""

DEEPSPEED = ("deepspeed",)  # the kinds that these rules are for
