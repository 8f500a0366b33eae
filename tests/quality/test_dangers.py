"""What code of karat never does with what it reads, and whom it talks to."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from each import each

ROOT = Path(__file__).resolve().parents[2]
UNSAFE = {"cloudpickle", "dill", "joblib", "marshal", "pickle", "shelve", "torch", "xmlrpc", "yaml"}
"""Modules that run what they read, or that nothing here needs."""
CALLS = {"eval", "exec", "compile", "__import__", "os.system", "os.popen"}

WATCH = """
import json, sys
events = []
names = ("connect", "getaddrinfo", "gethostbyname", "sendto")
names = (*(f"socket.{name}" for name in names), "subprocess.Popen", "os.system")
sys.addaudithook(lambda name, details: events.append((name, repr(details[0]))) if name in names else None)
from karat.cli import main
from karat.cli._ending import note_own_code
note_own_code()  # or the first command would end the process at once
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["karat", *arguments]
    try:
        main()
    except SystemExit as exit:
        assert not exit.code, arguments
print(json.dumps(events))
"""


WORDS = {name.rpartition(".")[2] for name in CALLS} | {"load", "shell", "allow_pickle"} | UNSAFE
"""What has none of these words has no danger, and need not be parsed."""


def parse_sources() -> Iterator[tuple[Path, ast.AST]]:
    """Return the files of the package that have such a word, parsed."""
    words = re.compile(rf"\b(?:{'|'.join(sorted(WORDS))})\b")
    for path in sorted((ROOT / "src").rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if words.search(source):
            yield path, ast.parse(source)


def name_of(function: ast.expr) -> str:
    """Return how a function is called, such as ``eval`` or ``os.system``; to unparse each one takes seconds."""
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        return f"{function.value.id}.{function.attr}"
    return function.id if isinstance(function, ast.Name) else ""


def list_dangers(tree: ast.AST) -> Iterator[str]:
    """Return what a file imports or calls that would run what it reads, or a shell."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            names = [module] if module else [alias.name for alias in node.names]
            yield from (name for name in names if name.partition(".")[0] in UNSAFE)
        if isinstance(node, ast.Call):
            name = name_of(node.func)
            options = {word.arg: word.value for word in node.keywords if word.arg in ("shell", "allow_pickle")}
            safe = all(isinstance(value, ast.Constant) and value.value is False for value in options.values())
            if name in CALLS or not safe or (name in ("np.load", "numpy.load") and not options):
                yield ast.unparse(node)


@pytest.mark.slow
def test_nothing_runs_what_it_reads() -> None:
    """No module of karat unpickles, evaluates, starts a shell, or reads YAML."""
    assert {str(path): dangers for path, tree in parse_sources() if (dangers := list(list_dangers(tree)))} == {}


def test_xml_is_written_and_never_parsed() -> None:
    """Only the writer of JUnit uses a library for XML, and it parses nothing: there are no entities to expand."""
    sources = {path: path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")}
    users = {
        path for path, text in sources.items() if re.search(r"^\s*(?:import|from) (?:xml|lxml|pyexpat)", text, re.M)
    }
    assert {path.name for path in users} == {"_junit.py"}
    assert not re.search(r"ET\.(?:parse|fromstring|XML|iterparse)|XMLParser", sources[users.pop()])


@each(
    "code", ["import pickle", "from yaml import load", "eval(x)", "run(x, shell=True)", "np.load(x, allow_pickle=True)"]
)
def test_the_search_for_dangers_finds_them(code: str) -> None:
    """The search would notice what it is there for."""
    assert list(list_dangers(ast.parse(code)))


@pytest.mark.slow
def test_nobody_is_spoken_to(tmp_path: Path, environment: dict[str, str]) -> None:
    """Start, check with the embedding model, accept, report and score: no connection, no lookup, no program but git."""
    project = str(tmp_path / "shop")
    calls = [
        ["init", project, "--yes", "--ci", "both"],
        ["golden", "check", project],
        ["check", project, "--reports", str(tmp_path / "reports")],
        ["baseline", "update", project],
        ["check", project],
        ["score", "examples/scoring/qrels.txt", "examples/scoring/run.txt"],
    ]
    env = environment | {"PYTHONPATH": str(ROOT / "src")}
    process = subprocess.run(
        [sys.executable, "-c", WATCH, json.dumps(calls)], cwd=ROOT, env=env, capture_output=True, text=True
    )
    assert process.returncode == 0, process.stderr
    events = json.loads(process.stdout.splitlines()[-1])
    assert {name for name, _ in events} <= {"subprocess.Popen"}
    assert {Path(program.strip("'")).name for _, program in events} <= {"git"}
