"""Where bash stops reading a script because of its syntax (GNU Bash 5.2, parse.y).

Bash reads a script command by command: what stands above a command that it cannot parse has run, that command and all below have not.
"""

from __future__ import annotations

import re
from functools import lru_cache

from cfglint.source.annotations import Callable
from cfglint.source.record import Record

TEXTS = 64  # number of cached answers
DEEPEST = 60  # nesting of commands that is followed
FIRST_WORD = re.compile(r"\S*")
BLANKS = re.compile(r"(?:[ \t]|\\\n)*")
OPERATOR = re.compile(r"&>>|&>|&&|&|\|\||\|&|\||;;&|;;|;&|;|<<<|<<-|<<|<&|<>|<(?!\()|>>|>&|>\||>(?!\()|[()\n]").match
REDIRECTIONS = frozenset(("<", ">", ">>", "<<", "<<-", "<<<", "<&", ">&", "<>", ">|", "&>", "&>>"))
PLAIN = re.compile(r"[^\s\\'\"`$<>;&|()*?+@!]*")  # characters of a word that nothing else depends on
PLACEHOLDER = re.compile(r"<[^<>]*>").search
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[[^\n]*\])?\+?=$").match
NAME = re.compile(r"[A-Za-z_]\w*$").match
DESCRIPTOR = re.compile(r"(?:\d+|\{[A-Za-z_]\w*\})$").match
NESTED = re.compile(r"[\\'\"`$()]").search
QUOTES = {"'": re.compile("'").search, '"': re.compile(r"[\\\"`$]").search, "`": re.compile(r"[\\`]").search}
IN_BRACES = re.compile(r"[\\'\"`$}]").search
AT_END = re.compile(r"\s\]\](?=[\s;&|)]|\Z)").search
CASE_ENDS = (";;", ";&", ";;&")
CLOSING = frozenset(("then", "do", "done", "fi", "esac", "else", "elif", "}"))
END = ""  # the token behind the last one


class Fault(Record):
    """A command that bash cannot parse begins at `start`; at the token from `at` to `end` it stops, and says `message`: nothing where the
    command has a placeholder that is to be filled in (`--path <your path>`).
    """

    start: int
    at: int
    end: int
    message: str


class Refused(Exception):
    """Raised at the first token that bash does not accept; without a place at the end of the script."""

    def __init__(self, at: int | None, end: int | None, message: str) -> None:
        self.at, self.end, self.message = at, end, message


class Unclear(Exception):
    """Raised at syntax that is not modelled: `coproc`, extended patterns."""


@lru_cache(TEXTS)
def fault_of(text: str) -> Fault | None:
    """The first command of a script that bash cannot parse; None if there is none, or if syntax is not modelled."""
    if "\r" in text or (text.startswith("#!") and re.match(r"#!.*\b(zsh|fish|csh|tcsh)\b", text)):
        return None
    parser = Parser(text)
    try:
        return parser.script()
    except (Unclear, RecursionError):
        return None


class Parser:
    """Reads the commands of a script. `token` is the current one, from `start` to `end`; `is_word` tells a word from an operator."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.token, self.start, self.end, self.is_word = "\n", 0, 0, False
        self.marks: list[tuple[str, bool]] = []  # of the here-documents that begin behind the current line; whether tabs are removed
        self.depth = 0

    def script(self) -> Fault | None:
        begin = 0
        try:
            self.advance()
            self.skip_lines()
            while not self.is_end():
                begin = self.start
                self.list_of_commands()
                self.skip_lines()
            return None
        except Refused as refused:
            at = begin if refused.at is None else refused.at
            end = refused.end or end_of(FIRST_WORD, self.text, at)
            line = self.text[self.text.rfind("\n", 0, at) + 1 :].partition("\n")[0]
            return Fault(begin, at, end, "" if PLACEHOLDER(line) else refused.message)

    # -- tokens

    def is_operator(self, *operators: str) -> bool:
        return not self.is_word and self.token in operators

    def is_reserved(self, *words: str) -> bool:
        """Whether the current token is one of these words, written without quotes."""
        return self.is_word and self.token in words

    def is_end(self) -> bool:
        return not self.is_word and self.token == END

    def refused(self) -> Refused:
        """Bash does not accept the current token."""
        if self.is_end():
            return Refused(None, None, "syntax error: unexpected end of file")
        name = "newline" if self.token == "\n" else self.token
        return Refused(self.start, self.end, f"syntax error near unexpected token `{name}'")

    def unclosed(self, at: int, mark: str) -> Refused:
        """What begins at `at` is never closed."""
        return Refused(at, at + 1, f"unexpected EOF while looking for matching `{mark}'")

    def take(self, *tokens: str) -> None:
        """Go on behind one of these reserved words or operators."""
        if self.token not in tokens:
            raise self.refused()
        self.advance()

    def take_word(self) -> None:
        if not self.is_word:
            raise self.refused()
        self.advance()

    def advance(self) -> None:
        """Go on to the next token."""
        if self.is_operator("\n") and self.marks:
            for mark, without_tabs in self.marks:  # the here-documents of the line are not parsed
                while self.end < len(self.text):
                    end = self.text.find("\n", self.end)
                    end = len(self.text) if end < 0 else end
                    line = self.text[self.end : end]
                    self.end = min(end + 1, len(self.text))
                    if (line.lstrip("\t") if without_tabs else line) == mark:
                        break
            self.marks.clear()
        text = self.text
        at = end_of(BLANKS, text, self.end)
        if text.startswith("#", at):
            at = text.find("\n", at)
            at = len(text) if at < 0 else at
        operator = OPERATOR(text, at)
        self.is_word = operator is None and at < len(text)
        self.start, self.end = at, operator.end() if operator is not None else self.word_end(at)
        self.token = text[at : self.end].replace("\\\n", "")

    def word_end(self, at: int) -> int:
        text, first = self.text, at
        while at < len(text):
            at = end_of(PLAIN, text, at)
            char = text[at : at + 1]
            if char == "\\":
                at += 2
            elif char in QUOTES:
                at = self.quote_end(at)
            elif char == "$":
                at = self.expansion_end(at)
            elif char in "<>" and text.startswith("(", at + 1):
                at = self.commands_end(at + 1)
            elif char in "*?+@!" and text.startswith("(", at + 1):
                raise Unclear  # a pattern, if `extglob` is on
            elif char == "(" and ASSIGNMENT(text[first:at]):
                at = self.commands_end(at, is_array=True)
            elif char in " \t\n;&|()<>":
                break
            else:
                at += 1
        return min(at, len(text))

    def quote_end(self, at: int) -> int:
        text, mark = self.text, self.text[at]
        following = at + 1
        while (special := QUOTES[mark](text, following)) is not None:
            following = special.start()
            char = text[following]
            if char == mark:
                return following + 1
            if char == "\\":
                following += 2
            elif char == "$":
                following = self.expansion_end(following, quoted=True)
            else:
                following = self.quote_end(following)
        raise self.unclosed(at, mark)

    def expansion_end(self, at: int, *, quoted: bool = False) -> int:
        """Behind what a dollar sign begins."""
        text = self.text
        following = text[at + 1 : at + 2]
        if following == "(" and text.startswith("(", at + 2):
            end = self.nested_end(at + 1)
            if text[end - 2 : end] != "))":
                raise Unclear
            return end
        if following == "(":
            return self.commands_end(at + 1)
        if following == "{":
            return self.braces_end(at + 2, quoted)
        if following == "[":
            end = text.find("]", at)
            if end < 0:
                raise self.unclosed(at, "]")
            return end + 1
        if following == "'" and not quoted:
            end = at + 2
            while end < len(text) and text[end] != "'":
                end += 1 + (text[end] == "\\")
            if end >= len(text):
                raise self.unclosed(at + 1, "'")
            return end + 1
        return at + 1

    def braces_end(self, at: int, quoted: bool) -> int:
        """Behind the brace that closes the parameter of an expansion, which begins at `at`."""
        first = at
        while (special := IN_BRACES(self.text, at)) is not None:
            at = special.start()
            char = self.text[at]
            if char == "}":
                return at + 1
            if char == "\\":
                at += 2
            elif char == "$":
                at = self.expansion_end(at, quoted=quoted)
            elif char == "'" and quoted:
                at += 1
            else:
                at = self.quote_end(at)
        raise self.unclosed(first, "}")

    def nested_end(self, at: int) -> int:
        """Behind the bracket that closes the one at `at`, whatever is in it."""
        first, depth = at, 0
        while (special := NESTED(self.text, at)) is not None:
            at = special.start()
            char = self.text[at]
            if char == "\\":
                at += 2
            elif char in QUOTES:
                at = self.quote_end(at)
            elif char == "$":
                at = self.expansion_end(at) if self.text.startswith("{", at + 1) else at + 1
            else:
                depth += (char == "(") - (char == ")")
                at += 1
                if not depth:
                    return at
        raise self.unclosed(first, ")")

    def commands_end(self, at: int, *, is_array: bool = False) -> int:
        """Behind the commands in the brackets that open at `at`, or behind the words of an array."""
        before, self.marks = (self.token, self.start, self.is_word, self.marks), []
        self.token, self.end, self.is_word = "(", at + 1, False
        self.advance()
        if is_array:
            while self.is_word or self.is_operator("\n"):
                self.advance()
        else:
            self.commands(")", optional=True)
        if self.is_end():
            raise self.unclosed(at, ")")
        if not self.is_operator(")"):
            raise self.refused()
        self.token, self.start, self.is_word, self.marks = before
        return self.end

    # -- commands

    def skip_lines(self) -> None:
        while self.is_operator("\n"):
            self.advance()

    def commands(self, *ends: str, optional: bool = False) -> None:
        """Commands on any number of lines, at least one unless `optional`, up to one of the reserved words or operators `ends`."""
        self.skip_lines()
        while not (optional and self.token in ends):
            self.list_of_commands(*ends)
            self.skip_lines()
            if self.token in ends or self.is_end():
                return

    def list_of_commands(self, *ends: str) -> None:
        """Commands that `;`, `&`, `&&` and `||` join, up to the end of their line."""
        while True:
            self.pipeline()
            is_joined, is_separated = self.is_operator("&&", "||"), self.is_operator(";", "&")
            if is_joined or is_separated:
                self.advance()
            if is_joined:
                self.skip_lines()
            elif self.is_end() or self.token in ("\n", *ends):
                return
            elif not is_separated:
                raise self.refused()

    def pipeline(self) -> None:
        while self.is_reserved("!", "time", "-p"):
            was_time = self.token == "time"
            self.advance()
            if was_time and (self.is_end() or self.is_operator("\n", ";", "&")):
                return
        self.command()
        while self.is_operator("|", "|&"):
            self.advance()
            self.skip_lines()
            while self.is_reserved("!"):
                self.advance()
            self.command()

    def command(self) -> None:
        self.depth += 1
        if self.depth > DEEPEST or self.is_reserved("coproc"):
            raise Unclear
        if self.is_reserved("function"):
            self.advance()
            self.take_word()
            self.function_body()
        elif self.is_operator("(") or self.is_reserved(*COMPOUND):
            self.compound_command()
        else:
            self.simple_command()
        self.depth -= 1

    def function_body(self) -> None:
        if self.is_operator("("):
            self.advance()
            self.take(")")
        self.skip_lines()
        self.compound_command()

    def compound_command(self) -> None:
        if self.is_operator("("):
            self.brackets()
        elif self.is_reserved(*COMPOUND):
            COMPOUND[self.token](self)
        else:
            raise self.refused()
        while self.redirection():
            pass

    def simple_command(self) -> None:
        if self.is_reserved(*CLOSING):
            raise self.refused()
        is_first = True
        while self.redirection() or self.is_word:
            was_word = self.is_word
            if was_word:
                self.advance()
            if is_first and was_word and self.is_operator("("):
                self.function_body()
                return
            is_first = False
        if is_first:
            raise self.refused()

    def redirection(self) -> bool:
        if self.is_word:
            behind = self.text[self.end : self.end + 2]
            if not behind.startswith(("<", ">")) or behind.endswith("(") or not DESCRIPTOR(self.token):
                return False
            self.advance()
        operator = "" if self.is_word else self.token
        if operator not in REDIRECTIONS:
            return False
        self.advance()
        if operator in ("<<", "<<-") and self.is_word:
            self.marks.append((re.sub(r"[\\'\"]", "", self.token), operator == "<<-"))
        self.take_word()
        return True

    # -- compound commands

    def brackets(self) -> None:
        if self.is_arithmetic():
            return
        self.advance()
        self.commands(")")
        self.take(")")

    def is_arithmetic(self) -> bool:
        """Go on behind `((...))`, if the current token begins it."""
        end = self.nested_end(self.start) if self.text.startswith("(", self.end) else 0
        if self.text[max(end - 2, 0) : end] != "))":
            return False
        self.end, self.token = end, ")"
        self.advance()
        return True

    def braces(self) -> None:
        self.advance()
        self.commands("}")
        self.take("}")

    def condition(self) -> None:
        end = AT_END(self.text, self.end)
        if end is None or re.search(r"[;\n]", self.text[self.start : end.start()]):
            raise Unclear
        self.end = end.end()
        self.advance()

    def if_command(self) -> None:
        while self.is_reserved("if", "elif"):
            self.advance()
            self.commands("then")
            self.take("then")
            self.commands("elif", "else", "fi")
        if self.is_reserved("else"):
            self.advance()
            self.commands("fi")
        self.take("fi")

    def while_command(self) -> None:
        self.advance()
        self.commands("do")
        self.do_group()

    def do_group(self) -> None:
        self.take("do")
        self.commands("done")
        self.take("done")

    def for_command(self) -> None:
        self.advance()
        if self.is_operator("("):
            if not self.is_arithmetic():
                raise self.refused()
            is_over = not self.is_operator(";")
        else:
            if self.is_word and not NAME(self.token):
                raise Unclear
            self.take_word()
            self.skip_lines()
            is_over = not self.is_operator(";")
            if self.is_reserved("in"):
                self.advance()
                while self.is_word:
                    self.advance()
                self.take(";", "\n")
                is_over = True
        if not is_over:
            self.advance()
        self.skip_lines()
        if self.is_reserved("{"):
            self.braces()
        else:
            self.do_group()

    def case_command(self) -> None:
        self.advance()
        self.take_word()
        self.skip_lines()
        self.take("in")
        self.skip_lines()
        while not self.is_reserved("esac"):
            if self.is_operator("("):
                self.advance()
            self.take_word()
            while self.is_operator("|"):
                self.advance()
                self.take_word()
            self.take(")")
            self.commands(*CASE_ENDS, "esac", optional=True)
            if self.is_operator(*CASE_ENDS):
                self.advance()
                self.skip_lines()
            elif not self.is_reserved("esac"):
                raise self.refused()
        self.take("esac")


def end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    """The end of a pattern that matches nothing, too."""
    match = pattern.match(text, at)
    return match.end() if match is not None else at


COMPOUND: dict[str, Callable[[Parser], None]] = {
    "if": Parser.if_command,
    "while": Parser.while_command,
    "until": Parser.while_command,
    "for": Parser.for_command,
    "select": Parser.for_command,
    "case": Parser.case_command,
    "{": Parser.braces,
    "[[": Parser.condition,
}
