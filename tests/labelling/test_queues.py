"""What is asked of whom: blind, in an order of one's own, and the same each time."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from each import each
from karat import golden
from karat.core import Document, GoldenSet, InputError, Judgment, Query, Target, UsageError
from karat.labelling import (
    Answer,
    QueuePlan,
    make_queue,
    measure_queue,
    next_task,
    open_desk,
    save_label,
    show_task,
    undo_label,
)
from karat.labelling._book import Book
from karat.labelling._queue import Queue, choose_several
from karat.labelling._state import HELD, QueueState
from karat.schema import to_json
from karat.schema.labelling import QueueHead, QueueRow
from labelling.rooms import add_queue, ana_says, bo_says, label_all, make_desk, make_golden, make_project, say


def list_pairs(desk, who, queue="first", most=100):
    """The pairs that a person is asked, in order; all of them are skipped."""
    pairs = []
    while len(pairs) < most and (task := next_task(desk, queue, who)) is not None:
        pairs.append((task.query, task.document))
        say(desk, who, task.query, task.document, verdict="skip", queue=queue)
    return pairs


def test_a_pool_asks_what_nobody_judged_and_tells_neither_system_nor_rank(tmp_path):
    desk = make_desk(tmp_path / "p")
    task = next_task(desk, "first", "ana")
    assert task.text.startswith(f"# Room {task.document[1:]}\n")
    assert (task.left, task.grades[0], task.why, task.others) == (40, "not relevant", "a system returned it", ())
    assert "a.txt" not in to_json(task)
    assert {"rank", "score", "system", "run", "runs"}.isdisjoint(json.loads(to_json(task)))
    assert "d0" not in {document for _, document in list_pairs(desk, "ana")}


def test_everybody_has_an_order_of_their_own_which_is_always_the_same(tmp_path):
    """The documents of a query come together, and their order has nothing to do with that of the runs."""
    orders = {who: list_pairs(make_desk(tmp_path / f"{who}{i}"), who) for i in range(2) for who in ("ana", "bo")}
    again = list_pairs(make_desk(tmp_path / "again"), "ana")
    assert orders["ana"] == again != orders["bo"]
    assert sorted(orders["ana"]) == sorted(orders["bo"])
    queries = [query for query, _ in again]
    assert len([1 for before, after in pairwise(queries) if before != after]) == 7


def test_pairs_for_several_people_come_early_and_not_alone(tmp_path):
    """Two people who stop half way have more in common than by chance; what comes early is not all for several."""
    desk = make_desk(tmp_path / "p", overlap=0.3)
    queue = desk.open_queue("first").queue
    several = set(np.flatnonzero(queue.needed > 1).tolist())
    half = len(queue) // 2
    for who in ("ana", "bo", "cy"):
        order = queue.order(who).tolist()
        assert sorted(order) == list(range(len(queue)))
        assert several <= set(order[: 2 * len(several)])
        first = order[: max(place for place, number in enumerate(order) if number in several) + 1]
        assert 0 < len(set(first) - several) <= len(several)
    common = several.intersection(*(queue.order(who)[:half].tolist() for who in ("ana", "bo")))
    assert len(common) > 0.6 * len(several)  # by chance a quarter


def test_the_order_tells_nothing_of_ranks(tmp_path):
    """Over many people each document comes first about as often as any other."""
    queue = make_desk(tmp_path / "p").open_queue("first").queue
    first = [queue.pair(int(queue.order(f"person {i}")[0]))[1] for i in range(500)]
    counts = [first.count(f"d{i}") for i in range(1, 6)]
    assert all(60 < count < 140 for count in counts)  # 100 each, standard deviation 9


def test_a_share_of_the_pairs_is_for_several_people(tmp_path):
    desk = make_desk(tmp_path / "p", overlap=0.25, people=3)
    queue = desk.open_queue("first").queue
    several = int((queue.needed == 3).sum())
    assert 0 < several < 40
    for who in ("ana", "bo", "cy", "di"):
        label_all(desk, who, ana_says)
    status = measure_queue(desk, "first")
    assert (status.several, status.finished, status.labels, status.needed) == (
        several,
        40,
        40 + 2 * several,
        40 + 2 * several,
    )
    counts = [len(desk.book.votes(queue.pair(i))) for i in range(40)]
    assert counts == queue.needed.tolist()


def test_the_share_is_that_which_was_asked_for_and_depends_on_the_seed_alone():
    rows = [QueueRow(query=f"q{i}", documents=tuple(f"d{j}" for j in range(100))) for i in range(100)]
    draws = [tuple(row.several for row in choose_several(rows, 0.3, seed)) for seed in (0, 0, 1)]
    counts = [sum(map(len, draw)) for draw in draws]
    assert draws[0] == draws[1] != draws[2]
    assert all(2850 < count < 3150 for count in counts)  # 3,000, standard deviation 46
    assert not any(row.several for row in choose_several(rows, 0.0, 0))
    assert all(len(row.several) == 100 for row in choose_several(rows, 1.0, 0))


def test_two_people_at_once_are_not_asked_the_same_while_one_label_is_enough(tmp_path):
    """What somebody looks at is kept for ten minutes; the last pair is asked twice rather than nobody."""
    desk = make_desk(tmp_path / "p", overlap=0.0)
    now = [0.0]
    state = desk.open_queue("first")
    state._clock = lambda: now[0]
    seen = []
    while len(seen) < 39:
        tasks = [next_task(desk, "first", who) for who in ("ana", "bo")]
        if len(seen) < 38:
            assert (tasks[0].query, tasks[0].document) != (tasks[1].query, tasks[1].document)
        say(desk, "ana", tasks[0].query, tasks[0].document, 1)
        seen.append(tasks[0])
    last = [next_task(desk, "first", who) for who in ("ana", "bo")]
    assert (last[0].query, last[0].document) == (last[1].query, last[1].document)
    now[0] = HELD + 1
    assert next_task(desk, "first", "cy") is not None


def test_decide_asks_what_matters_most_first_and_its_confidence_is_that_of_the_pool(tmp_path):
    """After each label the confidence is what ``karat golden pool --decide`` computes from the same grades."""
    desk = make_desk(tmp_path / "p", name="ab", kind="decide", overlap=0.0)
    runs = golden.read_runs([tmp_path / "p" / "a.txt", tmp_path / "p" / "b.txt"]).tables
    set_ = make_golden()
    weights = {}
    confidences = []
    while (task := next_task(desk, "ab", "ana")) is not None:
        state = desk.open_queue("ab")
        weights[task.query, task.document] = abs(state.queue.weights[state.queue.find((task.query, task.document))])
        grade = bo_says(task.query, task.document)
        say(desk, "ana", task.query, task.document, grade, queue="ab")
        judgment = Judgment(query=task.query, target=Target(document=task.document), grade=grade, annotator="ana")
        set_ = replace(set_, judgments=(*set_.judgments, judgment))
        known, expected = measure_queue(desk, "ab").decides, golden.decide_pool(set_, runs).estimate
        assert known.confidence == pytest.approx(expected.confidence, abs=1e-12)
        assert (known.difference, known.sd) == pytest.approx((expected.mean, expected.sd), abs=1e-12)
        confidences.append(known.confidence)
    values = list(weights.values())
    assert len(values) == 40
    assert values == sorted(values, reverse=True)
    assert confidences[-1] == 1.0
    undo_label(desk, "ana")
    assert measure_queue(desk, "ab").decides.sd > 0


def test_a_settled_grade_decides(tmp_path):
    desk = make_desk(tmp_path / "p", name="ab", kind="decide", overlap=1.0)
    add_queue(desk, "disputes", kind="disputes", sources=(), adjudicator="cy")
    say(desk, "ana", "q1", "d5", 3, queue="ab")
    say(desk, "bo", "q1", "d5", 0, queue="ab")
    low = measure_queue(desk, "ab").decides.difference
    say(desk, "cy", "q1", "d5", 3, queue="disputes")
    assert measure_queue(desk, "ab").decides.difference > low


def test_what_the_set_lacks_stays_unknown(tmp_path):
    project = make_project(tmp_path / "p")
    with (project / "b.txt").open("a") as file:
        file.write("q1 Q0 stranger 1 99 t\n")
    desk = open_desk(project)
    _, notes = make_queue(
        desk, QueuePlan(name="ab", kind="decide", sources=(str(project / "a.txt"), str(project / "b.txt")))
    )
    assert notes == ("1 pair that tells the runs apart cannot be judged: the set lacks the documents",)
    label_all(desk, "ana", ana_says, queue="ab")
    assert measure_queue(desk, "ab").decides.sd > 0


def test_rows_of_a_pool_and_of_a_candidate_are_asked(tmp_path):
    """Queries that the set does not have come with their words, and rows that have a grade are done."""
    project = make_project(tmp_path / "p")
    candidate = GoldenSet(queries=(Query(id="live-1", text="pool hours?", harvested="2026-11-01"),))
    golden.write(candidate, tmp_path / "candidate")
    rows = [
        {"query": "live-1", "query_text": "pool hours?", "document": "d2", "passage": "It closes late.", "grade": None},
        {"query": "q1", "document": "d3", "grade": None}, {"query": "q1", "document": "d3", "grade": None},
        {"query": "q1", "document": "d4", "grade": 2},
    ]  # fmt: skip
    (tmp_path / "candidate" / "to-judge.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    desk = open_desk(project)
    queue, notes = make_queue(desk, QueuePlan(name="live", kind="rows", sources=(str(tmp_path / "candidate"),)))
    assert (len(queue), notes) == (2, ("1 row has a grade already, left out",))
    task = show_task(desk, "live", "ana", ("live-1", "d2"))
    assert task.query_text == "pool hours?"
    assert task.text.encode()[slice(*task.passage)] == b"It closes late."
    assert queue.rows[0].new.row == {"id": "live-1", "text": "pool hours?", "harvested": "2026-11-01"}


def test_the_least_certain_come_first(tmp_path):
    """First where judges differ, then where one is not confident, then next to the border of relevance."""
    project = make_project(tmp_path / "p")
    graded = [("d1", 3, 0.9), ("d2", 0, 0.9), ("d3", 2, 0.4), ("d4", 3, None), ("d5", 1, None), ("d0", 1, 0.1)]
    for name, more in (("x", 0), ("y", 3)):
        rows = [
            {"query": "q1", "document": d, "grade": (g + more) % 4 if d == "d1" else g, "source": "bootstrapped",
             "annotator": name} | ({} if c is None else {"confidence": c}) for d, g, c in graded
        ]  # fmt: skip
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    desk = open_desk(project)
    sources = tuple(str(tmp_path / f"{name}.jsonl") for name in "xy")
    _, notes = make_queue(desk, QueuePlan(name="unsure", kind="uncertain", sources=sources))
    assert notes == ("1 pair has grades of people, left out",)
    assert [document for _, document in list_pairs(desk, "ana", "unsure")] == ["d1", "d3", "d2", "d5", "d4"]


def test_passages_are_shown_where_they_stand(tmp_path):
    """A hit has a span, or words that are found in the document; without documents its words are all there is."""
    project = make_project(tmp_path / "p")
    hits = [{"id": "d2", "score": 2.0, "content": "It closes late."}, {"id": "d3", "score": 1.0, "span": [10, 20]}]
    (project / "run.jsonl").write_text(json.dumps({"qid": "q1", "query": "x?", "topk": hits}) + "\n")
    desk = open_desk(project)
    make_queue(desk, QueuePlan(name="runs", kind="pool", sources=(str(project / "run.jsonl"),)))
    task = show_task(desk, "runs", "ana", ("q1", "d2"))
    assert task.text.encode()[slice(*task.passage)] == b"It closes late."
    assert show_task(desk, "runs", "ana", ("q1", "d3")).passage == (10, 20)
    golden.write(replace(make_golden(), documents=()), tmp_path / "bare")
    bare = open_desk(tmp_path / "bare")
    make_queue(bare, QueuePlan(name="runs", kind="pool", sources=(str(project / "run.jsonl"),)))
    assert show_task(bare, "runs", "ana", ("q1", "d2")).text == "It closes late."


def write_trace(path: Path, hits: list[dict[str, object]]) -> str:
    scored = [{"score": 9.0 - place, **hit} for place, hit in enumerate(hits)]
    path.write_text(json.dumps({"qid": "q1", "query": "x?", "topk": scored}) + "\n")
    return str(path)


LATE = "It closes late."


@pytest.mark.parametrize("kind", ["pool", "decide"])
@each(
    ("hits", "marked", "note"),
    [
        ([{"id": "d3"}, {"id": "d4"}], 0, "b.jsonl has whole documents, and others have passages"),
        ([{"id": "d3", "content": LATE}, {"id": "d4", "span": [10, 24]}], 4, ""),
        ([{"id": "d3", "span": [0, 40]}, {"id": "d4", "span": [0, 40]}], 0, "b.jsonl has much longer passages than "),
        ([{"id": "d2"}, {"id": "d1"}], 0, "b.jsonl has whole documents, and others have passages"),
    ],
)
def test_a_mark_does_not_tell_which_run_found_a_pair(tmp_path, kind, hits, marked, note):
    """Passages of one run beside whole or much longer documents of another one would be a mark of their system."""
    project = make_project(tmp_path / "p")
    ours = [{"id": "d1", "content": LATE}, {"id": "d2", "content": LATE}]
    sources = (write_trace(project / "a.jsonl", ours), write_trace(project / "b.jsonl", hits))
    desk = open_desk(project)
    queue, notes = make_queue(desk, QueuePlan(name="two", kind=kind, sources=sources))
    pairs = [(row.query, document) for row in queue.rows for document in row.documents]
    tasks = [show_task(desk, "two", "ana", pair) for pair in pairs]
    assert sum(task.passage is not None for task in tasks) == marked
    assert [note in own for own in notes] == ([True] if note else [])


def test_files_of_rows_do_not_tell_where_a_pair_is_from_either(tmp_path):
    project = make_project(tmp_path / "p")
    for name, document, more in (("x", "d1", {"passage": LATE}), ("y", "d2", {})):
        row = {"query": "q1", "document": document, "grade": None} | more
        (project / f"{name}.jsonl").write_text(json.dumps(row) + "\n")
    desk = open_desk(project)
    sources = tuple(str(project / f"{name}.jsonl") for name in "xy")
    _, notes = make_queue(desk, QueuePlan(name="rows", kind="rows", sources=sources))
    assert ["passages are left out" in own for own in notes] == [True]
    assert show_task(desk, "rows", "ana", ("q1", "d1")).passage is None
    make_queue(desk, QueuePlan(name="one", kind="rows", sources=sources[:1]))
    assert show_task(desk, "one", "ana", ("q1", "d1")).passage is not None


def test_disputes_are_for_the_adjudicator_widest_first_without_names(tmp_path):
    desk = add_queue(make_desk(tmp_path / "p"), "disputes", kind="disputes", sources=(), adjudicator="cy")
    for document, grades in (("d1", (3, 2)), ("d2", (3, 0)), ("d3", (1, 1))):
        for who, grade in zip(("ana", "bo"), grades, strict=True):
            say(desk, who, "q1", document, grade, note=f"{document} {grade}")
    say(desk, "ana", "q1", "d4", verdict="cannot_tell")
    with pytest.raises(UsageError, match="is for 'cy'"):
        next_task(desk, "disputes", "ana")
    task = next_task(desk, "disputes", "cy")
    assert [(own.grade, own.note) for own in task.others] == [(0, "d2 0"), (3, "d2 3")]
    assert "ana" not in to_json(task)
    assert measure_queue(desk, "disputes").pairs == 3
    pairs = list_pairs(desk, "cy", "disputes")
    assert pairs == [("q1", "d2"), ("q1", "d1"), ("q1", "d4")]
    say(desk, "cy", "q1", "d2", 2, queue="disputes")
    status = measure_queue(desk, "disputes")
    assert (status.pairs, status.finished, status.people[0].who) == (3, 1, "cy")
    assert measure_queue(desk, "first").people[0].graded == 3
    with pytest.raises(UsageError, match="does not ask"):
        say(desk, "cy", "q7", "d5", 2, queue="disputes")


def test_who_settles_a_pair_keeps_an_own_label_of_it(tmp_path):
    desk = add_queue(make_desk(tmp_path / "p"), "disputes", kind="disputes", sources=(), adjudicator="ana")
    say(desk, "ana", "q1", "d1", 3)
    say(desk, "bo", "q1", "d1", 0)
    say(desk, "ana", "q1", "d1", 1, queue="disputes")
    votes = desk.book.votes(("q1", "d1"))
    assert (votes["ana", False].grade, votes["ana", True].grade) == (3, 1)


@each(
    ("answer", "message"),
    [
        ({"grade": 4}, "grade 4 is not on the set's scale, 0 to 3"),
        ({"grade": None}, "grade None is not on"),
        ({"grade": -1}, "grade -1 is not on"),
        ({"verdict": "maybe", "grade": 1}, "choose grade, skip, cannot_tell"),
        ({"verdict": "skip", "grade": 1}, "only a grade"),
        ({"grade": 1, "note": "x" * 4001}, "4,000 are the most"),
        ({"grade": 1, "note": "\ud800"}, "surrogate"),
        ({"grade": 1, "key": "x" * 101}, "the key"),
        ({"grade": 1, "span": (5, 5)}, "is not inside"),
        ({"grade": 1, "span": (0, 10**6)}, "is not inside"),
        ({"grade": 1, "span": (0, 18)}, "is not inside"),
        ({"grade": 1, "quote": "no such words"}, "does not have the words"),
        ({"grade": 1, "document": "d99"}, "does not ask"),
        ({"grade": 1, "query": "q99"}, "does not ask"),
    ],
)
def test_an_answer_that_cannot_be_is_refused_and_nothing_is_saved(tmp_path, answer, message):
    """Byte 18 is in the middle of the é of café."""
    desk = make_desk(tmp_path / "p")
    with pytest.raises(UsageError, match=message):
        save_label(desk, "first", "ana", Answer(**{"query": "q1", "document": "d2"} | answer))
    assert not (desk.folder / "people").exists()


def test_a_span_is_bytes_of_the_canonical_text(tmp_path):
    """By its bytes, or by its words whatever their line breaks; it stays where it is when chunks are made anew."""
    desk = make_desk(tmp_path / "p")
    text = show_task(desk, "first", "ana", ("q1", "d2")).text
    saved = say(desk, "ana", "q1", "d2", 3, quote="opens at 2:30.   It closes")
    assert text.encode()[slice(*saved.span)].decode() == "opens at 2:30.\n\nIt closes"
    assert say(desk, "ana", "q1", "d2", 3, span=saved.span).span == saved.span
    assert say(desk, "ana", "q1", "d2", 3, seconds=-1.0).span is None


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({"name": "No Name"}, "lower-case"),
        ({"overlap": 1.5}, "share from 0 to 1"),
        ({"people": 0}, "how many"),
        ({"kind": "other"}, "no kind of queue"),
        ({"sources": ()}, "needs runs, such as"),
        ({"kind": "uncertain", "sources": ()}, "needs files of 'karat golden judge'"),
        ({"kind": "rows", "sources": ("a.txt",)}, "a.txt: has no rows .* a queue of runs has the kind pool or decide"),
        ({"adjudicator": "cy"}, "settles disputes"),
        ({"kind": "disputes"}, "leave out runs"),
        ({"kind": "disputes", "sources": ()}, "--adjudicator"),
        ({"kind": "decide", "sources": ("a.txt",)}, "two runs"),
        ({"name": "first"}, "already"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(tmp_path, monkeypatch, plan, message):
    desk = make_desk(tmp_path / "p")
    monkeypatch.chdir(tmp_path / "p")
    with pytest.raises((UsageError, InputError), match=message):
        make_queue(desk, QueuePlan(**{"name": "second", "kind": "pool", "sources": ("a.txt", "b.txt")} | plan))
    assert desk.list_queues() == ("first",)


def test_a_queue_of_nothing_is_refused(tmp_path):
    project = make_project(tmp_path / "p")
    (project / "a.txt").write_text("q1 Q0 d0 1 1 t\n")
    with pytest.raises(UsageError, match="nothing to label: all pairs are judged"):
        make_queue(open_desk(project), QueuePlan(name="x", kind="pool", sources=(str(project / "a.txt"),)))
    rows = project / "rows.jsonl"
    rows.write_text('{"query": "q1", "document": "d1", "grade": null}\n')
    with pytest.raises(UsageError, match="nothing to label: no row has the grade of a machine"):
        make_queue(open_desk(project), QueuePlan(name="x", kind="uncertain", sources=(str(rows),)))
    rows.write_text('{"query": "q1", "document": "d1", "grade": 2}\n')
    with pytest.raises(UsageError, match="nothing to label: 1 row has a grade already"):
        make_queue(open_desk(project), QueuePlan(name="x", kind="rows", sources=(str(rows),)))


@each(
    ("text", "message"),
    [("", "is not a queue"), ("{}\n", "is not a queue"), ("HEAD\n{}\n", "line 2"), ("OTHER\n", "rename the file")],
)
def test_a_broken_queue_is_named(tmp_path, text, message):
    desk = make_desk(tmp_path / "p")
    path = desk.queue_path("first")
    head = path.read_text().splitlines()[0]
    path.write_text(text.replace("HEAD", head).replace("OTHER", head.replace('"first"', '"third"')))
    with pytest.raises(InputError, match=message):
        measure_queue(desk, "first")
    path.write_text(head.replace('"version":1', '"version":2') + "\n")
    with pytest.raises(InputError, match="has version 2"):
        measure_queue(desk, "first")


def test_an_unknown_queue_names_those_that_are_there(tmp_path):
    desk = make_desk(tmp_path / "p")
    with pytest.raises(UsageError, match="did you mean 'first'"):
        next_task(desk, "frst", "ana")
    with pytest.raises(UsageError, match="makes them"):
        next_task(open_desk(make_project(tmp_path / "other")), "x", "ana")


def test_a_golden_set_that_changes_is_read_again(tmp_path):
    desk = make_desk(tmp_path / "p")
    assert desk.golden is desk.golden
    path = Path(tmp_path / "p" / "set" / "queries.jsonl")
    path.write_text(path.read_text().replace("café 1 ", "bar 1 "))
    assert desk.golden.query_by_id["q1"].text == "When does bar 1 open?"


def test_guidelines_are_the_projects_own_and_have_a_version(tmp_path):
    desk = make_desk(tmp_path / "p")
    before = desk.guidelines
    assert "- 3: answers directly" in before.text
    (desk.folder / "guidelines.md").write_text("Be kind.")
    assert (desk.guidelines.text, desk.guidelines.version != before.version) == ("Be kind.", True)


def test_in_a_large_queue_nothing_is_looked_at_twice():
    """Whoever has answered ninety thousand pairs is asked the next one, and what was done is passed over for good."""
    rows = tuple(QueueRow(query=f"q{i}", documents=tuple(f"d{j}" for j in range(100))) for i in range(1000))
    head = QueueHead(karat="label-queue", version=1, name="large", kind="pool", at="")
    queue = Queue(head=head, rows=rows)
    state = QueueState(queue, Book(Path("no-such-folder")))
    state.follow()
    order = queue.order("ana").tolist()
    assert sorted(order) == list(range(100_000))
    state.next_pair("ana")
    state.labels[order[:90_000]] = 1
    assert state.next_pair("ana") == queue.pair(order[90_000])
    assert state._readers["ana"].cursor > 86_000
    assert state.count_left("ana") == 10_000


def test_documents_without_text_are_asked_all_the_same(tmp_path):
    set_ = replace(make_golden(), documents=tuple(Document(id=f"d{i}") for i in range(6)))
    desk = open_desk(make_project(tmp_path / "p", set_))
    add_queue(desk)
    assert next_task(desk, "first", "ana").text == ""
    with pytest.raises(UsageError, match="has no text"):
        say(desk, "ana", "q1", "d2", 3, quote="x")


@each(
    ("row", "message"),
    [
        (b'{"query":"\xff"}', "line 2: is not a row of a queue"),
        (b'{"query":"q","new":{"row":{"a":' + b"[" * 100_000, "line 2: is nested too deep"),
        (b'{"query":"q","documents":["d"],"several":[1]}', "several names documents by places outside of 0 to 0"),
        (b'{"query":"q","documents":["d"],"several":[-1]}', "several names documents by places outside of 0 to 0"),
        (b'{"query":"q","documents":["d"],"texts":["a","b"]}', "texts has 2 values for 1 documents"),
        (b'{"query":"q","documents":[],"a\\nb":1}', r"unknown field `a\\nb`"),
    ],
)
def test_a_row_that_cannot_be_decoded_is_named(tmp_path, row, message):
    """With the line, and not as a bug of karat."""
    desk = make_desk(tmp_path / "p")
    path = desk.queue_path("first")
    path.write_bytes(path.read_bytes().splitlines()[0] + b"\n" + row + b"\n")
    with pytest.raises(InputError, match=message):
        desk.open_queue("first")
