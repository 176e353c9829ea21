"""Texts that a file can hold and that mean something to a terminal, a runner or a page."""

from __future__ import annotations

from cases import each_case

HOSTILE = [
    "two\nlines",
    "carriage\r\nreturn",
    "x::error file=other.py,line=1::taken over",
    "100%0A::warning::x",
    "a:b,c=d",
    "</details></summary><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\x1b[31mred\x1b[0m \x07",
    "lone \udce9 surrogate \ud800",
    "a | b \\| c \\",
    "`` ` ``` ```` @octocat #1 https://example.org",
    "```\n</details>\n# heading",
    "[link](1) ![image](https://example.org/x.png) *bold* _it_ ~~s~~",
    "]]> &amp; \" ' <b>",
    "null \x00 vertical \x0b feed \x0c delete \x7f",
    "right\u202eleft \u2028 \ufeff \ufffe",
    "{0} {{1}}",
    "",
]

each_hostile_text = each_case("hostile", HOSTILE)
