"""The documents are true: commands run, outputs are what is printed, and nothing that exists is left out."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import click
import pytest

import karat
from each import each
from karat.cli._main import cli
from karat.core import MEASURES, Definition
from karat.measures import CONVENTIONS
from karat.measures._reference import SECTIONS, reference, sections
from postgres import start_own
from warm import Warm

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
PAGES = [
    README,
    *(ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]


def verbs(group: click.Group, prefix: str = "") -> Iterator[tuple[str, click.Command]]:
    """Return every verb with its name, those of groups as in ``golden check``."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from verbs(command, f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", command


VERBS = dict(verbs(cli))


@dataclass(frozen=True, kw_only=True)
class Block:
    """A fenced block of a page."""

    line: int
    info: str
    text: str
    exit_code: int = 0
    """What the comment right before it says that it ends with."""
    output: str | None = None
    """What the ``text`` block right after it says that it prints."""


FENCE = re.compile(r"^( *)```([^\n`]*)\n(.*?)^\1```$\n?", re.MULTILINE | re.DOTALL)
EXIT = re.compile(r"<!-- exit=(\d+) -->\s*")  # not in the fence's first line, where Python-Markdown does not take it


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page."""
    text = page.read_text(encoding="utf-8")
    fences: list[Block] = []
    end = 0
    for match in FENCE.finditer(text):
        between, content = text[end : match.start()], textwrap.dedent(match[3])
        if fences and fences[-1].info == "sh" and match[2] == "text" and not between.strip():
            fences[-1] = replace(fences[-1], output=content)
        marked = EXIT.search(between)
        code = int(marked[1]) if marked and marked.end() == len(between) else 0
        fences.append(Block(line=text.count("\n", 0, match.start()) + 1, info=match[2], text=content, exit_code=code))
        end = match.end()
    return fences


def is_shortened(printed: str, shown: str) -> bool:
    """Return whether a page shows what is printed, with a line of three dots in place of any number of lines."""
    parts = [re.escape(part) for part in re.split(r"^\.\.\.\n", shown, flags=re.MULTILINE)]
    return len(parts) > 1 and re.fullmatch(r"(?:.*\n)*".join(parts), printed) is not None


def code(page: Path, language: str) -> list[Block]:
    """Return the blocks of a page that are in a language."""
    return [block for block in blocks(page) if block.info == language]


def with_code(language: str) -> list[object]:
    """Return the pages that have code in a language, as parameters of a test."""
    return [pytest.param(page, id=str(page.relative_to(ROOT))) for page in PAGES if code(page, language)]


@pytest.fixture(scope="session")
def ready(root: Path, environment: dict[str, str]) -> Path:
    """The repository's own environment, up to date with its files; after `./scripts/check` this does nothing."""
    subprocess.run([root / "scripts/setup", "dev"], env=environment, check=True, timeout=600)
    return root / ".venv"


INDEX = Path("examples", "hotel", ".karat")
"""Where karat leaves the chunks and the index of the example, which are the same for all pages."""


@pytest.fixture(scope="session")
def index(
    clone: Callable[..., Path], warm: Warm, environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """What ``karat eval`` leaves in the example's folder for the next time."""
    target = clone(tmp_path_factory.mktemp("indexed") / "clone", linked=("src", "tests"))
    program = warm.write_program(target / "karat", "karat")
    subprocess.run([program, "eval", "examples/hotel"], cwd=target, env=environment, capture_output=True, check=True)
    return target / INDEX


@pytest.fixture
def copy(
    tmp_path: Path, clone: Callable[..., Path], ready: Path, warm: Warm, request: pytest.FixtureRequest, page: Path
) -> Path:
    """A copy of the repository that is set up already.

    The README has the real launcher and an example that was never indexed, other pages a warm karat and an index, as
    somebody has who read the README before.
    """
    # src is linked with its byte code, or every page would compile karat anew.
    target = clone(tmp_path / "clone", linked=("src", "tests"))
    if page == README:
        (target / ".venv").symlink_to(ready)
    else:
        warm.write_program(target / "karat", "karat")
        write_python(target / ".venv" / "bin" / "python", ready, warm)
        if any("examples/hotel" in block.text for block in code(page, "sh")):
            shutil.copytree(request.getfixturevalue("index"), target / INDEX)
    return target


def write_python(path: Path, ready: Path, warm: Warm) -> None:
    """Write a Python that runs pytest in a warm process; there, karat was imported before pytest could rewrite it."""
    path.parent.mkdir(parents=True)
    program = warm.write_program(path.with_name("pytest"), "pytest")
    quiet = "-W ignore::pytest.PytestAssertRewriteWarning"
    path.write_text(
        "#!/bin/sh\n"
        f'if [ "$1 $2" = "-m pytest" ]; then shift 2 && exec "{program}" {quiet} "$@"; fi\n'
        f'exec "{ready}/bin/python" "$@"\n'
    )
    path.chmod(0o755)


def test_shell_blocks_run_the_launcher_of_the_clone() -> None:
    """``./karat`` everywhere: it needs no installation, and a line that was copied from any page runs."""
    bare = re.compile(r"(?:^|[|&;(] *)karat [a-z-]", re.MULTILINE)
    pages = {page.relative_to(ROOT) for page in PAGES for block in code(page, "sh") if bare.search(block.text)}
    assert pages == set()


@pytest.mark.parametrize("page", with_code("sh"))
def test_every_shell_block_runs_and_prints_what_the_page_says(
    page: Path, copy: Path, environment: dict[str, str]
) -> None:
    """Shell blocks run in their order, end with the code they name, and print the text block that follows them."""
    if any("postgresql:///" in block.text for block in code(page, "sh")):
        environment = environment | start_own()
    for block in code(page, "sh"):
        where = f"{page.relative_to(ROOT)}, line {block.line}"
        scripts = [line.split()[0] for line in block.text.splitlines() if line.startswith("./scripts/")]
        if scripts:  # they run these tests, or minutes of benchmarks: here it is enough that they are there
            assert len(scripts) == len(block.text.splitlines()), f"{where}: a script among other commands"
            assert all((copy / script).stat().st_mode & 0o111 for script in scripts), where
            continue
        process = subprocess.run(
            ["sh", "-eu", "-c", block.text],
            cwd=copy,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
        )
        assert process.returncode == block.exit_code, f"{where}:\n{process.stdout}"
        if block.output is not None:
            # The names of runs and reports have the day.
            lines = process.stdout.splitlines(keepends=True)
            shown = [line for line in lines if not line.startswith(("karat: run saved as ", "karat: report saved as "))]
            assert "".join(shown) == block.output or is_shortened("".join(shown), block.output), where


@pytest.mark.parametrize("page", with_code("python"))
def test_every_python_block_runs_and_gives_what_the_page_says(
    page: Path, copy: Path, environment: dict[str, str], warm: Warm, tmp_path: Path
) -> None:
    """Python blocks run in their order, and give the values that stand under them: the README's in a new Python."""
    source = json.dumps([(block.line, block.text) for block in code(page, "python")])
    command = [sys.executable, "-P", "-m", "page_code"]
    if page != README:
        command = [warm.write_program(tmp_path / "python", "page_code")]
    process = subprocess.run(
        command,
        cwd=copy,
        env=environment | {"PYTHONPATH": str(Path(__file__).parent)},
        input=source,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert process.returncode == 0, f"{page.relative_to(ROOT)}:\n{process.stdout}{process.stderr}"


def test_the_two_commands_of_the_readme_are_there() -> None:
    """The README's first two shell blocks are the command that checks the example and the command that tests."""
    first, second = [block.text for block in code(README, "sh")][:2]
    assert first == "./karat check examples/hotel\n"
    assert second == "./scripts/test\n"


def test_the_readme_is_short_and_its_comparison_was_measured() -> None:
    """Picture and both commands are on its first screen, and each number beside other tools is on the page of peers."""
    text = README.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 200
    assert text.index("](docs/images/report.png)") < text.index("## Why not")
    table = re.findall(r"^\|.+\|$", text.partition("## Why not")[2].partition("\n## ")[0], re.MULTILINE)[2:]
    measured = (ROOT / "docs" / "peers.md").read_text(encoding="utf-8")
    numbers = {number for row in table for number in re.findall(r"(?<![@\w.-])\d+(?:[.,]\d+)*\b", row)}
    assert len(numbers) > 10
    assert [number for number in numbers if not re.search(rf"(?<![\d.]){re.escape(number)}(?!\d)", measured)] == []
    assert {"trec_eval", "ranx", "ragas", "deepeval", "promptfoo", "MLflow", "Phoenix"} <= set(
        re.findall(r"\w+", "".join(table))
    )


def test_every_block_is_in_a_language_that_is_checked() -> None:
    """A block is a command, Python, text or data: a mistyped language would never be run."""
    languages = {"sh", "python", "text", "json", "toml"}
    others = {(page, block.info) for page in PAGES for block in blocks(page) if block.info not in languages}
    written = {
        (page, "pycon") for page in (ROOT / "docs" / "reference").glob("*.md")
    }  # docstrings, which run by themselves
    written.add((ROOT / "docs" / "notebook.md", "py"))  # tests/docs/test_notebook_page.py runs them
    assert others - written <= {(ROOT / "docs" / "store.md", "sql")}  # which tests/store/test_postgres.py runs


def test_no_shell_block_installs_with_pip() -> None:
    """What needs a package index is shown as text, since nobody can run it here and see that it is true."""
    assert not [page for page in PAGES for block in code(page, "sh") if "pip install" in block.text]


def options(command: click.Command) -> Iterator[click.Option]:
    """Return the options of a verb, apart from its help."""
    return (p for p in command.params if isinstance(p, click.Option) and "--help" not in p.opts)


@each("verb", VERBS)
def test_every_verb_has_a_page_with_all_of_its_options(verb: str) -> None:
    """A verb's page is named like it or its group, and has every option and choice, and none that does not exist."""
    command = VERBS[verb]
    page = ROOT / "docs" / f"{verb.split()[0].replace('-', '_')}.md"
    text = page.read_text(encoding="utf-8")
    words = set(re.findall(r"(?<![\w-])-{1,2}[A-Za-z][\w-]*", text))
    assert f"karat {verb}" in text
    everywhere = {"--max-bytes", "--project", "-j", "-k", "-m", "-n", "-o"}
    # What holds for all verbs has a page of its own.
    rules = (ROOT / "docs" / "files.md").read_text(encoding="utf-8")
    words |= everywhere & set(re.findall(r"(?<![\w-])-{1,2}[a-z-]+", rules))
    for option in options(command):
        assert set(option.opts + option.secondary_opts) <= words, f"{page.name} lacks {option.opts}"
        for choice in option.type.choices if isinstance(option.type, click.Choice) else ():
            assert re.search(rf"\b{choice}\b", text), f"{page.name} lacks {option.opts[0]} {choice}"
    known = {
        word for other in VERBS.values() for option in options(other) for word in option.opts + option.secondary_opts
    }
    assert {word for word in words if word.startswith("--")} <= known | {"--help", "--version"}


def test_every_verb_is_named_in_the_readme() -> None:
    """Nobody has to read the pages to learn that a verb exists."""
    text = README.read_text(encoding="utf-8")
    assert [verb for verb in {verb.split()[0] for verb in VERBS} if f"karat {verb}" not in text] == []


def test_every_public_name_is_described() -> None:
    """The pages on scoring and on golden sets have all that `import karat` gives."""
    text = "".join((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("score.md", "golden.md", "eval.md"))
    assert [name for name in karat.__all__ if name != "__version__" and f"`karat.{name}" not in text] == []


def own_measures() -> list[Definition]:
    """Return the measures of karat itself, without those of other packages that may be installed."""
    return [d for d in MEASURES if d.kernel.__module__.startswith("karat.")]


@each("definition", own_measures(), ids=lambda d: d.name)
def test_every_measure_says_all_that_the_reference_shows(definition: Definition) -> None:
    """A measure has a summary of one sentence, formula, range, convention, citation, and an example that uses it."""
    parts = sections(definition)
    assert set(parts) == {"Summary", "Example", *SECTIONS}
    assert all(parts.values())
    assert parts["Summary"].endswith(".")
    assert any(word.lower() in parts["Example"].lower() for word in (definition.name, *definition.aliases))
    assert all(parameter.help for parameter in definition.parameters)


def test_the_measures_page_is_what_the_table_of_measures_gives() -> None:
    """docs/measures.md is generated: it has every measure, and ./scripts/docs was run after the last change."""
    page = (ROOT / "docs" / "measures.md").read_text(encoding="utf-8")
    assert page == reference(), "run ./scripts/docs"
    printed = subprocess.run([sys.executable, "-m", "karat.measures._reference"], capture_output=True, check=True)
    assert printed.stdout.decode() == page
    headings = re.findall(r"^### (.+)$", page, re.MULTILINE)
    assert sorted(headings) == sorted(d.name for d in own_measures())
    for definition in own_measures():
        assert all(f"`{alias}`" in page for alias in definition.aliases)


def test_the_conventions_page_lists_what_each_convention_computes() -> None:
    """The table of default measures says what the presets say."""
    text = (ROOT / "docs" / "conventions.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (.+@.+) \|$", text, re.MULTILINE)
    assert dict(rows) == {name: ", ".join(c.measures) for name, c in CONVENTIONS.items()}


def test_the_number_of_measures_in_the_readme_is_right() -> None:
    """The README counts the measures; the count is that of the table."""
    text = README.read_text(encoding="utf-8")
    assert re.findall(r"(\d+) measures in all", text) == [str(len(own_measures()))]


def prose(page: Path) -> str:
    """Return a page without its code."""
    return re.sub(r"`[^`\n]+`", "", FENCE.sub("", page.read_text(encoding="utf-8")))


@cache
def anchors(page: Path) -> set[str]:
    """Return the fragments that can be linked to in a page."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@each("page", PAGES)
def test_links_lead_somewhere(page: Path) -> None:
    """Every link to a file of the repository, or to a heading in it, resolves."""
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if re.match(r"https?://", target):
            continue
        path, _, fragment = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), f"{target} in {page.name}"
        assert not fragment or fragment in anchors(linked), f"{target} in {page.name}"
