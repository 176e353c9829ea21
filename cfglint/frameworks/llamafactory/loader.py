"""The loaders of LLaMA-Factory: OmegaConf's from 0.9.4 on. Before, PyYAML's own safe loader reads the file; 0.9.3 makes an OmegaConf
container of its values.

Source: llamafactory 0.9.5 hparams/parser.py:85-99 (read_args), 0.9.3 :65-79, 0.9.2 :68-79, 0.9.0 :53-62 (_parse_args).
"""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.source.annotations import Operand
from cfglint.source.document import Document, Problem
from cfglint.source.loaders import Loader, YamlLoader
from cfglint.source.omegaconf import container

OMEGACONF_LOADS = Releases((0, 9, 4))
OMEGACONF_MERGES = Releases((0, 9, 3), (0, 9, 4))
JSON_REFUSED = Releases((0, 9, 5))


class MergedLoader(YamlLoader):
    """Loads a file with PyYAML, and merges its values into an OmegaConf container."""

    def construct(self, document: Document) -> Operand:
        """The values of a document; an empty file, and a list, are no container."""
        return container(super().construct(document), document)


class JsonLoader(Loader):
    """The loader for a JSON file, whose path LLaMA-Factory passes to `json.load`."""

    name = "json.load"

    def refusals(self, document: Document) -> list[Problem]:
        reason = "AttributeError: 'PosixPath' object has no attribute 'read'"
        return [Problem(0, 0, "LLaMA-Factory cannot read a JSON file: write YAML", "value", reason)]


MERGED = MergedLoader("yaml.safe_load")
JSON = JsonLoader()
