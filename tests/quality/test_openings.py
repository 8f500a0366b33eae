"""Files are opened in one place, karat.files, where links, pipes, devices and bombs are dealt with."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src" / "karat"
METHODS = {"read_text", "read_bytes", "write_text", "write_bytes", "touch", "mkstemp", "mkdtemp"}
ELSEWHERE = {
    **dict.fromkeys(
        ("_beir", "_chroma", "_deepeval", "_json", "_karat", "_ragas", "_scalefile", "_trec"),
        "writes into the new folder of karat.golden.write, which nobody else can enter",
    ),
    "_database": "lets SQLite open a file that was made before, or memory",
    "_rendering": "reads a file of karat itself",
    "_checking": "works in a folder with a random name, which nobody else can enter",
    "_generating": "reads a file of karat itself",
    "_html": "reads a file of karat itself",
    "_kept_chunks": "reads the code of karat itself",
    "_policy_table": "reads a file of karat itself",
    "_release": "reads an archive in memory",
    "_conversion": "unpacks a file that is open already",
    "_runfile": "unpacks a file that is open already",
    "_head": "unpacks a file that is open already",
    "_source": "reads what pip recorded about karat",
    "_saved": "reads and writes the members of an archive that is open already",
    "_prompts": "reads a file of karat itself",
    "_reply_file": "lets SQLite open a file that was opened before",
    "_vector_file": "lets SQLite open a file that was opened before",
    "_span_buffer": "lets SQLite open a file that was opened before",
    "_replay": "opens a log, whose files have modules of their own",
    "_segment": "makes a file with a name of its own in the folder of the journal",
    "_ingest": "reads what karat wrote into the folder of the journal",
    "_forget": "overwrites what karat wrote into the folder of the journal",
    "_health": "reads what karat wrote into the folder of the journal",
    "_privacy": "makes the file of a key, which must not be there",
    "_mlflow": "lets SQLite open the store of MLflow",
    "_sqlite": "lets SQLite open a store, or the database that a table names",
    "_table": "closes standard output",
    "_tantivy": "lets tantivy read the index that a table names",
}
"""The modules that open something themselves, and why."""
WORDS = {"open", "connect", *METHODS}
"""A module without any of these opens nothing, and need not be parsed."""


def openings(path: Path) -> Iterator[str]:
    """Yield the calls of a module that open a file, or look like it."""
    source = path.read_text(encoding="utf-8")
    if not re.search(rf"\b(?:{'|'.join(sorted(WORDS))})\b", source):
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in WORDS:
            name = ast.unparse(node.func)
            owner, _, method = name.rpartition(".")
            opens = name in ("open", "sqlite3.connect") or method == "open" or (owner and method in METHODS)
            if opens and not name.startswith(("self.", "source.", "_", "webbrowser")):
                yield f"{path.relative_to(SOURCE)}:{node.lineno}: {name}"


@pytest.mark.slow
def test_nothing_else_opens_a_file() -> None:
    """A module that opens a file itself says why here."""
    modules = [path for path in SOURCE.rglob("*.py") if path.parent.name != "files"]
    opened = [(path.stem, call) for path in modules for call in openings(path)]
    assert [call for name, call in opened if name not in ELSEWHERE] == []
    assert ELSEWHERE.keys() - {name for name, _ in opened} == set()
