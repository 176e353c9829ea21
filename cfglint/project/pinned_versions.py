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

from cfglint.frameworks import FORKS, OTHER_PACKAGES, modelled_releases
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.releases._modelled import RELEASES as NEWEST
from cfglint.project.statements.statement import MAIN, Stated, Statement, is_side_group, normalised, within
from cfglint.source import files
from cfglint.source.annotations import Collection, Iterable, Iterator
from cfglint.source.file_source import DiskFolders
from cfglint.source.limits import MAX_SIZE
from cfglint.source.record import changed
from cfglint.source.root import leads_out, repository

Folders = dict[str, dict[str, list[Statement]]]

PACKAGES = (*NEWEST, *FORKS, *OTHER_PACKAGES)
REQUIRING_NOTHING = {"accelerate", "deepspeed", "gpt-neox", "transformers"}  # of the others
OWN_NAME = ""  # the key of the repository's own package name, next to the packages
OWN_COPY = "of this repository"
MOST_LOCKED = 50_000_000  # bytes of a lock file, which is searched and not parsed
MAIN_REQUIREMENTS = ("requirement", "base", "common", "core", "default", "install", "main", "prod", "runtime", "train")  # name prefixes
LOCKS = ("uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "pylock.toml")
PROJECTS = ("pyproject.toml", "Pipfile", "setup.cfg", "setup.py")
READMES = ("readme.md", "readme.rst", "readme.txt", "readme")
# What a file is by its name.
LOCK, PROJECT, REQUIREMENTS, ENVIRONMENT, README, DOCKERFILE, SCRIPT = range(1, 8)
# Words in the names of requirements files for another machine or another use than the training.
OTHER_USES = frozenset(
    """
    arm arm64 aarch64 mac macos windows win cpu npu xpu tpu amd rocm vllm sglang inference
    infer serve serving server deploy deployment demo eval evaluation app web api gradio
    """.split()
)
YAML = (".yml", ".yaml")
BLOCK = "# /// script"  # of the dependencies in a program (PEP 723)
FOLDERS = ("requirements", "docker", "docs")  # whose files count as those of the folder above
MOST_INCLUDED = 20  # files that a requirements file includes
MOST_FOLDERS = 400  # of a repository that are looked through for requirements files and copies of packages
MOST_NAMES = 20_000  # in all of these folders
DEEPEST = 4
# Folders whose requirements are those of the whole repository, also where they contain programs for the installation.
INSTALLING = ("setup", "install", "installation", "environment", "environments", "envs", "requirements", "dependencies", "deps", "docker")
SUBMODULES = ".gitmodules"
COLLECTIONS = ("third_party", "third-party", "thirdparty", "3rdparty", "external", "submodules", "vendor")  # of repositories of others
SKIPPED = ("node_modules", "site-packages", "build", "dist", "__pycache__", "venv", "env", "wandb")


class Disk(DiskFolders):
    """Access to the files on disk that specify versions."""

    def text(self, path: str) -> str:
        return files.decoded(files.bytes_in_project(path, MOST_LOCKED if os.path.basename(path) in LOCKS else MAX_SIZE))


class Repositories:
    """The statements in the folders around configs; each folder is examined once, and `looked_at` caches the result."""

    def __init__(self, looked_at: Folders | None = None, disk: DiskFolders | None = None) -> None:
        self._folders = looked_at if looked_at is not None else {}
        self._disk = disk or Disk()
        self._upwards: dict[str, list[str]] = {}  # `repository` of each folder of a config
        self._decisive: dict[tuple[str, str], list[Statement]] = {}  # what decides in a folder about a package

    def complete(self, facts: LaunchFacts, path: str, packages: Iterable[str], script: str = "") -> LaunchFacts:
        """The facts with the releases that the repository, or the text of the launch `script`, states for packages without a target."""
        wanted = [package for package in packages if package not in facts.target and package not in facts.outside]
        folder, name = os.path.split(path)
        started = facts.launch.program_path if script else ""
        program = self._disk.text(started) if wanted and started else ""
        if wanted and folder not in self._upwards:
            self._upwards[folder] = repository(path)
        upwards = self._upwards.get(folder, [])
        placed = self.placed(facts, script, program or script) if wanted and script else {}
        if wanted and started:
            from cfglint.project.statements.launches import with_program

            upwards = with_program(upwards, started)
        for package in wanted:
            if package in placed:
                place, copy = placed[package]
                facts = with_statements(facts.replace(copies={**facts.copies, package: place}), package, [copy])
                continue
            statements = None if script else self._decisive.get((folder, package))
            if statements is None:
                statements = self.look(upwards, package, name, script, program)
            if not script:
                self._decisive[folder, package] = statements
            if script and not any(statement.spec or statement.release for statement in statements):
                from cfglint.project.statements.launches import of_former

                statements = of_former(package, facts, statements)
            if statements:
                facts = with_statements(facts, package, statements)
        required = {"torch"} if "transformers" in wanted else set()  # which determines the default optimizer
        requiring = set(wanted) - REQUIRING_NOTHING
        if requiring:
            from cfglint.frameworks.releases.requirements import OTHERS

            required.update(other for package in requiring for other in OTHERS.get(package, ()))
        for other in sorted(required - set(wanted) - facts.target.keys()):
            statements = self.look(upwards, other, name, script, program)
            exact = [statement for statement in statements if statement.release and not statement.elsewhere]
            if len(exact) == 1:
                facts = facts.replace(pinned={**facts.pinned, other: (exact[0].release, exact[0].file)})
        for package in wanted if requiring else ():
            if package in facts.bounds:
                facts = installable(facts, package)
        return facts

    def placed(self, facts: LaunchFacts, script: str, program: str) -> dict[str, tuple[str, Statement]]:
        """The copies of packages that a launch puts first on the path of its program: package -> (folder, its version).

        By `python -m` in their folder, `PYTHONPATH`, an installation in its script, or by the program itself with `sys.path.insert`.
        """
        from cfglint.project.statements.copies import places_of_line, places_of_program

        line, project = facts.launch.line, facts.launch.project
        path = facts.launch.program_path
        places = places_of_line(line, project, script, path) if line is not None and project is not None else []
        places += places_of_program(program, os.path.dirname(path)) if "sys.path.insert" in program else []
        copies: dict[str, tuple[str, Statement]] = {}
        for place in places:
            for package in NEWEST:
                copy = self.copy_in(place, package) if package not in copies else None
                if copy is not None:
                    copies[package] = place, copy.at(os.path.normpath(os.path.join(place, copy.file)).replace(os.sep, "/"))
        return copies

    def forks(self, path: str) -> tuple[str, ...]:
        """The distributions that replace packages and that the files around a config name."""
        return tuple(fork for fork in FORKS if self.in_folder_of(repository(path), fork))

    def in_folder_of(self, folders: list[str], distribution: str) -> list[Statement]:
        """What the nearest folder that names a distribution states of it."""
        return next((statements for folder in folders if (statements := self.in_folder(folder).get(distribution))), [])

    def look(self, folders: list[str], package: str, name: str = "", script: str = "", program: str = "") -> list[Statement]:
        """The statements that decide about a package: one, several that disagree, or none.

        `script` is the text of the launch script or the program, `program` that of the program of a launch line.
        """
        own_names = {statement.file for folder in folders for statement in self.in_folder(folder).get(OWN_NAME, ())}
        if own_names:
            from cfglint.project.statements.copies import names_of

            if not own_names.isdisjoint(names_of(package)):  # the file lies in a copy of the framework's own repository
                copies = (self.copy_in(folder, package) for folder in folders)
                return [next(filter(None, copies), Statement("", "", "", OWN_COPY))]
        for fork in (fork for fork, original in FORKS.items() if original == package and self.in_folder_of(folders, fork)):
            return [
                changed(statement, elsewhere=f"{fork} {statement.release}".strip(), release=statement.release.partition(".post")[0])
                for statement in self.look(folders, fork, name, script, program) or self.in_folder_of(folders, fork)[:1]
            ]
        chain = [self.in_folder(folder).get(package, []) for folder in folders]
        if script:
            from cfglint.project.statements.lines import of_script

            own = [statement for _, statement in of_script(script, name, (package,))]
            chain[0] = sorted([*chain[0], *own], key=lambda statement: rank(statement.file, name))
            if own and name.endswith(files.NOTEBOOK):  # it installs what it runs with, whatever the project pins
                return nearest(package, [[each for each in statements if not each.is_exact or each in own] for statements in chain], name)
        if BLOCK in script or BLOCK in program:
            from cfglint.project.statements.tables import of_block

            texts = (script, program) if name.endswith(".py") else (program,)
            chain.insert(0, [statement for text in texts for _, statement in of_block(text, name, (package,))])
        prose = [[statement for statement in statements if statement.in_prose] for statements in chain]
        chain = [[statement for statement in statements if not statement.in_prose] for statements in chain]
        decisive = nearest(package, [[statement for statement in statements if not statement.optional] for statements in chain], name)
        decisive = decisive or nearest(package, chain, name, every=True) or self.elsewhere(folders, package)
        return decisive or nearest(package, prose, name)

    def copy_in(self, folder: str, package: str) -> Statement | None:
        from cfglint.project.statements.copies import in_folder, modules_of

        names, text = self._disk.names(folder), self._disk.text
        return next(filter(None, (in_folder(folder, names, module, text) for module in modules_of(package))), None)

    def in_folder(self, folder: str) -> dict[str, list[Statement]]:
        """What the files of a folder state about packages, the most trusted first."""
        if folder in self._folders:
            return self._folders[folder]
        stated: dict[str, list[Statement]] = {}
        names = self._disk.names(folder)
        for name in sources(folder, names, self._disk):
            text = self._disk.text(os.path.join(folder, name))
            own = own_name(text, name)
            if own:
                stated[OWN_NAME] = [Statement(own)]
            for package, statement in self.in_file(folder, name, text):
                stated.setdefault(package, []).append(statement)
        if SUBMODULES in names:
            from cfglint.project.statements.copies import missing_submodules

            for package, statement in missing_submodules(folder, SUBMODULES, self._disk):
                stated.setdefault(package, []).append(statement)
        collections = [name for name in COLLECTIONS if name in names]
        if collections:
            from cfglint.project.statements.copies import checkouts

            for package, path in checkouts(folder, collections, self._disk):
                copy = self.copy_in(os.path.join(folder, path), package)
                stated.setdefault(package, []).extend([copy.at(f"{path}/{copy.file}")] if copy is not None else [])
        for package in NEWEST:
            if package.replace("-", "_") in names or "src" in names:
                copy = self.copy_in(folder, package)
                stated.setdefault(package, []).extend([copy] if copy is not None else [])
                stated[package].sort(key=lambda statement: bool(statement.elsewhere) and role_of(statement.file) == README)
        self._folders[folder] = {package: statements for package, statements in stated.items() if statements}
        return self._folders[folder]

    def in_file(self, folder: str, name: str, text: str) -> Iterator[Stated]:
        """What one file states, with the copies of packages that it installs (`pip install -e third_party/trl`), and the files that it
        includes.
        """
        if not text or not states_versions(name):
            return
        yield from stated_in(text, name, PACKAGES)
        if "-e " in text:
            from cfglint.project.statements.lines import editable

            for path in [path for path in editable(text) if may_include(folder, path)][:MOST_INCLUDED]:
                for package in NEWEST:
                    copy = self.copy_in(os.path.join(folder, path), package)
                    if copy is not None:
                        yield package, copy.at(f"{path}/{copy.file}")
        for path in self.included(folder, name, text):
            from cfglint.project.statements.lines import of_environment, of_requirements

            content = self._disk.text(os.path.join(folder, path))
            if path.endswith(YAML):
                yield from of_environment(content, path, PACKAGES)
            else:
                yield from of_requirements(content, path, PACKAGES, is_option(path))

    def included(self, folder: str, name: str, text: str) -> list[str]:
        """The requirements files that a file includes, and those that they include, or the environments that commands create from files.

        Relative to the folder.
        """
        role = role_of(name.rpartition("/")[2])
        if role in (README, DOCKERFILE, SCRIPT):
            from cfglint.project.statements.lines import environment_files

            named = [file for file in environment_files(text) if role_of(file.rpartition("/")[2]) != ENVIRONMENT]
            return [file for file in named[:MOST_INCLUDED] if may_include(folder, file)]
        if name == "pyproject.toml":
            from cfglint.project.statements.tables import requirement_files

            return [file for file in requirement_files(text, name)[:MOST_INCLUDED] if may_include(folder, file)]
        if not is_requirements(name):
            return []
        from cfglint.project.statements.lines import included

        paths: list[str] = []
        texts = [(name, text)]
        while texts and len(paths) < MOST_INCLUDED:
            above, content = texts.pop(0)
            for file in included(content):
                path = os.path.normpath(os.path.join(os.path.dirname(above), file)).replace(os.sep, "/")
                if path not in paths and path != name and may_include(folder, path):
                    paths.append(path)
                    texts.append((path, self._disk.text(os.path.join(folder, path))))
        return paths

    def elsewhere(self, folders: list[str], package: str) -> list[Statement]:
        """The statement of the requirements files in the other folders of the repository, else of the copies of the package there.

        Folders that disagree are projects of their own, and none of them states the release of this one. So is a folder with
        programs or a README beside another one with programs.
        """
        top = folders[-1] if folders else ""
        if not top or (len(folders) == 1 and not os.path.exists(os.path.join(top, ".git"))):
            return []
        of_copies: list[Statement] = []
        of_files: list[Statement] = []
        for statement in self.other_folders(top).get(package, []):
            is_copy = not statement.file.endswith(".txt")
            # The main branch says no more of this folder than no statement.
            if (statement.is_exact or statement.spec) and statement.elsewhere != MAIN and (is_copy or self.is_for(statement, folders)):
                (of_copies if is_copy else of_files).append(statement)
        decisive = unlike(of_files or of_copies)
        return decisive if len(decisive) == 1 else []

    def is_for(self, statement: Statement, folders: list[str]) -> bool:
        """Whether a statement of another folder may be for the files of these folders, the nearest first, the top last."""
        stating = os.path.dirname(os.path.join(folders[-1], statement.file))
        if os.path.basename(stating).lower() in INSTALLING:
            return True
        apart = [folder for folder in folders if not f"{stating}{os.sep}".startswith(f"{folder.rstrip(os.sep)}{os.sep}")]
        has_programs = [any(name.endswith((".py", files.NOTEBOOK)) for name in self._disk.names(folder)) for folder in (stating, *apart)]
        is_project = has_programs[0] or any(name.lower().startswith("readme.") for name in self._disk.names(stating))
        return not (is_project and any(has_programs[1:]))

    def other_folders(self, top: str) -> dict[str, list[Statement]]:
        """What the requirements files and the copies of packages below the top of a repository state, those of the upper folders first."""
        key = f"{top}{os.sep}*"
        if key not in self._folders:
            stated: dict[str, list[Statement]] = {}
            for folder in self.folders_below(top):
                inside = os.path.relpath(folder, top).replace(os.sep, "/")
                names = self._disk.names(folder)
                for name in (name for name in names if is_requirements(name) and not is_side_group(name)):
                    for package, statement in self.in_file(folder, name, self._disk.text(os.path.join(folder, name))):
                        stated.setdefault(package, []).append(statement.at(f"{inside}/{statement.file}"))
                for package in NEWEST:
                    copy = self.copy_in(folder, package) if package.replace("-", "_") in names or "src" in names else None
                    stated.setdefault(package, []).extend([copy.at(f"{inside}/{copy.file}")] if copy is not None else [])
            self._folders[key] = stated
        return self._folders[key]

    def folders_below(self, top: str) -> Iterator[str]:
        """The folders below the top of a repository, level by level."""
        level, seen, names = [top], 0, 0
        for _ in range(DEEPEST):
            below: list[str] = []
            for folder in level:
                inside = self._disk.names(folder)
                names += len(inside)
                for name in sorted(name for name in inside if "." not in name and name not in SKIPPED and not is_side_group(name)):
                    path = os.path.join(folder, name)
                    if seen >= MOST_FOLDERS or names > MOST_NAMES:
                        return
                    if self._disk.is_folder(path):
                        seen += 1
                        below.append(path)
                        yield path
            level = below


def with_statements(facts: LaunchFacts, package: str, statements: list[Statement]) -> LaunchFacts:
    """The facts with what decides about a package: an exact release, one that is not modelled, or the newest that bounds allow.

    Of statements that disagree, one that is not modelled decides.
    """
    first = next((statement for statement in statements if statement.elsewhere), statements[0])
    if first.elsewhere:
        said = f"at {first.elsewhere} ({first.file})" if first.file else first.elsewhere
        said = f"{first.elsewhere} of {first.file}" if first.in_prose else said
        target = {**facts.target, package: first.release} if first.release else facts.target
        source = {**facts.outside_from, package: (first.elsewhere, first.file)}
        return facts.replace(target=target, outside={**facts.outside, package: said}, outside_from=source)
    if len(statements) == 1 and first.release:
        release, said = first.release, first.file
    else:
        from cfglint.project.allowed_releases import newest_allowed

        specs = tuple(statement.spec for statement in statements)
        release, said = newest_allowed(package, specs), " and ".join(dict.fromkeys(statement.source for statement in statements[:3]))
        facts = facts.replace(bounds={**facts.bounds, package: specs})
    if not release:
        return facts
    return facts.replace(target={**facts.target, package: release}, target_from={**facts.target_from, package: said})


def installable(facts: LaunchFacts, package: str) -> LaunchFacts:
    """The facts with the newest release that bounds allow and that can be installed with what is stated of other packages."""
    from cfglint.frameworks.releases.bounds import allowed
    from cfglint.frameworks.releases.requirements import known_others, newest_with

    specs, modelled = facts.bounds[package], modelled_releases(package)
    fitting = {release for spec in specs for release in allowed(spec, modelled)}
    releases = [release for release in modelled if release in fitting]
    others = {other: release for other, release in known_others(facts, package).items() if other not in facts.bounds}
    newest = newest_with(package, releases, others)
    if not newest or newest == releases[-1]:
        return facts
    bounds = {**facts.bounds, package: tuple(f"{spec},<={newest}" for spec in specs)}
    return facts.replace(target={**facts.target, package: newest}, bounds=bounds)


def nearest(package: str, chain: list[list[Statement]], script: str, every: bool = False) -> list[Statement]:
    """The statements that decide, from those of each folder, the nearest folder first.

    An exact version of a folder above counts if it satisfies the nearest bound; the bounds of a file hold together, with those of the
    `script` itself, and requirements files for different uses that disagree leave several releases. `every`: those of extras, which
    may disagree.
    """
    bounds: list[Statement] = []
    for statements in chain:
        exact = unlike([statement for statement in statements if statement.is_exact])
        if len({statement.file for statement in exact}) > 1 and not every:
            first = exact[0].file
            exact = [statement for statement in exact if statement.file == first or are_variants(statement.file, first)]
        if exact and (not bounds or all(satisfies(statement, bounds[0]) for statement in exact)):
            return exact
        bounds = bounds or [statement for statement in statements if statement.spec and not statement.is_exact]
    if every or not bounds:
        return bounds
    specs = dict.fromkeys(bound.spec for bound in bounds if bound.file in (bounds[0].file, script))
    if len(specs) == 1:
        return bounds[:1]
    from cfglint.frameworks.releases.bounds import allowed

    # Those of two commands in a row hold together; the first alone if no release satisfies all.
    spec = ",".join(specs)
    return [changed(bounds[0], spec=spec) if allowed(spec, modelled_releases(package)) else bounds[0]]


def are_variants(one: str, other: str) -> bool:
    """Whether two requirements files are for different uses of a project: `requirements-grpo.txt` and `requirements-train.txt`."""
    return all(is_requirements(file) and file.partition(".")[0] not in ("requirements", "requirement") for file in (one, other))


def satisfies(exact: Statement, bound: Statement) -> bool:
    if not exact.release or exact.elsewhere:
        return False
    from cfglint.frameworks.releases.bounds import allows

    return allows(bound.spec, exact.release)


def unlike(statements: list[Statement]) -> list[Statement]:
    """The statements that say something else than those before them."""
    kept: dict[tuple[str, str], Statement] = {}
    for statement in statements:
        kept.setdefault((statement.release or statement.spec, statement.elsewhere), statement)
    return list(kept.values())


def rank(name: str, script: str) -> int:
    """0 for the files that come before the launch script, 1 for itself, 2 for those after it."""
    if name == script:
        return 1
    return 2 if role_of(name) in (README, SCRIPT) or not states_versions(name) else 0


def own_name(text: str, file: str) -> str:
    """The name of the project in its pyproject.toml or setup.py, if that gives no fixed version of its own; else empty."""
    if file == "setup.py":
        from cfglint.project.statements.copies import name_in_setup

        return name_in_setup(text)
    if file != "pyproject.toml" or "[project]" not in text or "dynamic" not in text:
        return ""
    from cfglint.project.statements.tables import parsed

    project = within(parsed(text, file), "project")
    name, dynamic = project.get("name"), project.get("dynamic")
    return normalised(name) if isinstance(name, str) and isinstance(dynamic, list) and "version" in dynamic else ""


def sources(folder: str, names: list[str], disk: DiskFolders) -> list[str]:
    """The files of a folder that may state versions, in order of trust."""
    roles = {name: role_of(name) for name in sorted(names)}
    of_role = {role: [name for name, other in roles.items() if other == role] for role in {*roles.values()}}
    main = {role: [name for name in of_role.get(role, ()) if not is_side_group(name)] for role in (REQUIREMENTS, ENVIRONMENT, SCRIPT)}
    inner = {below: sorted(disk.names(os.path.join(folder, below))) for below in FOLDERS if below in names}
    parts = [f"requirements/{name}" for name in inner.get("requirements", ()) if name.endswith(".txt") and not is_side_group(name)]
    return [
        *(name for name in LOCKS if name in names),
        *(name for name in of_role.get(LOCK, ()) if name not in LOCKS),
        *sorted(main[REQUIREMENTS], key=lambda name: (not name.startswith("requirement"), len(name))),
        *(name for name in parts if not is_option(name)),
        *(name for name in PROJECTS if name in names),
        *main[ENVIRONMENT],
        *sorted(of_role.get(DOCKERFILE, ()), key=len),
        *(f"docker/{name}" for name in inner.get("docker", ()) if role_of(name) == DOCKERFILE),
        *main[SCRIPT],
        *of_role.get(README, ()),
        *(f"docs/{name}" for name in inner.get("docs", ()) if role_of(name) == README and name.lower() not in READMES),
        *(name for name in parts if is_option(name)),
    ]


def role_of(name: str) -> int:
    """What a file is by its name; 0 for one that states no versions, unless it is a text in a folder of requirements."""
    low = name.lower()
    stem, _, end = low.rpartition(".")
    if name in LOCKS or (name.startswith("pylock.") and name.endswith(".toml")):
        return LOCK
    if name in PROJECTS:
        return PROJECT
    if end in ("yml", "yaml") and (stem.startswith(("conda", "env")) or "environment" in stem):  # of conda
        return ENVIRONMENT
    if low in READMES or (stem in INSTALLING and end in ("md", "rst")):
        return README
    if low.startswith(("dockerfile", "containerfile")) or low.endswith(".dockerfile"):
        return DOCKERFILE
    if end in ("sh", "bash"):  # `setup.sh`, `install_env.sh`
        return SCRIPT if any(word in INSTALLING or word == "env" for word in stem.replace("_", "-").split("-")) else 0
    return REQUIREMENTS if name.endswith(".txt") and "requirement" in low else 0


def is_requirements(name: str) -> bool:
    return name.endswith(".txt") and "requirement" in name.lower()


def states_versions(name: str) -> bool:
    last = name.rpartition("/")[2]
    return last.endswith(".txt") or role_of(last) != 0


def stated_in(text: str, name: str, packages: Collection[str]) -> Iterator[Stated]:
    last = name.rpartition("/")[2]
    role = role_of(last)
    if role == LOCK:
        from cfglint.project.statements import lock_files

        yield from (lock_files.of_pipfile_lock if last == "Pipfile.lock" else lock_files.of_lock)(text, name, packages)
    elif last in ("pyproject.toml", "Pipfile"):
        from cfglint.project.statements import tables

        yield from (tables.of_pyproject if last == "pyproject.toml" else tables.of_pipfile)(text, name, packages)
    elif role == PROJECT:
        from cfglint.project.statements import setup_files

        yield from (setup_files.of_cfg if last == "setup.cfg" else setup_files.of_script)(text, name, packages)
    elif role in (README, DOCKERFILE, SCRIPT):
        from cfglint.project.statements.lines import of_script

        yield from of_script(text, name, packages)
        if role == README:
            from cfglint.project.statements.prose import of_prose

            yield from of_prose(text, name, packages)
    else:
        from cfglint.project.statements.lines import of_environment, of_requirements

        if role == ENVIRONMENT:
            yield from of_environment(text, name, packages)
        else:  # that of an option in a `requirements` folder counts as an extra
            yield from of_requirements(text, name, packages, is_option(name))


def may_include(folder: str, path: str) -> bool:
    """Whether a path that a file in a folder names is in or below that folder, or in the folder above, and inside the project."""
    near = not os.path.isabs(path) and path.count("..") <= 1 and "://" not in path
    return near and not leads_out(os.path.join(folder, path), os.path.join(folder, path.rpartition("/")[2]))


def is_option(name: str) -> bool:
    """Whether a requirements file is installed only for an option, another machine, or another use than the training."""
    folder, _, last = name.rpartition("/")
    is_part = folder.rpartition("/")[2] == "requirements"
    if (is_part or is_requirements(last)) and not OTHER_USES.isdisjoint(last.lower().replace("_", "-").replace(".", "-").split("-")):
        return True
    return is_part and not last.removesuffix(".txt").startswith(MAIN_REQUIREMENTS)


def may_name_versions(path: str) -> bool:
    """Whether a file with this path is one of `sources`."""
    folder, _, name = path.replace(os.sep, "/").rpartition("/")
    return role_of(name) != 0 or (name.endswith(".txt") and folder.rpartition("/")[2] == "requirements")
