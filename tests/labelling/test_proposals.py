"""Gold changes by an accepted proposal and in no other way, and git shows what changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import karat
from each import each
from karat import golden
from karat.core import GoldenSet, InputError, KaratError, Query, Span, Target, UsageError
from karat.golden.lint import check
from karat.labelling import (
    QueuePlan,
    accept_proposal,
    apply_changes,
    list_proposals,
    make_queue,
    open_desk,
    propose,
    propose_grade,
    propose_labels,
    propose_wording,
    refuse_proposal,
    show_proposal,
    undo_label,
)
from karat.schema.labelling import ProposalChange
from karat.text import canonical
from labelling.rooms import add_queue, ana_says, bo_says, label_all, make_desk, make_project, say


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "set").iterdir()) if path.is_file()}


def judgment(**fields: object) -> ProposalChange:
    return ProposalChange(judgment={"query": "q1", "document": "d1", "grade": 2, "annotator": "ana"} | fields)


def test_labels_become_judgments_when_somebody_accepts_them(tmp_path):
    """Until then no byte of the set changes; then rows are appended, and those that were there stay to the byte."""
    desk = make_desk(tmp_path / "p")
    before = files(tmp_path / "p")
    say(desk, "ana", "q1", "d1", 3, quote="The café of room 1")
    say(desk, "bo", "q1", "d1", 3)
    say(desk, "ana", "q1", "d2", 3)
    say(desk, "bo", "q1", "d2", 1)
    say(desk, "ana", "q1", "d3", 1)
    say(desk, "ana", "q1", "d4", verdict="skip")
    proposal = propose_labels(desk, "first", by="ana", reason="a first look")
    assert proposal.head.left_out == {
        "people disagree, and nobody has settled it": 1, "it has fewer labels than it needs": 1,
    }  # fmt: skip
    shown = show_proposal(desk, "1")
    assert files(tmp_path / "p") == before
    assert [(pair.query, pair.target, pair.grade) for pair in shown.diff.pairs.added] == [
        ("q1", "d1", 3), ("q1", "d1@10-29", 3),
    ]  # fmt: skip
    assert (shown.state, shown.diff.bump) == ("open", "minor")
    accepted = accept_proposal(desk, "0001", by="ada", reason="read all of it")
    assert (accepted.state, accepted.diff) == ("accepted", shown.diff)
    after = files(tmp_path / "p")
    assert {name for name in after if after[name] != before[name]} == {"judgments.jsonl"}
    assert after["judgments.jsonl"].startswith(before["judgments.jsonl"])
    added = [json.loads(line) for line in after["judgments.jsonl"][len(before["judgments.jsonl"]) :].splitlines()]
    assert [(row["annotator"], row.get("span"), row["grade"]) for row in added] == [
        ("ana", None, 3), ("ana", [10, 29], 3), ("bo", None, 3),
    ]  # fmt: skip
    assert golden.check(open_desk(tmp_path / "p").golden).errors == ()


def test_words_that_do_not_answer_are_no_span(tmp_path):
    """Words that were selected with the grade 0 leave the grade to the document."""
    desk = make_desk(tmp_path / "p", people=1)
    say(desk, "ana", "q1", "d1", 0, quote="The café of room 1")
    [change] = propose_labels(desk, "first", by="ana").changes
    assert (change.judgment["document"], change.judgment["grade"], change.judgment.get("span")) == ("d1", 0, None)
    with pytest.raises(UsageError, match="a grade above 0"):
        propose_grade(desk, "q1", "d3", 0, span=(0, 8), by="ana")


def test_what_the_set_has_is_not_proposed_again(tmp_path):
    desk = make_desk(tmp_path / "p")
    label_all(desk, "ana", ana_says)
    label_all(desk, "bo", ana_says)
    accept_proposal(desk, propose_labels(desk, "first", by="ana").head.name, by="ada", reason="ok")
    with pytest.raises(UsageError, match="nothing to propose: the set has all of its labels already"):
        propose_labels(desk, "first", by="ana")
    say(desk, "ana", "q1", "d1", (ana_says("q1", "d1") + 1) % 4)
    say(desk, "bo", "q1", "d1", (ana_says("q1", "d1") + 1) % 4)
    lines = files(tmp_path / "p")["judgments.jsonl"].splitlines()
    shown = show_proposal(desk, propose_labels(desk, "first", by="ana").head.name)
    assert len(shown.diff.pairs.regraded) == 1
    accept_proposal(desk, shown.proposal, by="ada", reason="ok")
    after = files(tmp_path / "p")["judgments.jsonl"].splitlines()
    assert sum(old != new for old, new in zip(lines, after, strict=True)) == 2


def test_a_grade_that_its_person_no_longer_gives_is_named(tmp_path):
    """The set keeps it, whether it was taken back or the person cannot tell any more."""
    desk = make_desk(tmp_path / "p", people=1)
    for document in ("d1", "d2", "d3"):
        say(desk, "ana", "q1", document, 2)
    accept_proposal(desk, propose_labels(desk, "first", by="ana").head.name, by="ada", reason="ok")
    undo_label(desk, "ana")
    say(desk, "ana", "q1", "d1", verdict="cannot_tell")
    with pytest.raises(UsageError, match="no longer gives it the grade that the set has: take that row out"):
        propose_labels(desk, "first", by="ana")
    say(desk, "ana", "q1", "d4", 1)
    left_out = propose_labels(desk, "first", by="ana").head.left_out
    assert [count for why, count in left_out.items() if "no longer gives" in why] == [2]
    say(desk, "ana", "q1", "d1", 2)
    say(desk, "ana", "q1", "d3", 2)
    refuse_proposal(desk, "2", by="ada", reason="not yet")
    assert propose_labels(desk, "first", by="ana").head.left_out == {}


def test_the_same_is_not_proposed_twice_while_it_is_open(tmp_path):
    """What is new comes with what is open; a refused one can be made again, and an accepted one says what is next."""
    desk = make_desk(tmp_path / "p", people=1)
    say(desk, "ana", "q1", "d1", 2)
    assert propose_labels(desk, "first", by="ana").head.name == "0001"
    with pytest.raises(UsageError, match="proposal 0001 is open and has all of this already"):
        propose_labels(desk, "first", by="bo", reason="again")
    refused = refuse_proposal(desk, "1", by="ada", reason="not yet")
    assert (propose_labels(desk, "first", by="ana").head.name, refused.next) == ("0002", "")
    say(desk, "ana", "q1", "d2", 2)
    assert len(propose_labels(desk, "first", by="ana").changes) == 2
    accepted = accept_proposal(desk, "3", by="ada", reason="ok")
    assert "its version is still 1.0.0: before you release it, `karat golden tag .`" in accepted.next
    assert (show_proposal(desk, "3").next, show_proposal(desk, "2").next) == (accepted.next, "")


def test_unfinished_pairs_come_if_somebody_wants_them(tmp_path):
    desk = make_desk(tmp_path / "p")
    with pytest.raises(UsageError, match="nothing to propose: nobody has labelled a pair of it yet"):
        propose_labels(desk, "first", by="ana")
    label_all(desk, "ana", bo_says)
    with pytest.raises(UsageError, match="nothing to propose: left out are 40 pairs, since it has fewer labels"):
        propose_labels(desk, "first", by="ana")
    assert len(propose_labels(desk, "first", by="ana", unfinished=True).changes) == 40


def test_a_new_query_comes_with_its_judgments(tmp_path):
    """That of a candidate; a query of which only the id is known is left out, and so are unknown documents."""
    project = make_project(tmp_path / "p")
    golden.write(GoldenSet(queries=(Query(id="live-1", text="pool hours?"),)), tmp_path / "c")
    rows = [{"query": "live-1", "document": d, "grade": None} for d in ("d2", "d99")]
    rows.append({"query": "live-2", "document": "d2", "grade": None})
    (tmp_path / "c" / "to-judge.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    desk = open_desk(project)
    make_queue(desk, QueuePlan(name="live", kind="rows", sources=(str(tmp_path / "c"),), overlap=0))
    label_all(desk, "ana", ana_says_live, queue="live")
    proposal = propose_labels(desk, "live", by="ana")
    assert proposal.head.left_out == {"the set does not have the document": 1, "the set does not have the query": 1}
    before = files(project)
    accept_proposal(desk, "1", by="ada", reason="people ask it")
    after = files(project)
    assert after["queries.jsonl"] == before["queries.jsonl"] + b'{"id": "live-1", "text": "pool hours?"}\n'
    assert desk.golden.decided["live-1", Target(document="d2")] == 2


def ana_says_live(query: str, document: str) -> int:
    assert query
    assert document
    return 2


def test_wordings_grades_and_spans_can_be_proposed(tmp_path):
    desk = make_desk(tmp_path / "p")
    before = files(tmp_path / "p")["queries.jsonl"].splitlines()
    for number, proposal in enumerate(
        [
            propose_wording(desk, "q1", paraphrase="opening time of café 1", by="ana"),
            propose_wording(desk, "q2", text="What are the hours of café 2?", by="ana", reason="as people ask"),
            propose_wording(desk, "q-new", text="Is there a spa?", by="ana"),
            propose_grade(desk, "q1", "d3", 2, by="ana"),
            propose_grade(desk, "q1", "d3", 3, span=(0, 8), by="ana"),
        ],
        1,
    ):
        assert proposal.head.name == f"{number:04}"
        accept_proposal(desk, proposal.head.name, by="ada", reason="good")
    after = files(tmp_path / "p")["queries.jsonl"].splitlines()
    assert [i for i, (old, new) in enumerate(zip(before, after, strict=False)) if old != new] == [1, 2]
    queries = desk.golden.query_by_id
    assert queries["q1"].paraphrases == ("opening time of café 1",)
    assert queries["q2"].text == "What are the hours of café 2?"
    assert queries["q-new"].text == "Is there a spa?"
    assert desk.golden.decided["q1", Target(document="d3", span=Span(0, 8))] == 3


def test_a_refused_proposal_is_kept_and_changes_nothing(tmp_path):
    desk = make_desk(tmp_path / "p")
    before = files(tmp_path / "p")
    propose(desk, [judgment()], by="ana", reason="perhaps")
    refused = refuse_proposal(desk, "1", by="ada", reason="the text says otherwise")
    assert (refused.state, refused.diff, refused.decision.reason) == ("refused", None, "the text says otherwise")
    assert files(tmp_path / "p") == before
    for decide in (accept_proposal, refuse_proposal):
        with pytest.raises(UsageError, match="0001 was refused by 'ada'"):
            decide(desk, "1", by="bo", reason="no")
    assert [(row.proposal, row.state, row.changes) for row in list_proposals(desk).proposals] == [
        ("0001", "refused", 1)
    ]


def test_a_decision_needs_a_name_and_a_reason(tmp_path):
    desk = make_desk(tmp_path / "p")
    propose(desk, [judgment()], by="ana", reason="")
    with pytest.raises(UsageError, match="say why"):
        accept_proposal(desk, "1", by="ada", reason=" ")
    with pytest.raises(UsageError, match="name"):
        accept_proposal(desk, "1", by="", reason="x")
    with pytest.raises(UsageError, match="2,000 are the most"):
        refuse_proposal(desk, "1", by="ada", reason="x" * 2001)
    for name in ("2", "x", "../../set/golden"):
        with pytest.raises(UsageError, match="no proposal"):
            accept_proposal(desk, name, by="ada", reason="x")
    assert list_proposals(desk).proposals[0].state == "open"


def test_a_killed_acceptance_can_be_repeated(tmp_path, monkeypatch):
    """The set was written, and the process ended before the decision was: the same changes apply again."""
    desk = make_desk(tmp_path / "p")
    propose(desk, [ProposalChange(query={"id": "x", "text": "new?"}), judgment(query="x")], by="ana", reason="r")

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("karat.labelling._proposal.append_file", end)
        with pytest.raises(KeyboardInterrupt):
            accept_proposal(desk, "1", by="ada", reason="r")
    written = files(tmp_path / "p")
    assert show_proposal(desk, "1").state == "open"
    assert accept_proposal(desk, "1", by="ada", reason="r").diff.bump == "none"
    assert files(tmp_path / "p") == written


@each(
    ("change", "message"),
    [
        (ProposalChange(), "is not one of judgment, query, paraphrase and wording"),
        (ProposalChange(paraphrase="x", wording="y", of="q1"), "is not one of"),
        (judgment(query="q99"), "the set has no query 'q99'"),
        (judgment(document="d99"), "the set has no document 'd99'"),
        (judgment(grade=7), "grade 7 is not on the set's scale, 0 to 3"),
        (judgment(span=[0, 9999]), "has no 'd1@0-9999'"),
        (judgment(section="S.9"), "S.9"),
        (judgment(source="rumour"), "source 'rumour'"),
        (ProposalChange(query={"id": "q1", "text": "other"}), "the set has another query 'q1'"),
        (ProposalChange(query={"id": "q99"}), "'text' is missing"),
        (ProposalChange(paraphrase="x", of="q99"), "the set has no query 'q99'"),
        (ProposalChange(paraphrase="...", of="q1"), "has no words"),
        (ProposalChange(paraphrase="When does café 2 open?", of="q1"), "the query 'q2' asks"),
        (ProposalChange(wording="new?", of="q1", before="old?"), "was reworded meanwhile"),
        (ProposalChange(wording=" . ", of="q1", before="When does café 1 open?"), "has no words"),
    ],
)
def test_a_change_that_does_not_fit_is_not_proposed(tmp_path, change, message):
    desk = make_desk(tmp_path / "p")
    with pytest.raises(KaratError, match=message.replace("[", r"\[").replace("(", r"\(")):
        propose(desk, [change], by="ana", reason="")
    assert not (desk.folder / "proposals").exists()


def test_all_that_does_not_fit_is_named_at_once(tmp_path):
    desk = make_desk(tmp_path / "p")
    with pytest.raises(InputError) as error:
        apply_changes(desk.golden, [judgment(query="q98"), judgment(), judgment(query="q99")])
    assert all(name in str(error.value) for name in ("change 1", "q98", "change 3", "q99"))


def test_a_proposal_that_fits_no_more_says_so_and_the_set_stays(tmp_path):
    desk = make_desk(tmp_path / "p")
    propose_wording(desk, "q1", text="first?", by="ana")
    propose_wording(desk, "q1", text="second?", by="bo")
    accept_proposal(desk, "1", by="ada", reason="r")
    assert "was reworded meanwhile" in show_proposal(desk, "2").problem
    before = files(tmp_path / "p")
    with pytest.raises(InputError, match="reworded meanwhile"):
        accept_proposal(desk, "2", by="ada", reason="r")
    assert files(tmp_path / "p") == before


@pytest.mark.parametrize("arguments", [{}, {"text": "x", "paraphrase": "y"}])
def test_a_wording_is_a_text_or_a_paraphrase(tmp_path, arguments):
    with pytest.raises(UsageError, match="either"):
        propose_wording(make_desk(tmp_path / "p"), "q1", by="ana", **arguments)


def test_a_paraphrase_needs_its_query(tmp_path):
    with pytest.raises(UsageError, match="the set has no query 'q11', did you mean 'q1'"):
        propose_wording(make_desk(tmp_path / "p"), "q11", paraphrase="x?", by="ana")


@each(
    ("text", "message"),
    [
        ("", "it is empty"),
        ("{}\n", "line 1"),
        ("HEAD\n{\n", "remove a last line"),
        ("NEWER\n", "has version 2"),
        (f'HEAD\n{{"query":{{"id":{"[" * 100_000}\n', "line 2: is nested too deep"),
    ],
)
def test_a_broken_proposal_is_named(tmp_path, text, message):
    desk = make_desk(tmp_path / "p")
    propose(desk, [judgment()], by="ana", reason="")
    path = desk.folder / "proposals" / "0001.jsonl"
    head = path.read_text().splitlines()[0]
    path.write_text(text.replace("HEAD", head).replace("NEWER", head.replace('"version":1', '"version":2')))
    with pytest.raises(InputError, match=message):
        show_proposal(desk, "1")


def test_a_set_in_another_format_can_be_labelled_and_not_changed(tmp_path):
    project = make_project(tmp_path / "p")
    golden.write(golden.read(project / "set"), project / "beir", "beir")
    (project / "karat.toml").write_text('[golden]\npath = "beir"\n')
    desk = open_desk(project)
    propose(desk, [judgment()], by="ana", reason="")
    with pytest.raises(UsageError, match="own format"):
        accept_proposal(desk, "1", by="ada", reason="x")
    assert show_proposal(desk, "1").state == "open"


def _edit(desk, before="", *, words=""):
    """Put a text before those of a document, or other words into it."""
    path = desk.config.golden / "documents.jsonl"
    rows = [json.loads(row) for row in path.read_text().splitlines()]
    for row in rows:
        if row["id"] == "d2":
            row["text"] = before + row["text"].replace("It closes late.", words or "It closes late.")
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def _find_words(desk, target):
    text = canonical(desk.golden.document_by_id["d2"].text).encode()
    return text[target.span.start : target.span.end].decode()


def test_the_words_of_a_label_are_found_again_in_an_edited_document(tmp_path):
    desk = make_desk(tmp_path / "p", overlap=0)
    say(desk, "ana", "q1", "d2", 2, quote="It closes late.")
    _edit(desk, "# News\n\nThe roof was mended.\n\n")
    proposal = propose_labels(desk, "first", by="ana")
    spans = [change.judgment for change in proposal.changes if "span" in change.judgment]
    assert [row["quote"] for row in spans] == ["It closes late."]
    accept_proposal(desk, proposal.head.name, by="ada", reason="read")
    (own,) = [own for own in desk.golden.judgments if own.target.span is not None]
    assert (own.quote, _find_words(desk, own.target)) == ("It closes late.", "It closes late.")
    assert "span-moved" not in {finding.rule for finding in check(desk.golden).errors}
    _edit(desk, "More news.\n\n")
    (finding,) = [finding for finding in check(desk.golden).errors if finding.rule == "span-moved"]
    moved = own.target.span
    assert finding.where == (f"q1 d2@{moved.start}-{moved.end}: now {moved.start + 12} to {moved.end + 12}",)


def test_words_that_are_gone_are_not_proposed(tmp_path):
    desk = make_desk(tmp_path / "p", overlap=0)
    say(desk, "ana", "q1", "d2", 2, quote="It closes late.")
    say(desk, "ana", "q1", "d3", 2)
    _edit(desk, words="It never closes.")
    proposal = propose_labels(desk, "first", by="ana")
    assert [change.judgment["document"] for change in proposal.changes] == ["d3"]
    assert proposal.head.left_out == {
        "the document was edited, and the words that somebody selected are not there any more": 1
    }


def test_a_proposal_whose_words_moved_is_not_accepted(tmp_path):
    desk = make_desk(tmp_path / "p", overlap=0)
    say(desk, "ana", "q1", "d2", 2, quote="It closes late.")
    proposal = propose_labels(desk, "first", by="ana")
    _edit(desk, "News. ")
    assert "the document was edited" in show_proposal(desk, proposal.head.name).problem
    with pytest.raises(InputError, match="does not have the words 'It closes late"):
        accept_proposal(desk, proposal.head.name, by="ada", reason="read")
    again = propose_labels(desk, "first", by="ana")
    accept_proposal(desk, again.head.name, by="ada", reason="read")


def test_a_label_without_words_is_as_before(tmp_path):
    """As an earlier version of karat wrote it, and as judgments by hand are: the bytes count."""
    desk = make_desk(tmp_path / "p", overlap=0)
    say(desk, "ana", "q1", "d2", 2, quote="It closes late.")
    path = desk.folder / "people" / "ana.jsonl"
    path.write_text(path.read_text().replace(',"quote":"It closes late."', ""))
    _edit(desk, "News. ")
    proposal = propose_labels(desk, "first", by="ana")
    accept_proposal(desk, proposal.head.name, by="ada", reason="read")
    (own,) = [own for own in desk.golden.judgments if own.target.span is not None]
    assert own.quote == ""
    assert "span-moved" not in {finding.rule for finding in check(desk.golden).errors}


def test_words_give_a_document_no_better_grade_than_was_settled(tmp_path):
    """Ana selected words and was overruled: a run that returns the document is then as wrong as the adjudicator says.

    Words of somebody who gave no better grade than the settled one stay.
    """
    desk = make_desk(tmp_path / "p")
    for document, ana, bo in (("d1", 3, 2), ("d2", 3, 2), ("d3", 3, 1)):
        say(desk, "ana", "q1", document, ana, quote=f"The café of room {document[1]}")
        say(desk, "bo", "q1", document, bo, quote="It closes late.")
    make_queue(desk, QueuePlan(name="settle", kind="disputes", adjudicator="cy"))
    for document, grade in (("d1", 1), ("d2", 2), ("d3", 3)):
        say(desk, "cy", "q1", document, grade, queue="settle")
    accept_proposal(desk, propose_labels(desk, "first", by="ana").head.name, by="ada", reason="ok")
    graded = {str(target): grade for (query, target), grade in desk.golden.decided.items() if query == "q1"}
    assert graded == {"d0": 0, "d1": 1, "d2": 2, "d2@46-61": 2, "d3": 3, "d3@10-29": 3, "d3@46-61": 1}
    assert karat.evaluate(desk.golden, lambda query, k: ["d1"], ["RR@5"]).mean() == {"RR@5": 0}


def test_who_takes_back_what_the_set_has_is_told(tmp_path):
    """The set changes by a proposal alone, and a label that was taken back proposes nothing."""
    desk = make_desk(tmp_path / "p", people=1)
    say(desk, "ana", "q1", "d1", 3)
    accept_proposal(desk, propose_labels(desk, "first", by="ana").head.name, by="ada", reason="ok")
    say(desk, "ana", "q1", "d2", 3)
    assert undo_label(desk, "ana").notes == ()
    [note] = undo_label(desk, "ana").notes
    assert "the golden set keeps the grade of ana" in note


def test_words_that_the_set_has_follow_what_is_said_later(tmp_path):
    """A span that was accepted before keeps its grade only as long as its person says so, and nobody is overruled."""
    desk = make_desk(tmp_path / "p", people=1)
    for document in ("d1", "d2"):
        say(desk, "ana", "q1", document, 3, quote="It closes late.")
    accept_proposal(desk, propose_labels(desk, "first", by="ana").head.name, by="ada", reason="ok")
    add_queue(desk, "second", kind="rows", sources=(str(write_rows(tmp_path, "q1", "d1", "d2")),))
    say(desk, "bo", "q1", "d1", 0, queue="second")
    say(desk, "ana", "q1", "d2", 1, queue="second")
    say(desk, "bo", "q1", "d2", 1, queue="second")
    make_queue(desk, QueuePlan(name="settle", kind="disputes", adjudicator="cy"))
    say(desk, "cy", "q1", "d1", 0, queue="settle")
    accept_proposal(desk, propose_labels(desk, "second", by="ana").head.name, by="ada", reason="ok")
    graded = {str(target): grade for (query, target), grade in desk.golden.decided.items() if query == "q1"}
    assert graded == {"d0": 0, "d1": 0, "d1@46-61": 0, "d2": 1, "d2@46-61": 1}
    with pytest.raises(UsageError, match="nothing to propose"):
        propose_labels(desk, "second", by="ana")
    assert golden.check(open_desk(tmp_path / "p").golden).errors == ()


def write_rows(folder: Path, query: str, *documents: str) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps({"query": query, "document": d, "grade": None}) + "\n" for d in documents))
    return path
