"""How far people agree, from their files: what ``karat golden merge`` computes, with intervals."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from karat import golden
from karat.core import Judgment, Target
from karat.labelling import (
    accept_proposal,
    describe_proposal,
    measure_labels,
    measure_status,
    open_desk,
    propose_labels,
    undo_label,
)
from labelling.rooms import add_queue, ana_says, bo_says, label_all, make_desk, say


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """Three people label everything; one of them only half of it."""
    desk = make_desk(tmp_path_factory.mktemp("agreement") / "p", people=3)
    label_all(desk, "ana", ana_says)
    label_all(desk, "bo", bo_says)
    for query in range(4):
        for document in range(1, 6):
            say(desk, "cy", f"q{query}", f"d{document}", (query + document) % 4)
    return desk


def merged(desk):
    """What ``karat golden merge`` says of the lines of the files, read without karat.labelling."""
    files = sorted((desk.folder / "people").glob("*.jsonl"))
    lines = [(file.stem, json.loads(line)) for file in files for line in file.read_text().splitlines()[1:]]
    return golden.agreement(
        Judgment(query=own["query"], target=Target(document=own["document"]), grade=own["grade"], annotator=who)
        for who, own in lines
    )


def test_kappa_and_alpha_are_those_of_the_files(desk):
    ours, theirs = measure_labels(desk), merged(desk)
    assert (ours.people, ours.pairs) == (theirs.annotators, theirs.pairs)
    assert ours.same == pytest.approx(theirs.same)
    assert ours.alpha.value == pytest.approx(theirs.alpha, abs=1e-12)
    assert {row.people: (row.kappa.value, row.pairs) for row in ours.kappa} == {
        two: (pytest.approx(kappa), pairs) for two, (kappa, pairs) in theirs.kappa.items()
    }
    assert [(row.query, row.document) for row in ours.disputes] == [
        (query, target.document) for query, target, _ in theirs.disputed
    ]
    assert ours.alpha.low < ours.alpha.value < ours.alpha.high


def test_by_person_and_by_category(desk):
    document = measure_labels(desk)
    ana, bo, cy = document.by_person
    assert (ana.graded, ana.shared, cy.graded, cy.shared) == (40, 40, 20, 20)
    assert ana.kappa.value > cy.kappa.value
    assert bo.mean_grade < ana.mean_grade
    assert {row.category: row.pairs for row in document.by_category} == {"places": 20, "times": 20}
    times = golden.agreement(
        judgment
        for name in ("ana", "bo", "cy")
        for (query, target), line in desk.book.labels_of(name)
        if int(query[1:]) % 2 == 0
        for judgment in [Judgment(query=query, target=Target(document=target), grade=line.grade, annotator=name)]
    )
    assert document.by_category[1].alpha.value == pytest.approx(times.alpha)


def test_one_queue_alone(desk):
    add_queue(desk, "shallow", depth=1)
    assert measure_labels(desk, "shallow").pairs == 8
    assert measure_labels(desk, "first") == measure_labels(desk)


def test_without_two_labels_there_is_no_number(tmp_path):
    desk = make_desk(tmp_path / "p")
    assert (measure_labels(desk).pairs, measure_labels(desk).alpha.value) == (0, None)
    assert measure_labels(desk).notes == ("40 more pairs of first are for 2 people: let people go on.",)
    say(desk, "ana", "q1", "d1", 2)
    say(desk, "bo", "q1", "d1", verdict="cannot_tell")
    document = measure_labels(desk)
    assert (document.pairs, document.same, document.kappa, document.disputes) == (0, None, (), ())
    assert [(row.who, row.graded, row.mean_grade) for row in document.by_person] == [("ana", 1, None)]


def test_what_was_settled_is_no_dispute_and_the_set_agrees(tmp_path):
    """After the proposal was accepted, the golden set itself has the same numbers, and the settled grade."""
    desk = add_queue(make_desk(tmp_path / "p"), "disputes", kind="disputes", sources=(), adjudicator="cy")
    label_all(desk, "ana", ana_says)
    label_all(desk, "bo", bo_says)
    before = measure_labels(desk)
    assert before.disputes
    for dispute in before.disputes:
        say(desk, "cy", dispute.query, dispute.document, 3, queue="disputes")
    after = measure_labels(desk)
    assert (after.disputes, after.settled, after.alpha) == ((), len(before.disputes), before.alpha)
    accept_proposal(desk, propose_labels(desk, "first", by="ana").head.name, by="ada", reason="read")
    set_ = open_desk(tmp_path / "p").golden
    people = [judgment for judgment in set_.judgments if judgment.annotator != "eve"]
    agreement = golden.agreement(people)
    assert (agreement.settled, agreement.alpha) == (after.settled, pytest.approx(after.alpha.value))
    first = before.disputes[0]
    assert set_.decided[first.query, Target(document=first.document)] == 3
    assert replace(set_, judgments=()).queries == set_.queries


def test_one_grade_nearly_everywhere_is_explained(tmp_path):
    """People agree on 15 of 16 pairs and kappa is low: the numbers say why, and why they have no interval."""
    desk = make_desk(tmp_path / "p", depth=2)
    label_all(desk, "ana", lambda query, document: 0)
    label_all(desk, "bo", lambda query, document: int((query, document) == ("q1", "d1")))
    document = measure_labels(desk)
    assert (document.same, document.kappa[0].kappa.value) == (pytest.approx(1 - 1 / document.pairs), 0)
    assert (document.alpha.low, document.alpha.why) == (None, "no interval: in many resamples every grade is the same")
    few, mostly = document.notes
    assert f"{document.pairs} shared pairs are few" in few
    assert f"{2 * document.pairs - 1} of {2 * document.pairs} grades are 0" in mostly


def test_few_shared_pairs_say_who_should_go_on(tmp_path):
    """Only where no pair waits for a second person is another queue the way, with a larger share than this one has."""
    desk = make_desk(tmp_path / "p", overlap=0.4)
    queue = desk.open_queue("first").queue
    several = int((queue.needed > 1).sum())
    label_all(desk, "ana", ana_says)
    pair = next(queue.pair(number) for number in range(len(queue)) if queue.needed[number] > 1)
    say(desk, "bo", *pair, 2)
    few = measure_labels(desk).notes[0]
    assert few.endswith(f"{several - 1} more pairs of first are for 2 people: let bo go on.")
    label_all(desk, "bo", bo_says)
    assert "go on" not in measure_labels(desk).notes[0]
    assert "--overlap 0.8`" in measure_labels(desk, "first").notes[0]


def test_the_order_of_labels_changes_no_interval(tmp_path):
    """A server that follows the files, and a command that reads them anew, print the same."""
    desk = make_desk(tmp_path / "p")
    measure_labels(desk)
    pairs = [(f"q{query}", f"d{document}") for query in range(8) for document in range(1, 6)]
    for who, says, order in (("bo", bo_says, pairs[::-1]), ("ana", ana_says, [*pairs[7:], *pairs[:7]])):
        for query, document in order:
            say(desk, who, query, document, 3 - says(query, document))
            if document == "d2":
                undo_label(desk, who)
            if document in ("d2", "d3"):
                say(desk, who, query, document, says(query, document))
    ours, anew = measure_labels(desk), measure_labels(open_desk(tmp_path / "p"))
    assert ours.alpha.low is not None
    assert ours == anew


def test_a_settled_dispute_does_not_look_like_agreement(tmp_path):
    """Also where one of those who disagreed settles it; and the page says what became of it."""
    desk = make_desk(tmp_path / "p")
    say(desk, "ana", "q1", "d1", 1)
    say(desk, "ben", "q1", "d1", 2)
    add_queue(desk, "settle", kind="disputes", sources=(), adjudicator="ben")
    say(desk, "ben", "q1", "d1", 1, queue="settle")
    proposal = propose_labels(desk, "first", by="ana")
    (pair,) = describe_proposal(desk, proposal).pairs
    assert (pair.grades, pair.settled, pair.after, pair.now) == ({"ana": 1, "ben": 2}, {"ben": 1}, 1, None)
    accepted = accept_proposal(desk, proposal.head.name, by="ada", reason="read")
    assert [(own.grades, own.settled, own.now) for own in accepted.pairs] == [({"ana": 1, "ben": 2}, {"ben": 1}, 1)]


def test_queues_of_disputes_count_what_their_person_settled(tmp_path):
    desk = make_desk(tmp_path / "p")
    say(desk, "ana", "q1", "d1", 1)
    say(desk, "bo", "q1", "d1", 3)
    add_queue(desk, "settle", kind="disputes", sources=(), adjudicator="cy")
    add_queue(desk, "settle2", kind="disputes", sources=(), adjudicator="di")
    say(desk, "cy", "q1", "d1", verdict="skip", queue="settle")
    say(desk, "di", "q1", "d1", 3, queue="settle2")
    people = {queue.queue: [own.who for own in queue.people] for queue in measure_status(desk).queues}
    assert (people["settle"], people["settle2"]) == (["cy"], ["di"])
