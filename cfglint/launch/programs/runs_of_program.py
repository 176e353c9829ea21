"""The evaluations of one program, with each launch line that starts it or with an unknown one, and its calls that exclude one another."""

from __future__ import annotations

import ast

from cfglint.launch.program import ProgramFacts
from cfglint.launch.programs.calls import MadeCall, ProgramEvaluation
from cfglint.launch.programs.context import Context, Watched
from cfglint.launch.programs.line_parsers import LineParser
from cfglint.launch.programs.modules import Modules, ProgramModule
from cfglint.launch.programs.objects import Built, Opaque, SharedChanged
from cfglint.launch.programs.scopes import FUNCTIONS, BuiltCall, Scope
from cfglint.launch.programs.shared_modules import SHARED
from cfglint.source.annotations import Callable, Sequence
from cfglint.source.budget import STEPS, Budget

MOST = 32  # evaluations of one program that are remembered
MOST_COMMANDS = 8  # subcommands of a program whose line is not known
MOST_STEPS = 8 * STEPS  # of all evaluations of one program
MOST_LEFT_OUT = 2  # functions that take most of an evaluation, and without which it is repeated


class Evaluations:
    """The evaluations of a program, by their circumstances. `entry` is its function that is called, if it is not run itself."""

    def __init__(self, modules: Modules, main: ProgramModule, entry: str = "") -> None:
        self.modules, self.main, self.entry = modules, main, entry
        self.budget = Budget(MOST_STEPS)
        self._known: dict[tuple[object, ...], Evaluated] = {}

    def under(self, context: Context) -> Evaluated:
        words, sizes = (context.words, context.spelled, context.is_open), (context.gpus, context.local_gpus, context.devices)
        key = (*words, tuple(sorted(context.environment.items())), *sizes, context.folders)
        if key not in self._known:
            if len(self._known) >= MOST:
                self._known.clear()
            equal = next((each for each in self._known.values() if each.holds_in(context)), None)
            self._known[key] = Evaluated(self, context, equal)
        return self._known[key]

    def evaluated(self, context: Context, budget: Budget | None, *, shares: bool = True) -> tuple[ProgramEvaluation, bool]:
        """A fresh evaluation, and whether it came to the end; `shares`: it may have modules in common with other programs."""
        modules, main, entry = self.modules, self.main, self.entry
        before, files = (budget.left, budget.spent) if budget is not None else (0, 0), len(context.files)
        try:
            evaluation = ProgramEvaluation(modules, Budget(STEPS, budget), context, shares)
            complete = evaluation.run_main(main, entry)
            for _ in range(MOST_LEFT_OUT):  # such as those that make a data set: what they return is unknown
                if complete or evaluation.costly is None or evaluation.made:
                    break
                left_out = evaluation.left_out | {evaluation.costly}
                evaluation = ProgramEvaluation(modules, Budget(STEPS, budget), context)
                evaluation.left_out = left_out
                complete = evaluation.run_main(main, entry)
            if 0 < len(evaluation.commands) <= MOST_COMMANDS:
                lines = (context.changed(words=(command,), spelled=(command,)) for command in evaluation.commands)
                others = [ProgramEvaluation(modules, Budget(STEPS, budget), line, shares) for line in lines]
                others = [other for other in others if other.run_main(main, entry)]
                for which in ("made", "trainers", "engines", "accelerators"):  # any of the commands may be the one that a line names
                    found: dict[ast.Call, MadeCall] = {}
                    for call, made in (pair for other in others for pair in getattr(other, which).items()):
                        if found.setdefault(call, made) is not made:
                            found[call].add(made)
                    getattr(evaluation, which).update(found)
                evaluation.stores.update(*(other.stores for other in others))
            return evaluation, complete
        except SharedChanged as changed:  # it changes an object that it shares
            if not shares:
                raise
            SHARED.leave_out(changed.module)
        del context.files[files:]
        if budget is not None:
            budget.left, budget.spent = before
        return self.evaluated(context, budget, shares=False)


class Evaluated:
    """One evaluation: what it built, and whether it came to the end. `stores` are the places that it has evaluated, `files` those that
    it has read. `equal` is one with the same results.
    """

    def __init__(self, of: Evaluations, context: Context, equal: Evaluated | None = None) -> None:
        self._budget = budget = of.budget
        self._repeated: Callable[[], ProgramEvaluation] = lambda: of.evaluated(context, None, shares=False)[0]
        self._alone: dict[ast.Call, MadeCall] = {}
        before, files = budget.spent, len(context.files)
        self._asked: Watched = equal._asked if equal is not None else Watched(context)
        self.is_shared: bool = equal is not None
        self._evaluation: ProgramEvaluation
        self.complete: bool
        if equal is None:
            self._evaluation, self.complete = of.evaluated(self._asked, budget)
        else:
            budget.spend(equal.steps)
            context.files += equal.read
            self._evaluation, self.complete, equal.is_shared = equal._evaluation, equal.complete, True
        self.steps: int = budget.spent - before
        self.read: list[str] = context.files[files:]
        self.evaluation = evaluation = self._evaluation
        self.made, self.trainers = evaluation.made, evaluation.trainers
        self.engines, self.accelerators = evaluation.engines, evaluation.accelerators
        self.parts, self.attached, self.stores, self.imports = evaluation.parts, evaluation.attached, evaluation.stores, evaluation.imports
        self.files = (*(module.path for module in of.modules.known()), *context.files)

    @property
    def takes_words(self) -> bool:
        """Whether the words of the launch line are asked for."""
        return self._asked.has_answered("words")

    def holds_in(self, context: Context) -> bool:
        """Whether the program has the same results in other circumstances, and they can be taken over."""
        return not self._alone and self.steps <= self._budget.left and self._asked.answers_as(context)

    def reached(self, call: BuiltCall) -> MadeCall | None:
        return self.made.get(call.call) or self.engines.get(call.call) or self.accelerators.get(call.call)

    def parsers(self, call: BuiltCall) -> list[LineParser]:
        """The parsers that a call makes; one that the program does not reach is evaluated by itself."""
        if call.call not in self._evaluation.parsers:
            self.call(call)
        return self._evaluation.parsers.get(call.call, [])

    def call(self, call: BuiltCall) -> MadeCall:
        """A call with its arguments; one that the program does not reach is evaluated by itself."""
        found = self.reached(call) or self._alone.get(call.call)
        if found is None:
            if self.is_shared:  # what is evaluated further would change the results of the others
                self._evaluation, self.is_shared = self._repeated(), False
            try:
                found = self._evaluation.alone(call, Budget(STEPS, self._budget))
            except SharedChanged as changed:
                SHARED.leave_out(changed.module)
                self._evaluation = self._repeated()
                found = self._evaluation.alone(call, Budget(STEPS, self._budget))
            self._alone[call.call] = found
        return found


def evaluation_of(program: ProgramFacts, context: Context) -> Evaluated:
    assert program.evaluations is not None
    found = program.evaluations.under(context)
    assert isinstance(found, Evaluated)
    return found


def scope_around(call: ast.AST, module: ProgramModule, modules: Modules) -> Scope:
    around = [each for each in module.above(call) if isinstance(each, FUNCTIONS)]
    node = around[-1] if around else module.tree
    return Scope(modules, module, node, is_main=node is module.tree)


def groups(calls: Sequence[BuiltCall], evaluated: Evaluated) -> list[list[int]]:
    """The calls that build arguments, by their positions: each group is one run, and its calls are alternatives.

    Calls that an evaluation with the arguments of the line does not reach are left out.
    """
    every = range(len(calls))
    reached = [place for place in every if calls[place].call in evaluated.made] if evaluated.complete else []
    counting = counting_arguments(evaluated)
    if counting:  # one that no trainer or other code gets is none of a run, nor is that of a trainer that only evaluates
        made = {place: evaluated.made[calls[place].call].results for place in reached}
        reached = [place for place, results in made.items() if any(each in counting or is_elsewhere(each) for each in results)]
    sides: dict[int, dict[ast.AST, int]]
    if reached:  # by the branches that led to them, of which those that a function has left say nothing here
        sides = {place: {node: side for node, side in evaluated.made[calls[place].call].conditions if side >= 0} for place in reached}
    else:
        sides = {place: branches(calls[place]) for place in every}
    found: list[list[int]] = []
    for place, own in sides.items():  # one excludes another in a different branch of one condition
        excluded = {other for other in sides if any(own.get(test, side) != side for test, side in sides[other].items())}
        group = next((group for group in found if excluded.issuperset(group)), None)
        if group is None:
            found.append([place])
        else:
            group.append(place)
    return found


def counting_arguments(evaluated: Evaluated) -> list[Built]:
    """The arguments that are built or parsed for trainers that are trained, else for any trainer."""
    made = [each for call in evaluated.made.values() for each in call.results]
    received = [each for each in (*made, *evaluated.evaluation.filled) if isinstance(each, Built) and each.is_given]
    return [each for each in received if each.trained is not None] or received


def is_elsewhere(made: Built | Opaque) -> bool:
    """Whether code that is not understood, but no trainer, gets arguments."""
    return made.is_open or (isinstance(made, Built) and made.is_passed and not made.is_given)


def branches(call: BuiltCall) -> dict[ast.AST, int]:
    """The side of each branch around a call that is written in its function."""
    found: dict[ast.AST, int] = {}
    inside: ast.AST = call.node
    for above in call.scope.module.above(inside):
        if inside is call.scope.node:
            break
        if isinstance(above, ast.If) and inside is not above.test:
            found[above] = inside in above.body
        elif isinstance(above, ast.IfExp) and inside is not above.test:
            found[above] = inside is above.body
        inside = above
    return found
