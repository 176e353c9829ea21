"""What a program imports of the frameworks, with the places of the names."""

from __future__ import annotations

import ast
import re

from cfglint.launch.program import ImportedNames, ProgramFacts
from cfglint.launch.programs.interpreter import Import
from cfglint.launch.programs.modules import Modules, ProgramModule
from cfglint.launch.programs.runs_of_program import Evaluated
from cfglint.source.document import SCALAR, Node
from cfglint.source.python.call import CallDocument
from cfglint.source.python.literals import Offsets

PACKAGES = ("transformers", "trl")
# Words in a condition that looks at the release or at the constructor itself.
COMPARES_RELEASES = re.compile(r"version|signature|parameters|hasattr|inspect|varnames|getfullargspec", re.IGNORECASE)


def imports(program: ProgramFacts, evaluated: Evaluated | None) -> tuple[ImportedNames, ...]:
    """The imports of the frameworks that an evaluation of a program has made."""
    found: dict[ast.AST, ImportedNames] = {}
    for each in evaluated.imports if evaluated is not None else ():
        if any(compares_releases(node, each.module) for node in each.tests):
            continue
        for imported_names in of_statement(each):
            if imported_names.package in PACKAGES and not is_copied(imported_names.package, program):
                found.setdefault(each.node, imported_names)
    return tuple(found.values())


def compares_releases(node: ast.AST, module: ProgramModule) -> bool:
    """Whether the condition of a statement is about the release of a package, itself or by the value of a name."""
    test = getattr(node, "test", None)
    names = {each.id for each in ast.walk(test) if isinstance(each, ast.Name)} if test is not None else set()
    values = [given for name in names for given in module.givers.get(name, ())]
    return any(COMPARES_RELEASES.search(ast.unparse(each)) for each in (test, *values) if each is not None)


def is_copied(package: str, program: ProgramFacts) -> bool:
    """Whether the program may import a package from a copy in the project, whose names are its own."""
    modules: Modules = program.modules
    return modules.named(package) is not None


def of_statement(made: Import) -> list[ImportedNames]:
    node, offsets = made.node, made.module.offsets
    if isinstance(node, ast.Import):
        return [ImportedNames(name.name, (), document_of([name], made, offsets), made.is_certain) for name in node.names]
    names = tuple(name.name for name in node.names if name.name != "*")
    return [ImportedNames(node.module or "", names, document_of(node.names, made, offsets), made.is_certain)]


def document_of(names: list[ast.alias], made: Import, offsets: Offsets) -> CallDocument:
    """The names of a statement as the keys of a document."""
    document = CallDocument(made.module.path, made.module.text, "import", *offsets.span(made.node))
    for name in names:
        start = offsets.offset(name.lineno, name.col_offset)
        key = Node(SCALAR, start, start + len(name.name), name.name)
        document.add(key, key, name.name)
    return document
