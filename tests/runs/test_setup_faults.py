"""What fails before the first question: the system's module, its ingest and readiness, the tenant, the golden set."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from karat import golden
from karat.core import GoldenSet, SystemFailed
from karat.runs import Settings, make_run

Call = Callable[..., tuple[str, str]]
Module = Callable[[str], str]
Kept = Callable[[], list[Path]]


IT = "class it:\n    def retrieve(self, q, k): ...\n    "
BEFORE = [
    ("raise RuntimeError('no GPU')\ndef it(q, k): ...", 3, "cannot be imported: RuntimeError: no GPU"),
    ("sys.exit(0)", 3, "cannot be imported: SystemExit: 0"),
    ("def it(q, k:", 3, "cannot be imported: SyntaxError"),
    ("import no_such_thing_x", 2, "No module named 'no_such_thing_x'; faulty_"),
    ("class it:\n    def __init__(self): raise OSError('no index')", 3, "it() failed: OSError: no index"),
    ("class it:\n    def __init__(self): sys.exit(0)", 3, "it() failed: SystemExit: 0"),
    ("class it:\n    def __init__(self, url): ...", 2, "it needs arguments; set them in [eval.parameters]"),
    ("it = 5", 2, "5 is not a system"),
    ("def it(query): ...", 2, "cannot be called as (query, k)"),
    (IT + "def describe(self): raise OSError('x')", 3, "describe itself: OSError: x"),
    (IT + "def describe(self): return {'a': math.nan}", 3, "failed to describe itself"),
    (IT + "def ingest(self, d): sys.exit(0)", 3, "ingest the documents: SystemExit: 0"),
    (IT + "def ingest(self): ...", 2, "cannot be called as (documents)"),
    (IT + "def ready(self): raise OSError('x')", 3, "failed in ready(): OSError: x"),
    ("class it:\n    ready = True\n    def retrieve(self, q, k): ...", 2, "ready is True, not a method"),
    (IT + "def document_ids(self): raise OSError('x')", 3, "failed in document_ids(): OSError: x"),
    (IT + "def document_ids(self): ...", 3, "failed in document_ids(): TypeError"),
    (
        IT + "def document_ids(self): return ['a', 'doc-b', 7]", 2,
        "lacks 5 of 6 relevant documents, such as 'b', 'c', 'd'; it has '7', 'a', 'doc-b'",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("code", "exit_code", "error"), BEFORE, ids=[case[0].split("\n")[-1] for case in BEFORE])
def test_what_fails_before_the_questions(
    call: Call, module: Module, kept: Kept, code: str, exit_code: int, error: str
) -> None:
    """The system's failures end in 3 and mistakes of the call in 2, with one message, and no file of a run."""
    out, err = call("--system", f"{module(code)}:it", code=exit_code)
    assert error in err
    assert err.count("\n") == 1
    assert (out, kept()) == ("", [])


def test_a_factory_makes_the_system(call: Call, module: Module) -> None:
    """A function that takes no question is called for it, and may be async."""
    name = module("async def make():\n    return lambda query, k: [query[0]]\n")
    assert "RR@10    1.0000" in call("--system", f"{name}:make")[0]


def test_a_system_that_never_gets_ready(letters: GoldenSet) -> None:
    """The wait has an end, and says for how long it was."""

    class Slow:
        def retrieve(self, query: str, k: int) -> list[str]:
            raise AssertionError("was asked")

        def ready(self) -> bool:
            return False

    with pytest.raises(SystemFailed, match=r"Slow is not ready after 0\.3 s"):
        make_run(letters, Slow(), Settings(ready_timeout=0.3))


def test_a_hit_of_another_tenant(call: Call, module: Module, kept: Kept) -> None:
    """Exit code 3, whatever else is wrong with the answer; nothing that looks finished. Ingest has the tenant too."""
    name = module("""
        tenants = []
        class Shared:
            def ingest(self, documents, company_id):
                tenants.append(company_id)
            def retrieve(self, query, k, company_id):
                tenants.append(company_id)
                whose = "rival" if query == "d?" else company_id
                return [{"id": query[0], "score": math.nan if query == "d?" else 1}, {"id": "z", "company_id": whose}]
    """)
    out, err = call("--system", f"{name}:Shared", "--tenant", "acme", code=3)
    assert "hit 'z' belongs to tenant 'rival', not to 'acme'" in err
    assert set(import_module(name).tenants) == {"acme"}
    assert out == ""
    assert not [file for file in kept() if file.name.endswith(".jsonl")]
    name = module("class it:\n    def retrieve(self, q, k, company_id): ...\n    def ingest(self, d): ...")
    assert (
        "cannot be called as (documents, company_id=...)" in call("--system", f"{name}:it", "--tenant", "a", code=2)[1]
    )


# What there is to ask


def test_gold_that_is_no_document(call: Call, folder: Path, letters: GoldenSet) -> None:
    """The pipeline knows what it holds: exit code 2 before the first question, with examples of both kinds of ids."""
    golden.write(replace(letters, documents=letters.documents[:4]), folder / "less")
    (folder / "karat.toml").write_text('[golden]\npath = "less"\n[pipeline]\ndense = false\n')
    _, err = call(code=2)
    assert "lacks 2 of 6 relevant documents, such as 'e', 'f'; it has 'a', 'b', 'c'" in err


def test_a_set_without_queries(call: Call, folder: Path, kept: Kept, letters: GoldenSet) -> None:
    """Exit code 2: there is nothing to ask."""
    golden.write(replace(letters, queries=(), judgments=()), folder / "none")
    (folder / "karat.toml").write_text('[golden]\npath = "none"\n[pipeline]\ndense = false\n')
    assert "the set has no query" in call(code=2)[1]
    assert kept() == []


@pytest.mark.parametrize("text", ["", " \n", "\u200b", "x" * 200_000, "\x00\x1b[31m"])
def test_questions_of_odd_text(letters: GoldenSet, text: str) -> None:
    """Blank, huge and with control characters: the pipeline answers, if only with nothing."""
    from karat.systems import Pipeline, Stages

    odd = replace(letters, queries=(replace(letters.queries[0], text=text), *letters.queries[1:]))
    run = make_run(odd, Pipeline(Stages(dense=False)))
    assert [trace.error for trace in run.traces] == [""] * 6
    assert run.traces[0].text == text


def test_a_system_that_prints(call: Call, module: Module) -> None:
    """What it prints goes to standard error; the JSON stays JSON."""
    name = module("print('loading')\ndef find(query, k):\n    print('asked', query)\n    return [query[0]]\n")
    out, err = call("--system", f"{name}:find", "--json")
    assert json.loads(out)["runs"][0]["failed"] == []
    assert "loading\n" in err
    assert "asked f?\n" in err


def test_an_error_of_several_lines(call: Call, module: Module) -> None:
    """It is quoted line by line."""
    name = module("def find(query, k):\n    raise OSError('one\\ntwo')\n")
    assert "not asked: OSError: one\ntwo; patience" in call("--system", f"{name}:find", code=3)[1]


def test_misses_are_no_strangers(call: Call, module: Module) -> None:
    """A document of the set that is not judged is a miss, and counts as 0; only names that are unknown are refused."""
    name = module("def find(query, k):\n    return ['c']\n")
    assert "RR@10    0.0000      2/2" in call("--system", f"{name}:find", "--sample", "2", "--seed", "1")[0]


def test_a_place_that_cannot_be_written_is_told_before_the_ingest(call: Call, module: Module, folder: Path) -> None:
    """Nobody waits an hour for it; and the system is closed in any case."""
    name = module("""
        seen = []
        class it:
            def ingest(self, documents):
                seen.append("ingest")
            def retrieve(self, query, k):
                seen.append("asked")
            def close(self):
                seen.append("close")
    """)
    (folder / "file").touch()
    call("--system", f"{name}:it", "--output", "file", code=2)
    assert import_module(name).seen == ["close"]
