"""What a rule is: one function with its code, its claim and its manual page, found by being decorated."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cfglint.findings.diagnostic import Fix
    from cfglint.frameworks.setting import Setting

    Check = Callable[..., Iterable["Finding"]]

KEEP = "keep"
WARN = "warn"
SKIP = "skip"

CONFIG = "config"
RUN = "run"


class Finding:
    """What a rule yields: a setting, what is wrong with it, and what a reader needs to act.

    `exception`, `fails_at` and `severity` default to the rule's own. `consumer_only` says that only the
    reader that the kind names would stumble: without a declared kind such an error is a warning.
    `on_key` puts the finding on the key instead of the value.
    """

    __slots__ = ("consumer_only", "exception", "fails_at", "fix", "message", "on_key", "related", "setting", "severity")

    def __init__(
        self,
        setting: Setting,
        message: str,
        *,
        related: Iterable[Setting] = (),
        fix: Fix | None = None,
        exception: str | None = None,
        fails_at: str | None = None,
        severity: str | None = None,
        consumer_only: bool = False,
        on_key: bool = False,
    ) -> None:
        self.setting = setting
        self.message = message
        self.related = related
        self.fix = fix
        self.exception = exception
        self.fails_at = fails_at
        self.severity = severity
        self.consumer_only = consumer_only
        self.on_key = on_key


class Rule:
    """A check and its claim.

    `fragment` is what becomes of an error when the file may be a part of a run. `scope` is what the check is
    called with: every config, or the run as a whole. `by_version`: what is found holds for some releases only,
    so its fix is safe only where somebody said which release is meant.
    """

    __slots__ = (
        "bad",
        "by_version",
        "check",
        "code",
        "example",
        "fails_at",
        "fixed",
        "good",
        "kinds",
        "name",
        "raises",
        "scope",
        "severity",
        "when_partial",
    )

    def __init__(
        self,
        code: str,
        name: str,
        severity: str,
        kinds: tuple[str, ...],
        fails_at: str | None,
        raises: str | None,
        when_partial: str,
        bad: str | dict[str, str],
        good: str | dict[str, str],
        fixed: str | None,
        example: dict[str, object],
        check: Check,
        scope: str = CONFIG,
        by_version: bool = False,
    ) -> None:
        self.code = code
        self.name = name
        self.severity = severity
        self.kinds = kinds
        self.fails_at = fails_at
        self.raises = raises
        self.when_partial = when_partial
        self.bad = bad
        self.good = good
        self.fixed = fixed
        self.example = example
        self.check = check
        self.scope = scope
        self.by_version = by_version

    @property
    def page(self) -> str:
        """The manual page: the function's docstring, unindented."""
        from inspect import cleandoc

        return cleandoc(self.check.__doc__ or "")


RULES: list[Rule] = []


def rule(
    code: str,
    name: str,
    severity: str,
    *,
    kinds: tuple[str, ...] = (),
    fails_at: str | None = None,
    raises: str | None = None,
    when_partial: str = KEEP,
    bad: str | dict[str, str] = "",
    good: str | dict[str, str] = "",
    fixed: str | None = None,
    example: dict[str, object] | None = None,
    scope: str = CONFIG,
    by_version: bool = False,
) -> Callable[[Check], Check]:
    """Register a check. `kinds` empty means every kind.

    `bad` and `good` are a file's text (or name -> text for a run of several files) that must and must not
    give the finding; `fixed` is what `fix` makes of `bad`. `example` holds the facts of the launch for
    them: `gpus`, `num_examples`, `target`, `kind`, `at` (the JSON pointer of the finding in `bad`).
    """

    def register(check: Check) -> Check:
        RULES.append(
            Rule(code, name, severity, kinds, fails_at, raises, when_partial, bad, good, fixed, example or {}, check, scope, by_version)
        )
        return check

    return register
