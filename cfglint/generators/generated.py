"""A generated file: its keys in order, each with its reason, and its content; and what a module of this package has for a kind."""

from __future__ import annotations

import json
from io import StringIO

from cfglint.batch.solver import Split
from cfglint.findings.wording import amount
from cfglint.generators import choices
from cfglint.generators.convert import Existing
from cfglint.generators.job_spec import JobSpec
from cfglint.source.annotations import Any, Callable, ConfigTable, ConfigValue, Iterable, Iterator, TypeAlias
from cfglint.source.document import Document
from cfglint.source.record import Record
from cfglint.source.spelling import is_bare_text, spell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ruamel.yaml import YAML
    from ruamel.yaml.comments import CommentedMap


Row: TypeAlias = tuple[str, object] | tuple[str, object, str] | str

WIDTH = 120  # a comment that would be longer is placed above its key
EMPTY = Document("", "", "yaml")


class Keys(Record):
    """Keys in the order in which they are written, nested by dots, each with the reason for it if that is not obvious."""

    values: ConfigTable = {}
    why: dict[str, str] = {}
    titles: dict[str, str] = {}

    @classmethod
    def of(cls, *rows: Row) -> Keys:
        """The keys of a table. A row is (key, value) or (key, value, reason), and is left out if its value is None;
        `zero_optimization.stage` is a key of a section. A string is the title of the group of keys below it.
        """
        keys, title = cls(), ""
        for row in rows:
            if isinstance(row, str):
                title = row
                continue
            name, value, *why = row
            if value is None:
                continue
            *sections, key = name.split(".")
            place = keys.values
            for section in sections:
                place = place.setdefault(section, {})
            place[key] = value
            if any(why):
                keys.why[name] = why[0]
            if title:
                keys.titles[name.partition(".")[0]], title = title, ""
        return keys

    def renamed(self, current: Callable[[str], str]) -> Keys:
        """The same keys under other names: `current` gives that of each."""

        def nested(values: ConfigTable) -> ConfigTable:
            return {current(name): nested(value) if isinstance(value, dict) else value for name, value in values.items()}

        def dotted(texts: dict[str, str]) -> dict[str, str]:
            return {".".join(map(current, name.split("."))): text for name, text in texts.items()}

        return Keys(nested(self.values), dotted(self.why), dotted(self.titles))


class GeneratedFile(Record):
    """One file; `head` are the comment lines above its keys, `has_schema` is whether the schema of its kind is next to it, for editors."""

    name: str
    kind: str
    keys: Keys
    head: tuple[str, ...] = ()
    has_schema: bool = False

    @property
    def is_json(self) -> bool:
        return self.name.endswith(".json")

    @property
    def text(self) -> str:
        """The content of the file: plain JSON, or YAML that PyYAML parses, with a comment on each key that has a reason."""
        if self.is_json:
            return json.dumps(self.keys.values, indent=2) + "\n"

        out = StringIO()
        yaml_writer().dump(commented(self.keys.values, self.keys), out)
        schema = (f"yaml-language-server: $schema={schema_name(self.kind)}",) if self.has_schema else ()
        above = "".join(f"# {line}\n" for line in (*schema, *self.head))
        return (f"{above}\n" if above else "") + out.getvalue().strip("\n") + "\n"

    @property
    def reasons(self) -> list[tuple[str, ConfigValue, str]]:
        """(key, value, reason) for every key that has a reason."""
        return [(name, value, self.keys.why[name]) for name, value in leaves(self.keys.values) if name in self.keys.why]


class Generated(Record):
    """The files of a job, the consumer first; `split` is their batch or None, `notes` what no file can contain: how to start the run."""

    files: list[GeneratedFile]
    split: Split | None = None
    notes: tuple[str, ...] = ()


class Generator(Record):
    """Generates files of one kind from a job, and extracts the facts of a job from such files; `GENERATOR` of the module of the kind.

    `makes` says in a phrase what the files are, `takes` are the facts that it supports, and `trainers` the values of `JobSpec.trainer`.
    `generate` gives the files of the kind, the consumer first, and `files_of_run` those of its launch too, which are consistent: the last
    argument is their folder. `read` reads the facts of an existing config, defaults included. `usual_rate`: (learning rate, reason) if none
    is specified.
    """

    makes: str
    takes: frozenset[str]
    generate: Callable[[JobSpec, str], Generated]
    read: Callable[[Existing, Any], None]
    files_of_run: Callable[[JobSpec, str], Generated] | None = None
    trainers: tuple[str, ...] = ()
    usual_rate: Callable[[JobSpec], tuple[float, str]] = choices.usual_rate


def main_file(kind: str, name: str, job: JobSpec, rows: Iterable[Row]) -> GeneratedFile:
    """The file of a kind whose numbers hold for the GPUs of the job."""
    gpus, nodes = amount(job.needed_gpus(), "GPU"), choices.nodes(job)
    return GeneratedFile(name, kind, Keys.of(*rows), (f"Generated for {gpus}" + (f" on {nodes} machines." if nodes > 1 else "."),))


def path_in(folder: str, name: str) -> str:
    """The path of a file relative to where the job is started."""
    return f"{folder.rstrip('/')}/{name}" if folder else name


def schema_name(kind: str) -> str:
    return f"{kind}.schema.json"


def leaves(values: ConfigTable, before: str = "") -> Iterator[tuple[str, ConfigValue]]:
    """(dotted name, value) of every key, sections too."""
    for key, value in values.items():
        yield before + key, value
        if isinstance(value, dict):
            yield from leaves(value, f"{before}{key}.")


def commented(values: ConfigTable, keys: Keys, before: str = "", depth: int = 0) -> CommentedMap:
    """A mapping that ruamel.yaml writes with its comments."""
    from ruamel.yaml.comments import CommentedMap

    mapping = CommentedMap()
    for key, value in values.items():
        name = before + key
        mapping[key] = commented(value, keys, name + ".", depth + 1) if isinstance(value, dict) else flow(value)
        above = ["", keys.titles[name]] if name in keys.titles else []
        reason = keys.why.get(name)
        column = 2 * depth + len(f"{key}: {spell(value, EMPTY)}  ")
        if reason and (isinstance(value, dict) or column + len(f"# {reason}") > WIDTH):
            above.append(reason)
        elif reason:
            mapping.yaml_add_eol_comment(reason, key, column)
        if above:
            mapping.yaml_set_comment_before_after_key(key, before="\n".join(above), indent=2 * depth)
    return mapping


def flow(value: object) -> object:
    """Write a list on one line."""
    if not isinstance(value, list):
        return value
    from ruamel.yaml.comments import CommentedSeq

    items = CommentedSeq(flow(item) for item in value)
    items.fa.set_flow_style()
    return items


def yaml_writer() -> YAML:
    """The writer of ruamel.yaml with scalars spelled so that YAML 1.1 parsers keep their types."""
    from ruamel.yaml import YAML
    from ruamel.yaml.representer import RoundTripRepresenter

    class Representer(RoundTripRepresenter):
        """That of these files alone."""

    tag, quoted = "tag:yaml.org,2002:", '"'
    Representer.add_representer(float, lambda own, value: own.represent_scalar(f"{tag}float", spell(value, EMPTY)))
    Representer.add_representer(str, lambda own, value: own.represent_scalar(f"{tag}str", value, None if is_bare_text(value) else quoted))
    writer = YAML()
    writer.Representer = Representer
    writer.width = 4096
    return writer
