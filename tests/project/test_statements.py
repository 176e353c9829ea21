"""What each form of a dependency file states, and which statement decides."""

from __future__ import annotations

import json
import os

import pytest

from cases import each_case
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.project.pinned_versions import Disk, Repositories
from cfglint.source.files import decoded

TOP = os.path.abspath(os.sep + "project")
COMMIT = "0123456789abcdef0123456789abcdef01234567"
DEPS = """
import re
_deps = ["accelerate>=1.2.1", "trl==0.7.10", "transformers>=4.40,<4.42  # for rope", "ruff"]
deps = {b: a for a, b in (re.findall(r"^(([^!=<>~ ]+)(?:[!=<>~ ].*)?$)", x)[0] for x in _deps)}
def deps_list(*pkgs):
    return [deps[pkg] for pkg in pkgs]
extras = {}
extras["train"] = deps_list("trl")
install_requires = [deps["transformers"], deps["accelerate"]]
setup(extras_require=extras, install_requires=list(install_requires))
"""


class Files(Disk):
    """Files in memory, by their paths below the top of the repository."""

    def __init__(self, files):
        self.files = {os.path.join(TOP, *name.split("/")): text for name, text in files.items()}

    def names(self, folder):
        inside = [path[len(folder) + 1 :] for path in self.files if path.startswith(folder + os.sep)]
        return list(dict.fromkeys(each.split(os.sep)[0] for each in inside))

    def text(self, path):
        return self.files.get(os.path.normpath(path), "")

    def is_folder(self, path):
        return bool(self.names(path))


def decision(files, package="transformers", at=".", script=""):
    """What the files state: a release, `specifier (newest that it allows)`, `where else (nearest)` or None."""
    folder = os.path.normpath(os.path.join(TOP, at))
    folders = [folder]
    while folders[-1] != TOP:
        folders.append(os.path.dirname(folders[-1]))
    repositories = Repositories(disk=Files(files))
    repositories.elsewhere = lambda folders, package: Repositories.elsewhere(repositories, [*folders, TOP], package)
    found = repositories.look(folders, package, "run.sh", script)
    if not found:
        return None
    if len(found) > 1:
        return " or ".join(each.release or each.spec for each in found)
    return (
        found[0].elsewhere + (f" ({found[0].release})" if found[0].release else "")
        if found[0].elsewhere
        else found[0].release or found[0].spec
    )


REQUIREMENTS = [
    ("transformers==4.40.0", "4.40.0"),
    ("Transformers[torch] == 4.40.0 ; python_version > '3' # c", "4.40.0"),
    ("transformers (>=4.40,<4.42)", ">=4.40,<4.42"),
    ("transformers>=4.40,<4.42\ntransformers==4.41.0", "4.41.0"),
    ("transformers", None),
    ("transformers-more==1.0\nmore-transformers==2.0\nsentence_transformers==3.0.0", None),
    ("transformers \\\n==4.40.0 --hash=sha256:1", "4.40.0"),
    ("transformers===4.40.0", "4.40.0"),
    ("transformers==4.40.*", "==4.40.*"),
    ("transformers=4.40.0=pypi_0", "4.40.0"),
    ("transformers              4.40.0", "4.40.0"),
    ("transformers==4.40.0+cu118", "4.40.0"),
    ("transformers==4.30.0; sys_platform == 'darwin'\ntransformers==4.40.0; sys_platform != 'darwin'", "4.40.0"),
    ("transformers==4.41.0.dev0", "the development version 4.41.0.dev0 (4.41.0.dev0)"),
    ("# transformers==4.40.0", None),
    ("-e git+https://github.com/huggingface/transformers.git@v4.40.0#egg=transformers", "4.40.0"),
    ("transformers @ git+https://github.com/huggingface/transformers@v4.40.0", "4.40.0"),
    ("transformers@git+ssh://git@github.com/huggingface/transformers@v4.40.0", "4.40.0"),
    ("git+https://github.com/huggingface/transformers@v4.49.0-Gemma-3", "branch v4.49.0-Gemma-3 (4.49.0)"),
    ("transformers @ git+https://github.com/huggingface/transformers@main", "the main branch"),
    ("git+https://github.com/huggingface/transformers", "the main branch"),
    (f"git+https://github.com/huggingface/transformers.git@{COMMIT}", "commit 0123456789"),
    (f"transformers@git+https://github.com/huggingface/transformers.git@{COMMIT}#egg=transformers[main]", "commit 0123456789"),
    ("git+https://github.com/someone/transformers@v4.40.0", "branch v4.40.0 of someone/transformers (4.40.0)"),
    ("transformers @ git+https://github.com/someone/renamed.git", "a fork of someone/renamed"),
    ("https://github.com/huggingface/transformers/archive/refs/tags/v4.40.0.tar.gz", "4.40.0"),
    (f"transformers @ https://github.com/huggingface/transformers/archive/{COMMIT}.zip", "commit 0123456789"),
    ("./wheels/transformers-4.40.0-py3-none-any.whl", "4.40.0"),
    ("https://conda.anaconda.org/conda-forge/noarch/transformers-4.40.0-pyhd8ed1ab_0.conda", "4.40.0"),
    ("transformers @ https://github.com/huggingface/transformers@v4.40.0", "4.40.0"),
    ("transformers @ file:///somewhere/transformers", "the copy at file:///somewhere/transformers"),
    (f"# git+x/transformers@0123456\ngit+https://x/y/other@{COMMIT}", None),
]


@each_case(("text", "expected"), REQUIREMENTS)
def test_requirements(text, expected):
    assert decision({"requirements.txt": f"torch\n{text}\nnumpy\n"}) == expected


@each_case(
    ("name", "text", "expected"),
    [
        ("requirement.txt", "transformers==4.40.0", "4.40.0"),
        ("train_requirements.txt", "transformers==4.40.0", "4.40.0"),
        ("requirements/base.txt", "transformers==4.40.0", "4.40.0"),
        ("requirements-dev.txt", "transformers==4.40.0", None),
        ("requirements/tests.txt", "transformers==4.40.0", None),
        ("environment.yml", "dependencies:\n  - transformers=4.40.0=py_0\n", "4.40.0"),
        ("environment.yml", "dependencies:\n  - transformers=4.40\n", "==4.40.*"),
        ("conda.yaml", "dependencies:\n  - 'conda-forge::transformers==4.40.1' # c\n", "4.40.1"),
        ("gpu_environment.yml", "  - pip:\n    - transformers>=4.40,<4.41\n", ">=4.40,<4.41"),
        ("environment-test.yml", "  - transformers=4.40.1\n", None),
        ("pyproject.toml", '[project]\ndependencies = ["torch", "transformers==4.40.0"]\n', "4.40.0"),
        ("pyproject.toml", '[project]\ndependencies = [\n  "transformers==4.40.0", timm\n]\n', "4.40.0"),  # which is no TOML
        ("pyproject.toml", '[project]\ndependencies = [\n  torch, # "transformers==4.40.0"\n]\n', None),
        ("pyproject.toml", '[project]\noptional-dependencies = {x = ["transformers==4.40.0"]}\n', "4.40.0"),
        (
            "pyproject.toml",
            '[project]\noptional-dependencies = {a = ["transformers==4.40.0"], b = ["transformers==4.41.0"]}\n',
            "4.40.0 or 4.41.0",
        ),
        (
            "pyproject.toml",
            '[project]\ndependencies = ["transformers>=4.38"]\noptional-dependencies = {x = ["transformers==4.40.0"]}\n',
            ">=4.38",
        ),
        ("pyproject.toml", '[project]\noptional-dependencies = {dev = ["transformers==4.40.0"]}\n', None),
        ("pyproject.toml", '[dependency-groups]\ntrain = ["transformers==4.40.0"]\ntest = ["transformers==4.30.0"]\n', "4.40.0"),
        ("pyproject.toml", '[tool.pdm.dev-dependencies]\ntrain = ["transformers==4.40.0"]\n', "4.40.0"),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntransformers = "4.40.0"\n', "4.40.0"),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntransformers = {version = "^4.40", extras = ["x"]}\n', ">=4.40,<5"),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntransformers = "*"\n', None),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntransformers = "4.*"\n', "==4.*"),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntransformers = ">=4.40,<4.50"\n', ">=4.40,<4.50"),
        ("pyproject.toml", '[tool.poetry.group.train.dependencies]\ntransformers = "~4.40"\n', ">=4.40,<4.41"),
        ("pyproject.toml", '[tool.poetry.group.docs.dependencies]\ntransformers = "4.40"\n', None),
        (
            "pyproject.toml",
            '[tool.poetry.dependencies]\ntransformers = {git = "https://github.com/huggingface/transformers.git", tag = "v4.40.0"}\n',
            "4.40.0",
        ),
        (
            "pyproject.toml",
            '[project]\ndependencies = ["transformers"]\n[tool.uv.sources]\n'
            f'transformers = {{git = "https://github.com/huggingface/transformers", rev = "{COMMIT}"}}\n',
            "commit 0123456789",
        ),
        ("pyproject.toml", "transformers = [\n", None),
        ("pyproject.toml", '[project]\ndependencies = "transformers==4.40"\n', None),
        ("Pipfile", '[packages]\ntransformers = "==4.40.0"\n[dev-packages]\ntrl = "==0.1"\n', "4.40.0"),
        ("Pipfile.lock", json.dumps({"default": {"transformers": {"version": "==4.40.0"}}, "develop": {}}), "4.40.0"),
        ("Pipfile.lock", json.dumps({"develop": {"transformers": {"version": "==4.40.0"}}}), None),
        ("setup.py", "setup(install_requires=['transformers==4.40.0'])\n", "4.40.0"),
        ("setup.py", "base = ['transformers==4.40.0']\nsetup(install_requires=base + ['torch'])\n", "4.40.0"),
        ("setup.py", "R = ['torch']\nR += ['transformers==4.40.0']\nsetup(install_requires=R)\n", "4.40.0"),
        ("setup.py", "install_requires = '''torch\ntransformers==4.40.0'''\n", "4.40.0"),
        ("setup.py", "setup(extras_require={'x': ['transformers==4.40.0']})\n", "4.40.0"),
        ("setup.py", "setup(extras_require={'test': ['transformers==4.40.0']})\n", None),
        ("setup.py", "setup(keywords='transformers==4.40.2', install_requires=read('transformers==4.40.0'))\n", None),
        ("setup.py", "x = x\nsetup(install_requires=[x, 'transformers==4.40.0', f'{x}'])\n", "4.40.0"),
        ("setup.py", "setup(install_requires=[\n# transformers\n", None),
        ("setup.py", DEPS, ">=4.40,<4.42"),
        ("setup.cfg", "[options]\ninstall_requires =\n  torch\n  transformers==4.40.0\n", "4.40.0"),
        ("setup.cfg", "[options.extras_require]\nx = transformers==4.40.0\n", "4.40.0"),
        ("uv.lock", '[[package]]\nname = "torch"\nversion = "2.4"\n[[package]]\nname = "transformers"\nversion = "4.40.0"\n', "4.40.0"),
        ("uv.lock", '\n[[package]]\nname = "transformers"\nsource = "x"\n[[package]]\nname = "torch"\nversion = "4.9.0"\n', None),
        (
            "uv.lock",
            '\n[[package]]\nname = "transformers"\nversion = "4.40.0"\n[[package]]\nname = "transformers"\nversion = "4.41.0"\n',
            "4.41.0 or 4.40.0",
        ),
        (
            "uv.lock",
            '\n[[package]]\nname = "transformers"\nversion = "4.41.0.dev0"\n'
            f'source = {{ git = "https://github.com/huggingface/transformers.git#{COMMIT}" }}\n',
            "commit 0123456789 (4.41.0.dev0)",
        ),
        ("poetry.lock", '\n[[package]]\nname = "transformers"\nversion = "4.40.0"\n', "4.40.0"),
        (
            "pylock.toml",
            f'\n[[packages]]\nname = "transformers"\nversion = "4.41.0"\nvcs = {{ type = "git", commit-id = "{COMMIT}" }}\n',
            "commit 0123456789 (4.41.0)",
        ),
        (
            "pylock.toml",
            '\n[[packages]]\nname = "transformers"\nversion = "4.40.0"\n'
            f'vcs = {{ type = "git", requested-revision = "v4.40.0", commit-id = "{COMMIT}" }}\n',
            "4.40.0",
        ),
        ("pdm.lock", '\n[[package]]\nname = "transformers"\nversion = "4.40.0"\n', "4.40.0"),
        ("pylock.train.toml", '\n[[packages]]\nname = "transformers"\nversion = "4.40.0"\n', "4.40.0"),
        ("Dockerfile", 'FROM x\nRUN apt-get update && pip install --no-cache-dir "transformers==4.40.0" torch\n', "4.40.0"),
        ("Dockerfile.gpu", "ARG VERSION=4.40.0\nRUN python -m pip install -U \\\n    transformers==${VERSION} && rm -rf /tmp\n", "4.40.0"),
        ("docker/Dockerfile", "RUN uv pip install transformers==4.40.0\n", "4.40.0"),
        ("Dockerfile", 'RUN pip install "transformers == 4.40.0" && echo "a > b"\n', "4.40.0"),
        ("Dockerfile", "RUN bash -c 'pip install torch > log && pip install transformers==4.40.0'\n", "4.40.0"),
        ("Dockerfile", "# pip install transformers==4.40.0\nRUN pip install -r requirements.txt\n", None),
        ("Dockerfile", "ARG T=4.40.0\nFROM x\nARG T\nRUN pip install transformers==$T\n", "4.40.0"),
        ("Dockerfile", "ENV T 4.40.0\nRUN pip install transformers==$T\n", "4.40.0"),
        ("Dockerfile", "ENV T=4.40.0 S=1\nRUN pip install transformers==${T}\n", "4.40.0"),
        ("README.md", "Install:\n```\npip install transformers==4.40.0 accelerate\n```\n", "4.40.0"),
        ("INSTALL.md", "pip install transformers==4.40.0\n", "4.40.0"),
        ("docs/install.md", "pip install transformers==4.40.0\n", "4.40.0"),
        ("docs/README.md", "pip install transformers==4.40.0\n", None),
        ("docs/usage.md", "pip install transformers==4.40.0\n", None),
        ("README.md", "Tested with transformers==4.40.0.\n", "4.40.0 in the text (4.40.0)"),
        ("README.md", "pip install git+https://github.com/huggingface/transformers@v4.40.0\n", "4.40.0"),
        ("README.md", "`pip install git+https://github.com/huggingface/transformers.git`\n", "the main branch"),
        ("README.md", "Requirements:\n```\ntransformers 4.40.0\ndeepspeed 0.15.1\n```\n", "4.40.0 in the text (4.40.0)"),
        ("README.md", "| Transformers | 4.40.0 |\n", "4.40.0 in the text (4.40.0)"),
        ("README.md", "- [Transformers](https://github.com/huggingface/transformers) == 4.40.0\n", "4.40.0 in the text (4.40.0)"),
        ("README.md", "- 🤗 transformers >= 4.40, < 5\n", ">=4.40,<5"),
        ("README.md", "- transformers 4.40 or newer\n", ">=4.40"),
        ("README.md", "| transformers | 4.40.0 | 4.43.4 |\n", ">=4.40.0"),
        ("README.md", "transformers 4.40.0 to 4.43.4\n", None),
        ("README.md", "Do not do this if you are using transformers>=4.40\n", None),
        ("README.md", "It is built on Transformers, and we use its `4.40.0` version.\n", "4.40.0 in the text (4.40.0)"),
        ("README.md", "It is built on the library Transformers, of which\nwe use version 4.40.0.\n", "4.40.0 in the text (4.40.0)"),
        ("README.md", "Transformers and torch 4.40.0, released with 4.40.0 examples\n", None),
        ("README.md", "Transformers has 4.40.0 problems that we solve\n", None),
        ("README.md", "transformers 4.40.99 was never released\n", None),
        ("README.md", "With transformers, 4.40B weights use 55 GB.\n", None),
        ("README.md", "- tested with no transformers, 4.40.0 of torch\n", None),
        (
            "README.md",
            f"git clone https://github.com/huggingface/transformers.git\ncd transformers\ngit checkout {COMMIT}\npip install .\n",
            "commit 0123456789",
        ),
        ("README.md", "git clone -b v4.40.0 https://github.com/huggingface/transformers && pip install -e ./transformers\n", "4.40.0"),
        (
            "README.md",
            "git clone https://github.com/huggingface/transformers\ncd transformers && pip install -e '.[torch]'\n",
            "the main branch",
        ),
        (
            "README.md",
            "git clone git@github.com:someone/transformers.git\npip install -e transformers/\n",
            "a fork of someone/transformers",
        ),
        ("README.md", "git clone https://github.com/huggingface/transformers  # for its examples\n", None),
        (
            "README.md",
            "git clone https://github.com/huggingface/transformers\ngit clone https://x.org/me/own\ngit checkout 0123456\n",
            None,
        ),
        (
            "Dockerfile",
            f"RUN git clone https://github.com/huggingface/transformers && git -C transformers checkout {COMMIT}\n",
            "commit 0123456789",
        ),
        ("setup.sh", "pip install transformers==4.40.0\n", "4.40.0"),
        ("install_env.sh", "set -e\n# pip install transformers==4.30.0\npip install transformers==4.40.0 # not 4.41\n", "4.40.0"),
        ("train.sh", "pip install transformers==4.40.0\n", None),
        ("env14_5.yml", "name: a\ndependencies:\n  - python=3.10\n  - pip:\n    - transformers==4.40.0\n", "4.40.0"),
        ("service.yml", "services:\n  dependencies:\n    - transformers==4.40.0\n", None),
        ("requirements_arm.txt", "transformers==4.40.0\n", "4.40.0"),
        ("src/transformers/__init__.py", '__version__ = "4.40.0"\n', "4.40.0"),
        ("src/transformers/__init__.py", '__version__ = "4.40.0.dev0"\n', "the development version 4.40.0.dev0 (4.40.0.dev0)"),
        ("src/transformers/__init__.py", "__version__ = '4.40.0'  # of the fork\n", "4.40.0"),
        ("third_party/transformers/src/transformers/__init__.py", '__version__ = "4.40.0"\n', "4.40.0"),
        ("training/requirements.txt", "transformers==4.40.0\n", "4.40.0"),
    ],
)
def test_what_a_file_states(name, text, expected):
    assert decision({name: text}) == expected


@each_case(
    "command", ["conda env create -f x/gpu.yml", "mamba env update --file=./x/gpu.yml --prune", "`micromamba env create -f x/gpu.yml -y`"]
)
def test_a_page_names_the_file_of_an_environment(command):
    files = {"x/gpu.yml": "dependencies:\n  - transformers=4.40.0\n", "README.md": f"First:\n{command}\n"}
    assert decision(files) == "4.40.0"
    assert decision(files | {"README.md": "# conda env create -f x/gpu.yml\n"}) is None


def test_what_counts_last():
    """Requirements for another machine or use, and the text of a page, count where nothing else names the package."""
    vllm, page = {"requirements-vllm.txt": "transformers==4.41.0\n"}, {"README.md": "We use transformers 4.42.0.\n"}
    project = {"pyproject.toml": '[project]\ndependencies = ["transformers<=4.44"]\n'}
    assert decision(vllm | project | page) == "<=4.44"
    assert decision(vllm | page) == "4.41.0"
    assert decision(page | {"sub/requirements.txt": "transformers==4.43.0\n"}) == "4.43.0"
    assert decision(page | {"setup.sh": "pip install transformers\n"}) == "4.42.0 in the text (4.42.0)"


def test_a_clone_that_a_page_makes_counts_after_a_copy():
    page = "git clone https://github.com/huggingface/trl.git\ncd trl/\npip install -e .\n"
    assert decision({"README.md": page, "trl/__init__.py": '__version__ = "0.9.6"\n'}, "trl") == "0.9.6"
    assert decision({"README.md": page}, "trl") == "the main branch"


BLOCK = """# /// script
# requires-python = ">=3.10"
# dependencies = [
#     "transformers==4.40.0",
#   "trl>=0.9",
# ]
# ///
import trl
"""


def test_the_block_of_a_program():
    def stated(package, files=None, name="t.py", script=BLOCK, program=""):
        repositories = Repositories(disk=Files(files or {}))
        return [each.release or each.spec for each in repositories.look([TOP], package, name, script, program)]

    assert stated("transformers") == ["4.40.0"]
    assert stated("transformers", {"requirements.txt": "transformers==4.41.0\n"}) == ["4.40.0"]
    assert stated("trl") == [">=0.9"]
    assert stated("trl", {"requirements.txt": "trl==0.9.6\n"}) == ["0.9.6"]
    assert stated("trl", {"requirements.txt": "trl==0.8.6\n"}) == [">=0.9"]
    assert stated("transformers", name="run.sh", script="python t.py\n", program=BLOCK) == ["4.40.0"]
    assert stated("transformers", script=BLOCK.replace("# ]", "")) == []
    assert stated("transformers", script="x = 1\n" + BLOCK.replace("# ///\n", "")) == []


def test_other_packages_of_a_table_of_dependencies():
    assert decision({"setup.py": DEPS}, "trl") == "0.7.10"
    assert decision({"setup.py": DEPS}, "accelerate") == ">=1.2.1"


def test_the_copy_of_llama_factory_has_its_version_among_its_settings():
    files = {"src/llamafactory/__init__.py": "from .extras.env import VERSION\n", "src/llamafactory/extras/env.py": 'VERSION = "0.9.1"\n'}
    assert decision(files, "llamafactory") == "0.9.1"


def test_a_copy_of_llama_factory_may_have_its_former_name():
    files = {
        "setup.py": 'setup(\n    name="llmtuner",\n    version=get_version(),\n)\n',
        "src/llmtuner/__init__.py": '__version__ = "0.7.1"\n',
    }
    assert decision(files, "llamafactory") == "0.7.1"
    assert decision({**files, "requirements.txt": "llamafactory==0.9.3\n"}, "llamafactory") == "0.7.1"


def test_the_copy_of_ms_swift_has_its_code_in_a_folder_of_another_name():
    files = {
        "setup.py": "setup(\n    name='ms_swift',\n    version=get_version(),\n)\n",
        "swift/__init__.py": "from .version import __version__\n",
        "swift/version.py": "__version__ = '3.12.6'\n",
    }
    assert decision(files, "ms-swift", at="examples") == "3.12.6"
    assert decision({**files, "requirements.txt": "ms-swift==3.0.0\n"}, "ms-swift") == "3.12.6"
    assert decision({**files, "swift/version.py": "__version__ = '4.7.0.dev0'\n"}, "ms-swift").startswith(
        "the development version 4.7.0.dev0"
    )
    assert decision({**files, "setup.py": ""}, "ms-swift") is None  # another package of that name


def test_a_copy_of_a_package_whose_name_has_a_hyphen():
    files = {"pyproject.toml": '[project]\nname = "gpt-neox"\ndynamic = ["version"]\n', "gpt_neox/__init__.py": "__version__ = '2.0.1'\n"}
    assert decision(files, "gpt-neox") == "2.0.1"


def test_a_folder_that_has_only_the_name_of_a_package_is_no_copy():
    files = {"trl/config.yaml": "", "VERSION": "0.17.0\n"}
    assert decision(files, "trl") is None
    assert decision({**files, "src/trl/__init__.py": "from .trainer import *\n"}, "trl") == "0.17.0"


@each_case(
    ("files", "expected"),
    [
        ({"uv.lock": '\nname = "transformers"\nversion = "4.41.0"\n', "requirements.txt": "transformers==4.40.0"}, "4.41.0"),
        ({"requirements.txt": "transformers==4.40.0", "pyproject.toml": '[project]\ndependencies = ["transformers==4.41.0"]'}, "4.40.0"),
        ({"requirements.txt": "transformers", "Dockerfile": "RUN pip install transformers==4.40.0"}, "4.40.0"),
        ({"Dockerfile": "RUN pip install transformers==4.41.0", "README.md": "pip install transformers==4.40.0"}, "4.41.0"),
        ({"Dockerfile": "RUN pip install 'transformers>=4.51'\nRUN pip install 'transformers<4.52'\n"}, ">=4.51,<4.52"),
        ({"Dockerfile": "RUN pip install 'transformers>=4.51'\nRUN pip install 'transformers<4.46'\n"}, ">=4.51"),
        ({"requirements-a.txt": "transformers==4.40.0", "requirements.txt": "transformers==4.42.4"}, "4.42.4"),
        ({"requirements-a.txt": "transformers==4.40.0", "requirements-b.txt": "transformers==4.42.4"}, "4.40.0 or 4.42.4"),
        ({"requirements.txt": "transformers>=4.40", "requirements-gpu.txt": "transformers==4.42.4"}, "4.42.4"),
        ({"requirements.txt": "-r deps/base.txt", "deps/base.txt": "transformers==4.40.0"}, "4.40.0"),
        ({"requirements.txt": "-c constraints.txt\ntransformers", "constraints.txt": "transformers==4.40.0"}, "4.40.0"),
        ({"requirements.txt": "transformers>=4.40", "sub/requirements.txt": "transformers==4.42.4"}, ">=4.40"),
        ({"a/requirements.txt": "transformers==4.40.0", "b/requirements.txt": "transformers==4.42.4"}, None),
        ({"a/requirements.txt": "transformers==4.40.0", "b/requirements.txt": "transformers==4.40.0"}, "4.40.0"),
    ],
)
def test_which_statement_decides(files, expected):
    assert decision(files) == expected


@each_case(
    ("files", "expected"),
    [
        ({"a/requirements.txt": "transformers==4.30.2", "requirements.txt": "transformers==4.40.0"}, "4.30.2"),
        ({"a/requirements.txt": "transformers>=4.35", "requirements.txt": "transformers==4.40.0"}, "4.40.0"),
        ({"a/requirements.txt": "transformers<4.35", "requirements.txt": "transformers==4.40.0"}, "<4.35"),
        ({"a/README.md": "pip install transformers==4.30.2", "requirements.txt": "transformers==4.40.0"}, "4.30.2"),
    ],
)
def test_the_nearest_folder_decides(files, expected):
    assert decision(files, at="a") == expected


@each_case(
    ("files", "expected"),
    [
        (["a/train.py", "b/train.py"], None),
        (["a/train.ipynb", "b/train.py", "main.py"], None),
        (["a/train.yaml", "b/train.py"], "4.30.2"),
        (["a/train.py", "b/Dockerfile"], "4.30.2"),
        (["a/train.yaml", "main.py", "b/train.py"], "4.30.2"),
        (["a/train.py", "b/README.md"], None),
    ],
)
def test_a_folder_with_programs_is_not_for_another_one_with_programs(files, expected):
    assert decision({**dict.fromkeys(files, ""), "b/requirements.txt": "transformers==4.30.2"}, at="a") == expected


@pytest.mark.parametrize(
    "line", ["pip install -q 'trl==0.17.0' peft", "VERSION=0.17.0\npip3 install trl==$VERSION", "!pip install trl==0.17.0"]
)
def test_the_launch_script_installs_it(line):
    assert decision({"README.md": "pip install trl==0.9.6"}, "trl", script=f"#!/bin/bash\n{line}\naccelerate launch train.py\n") == "0.17.0"
    assert decision({"requirements.txt": "trl==0.9.6"}, "trl", script=f"{line}\n") == "0.9.6"


def test_the_output_of_pip_freeze_in_powershell():
    assert decoded("trl==0.9.6\n".encode("utf-16")) == "trl==0.9.6\n"


def test_a_commit_asks_the_nearest_modelled_release(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "requirements.txt").write_text(f"trl @ git+https://github.com/huggingface/trl@{COMMIT}\ntransformers==4.41.0.dev0\n")
    facts = Repositories().complete(LaunchFacts(), "train.yaml", ["trl", "transformers"])
    assert facts.outside == {
        "trl": "at commit 0123456789 (requirements.txt)",
        "transformers": "at the development version 4.41.0.dev0 (requirements.txt)",
    }
    assert facts.target == {"transformers": "4.41.0.dev0"}


def test_a_bound_is_not_a_release(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "requirements.txt").write_text("transformers>=4.40,<4.42\ntrl==0.17.0\n")
    facts = Repositories().complete(LaunchFacts(), "train.yaml", ["trl", "transformers"])
    assert (facts.target, facts.bounds) == ({"transformers": "4.41.2", "trl": "0.17.0"}, {"transformers": (">=4.40,<4.42",)})
    assert [facts.is_known(package) for package in ("transformers", "trl", "deepspeed")] == [False, True, False]


def test_a_hundred_thousand_entries_are_read_in_bounded_time():
    import time

    begun = time.process_time()
    text = "trl==0.17.0\n" + "".join(f"package-{number}==1.0\n" for number in range(100_000))
    assert decision({"requirements.txt": text, "environment.yml": text}, "trl") == "0.17.0"
    assert time.process_time() - begun < 5
