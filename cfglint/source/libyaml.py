"""libyaml's parser without the rest of PyYAML.

`import yaml` compiles the regular expressions of loaders and dumpers that a span tree does not need, which
takes ten times as long as the parser itself. In the process of the command line only the binding is loaded, with
replacements for what it imports from the package, and it creates cfglint's own nodes. Other processes load the
complete package.
"""

from __future__ import annotations

import sys

from cfglint import source
from cfglint.source.annotations import Any, Callable
from cfglint.source.document import NOTHING, SCALAR, Node

ERRORS = {
    "reader": "ReaderError",
    "scanner": "ScannerError",
    "parser": "ParserError",
    "composer": "ComposerError",
    "constructor": "ConstructorError",
    "emitter": "EmitterError",
    "serializer": "SerializerError",
    "representer": "RepresenterError",
}


class Leaf(Node):
    """A scalar event that is itself the node of the tree: with half as many objects, a file is parsed in two thirds of the time."""

    __slots__ = ()

    def __init__(self, anchor: str | None, tag: str | None, implicit: object, value: str, start: Any, end: Any, style: str | None) -> None:
        self.kind = SCALAR
        self.start = self.head = start.index
        self.end = end.index
        self.raw = value
        self.style = style or ""
        self.tag = tag
        self.anchor = anchor
        self.target = None
        self.children = NOTHING


def parser() -> Callable[[str], Any] | None:
    """libyaml's parser class, or None if PyYAML was built without it."""
    if source.IS_OWN_PROCESS and "yaml" not in sys.modules and "yaml._yaml" not in sys.modules:
        load_alone()
    if "yaml._yaml" not in sys.modules:
        try:
            __import__("yaml._yaml")
        except ImportError:
            return None
    binding: Any = sys.modules["yaml._yaml"]
    return binding.CParser  # type: ignore[no-any-return]


def load_alone() -> None:
    """Load the binding in a minimal package; leave no trace if that fails."""
    spec = next((spec for finder in sys.meta_path if (spec := finder.find_spec("yaml", None)) is not None), None)
    if spec is None or spec.submodule_search_locations is None:
        return
    module = type(sys)
    package = module("yaml")
    package.__path__ = spec.submodule_search_locations
    sys.modules["yaml"] = package
    try:
        import yaml.error
        import yaml.events
        import yaml.nodes
        import yaml.tokens

        for name, error in ERRORS.items():
            stand_in = module(f"yaml.{name}")
            kept = {"__init__": unacceptable} if name == "reader" else {}
            setattr(stand_in, error, type(error, (yaml.error.MarkedYAMLError,), kept))
            setattr(package, name, stand_in)
        import yaml._yaml

        binding: Any = yaml._yaml
        binding.ScalarEvent = Leaf
    except (ImportError, AttributeError):
        sys.modules.pop("yaml._yaml", None)
    finally:
        del sys.modules["yaml"]


def unacceptable(error: Any, _name: object, place: int, character: int, *_: object) -> None:
    """The arguments of a ReaderError, which has no marks."""
    error.position, error.character = place, character


def complete() -> None:
    """Import the complete package, so that the binding raises its exceptions from then on."""
    import yaml

    binding = sys.modules.get("yaml._yaml")
    if binding is not None:
        for name, error in ERRORS.items():
            setattr(binding, error, getattr(getattr(yaml, name), error))
