"""The loaders of the frameworks: the values of a document, or the problems for which loading fails.

Each loader mirrors one library call. Scalars are resolved here from their source, without that library, so that a
clean file imports nothing; for unusual input the library itself decides.
"""

from __future__ import annotations

from cfglint.source.annotations import Callable, ConfigMapping, ConfigValue
from cfglint.source.document import ALIAS, LIMIT, MAPPING, SCALAR, Document, Node, Problem
from cfglint.source.limits import MOST_EXPANDED, MOST_FOR_PYTHON
from cfglint.source.load_results import LoadResult, Unloadable, constructor_error, copied, refused, too_long
from cfglint.source.numbers import DIGITS, TooLong, is_json_number, is_yaml_float, is_yaml_int, printable, yaml_float, yaml_int
from cfglint.source.record import Record

NUMERIC = "+-." + DIGITS
SPECIAL = "+-.0123456789yYnNtTfFoO~<="  # first characters of unquoted YAML scalars that may not be strings
YAML_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}
JSON_WORDS = {"true": True, "false": False, "null": None}
JSON_CONSTANTS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


class Loader:
    """A mirror of one library call that loads values from a file. `name` is that call."""

    name = ""
    construct: Callable[[Document], ConfigValue]  # the value of a document that parses; raises Unloadable
    value_of: Callable[[Node], ConfigValue]  # the value of a scalar; raises Unloadable

    def refusals(self, document: Document) -> list[Problem]:
        """The problems for which the library raises before it constructs values."""
        return document.problems

    def read(self, document: Document) -> LoadResult:
        """The value of a document and the problems that the library would raise for."""
        problems = self.refusals(document)
        if problems:
            return LoadResult(None, problems)
        try:
            return LoadResult(document.completed(self.construct(document)), [])
        except Unloadable as refused:
            return LoadResult(None, [refused.problem])
        except RecursionError:
            return LoadResult(None, [Problem(0, 0, "nested too deeply for Python's parser, with its tags and anchors", LIMIT)])

    def read_again(self, document: Document) -> LoadResult:
        """The same of a document that may be read at many releases: it is loaded once, and each time its lists and mappings are copied."""
        if self not in document.loaded:
            document.loaded[self] = self.read(document)
        found = document.loaded[self]
        return LoadResult(copied(found.value), found.problems)

    def scalar(self, node: Node) -> ConfigValue:
        """The value of a single scalar node; its source if the library would raise."""
        try:
            return self.value_of(node)
        except Unloadable:
            return node.raw


class YamlLoader(Loader):
    """PyYAML's loader, as its parser in Python: YAML 1.1, merge keys, last of duplicates; `python_tags`: with `!!python/tuple` and such."""

    def __init__(self, name: str, python_tags: bool = False) -> None:
        self.name = name
        self.python_tags = python_tags

    def read(self, document: Document) -> LoadResult:
        if document.relaxations and len(document.text) <= MOST_FOR_PYTHON:
            from cfglint.source import yaml

            document = yaml.parse(document.path, document.text, document.bom, pure=True)
        return super().read(document)

    def refusals(self, document: Document) -> list[Problem]:
        if document.problems or len(document.roots) < 2:
            return document.problems
        start = document.roots[1].head
        reason = "yaml.composer.ComposerError: expected a single document in the stream: but found another document"
        return [Problem(start, start, "multiple YAML documents are not supported here", "documents", reason)]

    def construct(self, document: Document) -> ConfigValue:
        return YamlConstruction(self).value(document.root) if document.root is not None else None

    def value_of(self, node: Node) -> ConfigValue:
        if node.tag is None:
            return node.raw if node.style else self.bare(node)
        return YamlConstruction(self).value(node)

    def bare(self, node: Node) -> ConfigValue:
        raw = node.raw
        if raw and raw[0] not in SPECIAL:
            return raw
        if raw in YAML_WORDS:
            return YAML_WORDS[raw]
        if raw[0] in NUMERIC:
            return self.number(node)
        if raw in ("<<", "="):
            tag = "merge" if raw == "<<" else "value"
            raise refused(node, constructor_error(f"could not determine a constructor for the tag 'tag:yaml.org,2002:{tag}'"))
        return raw

    def number(self, node: Node) -> ConfigValue:
        """A number, a date, or a string that only begins like one."""
        raw = node.raw
        integer, point, fraction = raw.partition(".")
        if raw.isascii() and integer.isdecimal() and len(integer) < 20:
            if point and (fraction.isdecimal() or not fraction):
                return float(raw)
            if not point and raw[0] != "0":
                return int(raw)
        try:
            if is_yaml_float(raw):
                return yaml_float(raw)
            if is_yaml_int(raw):
                return yaml_int(raw)
        except TooLong:
            raise too_long(node) from None
        except (ValueError, OverflowError) as error:
            raise refused(node, f"{type(error).__name__}: {error}") from None
        if raw[4:5] != "-" or not raw[:4].isdecimal():
            return raw
        from cfglint.source import tags

        return tags.timestamp(node)


class YamlConstruction(Record):
    """One pass over a YAML tree; anchored values are constructed once and referenced, as PyYAML does."""

    loader: YamlLoader
    shared: dict[int, ConfigValue] = {}
    sizes: dict[int, int] = {}
    begun: set[int] = set()
    entries: int = 0
    expanded: int = 0

    def value(self, node: Node) -> ConfigValue:
        """The value of any node, the same object for each alias; raises Unloadable.

        A merge key may refer to a node that comes later: merged mappings are constructed before anything else.
        """
        if node.kind == ALIAS:
            target = node.resolved()
            if id(target) in self.begun and id(target) not in self.shared:
                raise Unloadable(Problem(node.start, node.end, f"alias `*{node.raw}` is inside its own anchor", LIMIT))
            value = self.value(target)
            self.expand(node, self.sizes[id(target)])
            return value
        if node.anchor is None:
            return self.fresh(node)
        if id(node) not in self.shared:
            self.begun.add(id(node))
            before = self.entries
            self.shared[id(node)] = self.fresh(node)
            self.sizes[id(node)] = self.entries - before + 1
        return self.shared[id(node)]

    def fresh(self, node: Node) -> ConfigValue:
        if node.tag is not None:
            from cfglint.source import tags

            return tags.construct(self, node)
        if node.kind == SCALAR:
            return node.raw if node.style else self.loader.bare(node)
        return self.mapping(node) if node.kind == MAPPING else self.sequence(node)

    def expand(self, node: Node, entries: int) -> None:
        """Count the nodes that an alias or merge key adds."""
        self.entries += entries
        self.expanded += entries
        if self.expanded > MOST_EXPANDED:
            message = f"aliases and merge keys expand to more than {MOST_EXPANDED:,} entries"
            raise Unloadable(Problem(node.start, node.end, message, LIMIT))

    def sequence(self, node: Node) -> list[ConfigValue]:
        self.entries += len(node.children)
        return [self.value(item) for item in node.children]

    def mapping(self, node: Node) -> ConfigMapping:
        """A mapping's values by key; its own keys override those of merge keys."""
        self.entries += len(node.children)
        result: ConfigMapping = {}
        own = node.children
        # no other key can be `<<`, and asking each one takes longer
        if [key for key, _ in own if (key.raw == "<<" or key.tag is not None or key.kind == ALIAS) and is_merge(key)]:
            for key, value in own:
                if is_merge(key):
                    self.merge(node, value, result)
            own = [pair for pair in own if not is_merge(pair[0])]
        bare = self.loader.bare
        for key, value in own:
            if key.tag is None and key.anchor is None and key.kind == SCALAR:
                name = key.raw if key.style or key.raw == "=" else bare(key)
            else:
                name = self.value(key)
                try:
                    hash(name)
                except TypeError:
                    raise refused(key, constructor_error("while constructing a mapping: found unhashable key")) from None
            if value.tag is None and value.anchor is None and value.kind == SCALAR:
                result[name] = value.raw if value.style else bare(value)
            else:
                result[name] = self.value(value)
        return result

    def merge(self, node: Node, value: Node, result: ConfigMapping) -> None:
        """Add the entries of a merge key's value; the first of several mappings takes precedence.

        In PyYAML 6.0.4 alone it is the last one, but for keys of one letter: a regression (https://github.com/yaml/pyyaml/issues/953).
        """
        source = value.resolved()
        if source.kind == MAPPING:
            sources = [value]
        elif source.kind != SCALAR:
            sources = list(reversed(source.children))
        else:
            raise refused(value, constructor_error(MERGE_VALUE + "mapping or list of mappings for merging, but found scalar"))
        for item in sources:
            target = item.resolved()
            if target.kind != MAPPING:
                raise refused(item, constructor_error(f"{MERGE_VALUE}mapping for merging, but found {target.kind}"))
            values = self.value(item) if target.tag is None or target.tag == "tag:yaml.org,2002:map" else None
            mapping = values if isinstance(values, dict) else self.mapping(target)  # whatever its tag
            self.expand(item, len(mapping))
            result.update(mapping)


MERGE_VALUE = "while constructing a mapping: expected a "


def is_merge(key: Node) -> bool:
    if key.kind == ALIAS:
        key = key.resolved()
    if key.tag is None:
        return key.raw == "<<" and not key.style and key.kind == SCALAR
    return key.tag == "tag:yaml.org,2002:merge" or (key.tag == "!" and key.raw == "<<")


class StrictJsonLoader(Loader):
    """`json.load` of a file opened as UTF-8: the last of duplicate keys, NaN and Infinity, no other extension."""

    name = "json.load"

    def refusals(self, document: Document) -> list[Problem]:
        if any(problem.kind not in ("syntax", "control") for problem in document.problems):
            return document.problems
        strict = document.root is not None and all(what == "constant" for _, _, what in document.relaxations)
        if strict and not document.problems and not document.bom:
            return []
        import json  # Python's own decoder reports the problems

        text = document.text
        mark = "\ufeff" if document.bom else ""
        try:
            json.loads(mark + text)
        except json.JSONDecodeError as error:
            start = max(error.pos - len(mark), 0)
            message = f"invalid JSON: {error.msg[0].lower()}{error.msg[1:]}"
            reached = len(text[:start].rstrip())  # before Python 3.13 a trailing comma is reported behind it
            for begin, end, what in document.relaxations:
                if begin <= start and end >= reached:
                    start, message = begin, f"not valid JSON: {what}"
                    break
            return [Problem(start, min(start + 1, len(text)), message, "syntax", f"json.decoder.JSONDecodeError: {error}")]
        except ValueError as error:
            return [Problem(0, 0, "a number has more digits than Python accepts", "value", f"ValueError: {error}")]
        except RecursionError as error:
            return [Problem(0, 0, "nested too deeply for Python's parser", "value", f"RecursionError: {error}")]
        return document.problems

    def construct(self, document: Document) -> ConfigValue:
        return json_value(self, document.root)

    def value_of(self, node: Node) -> ConfigValue:
        if node.style:
            return node.raw
        if node.raw in JSON_WORDS:
            return JSON_WORDS[node.raw]
        if node.raw in JSON_CONSTANTS:
            return JSON_CONSTANTS[node.raw]
        return json_number(node)


class HjsonLoader(Loader):
    """DeepSpeed's loader: `hjson.load` with a hook that rejects duplicate keys (deepspeed 0.19.8, `runtime/config_utils.py:205`)."""

    name = "hjson.load"

    def read(self, document: Document) -> LoadResult:
        if any(what == "constant" for _, _, what in document.relaxations):
            from cfglint.source import json

            document = json.parse(document.path, document.text, document.bom, constants=False)
        return super().read(document)

    def construct(self, document: Document) -> ConfigValue:
        return json_value(self, document.root, unique=True) if document.root is not None else {}

    def value_of(self, node: Node) -> ConfigValue:
        raw = node.raw
        if node.style or node.tag is not None:
            return raw
        if raw in JSON_WORDS:
            return JSON_WORDS[raw]
        if not is_json_number(raw):
            return raw
        number = json_number(node)
        if not isinstance(number, float):
            return number
        if number in (float("inf"), float("-inf")):
            raise refused(node, "OverflowError: cannot convert float infinity to integer")
        return int(number) if number == int(number) and abs(number) < 1e10 else number


def json_number(node: Node) -> int | float:
    raw = node.raw
    try:
        return float(raw) if "." in raw or "e" in raw or "E" in raw else printable(int(raw), raw)
    except TooLong:
        raise too_long(node) from None
    except ValueError as error:
        raise refused(node, f"ValueError: {error}") from None


def json_value(loader: Loader, node: Node | None, unique: bool = False) -> ConfigValue:
    """The value of a JSON tree; `unique` refuses equal keys as DeepSpeed's hook does."""
    if node is None or node.kind == SCALAR:
        return loader.value_of(node) if node is not None else None
    if node.kind != MAPPING:
        return [json_value(loader, item, unique) for item in node.children]
    result = {}
    for key, value in node.children:
        result[key.raw] = loader.value_of(value) if value.kind == SCALAR else json_value(loader, value, unique)
    if unique and len(result) != len(node.children):
        seen: set[str] = set()
        repeated: list[Node] = []
        for key, _ in node.children:
            if key.raw in seen:
                repeated.append(key)
            seen.add(key.raw)
        names = [name for name in result if name in {key.raw for key in repeated}]
        raise refused(repeated[0], f"ValueError: Duplicate keys in DeepSpeed config: {names}", "duplicate")
    return result


YAML11 = YamlLoader("yaml.safe_load")
YAML11_FULL = YamlLoader("yaml.load(..., Loader=yaml.FullLoader)", python_tags=True)
STRICT_JSON = StrictJsonLoader()
HJSON = HjsonLoader()
