import enum


class Environment(str, enum.Enum):
    LOCAL = "LOCAL"
    CLOUD = "CLOUD"
