"""A generated file: its keys in order, each with its reason, and its content."""

from __future__ import annotations

from cfglint.batch.solver import Split
from cfglint.source.annotations import Callable, ConfigTable, ConfigValue, Iterator
from cfglint.source.document import Document
from cfglint.source.record import Record
from cfglint.source.spelling import is_bare_text, spell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ruamel.yaml import YAML, ScalarNode
    from ruamel.yaml.comments import CommentedMap

WIDTH = 120  # a comment that would be longer is placed above its key
EMPTY = Document("", "", "yaml")


class Keys(Record):
    """Keys in the order in which they are written, nested by dots, each with the reason for it if that is not obvious."""

    values: ConfigTable = {}
    why: dict[str, str] = {}
    titles: dict[str, str] = {}
    _title: str = ""

    def begin(self, title: str) -> None:
        """Begin a group of keys, with a comment line above it."""
        self._title = title

    def add(self, name: str, value: object, why: str = "") -> None:
        """Add a key; `zero_optimization.stage` is added to its section, which is created if it is missing."""
        *sections, key = name.split(".")
        place = self.values
        for section in sections:
            place = place.setdefault(section, {})
        place[key] = value
        if why:
            self.why[name] = why
        if self._title:
            self.titles[name.partition(".")[0]] = self._title
            self._title = ""

    def add_known(self, name: str, value: object, why: str = "", default: object = None) -> None:
        """Add a key unless its value is None or the default of the framework."""
        if value is not None and value != default:
            self.add(name, value, why)

    def renamed(self, current: Callable[[str], str]) -> Keys:
        """The same keys under other names: `current` gives that of each."""

        def nested(values: ConfigTable) -> ConfigTable:
            return {current(name): nested(value) if isinstance(value, dict) else value for name, value in values.items()}

        def dotted(texts: dict[str, str]) -> dict[str, str]:
            return {".".join(map(current, name.split("."))): text for name, text in texts.items()}

        return Keys(nested(self.values), dotted(self.why), dotted(self.titles))


class GeneratedFile(Record):
    """One file; `head` are the comment lines above its keys, if its syntax has comments.

    `has_schema`: the schema of its kind is next to it, so that its first line may name it for editors.
    """

    name: str
    kind: str
    keys: Keys
    head: tuple[str, ...] = ()
    has_schema: bool = False

    @property
    def is_json(self) -> bool:
        """Whether the file is JSON, which cannot contain comments."""
        return self.name.endswith(".json")

    @property
    def text(self) -> str:
        """The content of the file."""
        return as_json(self.keys) if self.is_json else as_yaml(self.keys, self.first_lines)

    @property
    def first_lines(self) -> tuple[str, ...]:
        """The comment lines above the keys."""
        return (schema_line(self.kind), *self.head) if self.has_schema else self.head

    @property
    def reasons(self) -> list[tuple[str, ConfigValue, str]]:
        """(key, value, reason) for every key that has a reason."""
        return [(name, value, self.keys.why[name]) for name, value in leaves(self.keys.values) if name in self.keys.why]


class Generated(Record):
    """The files of a job, the consumer first; `split` is their batch, None if they have none.

    `notes` are the facts that no file can contain: how to start the run, what the script has to do.
    """

    files: list[GeneratedFile]
    split: Split | None = None
    notes: tuple[str, ...] = ()


def path_in(folder: str, name: str) -> str:
    """The path of a file relative to where the job is started."""
    return f"{folder.rstrip('/')}/{name}" if folder else name


def leaves(values: ConfigTable, before: str = "") -> Iterator[tuple[str, ConfigValue]]:
    """(dotted name, value) of every key, sections too."""
    for key, value in values.items():
        yield before + key, value
        if isinstance(value, dict):
            yield from leaves(value, f"{before}{key}.")


def as_json(keys: Keys) -> str:
    """The content as plain JSON."""
    import json

    return json.dumps(keys.values, indent=2) + "\n"


def as_yaml(keys: Keys, head: tuple[str, ...]) -> str:
    """The content as YAML that PyYAML parses, with a comment on each key that has a reason."""
    from io import StringIO

    writer = yaml_writer()
    out = StringIO()
    writer.dump(commented(keys.values, keys), out)
    above = "".join(f"# {line}\n" for line in head)
    return (f"{above}\n" if above else "") + out.getvalue().strip("\n") + "\n"


def schema_line(kind: str) -> str:
    """The comment that names the schema of a config for editors."""
    return f"yaml-language-server: $schema={schema_name(kind)}"


def schema_name(kind: str) -> str:
    """The name of the schema file next to a config."""
    return f"{kind}.schema.json"


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
        def represent_float(self, value: float) -> ScalarNode:
            return self.represent_scalar("tag:yaml.org,2002:float", spell(value, EMPTY))

        def represent_text(self, value: str) -> ScalarNode:
            return self.represent_scalar("tag:yaml.org,2002:str", value, style=None if is_bare_text(value) else '"')

    Representer.add_representer(float, Representer.represent_float)
    Representer.add_representer(str, Representer.represent_text)
    writer = YAML()
    writer.Representer = Representer
    writer.width = 4096
    return writer
