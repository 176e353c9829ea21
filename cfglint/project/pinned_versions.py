"""The release of each package that a repository states: which of its files are asked, and which statement decides.

The statement nearest to the config decides: that of its folder, then of each folder above up to the top of the repository. In a folder the
order is lock files, requirements files, pyproject.toml, Pipfile, setup.cfg, setup.py, conda environments, Dockerfiles, the launch script,
scripts that install, the README, a git submodule that is not checked out, and last a copy of the package. The block of dependencies in a
program precedes all. An exact version takes precedence over a bound that it satisfies. Extras, groups and requirements for another machine
or use count if nothing else names the package, those for tests, documentation or development never. If no folder up to the top names the
package, the requirements files and copies in other folders do, and last the text of a README.
"""

from __future__ import annotations

import os

from cfglint.frameworks import FORKS, OTHER_PACKAGES
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.releases._modelled import RELEASES as NEWEST
from cfglint.source import files
from cfglint.source.annotations import Callable, Collection, Iterable, Iterator
from cfglint.source.file_source import DiskFolders
from cfglint.source.limits import MAX_SIZE
from cfglint.source.record import changed
from cfglint.source.root import repository

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.project.statements.statement import Stated, Statement

    Form = Callable[[str, str, Collection[str]], Iterator[Stated]]
    Folders = dict[str, dict[str, list[Statement]]]

PACKAGES = (*NEWEST, *FORKS, *OTHER_PACKAGES)
REQUIRING_NOTHING = {"accelerate", "deepspeed", "gpt-neox", "transformers"}  # of the others
OWN_NAME = ""  # the key of the repository's own package name, next to the packages
OWN_COPY = "of this repository"
MOST_LOCKED = 50_000_000  # bytes of a lock file
MAIN_REQUIREMENTS = ("requirement", "base", "common", "core", "default", "install", "main", "prod", "runtime", "train")  # name prefixes
LOCKS = ("uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "pylock.toml")
# Words in the names of requirements files for another machine or another use than the training.
OTHER_USES = frozenset(
    (
        *(
            "arm",
            "arm64",
            "aarch64",
            "mac",
            "macos",
            "windows",
            "win",
            "cpu",
            "npu",
            "xpu",
            "tpu",
            "amd",
            "rocm",
            "vllm",
            "sglang",
            "inference",
        ),
        *("infer", "serve", "serving", "server", "deploy", "deployment", "demo", "eval", "evaluation", "app", "web", "api", "gradio"),
    )
)
SCRIPTS = (".sh", ".bash")
YAML = (".yml", ".yaml")
BLOCK = "# /// script"  # of the dependencies in a program (PEP 723)
FOLDERS = ("requirements", "docker")  # whose files count as those of the folder above
MOST_INCLUDED = 20  # files that a requirements file includes
MOST_FOLDERS = 400  # of a repository that are looked through for requirements files and copies of packages
MOST_NAMES = 20_000  # in all of these folders
DEEPEST = 4
# Folders whose requirements are those of the whole repository, also where they contain programs for the installation.
INSTALLING = ("setup", "install", "installation", "environment", "environments", "envs", "requirements", "dependencies", "deps", "docker")
SUBMODULES = ".gitmodules"
SKIPPED = ("node_modules", "site-packages", "build", "dist", "__pycache__", "venv", "env", "wandb")


class Disk(DiskFolders):
    """Access to the files on disk that specify versions."""

    def text(self, path: str) -> str:
        """The content of a file; empty if it cannot be read, or is a link out of the project."""
        from cfglint.source.root import root_of

        try:
            content = files.read_bytes(path, limit(path), root_of(path))
        except files.FileProblem:
            return ""
        return files.decoded(content)


class Repositories:
    """The statements in the folders around configs; each folder is examined once, and `looked_at` caches the result."""

    def __init__(self, looked_at: Folders | None = None, disk: DiskFolders | None = None) -> None:
        self._folders = looked_at if looked_at is not None else {}
        self._disk = disk or Disk()
        self._upwards: dict[str, list[str]] = {}  # `repository` of each folder of a config
        self._decisive: dict[tuple[str, str], list[Statement]] = {}  # what decides in a folder about a package

    def complete(self, facts: LaunchFacts, path: str, packages: Iterable[str], script: str = "") -> LaunchFacts:
        """The facts with the releases that the repository of a file states for packages without a target.

        `script` is the text of the launch script, if the file is one.
        """
        wanted = [package for package in packages if package not in facts.target and package not in facts.outside]
        folder, name = os.path.split(path)
        program = self._disk.text(facts.launch.program_path) if wanted and script and facts.launch.program_path else ""
        if wanted and folder not in self._upwards:
            self._upwards[folder] = repository(path)
        placed = self.placed(facts, script, program or script) if wanted and script else {}
        for package in wanted:
            if package in placed:
                place, copy = placed[package]
                facts = with_statements(facts.replace(copies={**facts.copies, package: place}), package, [copy])
                continue
            statements = None if script else self._decisive.get((folder, package))
            if statements is None:
                statements = self.look(self._upwards[folder], package, name, script, program)
            if not script:
                self._decisive[folder, package] = statements
            if statements:
                facts = with_statements(facts, package, statements)
        if set(wanted) <= REQUIRING_NOTHING:
            return facts
        from cfglint.frameworks.releases.requirements import OTHERS

        required = {other for package in wanted for other in OTHERS.get(package, ())}
        for other in sorted(required - set(wanted) - facts.target.keys()):
            exact = [
                statement
                for statement in self.look(self._upwards[folder], other, name, script, program)
                if statement.release and not statement.elsewhere
            ]
            if len(exact) == 1:
                facts = facts.replace(pinned={**facts.pinned, other: (exact[0].release, exact[0].file)})
        for package in wanted:
            if package in facts.bounds:
                facts = installable(facts, package)
        return facts

    def placed(self, facts: LaunchFacts, script: str, program: str) -> dict[str, tuple[str, Statement]]:
        """The copies of packages that a launch puts first on the path of its program: package -> (folder, its version).

        By `PYTHONPATH`, an installation in its script, or by the program itself with `sys.path.insert`.
        """
        from cfglint.project.statements.copies import places_of_line, places_of_program

        line, project = facts.launch.line, facts.launch.project
        places = places_of_line(line, project, script) if line is not None and project is not None else []
        places += places_of_program(program, os.path.dirname(facts.launch.program_path)) if "sys.path.insert" in program else []
        found: dict[str, tuple[str, Statement]] = {}
        for place in places:
            for package in NEWEST:
                copy = self.copy_in(place, package) if package not in found else None
                if copy is not None:
                    found[package] = place, copy.at(os.path.normpath(os.path.join(place, copy.file)).replace(os.sep, "/"))
        return found

    def forks(self, path: str) -> tuple[str, ...]:
        """The distributions that replace packages and that the files around a config name."""
        return tuple(each for each in FORKS if self.in_folder_of(repository(path), each))

    def in_folder_of(self, folders: list[str], distribution: str) -> list[Statement]:
        """What the nearest folder that names a distribution states of it."""
        return next((statements for folder in folders if (statements := self.in_folder(folder).get(distribution))), [])

    def look(self, folders: list[str], package: str, name: str = "", script: str = "", program: str = "") -> list[Statement]:
        """The statements that decide about a package: one, several that disagree, or none.

        `script` is the text of the launch script or the program, `program` that of the program of a launch line.
        """
        if self.is_copy_of(folders, package):
            return [self.own_copy(folders, package)]
        for fork in (each for each, original in FORKS.items() if original == package and self.in_folder_of(folders, each)):
            stated = self.look(folders, fork, name, script, program) or self.in_folder_of(folders, fork)[:1]
            return [
                changed(statement, elsewhere=f"{fork} {statement.release}".strip(), release=statement.release.partition(".post")[0])
                for statement in stated
            ]
        chain = [self.in_folder(folder).get(package, []) for folder in folders]
        if script:
            of_script_itself = [statement for _, statement in of_script(script, name, (package,))]
            chain[0] = sorted([*chain[0], *of_script_itself], key=lambda statement: rank(statement.file, name))
        if BLOCK in script or BLOCK in program:
            from cfglint.project.statements.tables import of_block

            texts = (script, program) if name.endswith(".py") else (program,)
            chain.insert(0, [statement for text in texts for _, statement in of_block(text, name, (package,))])
        prose = [[statement for statement in statements if statement.in_prose] for statements in chain]
        chain = [[statement for statement in statements if not statement.in_prose] for statements in chain]
        found = nearest(package, [[statement for statement in statements if not statement.optional] for statements in chain], name)
        found = found or nearest(package, chain, name, every=True) or self.elsewhere(folders, package)
        return found or nearest(package, prose, name)

    def is_copy_of(self, folders: list[str], package: str) -> bool:
        """Whether the file lies in a copy of the framework's own repository: its pyproject.toml or setup.py has this name."""
        names = {statement.file for folder in folders for statement in self.in_folder(folder).get(OWN_NAME, ())}
        if not names:
            return False
        from cfglint.project.statements.copies import names_of

        return not names.isdisjoint(names_of(package))

    def own_copy(self, folders: list[str], package: str) -> Statement:
        """The version of the framework's own repository."""
        from cfglint.project.statements.statement import Statement

        statements = (self.copy_in(folder, package) for folder in folders)
        return next(filter(None, statements), Statement("", "", "", OWN_COPY))

    def copy_in(self, folder: str, package: str) -> Statement | None:
        from cfglint.project.statements.copies import in_folder, modules_of

        files, text = self._disk.names(folder), self._disk.text
        statements = (in_folder(folder, files, module, text) for module in modules_of(package))
        return next(filter(None, statements), None)

    def in_folder(self, folder: str) -> dict[str, list[Statement]]:
        """What the files of a folder state about packages, the most trusted first."""
        if folder not in self._folders:
            found: dict[str, list[Statement]] = {}
            names = self._disk.names(folder)
            for name in sources(folder, names, self._disk):
                text = self._disk.text(os.path.join(folder, name))
                own = own_name(text, name)
                if own:
                    from cfglint.project.statements.statement import Statement

                    found[OWN_NAME] = [Statement(own)]
                for package, statement in self.in_file(folder, name, text):
                    found.setdefault(package, []).append(statement)
            if SUBMODULES in names:
                from cfglint.project.statements.copies import missing_submodules

                for package, statement in missing_submodules(folder, SUBMODULES, self._disk):
                    found.setdefault(package, []).append(statement)
            for package in NEWEST:
                if package.replace("-", "_") in names or "src" in names:
                    copy = self.copy_in(folder, package)
                    found.setdefault(package, []).extend([copy] if copy is not None else [])
                    found[package].sort(key=lambda each: bool(each.elsewhere) and is_readme(each.file))
            self._folders[folder] = {package: statements for package, statements in found.items() if statements}
        return self._folders[folder]

    def in_file(self, folder: str, name: str, text: str) -> Iterator[Stated]:
        """What one file states, with the files that it includes."""
        form = form_of(name)
        if form is None or not text:
            return
        yield from form(text, name, PACKAGES)
        if "-e " in text:
            yield from self.installed_copies(folder, text)
        for included in self.included(folder, name, text):
            form = of_environment if included.endswith(YAML) else of_requirements
            yield from form(self._disk.text(os.path.join(folder, included)), included, PACKAGES)

    def installed_copies(self, folder: str, text: str) -> Iterator[Stated]:
        """The copies of packages in folders that commands or requirements install: `pip install -e third_party/trl`."""
        from cfglint.project.statements.lines import editable

        for path in [each for each in editable(text) if may_include(folder, each)][:MOST_INCLUDED]:
            for package in NEWEST:
                copy = self.copy_in(os.path.join(folder, path), package)
                if copy is not None:
                    yield package, copy.at(f"{path}/{copy.file}")

    def included(self, folder: str, name: str, text: str) -> list[str]:
        """The requirements files that a file includes, and those that they include, or the environments that commands create from files.

        Relative to the folder.
        """
        if form_of(name) in (of_page, of_script):
            from cfglint.project.statements.lines import environment_files

            named = [
                environment_file for environment_file in environment_files(text) if not is_environment(environment_file.rpartition("/")[2])
            ]
            return [each for each in named[:MOST_INCLUDED] if may_include(folder, each)]
        if name == "pyproject.toml":
            from cfglint.project.statements.tables import requirement_files

            return [
                requirement_file
                for requirement_file in requirement_files(text, name)[:MOST_INCLUDED]
                if may_include(folder, requirement_file)
            ]
        if not is_requirements(name):
            return []
        from cfglint.project.statements.lines import included

        found: list[str] = []
        texts = [(name, text)]
        while texts and len(found) < MOST_INCLUDED:
            above, content = texts.pop(0)
            for each in included(content):
                path = os.path.normpath(os.path.join(os.path.dirname(above), each)).replace(os.sep, "/")
                if path not in found and path != name and may_include(folder, path):
                    found.append(path)
                    texts.append((path, self._disk.text(os.path.join(folder, path))))
        return found

    def elsewhere(self, folders: list[str], package: str) -> list[Statement]:
        """The statement of the requirements files in the other folders of the repository, else of the copies of the package there.

        Folders that disagree are projects of their own, and none of them states the release of this one. So is a folder with
        programs beside another one with programs.
        """
        top = folders[-1] if folders else ""
        if not top or (len(folders) == 1 and not os.path.exists(os.path.join(top, ".git"))):
            return []
        from cfglint.project.statements.requirement import MAIN

        other_folders = self.other_folders(top)
        stated = [
            statement
            for statement in other_folders.get(package, [])
            if (statement.is_exact or statement.spec) and (is_copy(statement) or self.is_for(statement, folders))
        ]
        stated = [statement for statement in stated if statement.elsewhere != MAIN]  # it says no more of this folder than no statement
        decisive = unlike([statement for statement in stated if not is_copy(statement)] or stated)
        return decisive if len(decisive) == 1 else []

    def is_for(self, statement: Statement, folders: list[str]) -> bool:
        """Whether a statement of another folder may be for the files of these folders, the nearest first, the top last."""
        stating = os.path.dirname(os.path.join(folders[-1], statement.file))
        if os.path.basename(stating).lower() in INSTALLING:
            return True
        apart = [folder for folder in folders if not f"{stating}{os.sep}".startswith(f"{folder.rstrip(os.sep)}{os.sep}")]
        return not (self.has_programs(stating) and any(map(self.has_programs, apart)))

    def has_programs(self, folder: str) -> bool:
        """Whether a folder contains Python programs or notebooks."""
        return any(name.endswith((".py", ".ipynb")) for name in self._disk.names(folder))

    def other_folders(self, top: str) -> dict[str, list[Statement]]:
        """What the requirements files and the copies of packages below the top of a repository state, those of the upper folders first."""
        key = f"{top}{os.sep}*"
        if key not in self._folders:
            found: dict[str, list[Statement]] = {}
            for folder in self.folders_below(top):
                inside = os.path.relpath(folder, top).replace(os.sep, "/")
                names = self._disk.names(folder)
                for name in (each for each in names if is_requirements(each) and not is_side_group(each)):
                    for package, statement in self.in_file(folder, name, self._disk.text(os.path.join(folder, name))):
                        found.setdefault(package, []).append(statement.at(f"{inside}/{statement.file}"))
                for package in NEWEST:
                    copy = self.copy_in(folder, package) if package.replace("-", "_") in names or "src" in names else None
                    found.setdefault(package, []).extend([copy.at(f"{inside}/{copy.file}")] if copy is not None else [])
            self._folders[key] = found
        return self._folders[key]

    def folders_below(self, top: str) -> Iterator[str]:
        """The folders below the top of a repository, level by level."""
        level, seen, names = [top], 0, 0
        for _ in range(DEEPEST):
            below: list[str] = []
            for folder in level:
                inside = self._disk.names(folder)
                names += len(inside)
                for name in sorted(each for each in inside if "." not in each and each not in SKIPPED and not is_side_group(each)):
                    path = os.path.join(folder, name)
                    if seen >= MOST_FOLDERS or names > MOST_NAMES:
                        return
                    if self._disk.is_folder(path):
                        seen += 1
                        below.append(path)
                        yield path
            level = below


def with_statements(facts: LaunchFacts, package: str, found: list[Statement]) -> LaunchFacts:
    """The facts with what decides about a package: an exact release, one that is not modelled, or the newest that bounds allow.

    Of statements that disagree, one that is not modelled decides.
    """
    first = next((statement for statement in found if statement.elsewhere), found[0])
    if first.elsewhere:
        said = f"at {first.elsewhere} ({first.file})" if first.file else first.elsewhere
        said = f"{first.elsewhere} of {first.file}" if first.in_prose else said
        target = {**facts.target, package: first.release} if first.release else facts.target
        source = {**facts.outside_from, package: (first.elsewhere, first.file)}
        return facts.replace(target=target, outside={**facts.outside, package: said}, outside_from=source)
    specs = tuple(statement.spec for statement in found)
    if len(found) == 1 and first.release:
        release, said = first.release, first.file
    else:
        from cfglint.project.allowed_releases import newest_allowed

        release, said = newest_allowed(package, specs), " and ".join(statement.source for statement in found[:3])
        facts = facts.replace(bounds={**facts.bounds, package: specs})
    if not release:
        return facts
    return facts.replace(target={**facts.target, package: release}, target_from={**facts.target_from, package: said})


def installable(facts: LaunchFacts, package: str) -> LaunchFacts:
    """The facts with the newest release that bounds allow and that can be installed with what is stated of other packages."""
    from cfglint.frameworks import modelled_releases
    from cfglint.frameworks.releases.bounds import allowed
    from cfglint.frameworks.releases.requirements import known_others, newest_with

    specs, every = facts.bounds[package], modelled_releases(package)
    fitting = {each for spec in specs for each in allowed(spec, every)}
    releases = [each for each in every if each in fitting]
    others = known_others(facts, package)
    found = newest_with(package, releases, {each: release for each, release in others.items() if each not in facts.bounds})
    if not found or found == releases[-1]:
        return facts
    bounds = {**facts.bounds, package: tuple(f"{spec},<={found}" for spec in specs)}
    return facts.replace(target={**facts.target, package: found}, bounds=bounds)


def nearest(package: str, chain: list[list[Statement]], script: str, every: bool = False) -> list[Statement]:
    """The statements that decide, from those of each folder, the nearest folder first.

    An exact version of a folder above counts if it satisfies the nearest bound; the bounds of a file hold together, with those of the
    `script` itself, and requirements files for different uses that disagree leave several releases. `every`: those of extras, which
    may disagree.
    """
    bounds: list[Statement] = []
    for statements in chain:
        exact = unlike([statement for statement in statements if statement.is_exact])
        if exact and (every or len({statement.file for statement in exact}) > 1):
            first = exact[0].file
            exact = exact if every else [statement for statement in exact if statement.file == first or are_variants(statement.file, first)]
        if exact and (not bounds or all(satisfies(statement, bounds[0]) for statement in exact)):
            return exact
        bounds = bounds or [statement for statement in statements if statement.spec and not statement.is_exact]
    return bounds if every or not bounds else [together(package, [bound for bound in bounds if bound.file in (bounds[0].file, script)])]


def are_variants(one: str, other: str) -> bool:
    """Whether two requirements files are for different uses of a project: `requirements-grpo.txt` and `requirements-train.txt`."""
    return all(is_requirements(each) and each.partition(".")[0] not in ("requirements", "requirement") for each in (one, other))


def together(package: str, bounds: list[Statement]) -> Statement:
    """Several bounds as one, such as those of two commands in a row; the first if no release satisfies all."""
    specs = dict.fromkeys(bound.spec for bound in bounds)
    if len(specs) == 1:
        return bounds[0]
    from cfglint.frameworks import modelled_releases
    from cfglint.frameworks.releases.bounds import allowed

    spec = ",".join(specs)
    return changed(bounds[0], spec=spec) if allowed(spec, modelled_releases(package)) else bounds[0]


def satisfies(exact: Statement, bound: Statement) -> bool:
    if not exact.release or exact.elsewhere:
        return False
    from cfglint.frameworks.releases.bounds import allows

    return allows(bound.spec, exact.release)


def unlike(statements: list[Statement]) -> list[Statement]:
    """The statements that say something else than those before them."""
    found: dict[tuple[str, str], Statement] = {}
    for statement in statements:
        found.setdefault((statement.release or statement.spec, statement.elsewhere), statement)
    return list(found.values())


def is_copy(statement: Statement) -> bool:
    return not is_requirements(statement.file.rpartition("/")[2]) and not statement.file.endswith(".txt")


def rank(name: str, script: str) -> int:
    """0 for the files that come before the launch script, 1 for itself, 2 for those after it."""
    if name == script:
        return 1
    return 2 if is_readme(name) or is_setup_script(name) or form_of(name) is None else 0


def own_name(text: str, file: str) -> str:
    """The name of the project in its pyproject.toml or setup.py, if that gives no fixed version of its own; else empty."""
    if file == "setup.py":
        from cfglint.project.statements.copies import name_in_setup

        return name_in_setup(text)
    if file != "pyproject.toml" or "[project]" not in text or "dynamic" not in text:
        return ""
    from cfglint.project.settings_file import ConfigurationError
    from cfglint.project.settings_file import parse as parse_toml
    from cfglint.project.statements.statement import normalised, within

    try:
        project = within(parse_toml(text.encode("utf-8"), "pyproject.toml"), "project")
    except ConfigurationError:
        return ""
    name, dynamic = project.get("name"), project.get("dynamic")
    if not isinstance(name, str) or not isinstance(dynamic, list) or "version" not in dynamic:
        return ""
    return normalised(name)


def limit(path: str) -> int:
    """The maximum number of bytes read of a file; a lock file may be long, and is not parsed."""
    return MOST_LOCKED if os.path.basename(path) in LOCKS else MAX_SIZE


def sources(folder: str, names: list[str], disk: DiskFolders) -> list[str]:
    """The files of a folder that may state versions, in order of trust."""
    wanted: list[str] = [name for name in LOCKS if name in names]
    wanted += sorted(name for name in names if is_pylock(name) and name not in LOCKS)
    inner = {below: disk.names(os.path.join(folder, below)) for below in FOLDERS if below in names}
    requirements = [name for name in names if is_requirements(name) and not is_side_group(name)]
    wanted += sorted(requirements, key=lambda name: (not name.startswith("requirement"), len(name), name))
    parts = sorted(f"requirements/{name}" for name in inner.get("requirements", ()) if name.endswith(".txt") and not is_side_group(name))
    wanted += [name for name in parts if not is_option(name)]
    wanted += [name for name in ("pyproject.toml", "Pipfile", "setup.cfg", "setup.py") if name in names]
    wanted += sorted(name for name in names if is_environment(name) and not is_side_group(name))
    wanted += sorted((name for name in names if is_dockerfile(name)), key=lambda name: (len(name), name))
    wanted += sorted(f"docker/{name}" for name in inner.get("docker", ()) if is_dockerfile(name))
    wanted += sorted(name for name in names if is_setup_script(name) and not is_side_group(name))
    wanted += sorted(name for name in names if is_readme(name))
    return wanted + [name for name in parts if is_option(name)]


def is_side_group(name: str) -> bool:
    """Whether a file is for tests, documentation or development by its name."""
    from cfglint.project.statements.statement import is_side_group as is_side

    return is_side(name)


def form_of(name: str) -> Form | None:
    """The function that reads a file of this name; None for a file that states no versions."""
    last = name.rpartition("/")[2]
    if last in LOCKS or is_pylock(last):
        from cfglint.project.statements import lock_files

        return lock_files.of_pipfile_lock if last == "Pipfile.lock" else lock_files.of_lock
    if last in ("pyproject.toml", "Pipfile"):
        from cfglint.project.statements import tables

        return tables.of_pyproject if last == "pyproject.toml" else tables.of_pipfile
    if last in ("setup.cfg", "setup.py"):
        from cfglint.project.statements import setup_files

        return setup_files.of_cfg if last == "setup.cfg" else setup_files.of_script
    from cfglint.project.statements import lines

    if is_environment(last):
        return lines.of_environment
    if is_readme(last):
        return of_page
    if is_dockerfile(last) or is_setup_script(last):
        return of_script
    return of_requirements if last.endswith(".txt") else None


def of_script(text: str, name: str, packages: Collection[str]) -> Iterator[Stated]:
    """What the commands of a script or Dockerfile state."""
    from cfglint.project.statements.clones import of_clones
    from cfglint.project.statements.lines import of_commands

    yield from of_commands(text, name, packages)
    yield from of_clones(text, name, packages)


def of_page(text: str, name: str, packages: Collection[str]) -> Iterator[Stated]:
    """What the commands of a README state, and what its text says."""
    from cfglint.project.statements.prose import of_prose

    yield from of_script(text, name, packages)
    yield from of_prose(text, name, packages)


def of_environment(text: str, name: str, packages: Collection[str]) -> Iterator[Stated]:
    from cfglint.project.statements.lines import of_environment as of_text

    return of_text(text, name, packages)


def of_requirements(text: str, name: str, packages: Collection[str]) -> Iterator[Stated]:
    """What a requirements file states; that of an option in a `requirements` folder counts as an extra."""
    from cfglint.project.statements.lines import of_requirements as of_text

    return of_text(text, name, packages, is_option(name))


def may_include(folder: str, path: str) -> bool:
    """Whether a path that a file in a folder names is in or below that folder, or in the folder above, and inside the project."""
    from cfglint.source.root import leads_out

    near = not os.path.isabs(path) and path.count("..") <= 1 and "://" not in path
    return near and not leads_out(os.path.join(folder, path), os.path.join(folder, path.rpartition("/")[2]))


def is_requirements(name: str) -> bool:
    """Whether a file name is that of a requirements file."""
    return name.endswith(".txt") and "requirement" in name.lower()


def is_pylock(name: str) -> bool:
    """Whether a file name is that of a lock file of PEP 751."""
    return name.startswith("pylock.") and name.endswith(".toml")


def is_option(name: str) -> bool:
    """Whether a requirements file is installed only for an option, another machine, or another use than the training."""
    folder, _, last = name.rpartition("/")
    is_part = folder.rpartition("/")[2] == "requirements"
    if (is_part or is_requirements(last)) and not OTHER_USES.isdisjoint(last.lower().replace("_", "-").replace(".", "-").split("-")):
        return True
    return is_part and not last.removesuffix(".txt").startswith(MAIN_REQUIREMENTS)


def is_environment(name: str) -> bool:
    """Whether a file has a typical name of a conda environment."""
    stem, _, end = name.lower().rpartition(".")
    return end in ("yml", "yaml") and (stem.startswith(("conda", "env")) or "environment" in stem)


def is_setup_script(name: str) -> bool:
    """Whether a file name is that of a script that installs: `setup.sh`, `install_env.sh`."""
    stem, _, end = name.lower().rpartition(".")
    words = stem.replace("_", "-").split("-")
    return f".{end}" in SCRIPTS and any(word in INSTALLING or word == "env" for word in words)


def is_dockerfile(name: str) -> bool:
    low = name.lower()
    return low.startswith(("dockerfile", "containerfile")) or low.endswith(".dockerfile")


def is_readme(name: str) -> bool:
    return name.lower() in ("readme.md", "readme.rst", "readme.txt", "readme")


def may_name_versions(path: str) -> bool:
    """Whether a file with this path is one of `sources`."""
    folder, _, name = path.replace(os.sep, "/").rpartition("/")
    if name in LOCKS or name in ("pyproject.toml", "Pipfile", "setup.cfg", "setup.py") or is_pylock(name):
        return True
    if name.endswith(".txt"):
        return is_requirements(name) or folder.rpartition("/")[2] == "requirements"
    return is_environment(name) or is_dockerfile(name) or is_setup_script(name) or is_readme(name)
