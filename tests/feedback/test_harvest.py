"""Candidates for golden sets: what is one query, what comes first, what people judge, and how it gets into a set."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from feedback.records import ask
from feedback.test_judgments import visit
from in_process import run_karat
from karat import golden, online
from karat.core import Document, GoldenSet, Judgment, Query, Target, UsageError
from karat.feedback import AskedQuery, Recorded, Session, harvest, record_judgments
from karat.feedback._choosing import choose_diverse, choose_queries
from karat.feedback._gathering import Gathering
from karat.online import LoggedHit, LoggedQuery
from karat.store import open_store

DOCUMENTS = tuple(Document(id=name, text=f"Text of {name}.") for name in "abcd")
DOCUMENTS += (Document(id="e", text="Text of the sauna."), Document(id="f", text="Text of the pool."))
GOLD = GoldenSet(documents=DOCUMENTS, queries=(Query(id="q1", text="Where is the pool?"),))


def fail(name: str, text: str, *, intent: str = "") -> Session:
    """Return a session in which nothing was found."""
    return Session(id=name, queries=(AskedQuery(query=ask(name, 86400.0, text, session=name, intent=intent)),))


def test_queries_that_differ_in_spelling_are_one_and_those_of_the_set_are_left_out() -> None:
    """The form that most people write stays; the day is that of the last session, in UTC."""
    sessions = [
        visit("s", "WiFi?"),
        visit("t", "the wifi"),
        visit("u", "the wifi"),
        visit("v", "where is pool"),
        visit("w", "?!"),
    ]
    result = harvest(sessions, GOLD)
    [query] = result.candidate.queries
    assert (query.text, query.harvested, query.metadata["sessions"]) == ("the wifi", "1970-01-01", 3)
    report = result.report
    assert (report.asked, report.distinct, report.known, report.chosen) == (5, 2, 1, 1)
    assert report.notes == ("1 query without a word is left out",)
    assert harvest(sessions, GOLD, least_sessions=4).report.rare == 1
    assert harvest(sessions).candidate.queries[0].id == query.id


def test_failures_come_first_and_groups_keep_their_share() -> None:
    """Half of the places are for failures, most sessions first; the others by intent and outcome."""
    sessions = [fail(f"f{i}{j}", f"lost thing{i}") for i in range(8) for j in range(i + 1)]
    sessions += [visit(f"r{i}", f"room{i}", read={"a": 1}) for i in range(20)]
    sessions += [visit(f"b{i}", f"bar{i}") for i in range(10)]
    gathering = Gathering()
    for session in sessions:
        gathering.add(session)
    live = list(gathering.queries.values())
    chosen = choose_queries(live, 10, seed=1)
    assert [query.text for query in chosen[:5]] == [f"lost thing{i}" for i in (7, 6, 5, 4, 3)]
    assert [query.outcome for query in chosen[5:]].count("used") == 3  # of five places, two thirds
    assert [query.key for query in choose_queries(live[::-1], 10, seed=1)] == [query.key for query in chosen]
    assert len(choose_queries(live, 100)) == 38
    assert len(choose_queries(live[:8], 6)) == 6


def test_people_get_the_most_diverse_queries() -> None:
    """Not five wordings of one subject; and every intent, though one has most queries."""
    texts = [
        "wifi password",
        "wifi password lobby",
        "password of wifi",
        "sauna towels",
        "wifi code password",
        "late checkout",
    ]
    gathering = Gathering()
    for i, text in enumerate(texts):
        gathering.add(visit(f"s{i}", text))
    live = list(gathering.queries.values())
    assert [query.text for query in choose_diverse(live, 3)] == ["wifi password", "sauna towels", "late checkout"]
    assert len(choose_diverse(live, 99)) == 6
    assert choose_diverse([], 3) == choose_diverse(live, 0) == []


def test_people_judge_the_first_twenty_of_the_fifty_most_diverse() -> None:
    """Unless somebody wants something else: of sixty queries with thirty documents each."""
    documents = tuple(Document(id=f"d{number}", text="Text.") for number in range(30))
    hits = tuple(LoggedHit(document.id, rank) for rank, document in enumerate(documents, 1))
    sessions = [
        Session(
            id=f"s{number}", queries=(AskedQuery(query=LoggedQuery(f"q{number}", 1.0, f"word{number}", hits=hits)),)
        )
        for number in range(60)
    ]
    result = harvest(sessions, GoldenSet(documents=documents))
    assert (result.report.chosen, result.report.for_people, len(result.to_judge)) == (60, 50, 50 * 20)


def test_the_pool_is_the_union_of_all_systems_and_grades_have_their_source() -> None:
    """Documents that the set lacks cannot be judged; grades are not shown to people; behaviour has its interval."""
    old, new = (tuple(LoggedHit(name, i) for i, name in enumerate(names, 1)) for names in ("abx", "cb"))
    queries = [
        AskedQuery(query=LoggedQuery("1", 1.0, "wifi", session="s", hits=old, system="old"), useful=("b",)),
        AskedQuery(query=LoggedQuery("2", 2.0, "wifi", session="t", hits=new, system="new"), not_useful=("c", "x")),
    ]
    result = harvest([Session(id=q.query.session, queries=(q,)) for q in queries], GOLD)
    assert sorted(row["document"] for row in result.to_judge) == ["a", "b", "c"]
    assert all(row["grade"] is None and row["text"].startswith("Text of") for row in result.to_judge)
    [query] = result.candidate.queries
    assert {(j.query, j.target.document, j.grade, j.source) for j in result.candidate.judgments} == {
        (query.id, "b", 3, "implicit"), (query.id, "c", 0, "implicit"),
    }  # fmt: skip
    assert [(row.document, row.grade, row.evidence, row.n) for row in result.behaviour] == [
        ("b", 3, "validated", 1), ("c", 0, "validated", 1), ("x", 0, "validated", 1),
    ]  # fmt: skip
    assert result.behaviour[0].low < 0.1
    assert [row["document"] for row in harvest([visit("s", documents="abc")], GOLD, depth=1).to_judge] == ["a"]
    lost = harvest([fail("u", "sauna text")], GOLD)
    assert [row["document"] for row in lost.to_judge][:1] == ["e"]  # nothing came back: what its words find
    with pytest.raises(UsageError, match="at least 1"):
        harvest([], GOLD, size=0)
    three = GoldenSet(grades=("no", "yes"), relevant=1, documents=DOCUMENTS)
    assert {j.grade for j in harvest([visit("s", useful=("a",), not_useful=("b",))], three).candidate.judgments} == {
        0,
        1,
    }


def test_only_what_a_person_has_looked_at_gets_into_the_set(tmp_path: Path) -> None:
    """The candidate alone adds nothing; with a pool that somebody filled in, the queries that were judged come."""
    sessions = [
        visit("s", "wifi", useful=("a",)),
        visit("t", "sauna hours", documents="def", read={"d": 1}),
        fail("u", "helipad"),
    ]
    result = harvest(sessions, GOLD)
    result.write(tmp_path / "candidate")
    learnt = {
        name: (tmp_path / "candidate" / f"{name}.jsonl").read_text()
        for name in ("validations", "confidence", "phrases")
    }
    assert json.loads(learnt["validations"]) == {
        "query": "s",
        "text": "wifi",
        "document": "a",
        "useful": True,
        "rank": 1,
    }
    assert json.loads(learnt["confidence"])["confidence"] == 0.6
    shared = harvest(sessions, GOLD, least_sessions=2)  # what one person asked may be private, also there
    assert (shared.validations, shared.confidence[0].document) == ((), "a")
    assert learnt["phrases"] == ""  # every phrase is of one session
    assert [p.phrase for p in harvest([visit("x", read={"a": 1}), visit("y", read={"a": 1})]).phrases] == ["wifi"]
    golden.write(GOLD, tmp_path / "gold")
    gold = golden.read(tmp_path / "gold")
    assert golden.read(tmp_path / "candidate").queries[0].text == "helipad"
    alone = golden.merge(gold, [tmp_path / "candidate"])
    assert (alone.golden.queries, alone.added, alone.unseen) == (gold.queries, 0, 3)
    rows = [json.loads(line) for line in (tmp_path / "candidate" / "to-judge.jsonl").read_text().splitlines()]
    assert all("grade" in row and row["grade"] is None for row in rows)
    wifi = next(query for query in result.candidate.queries if query.text == "wifi")
    judged = [{**row, "grade": 2} if row["query"] == wifi.id and row["document"] == "a" else row for row in rows]
    (tmp_path / "ana.jsonl").write_text("".join(json.dumps(row) + "\n" for row in judged))
    files = [tmp_path / "candidate", tmp_path / "ana.jsonl"]
    merged = golden.merge(gold, files, annotator="ana")
    assert [query.text for query in merged.golden.queries] == ["Where is the pool?", "wifi"]
    assert (merged.added, merged.unseen, merged.document().new_queries) == (2, 2, 1)
    assert merged.golden.qrels()[wifi.id] == {"a": 2}  # the person's, not the 3 of behaviour
    before = (tmp_path / "gold" / "queries.jsonl").read_bytes()
    golden.merge_in_place(tmp_path / "gold", files, annotator="ana")
    assert (tmp_path / "gold" / "queries.jsonl").read_bytes().startswith(before)
    assert golden.read(tmp_path / "gold").qrels() == merged.golden.qrels()
    again = golden.merge(golden.read(tmp_path / "gold"), files, annotator="ana")
    assert (again.added, len(again.golden.queries), again.unseen) == (0, 2, 2)
    binary = tmp_path / "binary"
    golden.write(GoldenSet(grades=("no", "yes"), relevant=1, queries=GOLD.queries), binary)
    with pytest.raises(UsageError, match="grades of"):
        golden.merge(golden.read(binary), files)


def test_a_grade_that_no_person_looked_at_is_no_judgment(tmp_path: Path) -> None:
    """Behaviour proposes grades for two documents; a person left a row empty, or has no row: they stay out of the set.

    People see all that behaviour is about, however short the lists are that they judge.
    """
    sessions = [visit(f"s{n}", "wifi", documents="abc", useful=("a", "b")) for n in range(3)]
    result = harvest(sessions, GOLD, depth=1)
    result.write(tmp_path / "candidate")
    (wifi,) = result.candidate.queries
    assert {judgment.target.document for judgment in result.candidate.judgments} == {"a", "b"}
    assert [row["document"] for row in result.to_judge] == ["a", "b"]
    whole = harvest(sessions, GOLD).to_judge
    for graded, left, told in (
        ("c", "abc", "2 grades that behaviour proposes stay out: nobody has judged their pairs"),
        ("b", "abc", "1 grade that behaviour proposes stays out: nobody has judged its pair"),
        ("b", "bc", "1 grade that behaviour proposes stays out: nobody has judged its pair"),
    ):
        rows = [{**row, "grade": 1 if row["document"] == graded else None} for row in whole if row["document"] in left]
        (tmp_path / "ana.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        merged = golden.merge(GOLD, [tmp_path / "candidate", tmp_path / "ana.jsonl"], annotator="ana")
        assert merged.golden.qrels()[wifi.id] == {graded: 1}
        assert (merged.empty, len(merged.new_queries), merged.notes[-1]) == (len(rows) - 1, 1, told)
    assert {judgment.source for judgment in merged.golden.judgments} == {"manual", "implicit"}, "both of b"


def test_a_query_that_a_person_calls_unanswerable_comes_into_the_set(tmp_path: Path) -> None:
    """Nothing was ever shown for it, so that there is no pair to judge: the harvest names it, and the mark counts."""
    result = harvest([visit("s", "wifi", useful=("a",)), fail("u", "helipad"), fail("v", "zeppelin")], GOLD)
    bare = {query.text: query.id for query in result.candidate.queries if query.text != "wifi"}
    assert set(result.report.nothing_to_judge) == set(bare.values())
    assert (result.report.for_people, {row["query_text"] for row in result.to_judge}) == (1, {"wifi"})
    [note] = result.report.notes
    assert all(name in note for name in (*bare, *bare.values(), "2 queries", '"answerable": false'))
    result.write(tmp_path / "candidate")
    queries = tmp_path / "candidate" / "queries.jsonl"
    rows = [json.loads(line) for line in queries.read_text().splitlines()]
    for marks in ({"helipad"}, {"helipad", "wifi"}):
        marked = [{**row, "answerable": False} if row["text"] in marks else row for row in rows]
        queries.write_text("".join(json.dumps(row) + "\n" for row in marked))
        merged = golden.merge(GOLD, [tmp_path / "candidate"], annotator="ana")
        assert {query.text for query in merged.new_queries} == marks
        assert len(merged.golden.unanswerable) == len(marks)
        assert (merged.unseen, merged.added) == (3 - len(marks), 0)  # a grade of behaviour would contradict the mark


def test_grades_and_the_golden_set_are_recorded_in_the_store(tmp_path: Path) -> None:
    """A grade is at the query that asked last, what was there before goes, and known queries have their category."""
    path = tmp_path / "karat.db"
    with online.open(path) as log:
        names = [
            log.record(text, ["wifi", "pool"], session=text, time=at) for at, text in ((1.0, "WiFi?"), (2.0, "wifi"))
        ]
        log.record("pool hours", ["pool"], session="s", time=3.0)
        log.feedback("validate_useful", "WiFi?", "wifi", query=names[0], time=4.0)
    online.ingest(path)
    known = Query(id="q", text="When is the pool open", paraphrases=("Pool hours",), category="wet")
    for _ in range(2):
        assert record_judgments(path, GoldenSet(queries=(known,))) == Recorded(judgments=1, known=1)
    with open_store(path) as store:
        columns = "query_id, memory_id, relevance, source, annotator"
        assert list(store._rows(f"select {columns} from eval_judgments")) == [
            (names[1], "wifi", 3, "validated", "behaviour validated")
        ]
        marked = "select query, eval_category from eval_queries where is_eval_corpus = 1"
        assert list(store._rows(marked)) == [("pool hours", "wet")]
    done = run_karat("harvest", path, "--record")
    assert b"recorded in" in done.stderr
    assert b": 1 grade; 0 queries are in the set" in done.stderr


def reword(name: str, *wordings: tuple[str, tuple[str, ...]], again: bool = False) -> Session:
    """Return a session that asks some texts, and uses documents after each; ``again`` if each asks the one before."""
    queries = []
    for place, (text, used) in enumerate(wordings):
        query = ask(f"{name}{place}", 86400.0 + place, text, *"abcdef", session=name)
        repeats = f"{name}{place - 1}" if again and place else ""
        queries.append(AskedQuery(query=query, read=dict.fromkeys(used, 1), repeats=repeats))
    return Session(id=name, queries=tuple(queries))


WORDED = GoldenSet(
    documents=DOCUMENTS,
    queries=(
        Query(id="q1", text="Where is the swimming pool?", paraphrases=("pool location",)),
        Query(id="q2", text="Can I cancel within 24 hours?"),
    ),
    judgments=(
        Judgment(query="q1", target=Target(document="f"), grade=2),
        Judgment(query="q2", target=Target(document="a"), grade=2),
    ),
)


def test_paraphrases_are_proposed_for_a_person() -> None:
    """By sessions, by documents and by words; not with another number, not with a negation, not from one session."""
    sessions = [
        reword("s", ("pool location", ()), ("bathing indoors", ()), again=True),
        reword("t", ("how to get to the pool", ("f",))),
        reword("u", ("how to get to the pool", ("f",))),
        reword("v", ("open air pool bar", ("f",))),
        reword("w", ("where swimming pool", ())),
        reword("x", ("can I cancel within 48 hours", ("a",))),
        reword("y", ("can I not cancel within 24 hours", ("a",))),
        reword("z", ("cancel within 24 hours please", ())),
    ]
    result = harvest(sessions, WORDED)
    proposed = {row.paraphrase: (row.query, row.evidence, row.sessions, row.accepted) for row in result.rewordings}
    assert proposed == {
        "how to get to the pool": ("q1", ("the same documents used",), 2, None),
        "bathing indoors": ("q1", ("asked again in a session",), 1, None),
        "where swimming pool": ("q1", ("near wording",), 1, None),
        "cancel within 24 hours please": ("q2", ("near wording",), 1, None),
    }
    assert result.report.paraphrases == 4
    assert harvest(sessions).rewordings == ()
    assert harvest(sessions, WORDED, least_sessions=2).report.paraphrases == 1


def test_no_golden_query_gets_more_than_three_paraphrases() -> None:
    """Those that most people ask."""
    texts = [f"where {word} swimming pool" for word in ("exactly", "roughly", "actually", "please")]
    sessions = [reword(f"{text}{n}", (text, ())) for place, text in enumerate(texts) for n in range(place + 1)]
    result = harvest(sessions, WORDED)
    assert [row.paraphrase for row in result.rewordings] == texts[:0:-1]


def test_accepted_paraphrases_come_into_the_set(tmp_path: Path) -> None:
    """Only those, once, and a query with the same words stays out; other rows of the set stay to the byte."""
    folder, candidate = tmp_path / "set", tmp_path / "candidate"
    golden.write(WORDED, folder)
    before = (folder / "queries.jsonl").read_text().splitlines()
    sessions = [reword("s", ("where swimming pool", ("f",))), reword("t", ("cancel within 24 hours please", ()))]
    harvest(sessions, WORDED).write(candidate)
    rows = [json.loads(line) for line in (candidate / "paraphrases.jsonl").read_text().splitlines()]
    assert [row["accepted"] for row in rows] == [None, None]
    pool = [json.loads(line) | {"grade": 2} for line in (candidate / "to-judge.jsonl").read_text().splitlines()]
    (candidate / "to-judge.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in pool))
    rows[0]["accepted"] = True
    (candidate / "paraphrases.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    arguments = ("golden", "merge", folder, candidate, candidate / "to-judge.jsonl", "--annotator", "ana", "--in-place")
    done = run_karat(*arguments)
    assert done.returncode == 0, done.stderr
    assert b"1 new query, 1 that nobody has judged left out; 1 paraphrase" in done.stdout
    assert b"1 judged query has the words of an accepted paraphrase" in done.stderr
    after = (folder / "queries.jsonl").read_text().splitlines()
    assert json.loads(after[0])["paraphrases"] == ["pool location", "where swimming pool"]
    assert after[1] == before[1]
    assert [query.text for query in golden.open_set(folder).queries[2:]] == ["cancel within 24 hours please"]
    again = golden.merge(golden.open_set(folder), [candidate])
    assert again.document().paraphrases == 0
    (candidate / "paraphrases.jsonl").write_text('{"query": "gone", "paraphrase": "other words", "accepted": true}\n')
    refused = run_karat("golden", "merge", folder, candidate)
    assert (refused.returncode, b"the set has no query 'gone'" in refused.stderr) == (2, True)
