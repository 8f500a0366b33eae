"""``karat label``: from a queue to gold, in words and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.gate_project import main
from karat.labelling import open_desk
from karat.schema import DOCUMENTS, json_schema
from labelling.rooms import make_project


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = make_project(tmp_path / "p")
    monkeypatch.chdir(folder)
    return folder


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[object, str, str]:
    code = main(["label", *arguments])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_a_folder_of_runs_is_as_many_runs(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The number tells how many systems the pairs come from."""
    (project / "made").mkdir()
    for name in ("a.txt", "b.txt"):
        (project / name).rename(project / "made" / name)
    _, out, _ = call(capsys, "queue", "first", "made", "--overlap", "1", "--depth", "1")
    assert out.startswith("first: 8 pairs from the first rank of 2 runs;")


def test_the_list_of_disputes_says_what_it_leaves_out(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Ten are shown, and the others counted."""
    call(capsys, "queue", "first", "a.txt", "b.txt", "--overlap", "1", "--depth", "2")
    desk = open_desk(project)
    rows = [(row.query, document) for row in desk.open_queue("first").queue.rows for document in row.documents]
    for query, document in rows[:12]:
        for who, grade in (("ana", "0"), ("bo", "3")):
            call(capsys, "save", "first", query, document, grade, "--who", who)
    _, out, _ = call(capsys, "agreement")
    assert "disputes to settle: 12, settled: 0" in out
    assert out.endswith("\n  and 2 more; --json lists all\n")


def test_from_a_queue_to_gold(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two people label, one settles, one proposes, and another one accepts."""
    assert call(capsys, "status")[1] == "there are no queues yet; 'karat label queue' makes them\n"
    code, out, _ = call(capsys, "queue", "first", "a.txt", "b.txt", "--overlap", "1", "--depth", "1")
    assert (code, out) == (0, "first: 8 pairs from the first rank of 2 runs; 8 of them for several people\n")
    _, out, _ = call(capsys, "queue", "disputes", "--kind", "disputes", "--adjudicator", "cy")
    assert out == "disputes: 0 pairs on which people disagree, for cy to settle\n"
    _, out, _ = call(capsys, "next", "first", "--who", "ana")
    assert "asked because a system returned it; 8 left" in out
    assert "3 answers directly" in out
    for query in range(8):
        for who, grade in (("ana", query % 4), ("bo", query % 4 if query else 3)):
            code, out, _ = call(capsys, "save", "first", f"q{query}", "d5", str(grade), "--who", who, "--seconds", "4")
            assert (code, out) == (0, f"saved: q{query} d5 {grade}, by {who}\n")
    assert call(capsys, "next", "first", "--who", "ana")[1] == "first: nothing is left for ana\n"
    _, out, _ = call(capsys, "status")
    assert "first            8      8      16      16" in out
    assert "  ana: 8 graded, 0 skipped, 0 that they cannot tell, 4 s each" in out
    assert "disputes to settle: 1" in out
    _, out, _ = call(capsys, "agreement")
    assert "ana, bo      8  87.5%" in out
    assert "  q0 d5: ana 0, bo 3" in out
    assert "somebody says 3" in call(capsys, "next", "disputes", "--who", "cy")[1]
    call(capsys, "save", "disputes", "q0", "d5", "1", "--who", "cy")
    _, out, _ = call(capsys, "propose", "first", "--who", "ana", "--reason", "done")
    assert out.startswith("proposal 0001 by ana, open: done\npairs added: 8\n")
    assert "bump: minor" in out
    assert call(capsys, "proposals")[1].splitlines()[1].split() == ["0001", "open", "ana", "done", "17"]
    _, out, _ = call(capsys, "accept", "1", "--who", "ada", "--reason", "read")
    assert out.splitlines()[0] == "proposal 0001 by ana, accepted: done"
    decided, following = out.splitlines()[-2:]
    assert decided == "accepted by ada: read"
    assert following.startswith("next: the golden set was changed, and its version is still 1.0.0: ")
    rows = [json.loads(line) for line in (project / "set" / "judgments.jsonl").read_text().splitlines()]
    assert len(rows) == 8 + 17
    assert [row["annotator"] for row in rows if row.get("source") == "validated"] == ["cy"]


def test_a_passage_is_not_taken_for_the_document(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Who reads a passage alone may say that the document does not answer."""
    row = {"query": "q1", "document": "d2", "passage": "It closes late.", "grade": None}
    (project / "rows.jsonl").write_text(json.dumps(row) + "\n")
    call(capsys, "queue", "rows", "rows.jsonl", "--kind", "rows")
    _, out, _ = call(capsys, "next", "rows", "--who", "ana")
    assert "\n  It closes late.\n\nonly the passage that a system returned is shown" in out
    assert "--whole shows 46 characters more\n" in out  # of 61
    _, out, _ = call(capsys, "next", "rows", "--who", "ana", "--whole")
    assert "\n  # Room 2\n  \n  The café of room 2 opens at 2:30.\n  \n  It closes late.\n\nasked because" in out


def test_undo_skip_and_refuse(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call(capsys, "queue", "first", "a.txt", "--overlap", "0")
    assert call(capsys, "undo", "--who", "ana")[1] == "ana has no label to take back\n"
    assert call(capsys, "undo", "--who", "ana", "--json")[1] == "null\n"
    call(capsys, "save", "first", "q1", "d2", "cannot-tell", "--who", "ana")
    call(capsys, "save", "first", "q1", "d3", "skip", "--who", "ana", "--key", "k")
    assert call(capsys, "save", "first", "q1", "d3", "skip", "--who", "ana", "--key", "k")[1].startswith("was saved")
    assert call(capsys, "undo", "--who", "ana")[1] == "taken back: q1 d3, by ana\n"
    code, _, err = call(capsys, "save", "first", "q1", "d3", "good", "--who", "ana")
    assert (code, err) == (2, "karat: grade good: name a number, skip or cannot-tell\n")
    with (project / "labels" / "people" / "ana.jsonl").open("a") as file:
        file.write("{torn")
    _, _, err = call(capsys, "save", "first", "q1", "d3", "2", "--who", "ana", "--quote", "It closes late.")
    assert "karat: ana.jsonl: the last line was cut off" in err
    assert call(capsys, "agreement")[1].startswith("no pair was graded by two people yet\nnote: Let more pairs")
    assert call(capsys, "proposals")[1] == "there are no proposals; 'karat label propose' makes them\n"
    code, out, _ = call(capsys, "propose", "--query", "q1", "--paraphrase", "hours of 1?", "--who", "ana")
    assert "queries extended: 1" in out
    _, out, _ = call(capsys, "refuse", "1", "--who", "ada", "--reason", "no")
    assert out == "proposal 0001 by ana, refused\nrefused by ada: no\n"
    assert call(capsys, "show", "1")[1] == out
    for wrong in (["propose", "--who", "ana"], ["propose", "first", "--query", "q1", "--who", "ana"]):
        assert "name a queue" in call(capsys, *wrong)[2]
    assert "and not both" in call(capsys, *wrong)[2]


def test_a_proposal_that_fits_no_more_says_so(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for text in ("one?", "two?"):
        call(capsys, "propose", "--query", "q1", "--text", text, "--who", "ana")
    call(capsys, "accept", "1", "--who", "ada", "--reason", "r")
    assert "it does not fit the current golden set" in call(capsys, "show", "2")[1]
    assert call(capsys, "accept", "2", "--who", "ada", "--reason", "r")[0] == 2


@pytest.mark.slow
def test_every_verb_prints_a_published_document(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import jsonschema

    for document, line in (
        ("label-queue", ["queue", "first", "a.txt", "b.txt", "--kind", "decide"]),
        ("label-task", ["next", "first", "--who", "ana"]),
        ("label-saved", ["save", "first", "q1", "d2", "2", "--who", "ana"]),
        ("label-status", ["status"]),
        ("label-saved", ["undo", "--who", "ana"]),
        ("label-agreement", ["agreement"]),
        ("label-proposal", ["propose", "--query", "q1", "--text", "why?", "--who", "ana"]),
        ("label-proposal", ["show", "1"]),
        ("label-proposals", ["proposals"]),
        ("label-proposal", ["accept", "1", "--who", "ada", "--reason", "r"]),
    ):
        code, out, err = call(capsys, *line, "--json")
        assert (code, err) == (0, "")
        assert document in DOCUMENTS
        jsonschema.validate(json.loads(out), json_schema(document))


def test_a_run_can_be_named_by_its_label(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = call(capsys, "queue", "first", "no-such-run")
    assert (code, "no-such-run" in err) == (2, True)


def test_what_cannot_be_read_is_left_out_and_named(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The rest is printed, and the exit code says that it is not all; whoever has another file goes on."""
    call(capsys, "queue", "first", "a.txt", "b.txt", "--overlap", "1", "--depth", "1")
    for who in ("ana", "bo"):
        call(capsys, "save", "first", "q1", "d5", "2", "--who", who)
    (project / "labels" / "proposals").mkdir()
    for name in ("people/bo.jsonl", "proposals/0001.jsonl", "queues/odd.jsonl"):
        with (project / "labels" / name).open("a") as file:
            file.write("{\n")
    code, out, err = call(capsys, "status")
    assert (code, out.splitlines()[1].split()) == (2, ["first", "0", "8", "1", "16"])
    assert "labels/people/bo.jsonl, line 3: is not a label" in err
    assert "labels/queues/odd.jsonl: is not a queue of labels" in err
    code, out, err = call(capsys, "agreement")
    assert (code, out.splitlines()[0]) == (2, "no pair was graded by two people yet")
    assert err.count("karat: ") == 1
    code, out, err = call(capsys, "proposals")
    assert (code, "there are no proposals" in out, "labels/proposals/0001.jsonl" in err) == (2, True, True)
    assert call(capsys, "save", "first", "q2", "d5", "2", "--who", "ana")[0] == 0
    assert call(capsys, "save", "first", "q2", "d5", "2", "--who", "bo")[0] == 2
    assert call(capsys, "propose", "first", "--who", "ana", "--unfinished")[0] == 2
