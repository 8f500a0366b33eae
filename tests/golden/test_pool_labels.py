"""``karat golden pool --decide A B``: runs by their labels."""

from __future__ import annotations

from pathlib import Path

from in_process import run_karat
from karat import evaluate
from karat.core import Document, GoldenSet, Judgment, Query, Target
from karat.golden import write


def test_runs_of_the_project_are_named_by_their_labels(tmp_path: Path) -> None:
    """As for explain, report and gate; a name that no run has is one message."""
    golden = GoldenSet(
        documents=tuple(Document(id=id_, text=f"All about the {id_}.") for id_ in ("pool", "spa", "bar")),
        queries=(Query(id="q1", text="pool?"),),
        judgments=(Judgment(query="q1", target=Target(document="bar"), grade=0),),
    )
    write(golden, tmp_path)
    (tmp_path / "karat.toml").write_text('[golden]\npath = "."\n')
    for label, ids in (("old", ["bar", "pool"]), ("new", ["spa", "pool"])):
        evaluate(tmp_path, lambda query, k, ids=ids: ids, output=tmp_path / "runs" / f"{label}.jsonl", label=label)
    answer = run_karat(
        "golden", "pool", "old", "new", "--golden", tmp_path, "--decide", "--json", "-o", tmp_path / "p.jsonl"
    )
    assert (answer.returncode, (tmp_path / "p.jsonl").read_text().count("\n")) == (0, 1), answer.stderr
    assert b'"runs":[' in answer.stdout.replace(b" ", b"")
    wrong = run_karat("golden", "pool", "old", "newer", "--golden", tmp_path, "--decide")
    assert (wrong.returncode, b"no run of the project has that label" in wrong.stderr) == (2, True)
