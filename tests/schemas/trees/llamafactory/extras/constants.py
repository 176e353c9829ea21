from enum import StrEnum


class Attention(StrEnum):
    AUTO = "auto"
    FAST = "fast"
