"""``karat golden``: convert, diff, tag, sample, synth, pool and merge from the command line."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from karat import golden
from karat.core import Document, GoldenSet, Judgment, Query, Target

SET = GoldenSet(
    name="tiny",
    version="1.0.0",
    documents=(Document(id="wifi", text="Free WiFi."), Document(id="pool", text="Opens at six.")),
    queries=tuple(Query(id=f"q{i}", text=f"question {i}?", category="ab"[i % 2]) for i in range(4)),
    judgments=(Judgment(query="q0", target=Target(document="wifi"), grade=3, annotator="ana"),),
)
VERB = "golden"
PROJECT = '[golden]\npath = "../set"\n'
Run = Callable[..., tuple[str, str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder that holds a set and a run."""
    monkeypatch.chdir(tmp_path)
    golden.write(SET, tmp_path / "set")
    (tmp_path / "run.txt").write_text("q0 Q0 wifi 1 2 t\nq0 Q0 pool 2 1 t\nq1 Q0 pool 1 1 t\n")
    return tmp_path


def test_convert_says_what_is_lost(run: Run, folder: Path) -> None:
    """The new set holds what the format can, and standard error tells what it cannot."""
    out, err = run("convert", "set", "copy", "--to", "beir")
    assert out == "copy: 2 documents, 4 queries, 1 judgment\n"
    assert "karat: beir cannot hold category of 4 queries" in err
    assert golden.read("copy").qrels()["q0"] == {"wifi": 3}
    out, _ = run("convert", "set", "again", "--json")
    assert json.loads(out)["lost"] == []


def test_convert_overwrites_nothing(run: Run, folder: Path) -> None:
    """A name that is taken is refused, and what is there stays."""
    (folder / "mine").write_text("precious")
    _, err = run("convert", "set", "mine", code=2)
    assert err == "karat: mine: already exists; choose a new name, or remove it\n"
    assert (folder / "mine").read_text() == "precious"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("convert", "none", "x"), "none: no such file or folder"),
        (("convert", "run.txt", "x", "--from", "beer"), "unknown format 'beer', did you mean 'beir'?"),
        (("convert", "set", "x", "--to", "attack"), "karat reads attack and does not write it"),
        (("convert", "set", "x", "--documents", "set"), "set holds documents of its own; leave out set"),
        (("sample", "set", "x", "--n", "9"), "n=9; the set has 4 queries"),
        (("synth", "x"), "name DOCUMENTS and DESTINATION, or --needles and DESTINATION"),
        (("synth", "set", "x", "--needles", "3"), "name DOCUMENTS and DESTINATION, or --needles and DESTINATION"),
        (("pool", "run.txt", "--json"), "--json prints counts; name the file of pairs with --output"),
        (("pool", "--decide", "run.txt"), "--decide is about two runs, and there are 1"),
        (("pool", "--decide", "run.txt", "run.txt", "--measure", "AP"), "AP is not a sum over documents; choose DCG@k"),
        (("pool", "--decide", "run.txt", "run.txt", "--depth", "5"), "leave out --all and --depth"),
        (("pool", "run.txt", "--measure", "DCG@5"), "--measure says by what two runs are compared; add --decide"),
        (("merge", "set", "run.txt", "-o", "x", "--in-place"), "choose --output or --in-place"),
        (("dif", "set", "set"), "no verb 'dif', did you mean 'diff'?"),
        (("outline", "set"), "set is a folder; name one of its documents with --id"),
        (("outline", "set", "--id", "wifii"), "set has no document 'wifii', did you mean 'wifi'?"),
        (("pool", "set"), "set: there are no runs yet; 'karat eval set' makes them"),
        (("pool", "run.txt", "--golden", "set", "-o", "run.txt"), "--output run.txt would overwrite an input"),
        (("pool", "run.txt", "-o", "set/judgments.jsonl"), "set/judgments.jsonl: exists already, and is not a pool"),
    ],
)
def test_mistakes_are_one_message(run: Run, folder: Path, arguments: tuple[str, ...], message: str) -> None:
    """A mistake ends with exit code 2 and says what it is."""
    _, err = run(*arguments, code=2)
    assert message in err


def test_diff_shows_and_counts(run: Run, folder: Path) -> None:
    """Changes are listed by kind, with the bump at the end, and as JSON in full."""
    judgments = (replace(SET.judgments[0], grade=1), Judgment(query="q1", target=Target(document="pool"), grade=2))
    golden.write(replace(SET, judgments=judgments), "new")
    out, _ = run("diff", "set", "new")
    assert "pairs added: 1\n  q1 pool grade 2\n" in out
    assert "pairs regraded: 1\n  q0 wifi 3 -> 1\n" in out
    assert out.splitlines()[-1].startswith("bump: major (")
    assert json.loads(run("diff", "set", "new", "--json")[0])["bump"] == "major"
    assert run("diff", "set", "set")[0] == "bump: none (nothing changed)\n"


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@y", *arguments], cwd=folder, check=True)


def test_tag_compares_with_the_last_tag(run: Run, folder: Path) -> None:
    """Without a tag it is the first release; after one, the bump since then decides; nothing is tagged for you."""
    assert run("tag", "set")[0].startswith("golden-dataset-v1.0.0 (first release)\n")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "one")
    for tag in ("golden-dataset-v1.0.0", "golden-dataset-v0.9.0", "golden-dataset-vnext"):
        git(folder, "tag", tag)
    assert "nothing changed; no new tag is needed" in run("tag", "set")[0]
    with (folder / "set" / "queries.jsonl").open("a") as file:
        file.write('{"id": "q9", "text": "late?"}\n')
    out, _ = run("tag", "set")
    assert out.startswith("golden-dataset-v1.1.0 (since golden-dataset-v1.0.0: minor)\n")
    assert 'set version = "1.1.0" in golden.toml' in out
    assert "git -C set tag golden-dataset-v1.1.0" in out
    tag = json.loads(run("tag", "set", "--json")[0])
    assert (tag["tag"], tag["bump"]) == ("golden-dataset-v1.1.0", "minor")
    assert tag["fingerprint"] == golden.fingerprint(golden.read("set"))


def test_tag_takes_a_folder_to_compare_with(run: Run, folder: Path) -> None:
    """Without git an older copy serves."""
    golden.write(replace(SET, queries=SET.queries[:2]), "new")
    assert run("tag", "new", "--since", "set")[0].startswith("golden-dataset-v2.0.0 (since set: major)\n")


def test_sample_draws_by_group(run: Run, folder: Path) -> None:
    """Groups keep their share, and the same seed gives the same file."""
    out, _ = run("sample", "set", "half", "--n", "2", "--stratify", "category", "--seed", "1")
    assert out == "half: 2 of 4 queries: a 1, b 1\n"
    run("sample", "set", "again", "--n", "2", "--stratify", "category", "--seed", "1", "--json")
    assert golden.read("half") == replace(golden.read("again"), name="tiny")


def test_synth_makes_sets(run: Run, folder: Path) -> None:
    """From a folder of documents, and with hidden facts that are the same for the same seed."""
    (folder / "docs").mkdir()
    (folder / "docs" / "a.md").write_text("A first sentence. A second one!\n")
    assert run("synth", "docs", "made", "--per-document", "1")[0] == "made: 1 query from 1 document\n"
    assert golden.read("made").queries[0].text == "A first sentence."
    first, two = (json.loads(run("synth", name, "--needles", "3", "--json")[0]) for name in ("n1", "n2"))
    assert first["fingerprint"] == two["fingerprint"]
    assert (folder / "n1" / "documents.jsonl").read_bytes() == (folder / "n2" / "documents.jsonl").read_bytes()


def test_queries_of_a_run_that_are_not_in_the_set_are_named(run: Run, folder: Path) -> None:
    """The first of them, so that somebody can look."""
    (folder / "other.txt").write_text("q0 Q0 pool 1 1 t\nx7 Q0 pool 1 1 t\n")
    assert "1 query of the runs left out: not in the set ('x7')" in run("pool", "other.txt", "--golden", "set")[1]


def test_pool_and_merge_go_round(run: Run, folder: Path) -> None:
    """What pool writes, merge takes back once the grades are filled in; the report tells agreement."""
    out, _ = run("pool", "run.txt", "--golden", "set", "--depth", "5", "-o", "pool.jsonl")
    assert out == "pool.jsonl: 2 of 3 pairs: those that are not judged yet\n"
    rows = [json.loads(line) for line in (folder / "pool.jsonl").read_text().splitlines()]
    assert [(row["query"], row["document"]) for row in rows] == [("q1", "pool"), ("q0", "pool")]
    everything = [json.loads(line) for line in run("pool", "run.txt", "--golden", "set", "--all")[0].splitlines()]
    for row, grade in zip(everything, (2, 0, 1), strict=True):
        row["grade"] = grade
    (folder / "bo.jsonl").write_text("".join(json.dumps(row) + "\n" for row in everything))
    out, _ = run("merge", "set", "bo.jsonl", "--annotator", "bo")
    assert out.startswith("nothing written (name --output or --in-place): 3 added, 0 replaced, 0 without a grade\n")
    assert "disputed: 1 of 1 pairs\n  q0 wifi: ana 3, bo 1\n" in out
    run("merge", "set", "bo.jsonl", "--annotator", "bo", "-o", "merged")
    run("merge", "set", "bo.jsonl", "--annotator", "bo", "--in-place")
    assert golden.read("set") == golden.read("merged")
    assert golden.read("set").qrels()["q1"] == {"pool": 2}
    report = json.loads(run("merge", "set", "bo.jsonl", "--annotator", "bo", "--json")[0])
    assert (report["replaced"], report["agreement"]["pairs"]) == (3, 1)


def test_pool_tells_which_of_two_runs_is_better(run: Run, folder: Path) -> None:
    """By hand: of q0 run.txt has wifi, grade 3, first instead of second, and pool the other way round.

    Pool's expected gain is the mean of 3, 0 and 3, so that the difference is (1 - 1 / log2(3)) (3 - 2) / 2. What they
    have for q1 is not judged, and cancels.
    """
    (folder / "other.txt").write_text("q0 Q0 pool 1 2 t\nq0 Q0 wifi 2 1 t\nq1 Q0 wifi 1 1 t\n")
    out, err = run("pool", "--decide", "other.txt", "run.txt", "--golden", "set", "--limit", "2", "-o", "next.jsonl")
    assert out == "next.jsonl: 2 of 3 pairs that are not judged yet and tell the runs apart\n"
    assert (
        "karat: DCG@10: it is not known yet which run is better; 1 of 4 pairs that tell them apart are judged\n" in err
    )
    assert "every judged pair is relevant" in err
    assert "by the judged documents alone, run.txt is better by 0.5536; if the others are as good (67% relevant)" in err
    rows = [json.loads(line) for line in (folder / "next.jsonl").read_text().splitlines()]
    assert [(row["query"], row["document"], row["grade"]) for row in rows] == [
        ("q1", "wifi", None),
        ("q1", "pool", None),
    ]
    counts = json.loads(
        run("pool", "--decide", "run.txt", "other.txt", "--golden", "set", "-o", "all.jsonl", "--json")[0]
    )
    assert counts["better"] is None
    assert counts["judged_difference"] == pytest.approx(-(1 - 1 / math.log2(3)) * 3 / 2)
    assert counts["difference"] == pytest.approx(-(1 - 1 / math.log2(3)) / 2)
    assert (counts["share"], counts["highest_share"]) == (pytest.approx(2 / 3), 1.0)
    assert counts["confidence"] == 0.5
    assert (counts["judged"], counts["unjudged"], counts["lacking"], counts["written"]) == (1, 3, 0, 3)
    same, err = run("pool", "--decide", "run.txt", "run.txt", "--golden", "set")
    assert same == ""
    assert "nothing tells the runs apart yet; 0 of 0 pairs" in err


def test_in_place_needs_the_own_format(run: Run, folder: Path) -> None:
    """A set in someone else's format is not rewritten."""
    run("convert", "set", "beir", "--to", "beir")
    (folder / "a.jsonl").write_text('{"query": "q1", "document": "pool", "grade": 1}\n')
    _, err = run("merge", "beir", "a.jsonl", "--in-place", code=2)
    assert "beir is not in karat's own format, and no other is changed in place; 'karat golden convert beir NEW'" in err


def test_every_mistake_has_its_line(run: Run, folder: Path) -> None:
    """Several mistakes are printed one per line, and nothing in a file can break a line or act on the terminal."""
    (folder / "set" / "queries.jsonl").write_text('{"id": "a\\u001b[31m\\nb"}\n{"id": 1.5}\n')
    _, err = run("convert", "set", "x", code=2)
    lines = err.splitlines()
    assert lines[0] == "karat: 2 mistakes"
    assert len(lines) == 3
    assert "\x1b" not in err


def test_a_format_is_known_by_its_content(run: Run, folder: Path) -> None:
    """The writer of agent makes one object, whatever the file is called, and it is read as one."""
    run("convert", "set", "golden.jsonl", "--to", "agent")
    assert golden.read("golden.jsonl").qrels()["q0"] == {"wifi": 3}


def test_in_place_keeps_what_it_does_not_know(run: Run, folder: Path) -> None:
    """Old rows stay to the byte, with keys that karat does not know; so do the rights of the file."""
    file = folder / "set" / "judgments.jsonl"
    row = '{"query": "q0",   "document": "wifi", "grade": 3, "annotator": "ana", "comment": "keep me"}\n'
    file.write_text(row)
    file.chmod(0o640)
    (folder / "bo.jsonl").write_text('{"query": "q1", "document": "pool", "grade": 2}\n')
    _, err = run("merge", "set", "bo.jsonl", "--annotator", "bo", "--in-place")
    assert file.read_text() == row + '{"query": "q1", "document": "pool", "grade": 2, "annotator": "bo"}\n'
    assert file.stat().st_mode & 0o777 == 0o640
    assert "unknown key 'comment'" in err


@pytest.mark.slow
def test_merges_at_once_lose_nothing(folder: Path) -> None:
    """Several annotators may merge into one set at the same time."""
    (folder / "add.jsonl").write_text('{"query": "q1", "document": "pool", "grade": 2}\n')
    command = [sys.executable, "-m", "karat", "golden", "merge", "set", "add.jsonl", "--in-place", "--annotator"]
    jobs = [subprocess.Popen([*command, f"p{i}"], stdout=subprocess.DEVNULL) for i in range(5)]
    assert [job.wait(timeout=600) for job in jobs] == [0] * 5
    assert {j.annotator for j in golden.read("set").judgments} == {"ana", *(f"p{i}" for i in range(5))}


@pytest.mark.parametrize(
    ("part", "message"),
    [('"span": [5, 99999]', "is not inside document 'pool'"), ('"section": "S.77"', "document 'pool': ")],
)
def test_merge_refuses_parts_that_are_not_there(run: Run, folder: Path, part: str, message: str) -> None:
    """What the linter would call an error does not come into the set."""
    (folder / "a.jsonl").write_text(f'{{"query": "q1", "document": "pool", "grade": 1, {part}}}\n')
    _, err = run("merge", "set", "a.jsonl", code=2)
    assert message in err


def test_pool_leaves_out_what_merge_would_refuse(run: Run, folder: Path) -> None:
    """Queries and documents that the set does not have cannot be judged."""
    (folder / "odd.txt").write_text("q1 Q0 pool 1 3 t\nq1 Q0 harbour 2 2 t\nzz Q0 pool 1 1 t\n")
    out, err = run("pool", "odd.txt", "--golden", "set")
    assert [(row["query"], row["document"]) for row in map(json.loads, out.splitlines())] == [("q1", "pool")]
    assert "1 query of the runs left out: not in the set" in err


def test_every_verb_takes_a_project(run: Run, folder: Path) -> None:
    """A folder whose karat.toml names the set works as the set itself."""
    (folder / "project" / "runs").mkdir(parents=True)
    (folder / "project" / "karat.toml").write_text(PROJECT)
    (folder / "run.txt").rename(folder / "project" / "runs" / "run.txt")
    assert run("diff", "project", "set")[0] == "bump: none (nothing changed)\n"
    assert run("tag", "project")[0].splitlines()[:2] == run("tag", "set")[0].splitlines()[:2]
    run("convert", "project", "copy")
    assert golden.read("copy") == golden.read("set")
    assert run("sample", "project", "half", "--n", "2")[0] == "half: 2 of 4 queries\n"
    assert "wifi: 11 bytes, 1 section, 1 block" in run("outline", "project", "--id", "wifi")[0]
    assert run("outline", "project", "--id", "wifi") == run("outline", "set", "--id", "wifi")
    assert run("check", "project")[0] == run("check", "set")[0]
    pooled = run("pool", "project")[0]
    assert pooled == run("pool", "project/runs", "--golden", "project")[0]
    assert [json.loads(line)["text"] for line in pooled.splitlines()] == ["Opens at six."] * 2
    (folder / "bo.jsonl").write_text(pooled.replace("null", "2"))
    run("merge", "project", "bo.jsonl", "--annotator", "bo", "--in-place")
    assert len(golden.read("set").judgments) == 3


def test_a_project_is_compared_with_its_tag_in_git(run: Run, folder: Path) -> None:
    """Set and documents of a project are read as they were at the tag; what lies outside its folder cannot be."""
    golden.write(replace(SET, documents=()), folder / "project" / "gold")
    (folder / "project" / "pages").mkdir()
    for name in ("wifi", "pool"):
        (folder / "project" / "pages" / f"{name}.md").write_text(f"About {name}.\n")
    (folder / "project" / "karat.toml").write_text('[golden]\npath = "gold"\ndocuments = "pages"\n')
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "one")
    git(folder, "tag", "golden-dataset-v1.0.0")
    assert "nothing changed" in run("tag", "project")[0]
    (folder / "project" / "pages" / "spa.md").write_text("About the spa.\n")
    assert run("tag", "project")[0].startswith("golden-dataset-v1.1.0 (since golden-dataset-v1.0.0: minor)\n")
    (folder / "project" / "karat.toml").write_text(PROJECT)
    assert "is outside project" in run("tag", "project", code=2)[1]
    assert run("tag", "project", "--since", "set")[0].startswith("golden-dataset-v1.0.0 (since set: none)\n")


def test_pool_takes_the_run_file_of_karat_eval(run: Run, folder: Path) -> None:
    """The file that karat eval wrote is pooled with the passages of its hits, and needs no golden set."""
    header = {
        "karat": "run", "format": 1, "name": "mine", "golden": {}, "system": {}, "fingerprint": "x",
        "settings": {"k": 2}, "versions": {},
    }  # fmt: skip
    hits = [
        {"id": "pool:chunk:0", "score": 2.0, "document": "pool", "span": [0, 5], "content": "Opens"},
        {"id": "wifi:chunk:0", "score": 1.0, "document": "wifi", "span": [5, 9]},
    ]
    trace = {"query": "q1", "text": "question 1?", "ms": {"total": 1.0}, "hits": hits}
    records = (header, trace, {"end": True})
    (folder / "mine.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    rows = [json.loads(line) for line in run("pool", "mine.jsonl", "--golden", "set")[0].splitlines()]
    assert [(row["document"], row["text"], row["passage"]) for row in rows] == [
        ("pool", "Opens at six.", "Opens"),
        ("wifi", "Free WiFi.", "WiFi"),
    ]
    out, err = run("pool", "mine.jsonl")
    assert [json.loads(line).get("text") for line in out.splitlines()] == ["Opens", None]
    assert json.loads(out.splitlines()[0])["query_text"] == "question 1?"
    assert "1 of 2 pairs have no text to judge" in err


def test_pool_finds_the_set_of_the_project_that_a_run_is_in(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Inside of a project no --golden is needed: what is judged is not listed again, and a note names the set."""
    runs = folder / "project" / "runs"
    runs.mkdir(parents=True)
    (folder / "project" / "karat.toml").write_text(PROJECT)
    (runs / "run.txt").write_bytes((folder / "run.txt").read_bytes())
    expected = run("pool", "run.txt", "--golden", "set")[0]
    for path in ("project", "project/runs", "project/runs/run.txt"):
        assert run("pool", path) == (expected, "karat: the golden set is that of project\n")
    monkeypatch.chdir(folder / "project")
    for path in (".", "runs", "../run.txt"):
        assert run("pool", path) == (expected, "karat: the golden set is that of .\n")


@pytest.mark.parametrize("name", ["pool.csv", "pool.TSV", "pool.json"])
def test_pool_writes_no_table(run: Run, folder: Path, name: str) -> None:
    """A name that promises another form is refused, and nothing is written."""
    _, err = run("pool", "run.txt", "--golden", "set", "-o", name, code=2)
    assert f"--output {name}: a pool has one JSON record per line, not {name[5:].lower()}; name it .jsonl" in err
    assert not (folder / name).exists()


def test_pool_reads_the_passages_of_traces_under_all_their_names(run: Run, folder: Path) -> None:
    """A retriever may call the id of a hit ``chunk_id``, its document ``doc_id`` and its content ``text``."""
    hit = {"chunk_id": "7", "doc_id": "pool", "text": "Opens"}
    (folder / "log.jsonl").write_text(json.dumps({"qid": "q1", "query": "question 1?", "topk": [hit]}) + "\n")
    (row,) = map(json.loads, run("pool", "log.jsonl", "--golden", "set")[0].splitlines())
    assert (row["document"], row["passage"]) == ("pool", "Opens")
