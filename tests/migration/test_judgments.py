"""Judgments that follow their documents: carried where the text is the same, else a person looks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from karat import golden
from karat.core import Document, GoldenSet, Judgment, Query, Session, Span, Target, UsageError
from karat.migration import Proposal, carry_judgments, map_blocks, outline_edition
from karat.text import canonical, outline

POOL = "The pool on the roof opens at seven in the morning and closes at ten in the evening."
SPA = "Towels for the spa are at the desk beside the lift, and cost nothing for guests who stay."
WIFI = "Guests join the wireless network of the house with the code on the back of their key card."
DOGS = "Dogs are welcome in the garden rooms of both houses, on a lead and away from the kitchen."
OLD = f"# House\n\n## Water\n\n{POOL}\n\n{SPA}\n\n## Network\n\n{WIFI}\n\n## Animals\n\n{DOGS}\n"
OTHER = WIFI.replace("key", "yellow")
NEW = f"# House\n\n## News\n\nWe have kayaks now.\n\n## Water\n\n{POOL}\n{SPA}\n\n## Network\n\n{OTHER}\n"


def carry(*targets: Target, grade: int = 3, old: str = OLD, new: str = NEW) -> Proposal:
    """Carry one judgment of each target, by queries q0, q1 ..."""
    document, later = Document(id="d", text=old, title="House"), Document(id="d", text=new, title="House")
    queries = tuple(Query(id=f"q{n}", text="what?") for n in range(len(targets)))
    judgments = tuple(Judgment(query=f"q{n}", target=target, grade=grade) for n, target in enumerate(targets))
    gold = GoldenSet(documents=(document,), queries=queries, judgments=judgments)
    table = map_blocks([outline_edition(document)], [outline_edition(later)])
    return carry_judgments(gold, table, [later])


def block(text: str, start: str) -> str:
    """Return the id of the block that begins with some words."""
    form = canonical(text)
    at = len(form[: form.index(start)].encode())
    return next(each.id for each in outline(form).blocks if each.span.start <= at < each.span.end)


def read(target: Target, text: str) -> str:
    assert target.span is not None
    return canonical(text).encode()[target.span.start : target.span.end].decode()


def test_a_block_that_was_joined_with_another_is_a_span_of_it() -> None:
    """Both paragraphs about water are one block now; each judgment keeps its own words."""
    proposal = carry(
        Target(document="d", block=block(OLD, "The pool")), Target(document="d", block=block(OLD, "Towels"))
    )
    first, second = (judgment.target for judgment in proposal.golden.judgments)
    assert first.block == second.block == block(NEW, "The pool")
    assert (read(first, NEW), read(second, NEW)) == (POOL, SPA)
    assert (proposal.report.carried, proposal.report.to_judge, proposal.rows) == (2, 0, ())


def test_a_block_whose_words_changed_is_judged_again() -> None:
    """The row shows the new passage and no grade: what it was would sway whoever judges."""
    proposal = carry(Target(document="d", block=block(OLD, "Guests")))
    assert proposal.golden.judgments == ()
    assert (proposal.report.to_judge, proposal.report.changes[0].outcome) == (1, "to judge")
    (row,) = proposal.rows
    assert row["passage"] == OTHER
    assert (row["block"], row["grade"]) == (block(NEW, "Guests"), None)
    assert proposal.report.notes == (
        "1 query has no relevant judgment until somebody judges the rows: q0",
    )  # fmt: skip


def test_nobody_is_asked_to_judge_rows_that_are_not_there() -> None:
    """A query whose text is gone has no row: it needs other documents. One whose words changed has one."""
    targets = [Target(document="d", block=block(OLD, words)) for words in ("Dogs", "Guests", "Dogs")]
    waiting, lost = carry(*targets).report.notes
    assert waiting == "1 query has no relevant judgment until somebody judges the rows: q1"
    assert lost == (
        "2 queries have no relevant judgment, and no row to judge: q0, q2; karat golden pool finds documents to judge"
    )
    (alone,) = carry(targets[0]).report.notes
    assert alone.startswith("1 query has no relevant judgment, and no row to judge: q0;")


def test_what_is_gone_is_lost_and_told() -> None:
    """A block that is nowhere, one that never was, and all of a document that is gone."""
    proposal = carry(Target(document="d", block=block(OLD, "Dogs")), Target(document="d", block="S.9.p.Bk009"))
    assert [change.reason for change in proposal.report.changes] == [
        "its text is nowhere in the new version",
        "the table has no such block",
    ]
    assert (proposal.report.lost, proposal.rows, proposal.golden.judgments) == (2, (), ())
    document = Document(id="d", text=OLD)
    gold = GoldenSet(documents=(document,), judgments=(Judgment(query="q", target=Target(document="d"), grade=3),))
    other = Document(id="other", text=OLD)
    proposal = carry_judgments(gold, map_blocks([outline_edition(document)], [outline_edition(other)]), [other])
    assert proposal.report.changes[0].reason == "the document is gone"


def test_a_split_block_is_judged_by_part_unless_it_answers_nothing() -> None:
    """Of a relevant block each part may be the answer; no part of an irrelevant one is."""
    cut = OLD.replace("spa are at the desk", "spa\n\nare at the desk").replace(
        "Towels for", "Towels and robes and slippers and all that else one wants for"
    )
    long = OLD.replace("Towels for", "Towels and robes and slippers and all that else one wants for")
    target = Target(document="d", block=block(long, "Towels"))
    proposal = carry(target, old=long, new=cut)
    assert [row["block"] for row in proposal.rows] == [block(cut, "Towels"), block(cut, "are at the desk")]
    assert carry(target, grade=0, old=long, new=cut).report.carried == 1


def test_spans_move_with_their_bytes() -> None:
    """A span within a block that did not change keeps its words; one in changed words is judged again."""

    def span_of(words: str) -> Target:
        at = canonical(OLD).index(words)
        return Target(document="d", span=Span(at, at + len(words)))

    proposal = carry(span_of("opens at seven"), span_of("their key card"), span_of("Dogs are welcome"))
    assert [read(judgment.target, NEW) for judgment in proposal.golden.judgments] == ["opens at seven"]
    assert [change.outcome for change in proposal.report.changes] == ["carried", "to judge", "lost"]
    across = span_of(f"{POOL}\n\n{SPA}")
    assert carry(across).report.to_judge == 1  # the blank line between them is gone


def test_sections_follow_their_blocks() -> None:
    """Water is 1.2 now; Network has other words; Animals is gone."""
    ids = [Target(document="d", section=f"S.1.{n}") for n in (1, 2, 3)]
    proposal = carry(*ids)
    assert [(change.outcome, change.now) for change in proposal.report.changes] == [
        ("carried", ("d#S.1.2",)),
        ("to judge", ("d#S.1.3",)),
        ("lost", ()),
    ]


def test_whole_documents_stay_while_most_of_them_does() -> None:
    """Three of four blocks are left: less than 85 %, so that a person looks; with all of them nobody needs to."""
    whole = Target(document="d")
    assert carry(whole).report.changes[0].reason == "3 of 4 blocks are left"
    assert carry(whole, new=OLD + "\nOne more paragraph.\n").report.carried == 1


def test_sections_that_were_torn_apart() -> None:
    """The two paragraphs about water are in different chapters now: no section holds both."""
    torn = f"# One\n\n{POOL}\n\n# Two\n\n{SPA}\n\n{WIFI}\n\n{DOGS}\n"
    flat = f"# One\n\n## Water\n\n{POOL}\n\n{SPA}\n\n# Two\n\n{WIFI}\n\n{DOGS}\n"
    report = carry(Target(document="d", section="S.1.1"), old=flat, new=torn).report
    assert report.changes[0].reason == "its text went to several chapters"


def test_queries_bring_their_anchors_negatives_and_first_chunk() -> None:
    """Hints move without a person; what has no place is left out and counted."""
    document, later = Document(id="d", text=OLD), Document(id="d", text=NEW)
    query = Query(
        id="q",
        text="when?",
        anchors=(Target(document="d", section="S.1.1"),),
        negatives=(Target(document="d", block=block(OLD, "Dogs")), Target(document="d", block=block(OLD, "Guests"))),
        top_chunk=block(OLD, "Guests"),
        session=Session(id="s"),
    )
    gold = GoldenSet(documents=(document,), queries=(query,))
    table = map_blocks([outline_edition(document)], [outline_edition(later)])
    proposal = carry_judgments(gold, table, [later])
    (moved,) = proposal.golden.queries
    assert moved.anchors == (Target(document="d", section="S.1.2"),)
    assert moved.negatives == (Target(document="d", block=block(NEW, "Guests")),)
    assert moved.top_chunk == block(NEW, "Guests")
    assert (proposal.report.hints, proposal.report.lost_hints) == (3, 1)


def test_sets_that_name_blocks_as_documents() -> None:
    """Qrels of chunks, as other tools write them: the id is that of the block, and there are no texts."""
    document, later = Document(id="d", text=OLD), Document(id="d", text=NEW)
    table = map_blocks([outline_edition(document)], [outline_edition(later)])
    ids = (block(OLD, "The pool"), block(OLD, "Dogs"), "elsewhere")
    judgments = tuple(Judgment(query="q", target=Target(document=name), grade=2) for name in ids)
    proposal = carry_judgments(GoldenSet(judgments=judgments), table)
    assert [judgment.target.document for judgment in proposal.golden.judgments] == [block(NEW, "The pool")]
    assert proposal.report.lost == 2
    kept = carry_judgments(GoldenSet(judgments=judgments[2:]), table, [Document(id="elsewhere", text="x")])
    assert kept.report.carried == 1
    with pytest.raises(UsageError, match="name their new version"):
        carry_judgments(GoldenSet(documents=(document,)), table)


def test_a_person_accepts_the_proposal(tmp_path: Path) -> None:
    """The rows go through karat golden merge, and the set has all judgments again; the linter has no errors."""
    proposal = carry(
        Target(document="d", block=block(OLD, "The pool")), Target(document="d", block=block(OLD, "Guests"))
    )
    golden.write(proposal.golden, tmp_path / "v2")
    rows = [{**row, "grade": 2} for row in proposal.rows]
    (tmp_path / "look.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    merged = golden.merge_in_place(tmp_path / "v2", [tmp_path / "look.jsonl"], annotator="ana")
    assert merged.added == 1
    accepted = golden.open_set(tmp_path / "v2")
    assert {(judgment.query, judgment.grade) for judgment in accepted.judgments} == {("q0", 3), ("q1", 2)}
    assert [f.rule for f in golden.check(accepted).findings if f.severity == "error"] == []
