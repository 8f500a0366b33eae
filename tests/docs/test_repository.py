"""The repository keeps its own rules."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import karat
from each import each

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def packages() -> list[str]:
    """Return the names of karat's packages."""
    return ["karat", *(f"karat.{package.name}" for package in pkgutil.iter_modules(karat.__path__) if package.ispkg)]


def constants_classes_functions(name: str) -> tuple[int, str]:
    """Return the sort key of `__all__`: constants, then classes, then the rest, each by name."""
    return (0 if name.isupper() else 1 if name[:1].isupper() else 2, name)


@each("name", packages())
def test_the_door_of_a_package_is_sorted_and_opens(name: str) -> None:
    """`__all__` has no name twice, is sorted, and every name in it can be imported."""
    package = importlib.import_module(name)
    public = list(package.__all__)
    assert public == sorted(set(public), key=constants_classes_functions)
    for public_name in public:
        assert getattr(package, public_name) is not None


@each("name", packages())
def test_the_door_of_a_package_has_all_that_it_imports(name: str) -> None:
    """What `__init__.py` imports from inside, or defines, is in `__all__` unless its name begins with `_`."""
    package = importlib.import_module(name)
    assert set(package.__all__) >= names_of_the_door(package)


def names_of_the_door(package: ModuleType) -> set[str]:
    """Return the public names that the `__init__.py` of a package imports from karat, or defines; not its packages."""
    tree = ast.parse(Path(str(package.__file__)).read_text(encoding="utf-8"))
    imported = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    names = {a.asname or a.name for node in imported if (node.module or "").startswith("karat") for a in node.names}
    names |= {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    inside = {inner.name for inner in pkgutil.iter_modules(package.__path__)}
    return {name for name in names if not name.startswith("_")} - inside - {"open_lazily"}  # with which a door is made


def names_in_docs() -> list[str]:
    """Return what the pages name after karat and a dot, if that is a package or a public name of karat."""
    pages = {ROOT / "README.md", *(ROOT / "docs").rglob("*.md")} - {*(ROOT / "docs/decisions").iterdir()}
    written = {
        name for page in pages
        for name in re.findall(r"(?<![\w./-])karat(?:\.[A-Za-z]\w*)+", page.read_text(encoding="utf-8"))
    }  # fmt: skip
    return sorted(name for name in written - {"karat.golden.name"} if name.split(".")[1] in dir(karat))


_FRESH = """
import sys
import karat
for name in sys.argv[1:]:
    for path in [path for path in sys.modules if path.startswith("karat.")]:
        parent, _, child = path.rpartition(".")
        vars(sys.modules[parent]).pop(child, None)  # an import of it elsewhere has set it, as luck would have it
    value = karat
    try:
        for part in name.split(".")[1:]:
            value = getattr(value, part)
    except AttributeError as error:
        print(name, error)
"""


@pytest.mark.slow
def test_what_the_docs_name_is_an_attribute_after_import_karat() -> None:
    """`karat.gate.decide` works as the docs write it: packages are imported when they are first used."""
    names = names_in_docs()
    assert {"karat.score", "karat.gate.decide", "karat.stats.sequential", "karat.online.trials.read_transitions"} <= {
        *names
    }
    asked = subprocess.run([sys.executable, "-c", _FRESH, *names], capture_output=True, text=True, check=True)
    assert asked.stdout == ""


def test_type_checkers_know_the_packages_that_the_docs_name() -> None:
    """They see what `__init__.py` imports for them, and `dir()` shows every package."""
    source = ROOT / "src"
    packages = {".".join(file.parent.relative_to(source).parts) for file in source.rglob("__init__.py")} - {"karat"}
    parts = [name.split(".") for name in names_in_docs()]
    named = {".".join(part[:length]) for part in parts for length in (2, 3) if part[1] != "schema"} & packages
    assert {name for name in named if name not in packages_for_types(name.rpartition(".")[0])} == set()
    assert {name.split(".")[1] for name in packages} <= {*dir(karat)}


def packages_for_types(package: str) -> set[str]:
    """Return the inner packages that the `__init__.py` of a package imports from it."""
    tree = ast.parse((ROOT / "src" / package.replace(".", "/") / "__init__.py").read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == package]
    return {f"{package}.{alias.name}" for node in imports for alias in node.names if alias.asname == alias.name}


def test_modules_inside_packages_are_private() -> None:
    """`__init__.py` is the only door: every other module's name begins with an underscore, but for `__main__`."""
    modules = pkgutil.walk_packages(karat.__path__, "karat.")
    assert [m.name for m in modules if not m.ispkg and not m.name.rpartition(".")[2].startswith("_")] == []


def test_no_source_file_is_longer_than_400_lines(files: list[Path]) -> None:
    """A file that passes 400 lines is asking to be two."""
    sizes = {str(name): len((ROOT / name).read_text(encoding="utf-8").splitlines()) for name in sources(files)}
    assert {name: size for name, size in sizes.items() if size > 400} == {}


def test_the_first_pages_stay_short() -> None:
    """The README has two hundred lines at most, and the walk of ``karat check`` fifteen steps."""
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 200
    walk = (
        (ROOT / "ARCHITECTURE.md")
        .read_text(encoding="utf-8")
        .split("## The walk of `karat check`")[1]
        .split("\n## ")[0]
    )
    steps = [int(number) for number in re.findall(r"(?m)^(\d+)\. ", walk)]
    assert steps == list(range(1, len(steps) + 1))
    assert 5 < len(steps) <= 15


def sources(files: list[Path]) -> list[Path]:
    """Return the Python files of the package."""
    names = [name for name in files if name.parts[0] == "src" and name.suffix == ".py"]
    assert names
    return names


def test_every_extra_is_described() -> None:
    """docs/install.md has a row for each extra of pyproject.toml, and for no other."""
    text = (ROOT / "docs" / "install.md").read_text(encoding="utf-8").partition("## Extras")[2]
    assert set(re.findall(r"^\| `([\w-]+)` \|", text, re.MULTILINE)) == set(PROJECT["optional-dependencies"])


def test_the_tests_that_the_page_on_security_names_are_there() -> None:
    """docs/security.md says how each promise is tested, in files that exist."""
    names = set(re.findall(r"`(tests/[^`]+|src/[^`]+)`", (ROOT / "docs" / "security.md").read_text(encoding="utf-8")))
    assert len(names) > 20
    assert [name for name in names if not (ROOT / name).is_file()] == []


def test_the_changelog_begins_with_this_version() -> None:
    """The newest entry of CHANGELOG.md is for the version that the package says it has."""
    entries = re.findall(r"^## \[([^]]+)\] - .+$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert entries[0] == karat.__version__


def shell_scripts(files: list[Path]) -> list[Path]:
    """Return the files that begin with a line for sh."""
    scripts = []
    for name in files:
        with (ROOT / name).open("rb") as file:
            if file.readline() == b"#!/bin/sh\n":
                scripts.append(name)
    return scripts


def test_shell_scripts_parse_stop_at_errors_and_can_be_called(files: list[Path]) -> None:
    """Each script is valid for sh, begins with `set -eu`, and is executable."""
    scripts = shell_scripts(files)
    assert {Path("karat"), Path(".ci/run"), Path("scripts/setup"), Path("scripts/test")} <= set(scripts)
    for name in scripts:
        subprocess.run(["sh", "-n", ROOT / name], check=True)
        assert "\nset -eu\n" in (ROOT / name).read_text(encoding="utf-8"), name
        assert (ROOT / name).stat().st_mode & 0o111, name


def test_every_script_is_a_shell_script(files: list[Path]) -> None:
    """scripts/ holds nothing that needs more than sh to start."""
    assert {name for name in files if name.parts[0] == "scripts"} <= set(shell_scripts(files))


# In pieces, so that this file does not match.
MACHINE = re.compile(
    r"(?<![\w.*~-])/(?:work/(?:main|shared)\b|(?:" + "|".join(("root", "home", "Users", "opt", "farm")) + r")/\w)"
    r"|py" + r"pi\.org|python" + r"hosted\.org|(?:index" + r"-url|find" + r"-links)[ =]+\S*[:/]",
)


@pytest.mark.slow
def test_no_file_names_this_machine_or_its_package_index(files: list[Path]) -> None:
    """Paths of a developer's machine and addresses of package indexes have no place in the repository."""
    matches = []
    for name in files:
        text = (ROOT / name).read_text(encoding="utf-8", errors="replace")
        matches += [f"{name}: {match[0]}" for match in MACHINE.finditer(text)]
    assert matches == []


@pytest.mark.parametrize("text", ["cd /" + "work/main", "'/" + "home/me/x'", "https://py" + "pi.org/simple"])
def test_the_search_for_machine_names_finds_them(text: str) -> None:
    """The pattern would notice what it is there for."""
    assert MACHINE.search(text)


def test_settings_of_tools_come_last_in_the_project_file() -> None:
    """scripts/setup compares what stands before them, and so must find there all that says what is installed."""
    tables = re.findall(r"^\[+([\w.-]+)\]+", (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert tables == sorted(tables, key=lambda name: name.startswith("tool."))
