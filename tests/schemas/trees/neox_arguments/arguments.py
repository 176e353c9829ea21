from .model_args import NeoXArgsModel

BASE_CLASSES = [NeoXArgsModel]


class NeoXArgs(*BASE_CLASSES):
    pass
