"""Words of a script as bash expands them: quotes, variables, defaults, arithmetic, arrays, command substitution."""

from __future__ import annotations

import re

from cfglint.evaluate import Reason
from cfglint.source.annotations import Callable
from cfglint.source.budget import Budget, Exhausted
from cfglint.source.record import Record, changed
from cfglint.source.shell.arithmetic import NotArithmetic, assigned, evaluate, is_name
from cfglint.source.shell.delimiters import closing, closing_quote, expanded, name_end
from cfglint.source.shell.matching import GLOB_MARKS, escaped, replaced, trimmed
from cfglint.source.shell.placed_text import (
    EMPTY,
    GAP,
    MOST_FIELDS,
    Differing,
    Escaped,
    MayBeNoWord,
    Piece,
    Text,
    TextPart,
    any_number,
    assembled,
    in_call_without_arguments,
    joined,
    literal,
    of_any_number,
    split_by_bash,
    there,
    unknown,
)
from cfglint.source.shell.reasons import (
    ALL_OF_CALLER,
    FOLDER,
    FROM_RUN_TO_RUN,
    OF_CALL,
    TOO_DEEP,
    computed,
    parameter,
    unset,
)
from cfglint.source.shell.script import Script
from cfglint.source.shell.state import State

Run = Callable[[Script], Text]

SPECIAL_OUTSIDE = re.compile(r"""[\\"'$`]""").search  # characters that make a word special
SPECIAL_IN_QUOTES = re.compile(r"[\\$`]").search
SPECIAL_IN_BRACES = re.compile(r"""[\\"$`]""").search  # of an expansion in quotes
BRACED_NAME = re.compile(r"\$\{([A-Za-z0-9_]+)\}").match
PLAIN = frozenset("\\\"'$`~{").isdisjoint
SIMPLE = frozenset("\\\"'`~").isdisjoint  # plain characters and variables
SIMPLE_IN_QUOTES = frozenset('\\"`').isdisjoint
VARIABLES = re.compile(r"\$(?:\{([A-Za-z0-9_]+)\}|([A-Za-z_][A-Za-z0-9_]*|[0-9]))").finditer
ESCAPED = (" ", "\t", "\r")
NAME = re.compile(r"[A-Za-z_]\w*").findall
SPECIAL = "@*#?$!-_"
STATUS = Reason("environment", "the status of a command")
OF_BASH = {"BASH": "/bin/bash", "BASH_VERSION": "5.2.15(1)-release", "OSTYPE": "linux-gnu"}
RANDOM = ("RANDOM", "SRANDOM", "$", "!", "BASHPID", "PPID", "SECONDS", "EPOCHSECONDS", "EPOCHREALTIME")
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "a": "\a", "e": "\x1b", "0": "\0"}  # in `$'...'`
DEFAULTS = ("-", "=", "+", "?")
CHANGES: dict[str, Callable[[str], str]] = {
    "^^": str.upper,
    ",,": str.lower,
    "^": lambda value: value[:1].upper() + value[1:],
    ",": lambda value: value[:1].lower() + value[1:],
    "@U": str.upper,
    "@L": str.lower,
    "@u": lambda value: value[:1].upper() + value[1:],
    "@Q": lambda value: "'" + value.replace("'", r"'\''") + "'",
}
DEEPEST = 40
STEPS_OF_EXPRESSION = 1_000  # of arithmetic: the value of a longer one is unknown, and the evaluation continues
SEARCHED = 256  # characters that are searched for the end of a bracket in one step


class Unknowable(Exception):
    """An unknown number; `reasons` are the causes."""

    def __init__(self, reasons: tuple[Reason, ...]) -> None:
        self.reasons = reasons


class Expander(Record):
    """Expands spans of a script in a state. `run` returns the output of a substituted command.

    `assuming`: variables that only the caller could set count as unset, as if the script were called without arguments; `assumed` has
    those for which that mattered. `assumptions` are the ones that are not set where a default is taken, by the place of that.
    `in_document`: of a here-document, in which double quotes are characters; `in_braces`: within an expansion in quotes, in which they
    are not.
    """

    script: Script
    state: State
    run: Run
    budget: Budget
    depth: int = 0
    assuming: bool = False
    assumed: list[Reason] = []
    assumptions: dict[tuple[str, int], Reason] = {}
    in_document: bool = False
    in_braces: bool = False

    def fields(self, start: int, end: int) -> list[Text]:
        return [self.placed(field, start) for field in self._fields(start, end)]

    def placed(self, text: Text, at: int) -> Text:
        """A string with the place where it is expanded, for what is unknown and has none."""
        if text.known or not self.script.verbatim or all(reason.line for reason in text.reasons):
            return text
        path, line = self.script.path, self.script.line(at)
        return Text(
            changed(part, reasons=tuple(reason.at(path, line) for reason in part.reasons)) if part.text is None else part
            for part in text.parts
        )

    def _fields(self, start: int, end: int) -> list[Text]:
        word = self.script.text[start:end]
        if PLAIN(word):
            return [self.script.literal(start, end)] if word else []
        if "{" not in word or ("," not in word and ".." not in word):
            simple = self.simple(word, start, True)
            if simple is not None:
                return [Text(simple if word[0] == '"' else split_by_bash(simple))] if simple or word[0] == '"' else []
            texts = assembled(self.pieces(start, end), self.state.separators)
            return [Text(split_by_bash(texts[0].parts))] if len(texts) == 1 and word[0] not in "\"'" else texts
        texts = []
        for segments in expanded(self.script.text, start, end, self.budget):
            pieces: list[Piece] = []
            for segment in segments:
                if isinstance(segment, str):
                    pieces.append(Piece(literal(segment)))
                    continue
                begin, stop = segment
                if len(segments) > 1 and self.script.text.startswith("~", begin, stop):  # expanded only at the beginning of a word
                    pieces.append(Piece(self.script.literal(begin, begin + 1)))
                    begin += 1
                pieces.extend(self.pieces(begin, stop))
            texts.extend(assembled(pieces, self.state.separators))
        return texts[:MOST_FIELDS]

    def simple(self, word: str, start: int, splits: bool) -> list[TextPart] | None:
        """The parts of a word of plain characters and variables, or of one such string in quotes; None for any other word.

        `splits`: without quotes, spaces in values separate words, and the result is None.
        """
        quoted = word[:1] == '"'
        inner = word[1:-1] if quoted else word
        if not (SIMPLE_IN_QUOTES(inner) and word[1:].endswith('"') if quoted else SIMPLE(inner)):
            return None
        at = start = start + quoted
        left = inner.count("$")
        text_parts: list[TextPart] = []
        for variable in VARIABLES(self.script.text, start, start + len(inner)):
            first, after = variable.span()
            if at < first:
                text_parts.extend(self.script.literal(at, first).parts)
            value = self.value(variable[1] or variable[2])
            if splits and not quoted and any(map(value.string.__contains__, self.state.separators)):
                return None
            text_parts.extend(value.parts)
            at, left = after, left - 1
        if left:
            return None
        text_parts.extend(self.script.literal(at, start + len(inner)).parts)
        return text_parts

    def string(self, start: int, end: int, quoted: bool = False) -> Text:
        """A span as one string: the value of an assignment, a here-document, an operand of a test."""
        if not quoted:
            simple = self.simple(self.script.text[start:end], start, False)
            if simple is not None:
                return self.placed(Text(simple), start)
        texts = [joined(piece.fields) if piece.fields is not None else piece.text for piece in self.pieces(start, end, quoted)]
        return self.placed(texts[0] if len(texts) == 1 else Text([part for text in texts for part in text.parts]), start)

    def pattern(self, start: int, end: int, marks: str = GLOB_MARKS) -> Text:
        """A span as a pattern: what is quoted stands for itself; `marks` are the characters that have a meaning in such a pattern."""
        text = self.script.text
        text_parts: list[TextPart] = []
        at = start
        while at < end:
            following = SPECIAL_OUTSIDE(text, at, end)
            if following is None or at < following.start():
                stop = end if following is None else following.start()
                text_parts.extend(self.script.literal(at, stop).parts)
                at = stop
                continue
            quoted = text[at] != "$" and text[at] != "`"
            at, pieces = self.special(at, end, False)
            parts = [part for piece in pieces for part in (piece.text if piece.fields is None else joined(piece.fields)).parts]
            text_parts.extend(TextPart(escaped(part.text, marks)) if quoted and part.text else part for part in parts)
        return Text(text_parts)

    def pieces(self, start: int, end: int, quoted: bool = False, splits: bool = False) -> list[Piece]:
        """The parts of a span, in order; `splits`: spaces outside of quotes separate words, as in a default without quotes."""
        text = self.script.text
        found: list[Piece] = []
        at = start
        if not quoted and text.startswith("~", start, end):
            at, found = start + 1, [Piece(literal("~"))]
        special = SPECIAL_OUTSIDE if not quoted else SPECIAL_IN_BRACES if self.in_braces else SPECIAL_IN_QUOTES
        following = special(text, at, end)
        while following is not None:
            if at < following.start():
                found.append(Piece(self.script.literal(at, following.start()), splits))
            at, more = self.special(following.start(), end, quoted)
            found.extend(more)
            following = special(text, at, end) if at < end else None
        if at < end:
            found.append(Piece(self.script.literal(at, end), splits))
        return found

    def special(self, at: int, end: int, quoted: bool) -> tuple[int, list[Piece]]:
        """(end, parts) of the construct that begins at a special character."""
        text = self.script.text
        char = text[at]
        if char == "\\":
            following = text[at + 1 : at + 2]
            if following == "\n":
                return at + 2, []
            if quoted and following not in '$`"\\':
                return at + 1, [Piece(self.script.literal(at, at + 1))]
            escaped = self.script.literal(at + 1, min(at + 2, end))
            if following in ESCAPED:
                escaped = Text(Escaped(part.text, part.place) for part in escaped.parts)
            return min(at + 2, end), [Piece(escaped)]
        if char == "'":
            close = text.find("'", at + 1, end)
            close = end if close < 0 else close
            return close + 1, [Piece(self.script.literal(at + 1, close))]
        if char == '"' and quoted:
            return at + 1, []
        if char == '"':
            close = closing_quote(text, at + 1, end)
            inner = self.pieces(at + 1, close, True)
            alone = len(inner) == 1 and inner[0].fields == []
            return close + 1, inner if alone else [Piece(), *inner]
        if char == "`":
            close = text.find("`", at + 1, end)
            close = end if close < 0 else close
            return close + 1, [Piece(self.substituted(at + 1, close), not quoted)]
        return self.dollar(at, end, quoted)

    def dollar(self, at: int, end: int, quoted: bool) -> tuple[int, list[Piece]]:
        text = self.script.text
        following = text[at + 1 : at + 2]
        if following == "(" and text.startswith("((", at + 1):
            close = self.closed(at + 1, end)
            if text[close - 1 : close] == ")":
                return close + 1, [Piece(self.arithmetic(at + 3, close - 1), not quoted)]
        if following == "(":
            close = self.closed(at + 1, end)
            return close + 1, [Piece(self.substituted(at + 2, close), not quoted)]
        if following == "[":  # the old form of `$((...))`, which bash still reads
            close = self.closed(at + 1, end)
            return close + 1, [Piece(self.arithmetic(at + 2, close), not quoted)]
        if following == "{":
            plain = BRACED_NAME(text, at, end)
            if plain is not None:
                return plain.end(), self.named(plain.group(1), quoted)
            close = self.closed(at + 1, end)
            return close + 1, self.parameter(at + 2, close, quoted)
        if following == "'" and not quoted:
            close = at + 2
            while close < end and text[close] != "'":
                close += 2 if text[close] == "\\" else 1
            return close + 1, [
                Piece(literal(re.sub(r"\\(.)", lambda match: ESCAPES.get(match[1], match[0]), text[at + 2 : close], flags=re.DOTALL)))
            ]
        if following == '"' and not quoted:
            return at + 1, []
        if following and (following in SPECIAL or following.isdigit()) and at + 1 < end and following != "_":
            return at + 2, self.named(following, quoted)
        stop = name_end(text, at + 1, end)
        if stop == at + 1:
            return stop, [Piece(self.script.literal(at, stop))]
        return stop, self.named(text[at + 1 : stop], quoted)

    def closed(self, at: int, end: int) -> int:
        close = closing(self.script.text, at, end)
        self.budget.spend((close - at) // SEARCHED)
        return close

    def named(self, name: str, quoted: bool) -> list[Piece]:
        if name in "@*":
            return self.listed(self.state.positional, quoted, name == "@", "$@")
        return [Piece(self.value(name), not quoted)]

    def listed(self, values: list[Text] | None, quoted: bool, separate: bool, name: str) -> list[Piece]:
        """Several values: separate words if `separate` and quoted, one string if only quoted, else split."""
        if values is None:
            reason = ALL_OF_CALLER if name == "$@" else unset(name)
            if self.assume(reason):
                return [Piece(fields=[])]
            return [Piece(fields=[any_number(reason)]) if quoted and separate else Piece(unknown(reason), not quoted)]
        if quoted and separate:
            return [Piece(fields=list(values))]
        if not quoted and not self.state.separators:
            return [Piece(fields=[value for value in values if value.string])]
        return [Piece(joined(values, self.state.separators[:1]), not quoted)]

    def assume(self, reason: Reason) -> bool:
        """Whether a value that only the caller could set, for the given reason, counts as absent."""
        if self.assuming:
            self.assumed.append(reason)
        return self.assuming

    def value(self, name: str) -> Text:
        """The value of a variable as a string; unknown with its reason if only the caller could set it."""
        text = self.found(name)
        return text if text is not None else self.absent(name)

    def absent(self, name: str) -> Text:
        """The value of what the script does not set."""
        reason = self.lack(name)
        return EMPTY if reason is None or self.assume(reason) else unknown(reason)

    def lack(self, name: str) -> Reason | None:
        """What only the caller could set, of that which the script does not; None if that is not set for certain."""
        lacks = self.state.value(name) is not None or (name.isdigit() and self.state.positional is not None)  # an element, a parameter
        if lacks or self.state.is_unset(name):
            return None
        return parameter(f"${name}") if name.isdigit() or name == "#" else unset(name)

    def found(self, name: str) -> Text | None:
        """The value of a variable that the script or the shell sets; None if neither does."""
        if name in self.script.unknown:
            return self.script.unknown[name]
        value = self.state.value(name)
        if value is not None:
            if isinstance(value, dict):
                return value.get("0")
            first = (value[0] if value else GAP) if isinstance(value, list) else value
            if first is GAP or first.known or not self.assuming:
                return None if first is GAP else first
            called = in_call_without_arguments(first)
            if called is not first:
                self.assumed.append(OF_CALL)
            return called
        if name.isdigit() or name == "#":
            return self.positional(name)
        if name == "?":
            return unknown(STATUS) if self.state.unclear_status else literal("0")
        if name in RANDOM:
            return unknown(FROM_RUN_TO_RUN)
        if name == "PWD":
            return literal(self.state.folder) if self.state.folder is not None else unknown(FOLDER)
        if name == "HOME":
            return literal("~")
        if name in OF_BASH:
            return literal(OF_BASH[name])
        if name == "-":
            return literal("hB")  # a script, which is not interactive
        if name in ("LINENO", "_"):
            return unknown(computed(f"${name}"))
        return None

    def positional(self, name: str) -> Text | None:
        """`$0`, `$1`, ..., `$#`; None if the caller supplies them."""
        texts = self.state.positional
        if name == "0":
            return literal(self.state.script_name)
        if texts is None:
            return literal("0") if name == "#" and self.assume(ALL_OF_CALLER) else None
        kinds = (MayBeNoWord, Differing)
        doubtful = next((index for index, word in enumerate(texts) if any(of_any_number(word, kind) for kind in kinds)), len(texts))
        if doubtful < len(texts) and (name == "#" or int(name[:4]) > doubtful + 1):
            if any(of_any_number(word, Differing) for word in texts) or not all(map(self.assume, texts[doubtful].reasons)):
                return unknown(*texts[doubtful].reasons)
            texts = [word for word in texts if not of_any_number(word, MayBeNoWord)]
        if name == "#":
            return literal(str(len(texts)))
        return texts[int(name) - 1] if len(name) < 4 and int(name) <= len(texts) else None

    def parameter(self, start: int, end: int, quoted: bool) -> list[Piece]:
        """The value of `${...}`; the span is the part between the braces."""
        text = self.script.text
        mark = text[start : start + 1] if text[start : start + 1] in "#!" and end > start + 1 else ""
        at = start + len(mark)
        special = text[at : at + 1] in SPECIAL and text[at : at + 1] != "_" and at < end
        stop = at + 1 if special else name_end(text, at, end)
        name = text[at:stop]
        if not name:
            return [Piece(unknown(computed(f"${{{text[start:end]}}}")), not quoted)]
        index = None
        if text[stop : stop + 1] == "[":
            close = closing(text, stop, end)
            index = (stop + 1, close)
            stop = close + 1
        if mark == "!":
            pointer = self.state.variables.get(name)
            if index is not None:  # `${!name[@]}`, the indexes of an array
                keys = list(pointer) if isinstance(pointer, dict) else ["0"] if pointer is not None else []
                if isinstance(pointer, list):
                    keys = [str(place) for place, element in enumerate(pointer) if element is not GAP]
                return self.listed([literal(key) for key in keys], quoted, True, name)
            pointed = self.value(name)
            if stop != end or pointed.value is None or not is_name(pointed.value):
                return [Piece(unknown(*(pointed.reasons or (computed(f"${{!{name}}}"),))), not quoted)]
            return [Piece(self.value(pointed.value), not quoted)]
        if index is not None and text[index[0] : index[1]] in ("@", "*"):
            return self.entire_array(name, text[index[0]], mark, (stop, end), quoted)
        if name in ("@", "*") and mark != "#":
            return self.several(self.state.positional, "$@", name, (stop, end), quoted)
        value = self.element(name, *index) if index is not None else self.found(name)
        operator, colon, after = self.operator(stop, end)
        if operator in DEFAULTS and mark != "#":
            return self.default(name, value, operator, colon, (after, end), quoted, index is not None)
        found = known = value if value is not None else self.absent(name)
        if mark == "#":
            found = literal(str(len(known.value))) if known.value is not None else unknown(*known.reasons)
        elif stop == end:
            pass
        elif known.value is None:
            found = unknown(*known.reasons, source=f"{known.source}{text[stop:end]}")
        elif value is None:
            found = EMPTY
        else:
            found = self.substring(known, stop + 1, end) if text[stop] == ":" else self.edited(known, stop, end)
        return [Piece(found, not quoted)]

    def operator(self, start: int, end: int) -> tuple[str, bool, int]:
        """(operator, whether a colon is before it, the position behind it) of the part after a name."""
        colon = self.script.text.startswith(":", start, end)
        at = start + colon
        return self.script.text[at:end][:1], colon, at + 1

    def default(
        self, name: str, value: Text | None, operator: str, colon: bool, word: tuple[int, int], quoted: bool, indexed: bool
    ) -> list[Piece]:
        """The operators `-`, `=`, `+` and `?`: the value if a variable, or an element of it, is unset or empty."""
        absent = value is None or (colon and value.value == "")
        if value is not None and value.value is None and not any(part.text for part in value.parts) and operator != "+":
            return [Piece(value, not quoted)]
        of_call = value is None and name.isdigit() and self.state.positional is None
        if of_call and (operator == "+" or (operator == "-" and word[0] == word[1])):  # an empty default is no value
            return [Piece(self.absent(name), not quoted)]
        if operator == "+":
            return [] if absent else self.word(*word, quoted)
        if not absent and value is not None:
            return [Piece(value, not quoted)]
        if operator == "?":
            self.state.needs_caller = True  # bash ends the script here, also where the script itself has unset the variable
            return [Piece(self.absent(name), not quoted)]
        lack, pieces = self.lack(name) if value is None else None, self.word(*word, quoted)
        if lack is not None:
            self.assumptions.update({place: lack for piece in pieces for place in piece.text.begins})
        if operator == "=":
            text = Text(part for piece in pieces for part in piece.text.parts)
            current = self.state.variables.get(name)
            if isinstance(current, dict) or indexed:  # an element makes the array unknown
                self.state.assign(name, [any_number(computed(f"${{{name}=}}"))])
            else:
                self.state.assign(name, [text, *current[1:]] if isinstance(current, list) else text)
            return [Piece(text, not quoted)]
        return pieces or [Piece(EMPTY, not quoted)]

    def word(self, start: int, end: int, quoted: bool) -> list[Piece]:
        """The word behind an operator; double quotes in it are removed, but in a here-document."""
        marks, self.in_braces = self.in_braces, quoted and not self.in_document
        try:
            return self.pieces(start, end, quoted, not quoted)
        finally:
            self.in_braces = marks

    def entire_array(self, name: str, sign: str, mark: str, rest: tuple[int, int], quoted: bool) -> list[Piece]:
        """`${name[@]}`, its length, a slice of it, or a default for it."""
        value = self.state.value(name)
        if mark == "#":  # unknown if bash splits an element; a plain variable is one element
            elements = value if isinstance(value, list) else []
            reasons = [reason for text in elements if of_any_number(text) for reason in text.reasons]
            size = len(value) if isinstance(value, dict) else len(there(elements)) if isinstance(value, list) else int(value is not None)
            return [Piece(unknown(*reasons) if reasons else literal(str(size)), not quoted)]
        if isinstance(value, Text):
            operator, colon, _ = self.operator(*rest)
            if colon and operator not in DEFAULTS and value.known:
                part = self.substring(value, rest[0] + 1, rest[1])
                return self.listed([part] if part is not EMPTY else [], quoted, sign == "@", name)  # none behind the end
            value = [value]
        if isinstance(value, dict):
            value = list(value.values())
        elif value is None and (name in self.state.variables or self.state.is_unset(name)):
            value = []
        return self.several(value, name, sign, rest, quoted)

    def several(self, values: list[Text] | None, name: str, sign: str, rest: tuple[int, int], quoted: bool) -> list[Piece]:
        """Several values, with a default for them, a slice of them, or an edit of each; None if the script does not set them."""
        operator, colon, after = self.operator(*rest)
        of_call = values is None and name == "$@"
        if operator in DEFAULTS and not (of_call and (operator == "+" or after == rest[1])):
            texts = there(values or [])  # with a colon a single empty one counts as none
            absent = not texts or (colon and joined(texts, self.state.separators[:1] if sign == "*" else " ").value == "")
            if operator == "+":
                return (
                    self.word(after, rest[1], quoted) if not absent else [Piece(fields=[])] if quoted and sign == "@" and not texts else []
                )
            if not absent:
                return self.listed(texts, quoted, sign == "@", name)
            if operator == "-":
                return self.word(after, rest[1], quoted) or [Piece(EMPTY, not quoted)]
            return [Piece(unknown(computed(f"${{{name}{operator}}}")), not quoted)]  # an error
        if values is None or rest[0] == rest[1]:
            return self.listed(None if values is None else there(values), quoted, sign == "@", name)
        if colon:
            values = self.sliced(values, name, rest[0] + 1, rest[1])
        else:
            values = [self.edited(text, *rest) if text.known else unknown(*text.reasons) for text in there(values)]
        return self.listed(values, quoted, sign == "@", name)

    def sliced(self, values: list[Text], name: str, start: int, end: int) -> list[Text]:
        """`:offset:length` of several values; the offset counts indexes, of parameters from `$0` on."""
        unclear = [any_number(computed(f"${{{name}:{self.script.text[start:end]}}}"))]
        if isinstance(self.state.variables.get(name), dict):
            return unclear
        if name == "$@":
            values = [literal(self.state.script_name), *values]
        try:
            offset, count = self.bounds(start, end)
        except (Unknowable, NotArithmetic):
            return unclear
        doubtful = next((place for place, text in enumerate(values) if of_any_number(text)), len(values))
        if (count is not None and count < 0) or (doubtful < len(values) and (offset < 0 or offset + (count or 0) > doubtful)):
            return unclear
        offset += len(values) if offset < 0 else 0
        return there(values[offset:])[:count] if offset >= 0 else []

    def bounds(self, start: int, end: int) -> tuple[int, int | None]:
        text = self.script.text
        colon = text.find(":", start, end)
        if "?" in text[start:end]:
            raise NotArithmetic(text[start:end])
        middle = colon if colon >= 0 else end
        spans = [(start, middle), *([(middle + 1, end)] if colon >= 0 else [])]
        numbers = [self.number(*span) if text[slice(*span)].strip() else 0 for span in spans]
        return numbers[0], numbers[1] if len(numbers) > 1 else None

    def element(self, name: str, start: int, end: int) -> Text | None:
        value = self.state.value(name)
        if value is None:
            return None
        if isinstance(value, dict):
            key = self.string(start, end)
            return value.get(key.string) if key.known else unknown(*key.reasons)
        elements = value if isinstance(value, list) else [value]
        try:
            index = self.number(start, end)
        except Unknowable as error:
            return unknown(*error.reasons)
        except NotArithmetic:
            return unknown(computed(f"${{{name}[{self.script.text[start:end]}]}}"))
        doubtful = next((place for place, each in enumerate(elements) if of_any_number(each)), None)
        if doubtful is not None and not 0 <= index < doubtful:
            return unknown(*elements[doubtful].reasons)
        text = elements[index] if -len(elements) <= index < len(elements) else GAP
        return None if text is GAP else text

    def substring(self, text: Text, start: int, end: int) -> Text:
        """`${name:offset:length}`."""
        size = len(text)
        try:
            offset, length = self.bounds(start, end)
        except (Unknowable, NotArithmetic):
            return unknown(computed(f"${{...{self.script.text[start:end]}}}"))
        first = offset if offset >= 0 else size + offset
        if not 0 <= first <= size:
            return EMPTY
        last = size if length is None else first + length if length >= 0 else size + length
        return text[first:last] if first <= last else unknown(computed(f"${{...{self.script.text[start:end]}}}"))  # an error

    def edited(self, text: Text, start: int, end: int) -> Text:
        """`${name#pattern}`, `%`, `/pattern/replacement` and changes of case, of a known string."""
        source = self.script.text
        value = text.value or ""
        change = CHANGES.get(source[start:end])
        if change is not None and value.isascii():
            return literal(change(value))
        operator = source[start : start + 2] if source[start : start + 2] in ("##", "%%", "//", "/#", "/%") else source[start]
        at = start + len(operator)
        if operator[0] == "/":
            middle = at + (operator == "//" and source.startswith("/", at, end))  # there a slash begins the pattern
            while middle < end and source[middle] != "/":
                middle += 2 if source[middle] == "\\" else 1
            pattern, replacement = self.pattern(at, min(middle, end)), self.string(min(middle + 1, end), end)
            if pattern.value is None or replacement.value is None:
                return unknown(*pattern.reasons, *replacement.reasons)
            found = replaced(value, pattern.value, replacement.value, operator, self.budget)
            return literal(found) if found is not None else unknown(computed(f"${{...{source[at:end]}}}"))
        unclear = unknown(computed(f"${{...{source[start:end]}}}"))
        if operator[0] not in ("#", "%"):
            return unclear
        pattern = self.pattern(at, end)
        if pattern.value is None:
            return unknown(*pattern.reasons)
        cut = trimmed(value, pattern.value, operator, self.budget)
        return text[cut[0] : cut[1]] if cut is not None else unclear

    def number(self, start: int, end: int) -> int:
        if self.depth > DEEPEST:
            raise Unknowable((TOO_DEEP,))
        expression = self.string(start, end, True)
        if expression.value is None:
            self.forget(self.script.text[start:end])
            raise Unknowable(expression.reasons)
        return self.computed(expression.value)

    def computed(self, expression: str) -> int:
        """The value of an expression in which only names remain to be expanded. Raises Unknowable or NotArithmetic."""
        budget, self.budget = self.budget, Budget(STEPS_OF_EXPRESSION, self.budget)
        try:
            return evaluate(expression, self.read, lambda name, value: self.state.assign(name, literal(str(value))))
        except (Unknowable, NotArithmetic):
            self.forget(expression)
            raise
        except Exhausted:
            self.forget(expression)
            if budget.is_spent:
                raise
            raise Unknowable((Reason("budget", f"the steps of `$(({expression.strip()}))`"),)) from None
        finally:
            self.budget = budget

    def forget(self, expression: str) -> None:
        """Mark the variables as unknown that an expression without a known value would assign."""
        for name in assigned(expression):
            self.state.variables[name] = unknown(computed(f"$(({expression.strip()}))"))

    def read(self, name: str) -> int:
        """The number in a variable; an unset one is 0 if that may be assumed."""
        text = self.value(name)
        if text.value is None:
            raise Unknowable(text.reasons)
        if not text.value.strip():
            return 0
        self.budget.spend(1 + len(text.value) // SEARCHED)
        self.depth += 1
        try:
            if self.depth > DEEPEST or text.value.strip() == name:
                raise NotArithmetic(name)
            return evaluate(text.value, self.read)
        finally:
            self.depth -= 1

    def arithmetic(self, start: int, end: int) -> Text:
        try:
            return literal(str(self.number(start, end)))
        except Unknowable as error:
            return unknown(*error.reasons, source=self.operands(start, end))
        except (NotArithmetic, RecursionError):
            return unknown(computed(f"$(({self.script.text[start:end].strip()}))"), source=self.operands(start, end))

    def operands(self, start: int, end: int) -> str:
        """An expression with the values of the variables in it, as far as they are known."""
        expression = self.script.text[start:end].strip()
        values = ((name, self.found(name)) for name in dict.fromkeys(NAME(expression)))
        return ", ".join([expression, *(f"{name} {value.source}" for name, value in values if value is not None)])

    def substituted(self, start: int, end: int) -> Text:
        from cfglint.source.shell.script import Script

        if self.depth > DEEPEST // 2:
            return unknown(TOO_DEEP)
        text, place = self.script.text[start:end], self.script.place(start, end)
        if place is not None:
            inner = Script(self.script.path, text, place[1], self.script.line(start))
        else:
            inner = Script(self.script.path, "", parts=literal(text))
        inner.unknown.update(self.script.unknown)
        output = self.run(inner)
        stripped = len((output.value or "").rstrip("\n"))
        return output[0:stripped] if output.value is not None else output
