"""The table, its file and its targets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from each import each
from karat.core import InputError, Span
from karat.migration import (
    Block,
    Edition,
    Redirects,
    Targets,
    encode_table,
    list_history,
    map_blocks,
    migrate,
    read_table,
)
from karat.migration._drift import measure_drift
from karat.migration._keys import local_key
from karat.schema.migration import MigrationReport
from migration.editing import make_edition

TEXTS = [f"Room {n} has a bed by window {n * 3}, a lamp of kind {n * 7} and towel {n * 11}." for n in range(240)]


def verdicts(report: MigrationReport) -> list[str]:
    return [check.verdict for check in report.checks]


def test_all_targets_are_met() -> None:
    """240 blocks with a paragraph before them: all redirected, nothing drifts; citations are not measured here."""
    report = migrate([make_edition("d", TEXTS)], [make_edition("d", ["News of today.", *TEXTS], "n")]).report
    assert verdicts(report) == ["pass", "pass", "pass", "not measured"]
    assert (report.verdict, report.moves["shift"], report.blocks, report.reused) == ("pass", 240, 240, 0)
    assert report.documents == {"same": 0, "changed": 1, "removed": 0, "added": 0}


def test_too_few_blocks_are_no_proof() -> None:
    """199 blocks that all are there: inconclusive, unless fewer were asked for; a lost one fails at any number."""
    old, new = make_edition("d", TEXTS[:199]), make_edition("d", TEXTS[:199], "n")
    assert migrate([old], [new]).report.verdict == "inconclusive"
    assert migrate([old], [new], targets=Targets(least=199)).report.verdict == "pass"
    assert migrate([old], [make_edition("d", TEXTS[:197], "n")]).report.verdict == "fail"
    assert migrate([], []).report.verdict == "inconclusive"


def test_coverage_by_hand_and_what_a_person_confirms() -> None:
    """Two of 240 are gone: 238/240 < 0.995. Once both are confirmed to be gone, they are not counted, but told."""
    old, new = make_edition("d", TEXTS), make_edition("d", TEXTS[2:], "n")
    report = migrate([old], [new]).report
    assert report.checks[0].value == 238 / 240
    assert (
        report.checks[0].reason
        == "2 of 240 blocks have no place; --gone names those that a person has confirmed to be gone"
    )
    assert [row.block for row in report.unmapped] == ["b0", "b1"]
    assert report.unmapped[0].text.startswith("Room 0 has a bed")
    confirmed = migrate([old], [new], gone={("d", "b0"), ("d", "b1"), ("d", "b7")}).report
    assert (confirmed.verdict, confirmed.checks[0].value, confirmed.confirmed) == ("pass", 1.0, 2)
    assert "2 blocks are confirmed to be gone, and not counted" in confirmed.notes


def test_a_document_that_is_gone_takes_its_blocks_along() -> None:
    """Its blocks are unmapped, and the report says why; a new document has none to look for."""
    migrated = migrate(
        [make_edition("kept", TEXTS), make_edition("gone", TEXTS[:3])],
        [make_edition("kept", TEXTS), make_edition("new", TEXTS[:3])],
    )
    assert migrated.report.documents == {"same": 1, "changed": 0, "removed": 1, "added": 1}
    assert {row.reason for row in migrated.report.unmapped} == {"the document is gone"}
    assert migrated.table[1].to_version is None
    assert migrated.report.verdict == "fail"


def test_ids_that_stand_twice_collide() -> None:
    """Two blocks of one version with one id, or a document twice: no redirect can be right."""
    old = make_edition("d", TEXTS)
    twice = replace(old, blocks=(*old.blocks[:-1], replace(old.blocks[-1], id="b0")))
    report = migrate([old], [twice]).report
    assert (report.checks[2].value, report.checks[2].verdict, report.verdict) == (1.0, "fail", "fail")
    assert migrate([old, old], [old]).report.checks[2].value == 1.0


def test_ids_that_mean_other_text_are_told() -> None:
    """Ids are numbers of places: after a new first paragraph every one of them names the paragraph before."""
    report = migrate([make_edition("d", TEXTS)], [make_edition("d", ["News.", *TEXTS])]).report
    assert report.reused == 240
    assert "240 old ids name other text" in report.notes[0]


def test_drift_is_found_in_a_wrong_table() -> None:
    """A table that sends every block 300 bytes too far: the probes, which no alignment made, say so by hand."""
    old, new = make_edition("d", TEXTS), make_edition("d", ["News of today.", *TEXTS], "n")
    (line,) = map_blocks([old], [new])
    assert measure_drift(old, new, line.mappings).mean == 0
    wrong = [
        msgspec.structs.replace(m, runs=tuple((before, after + 300) for before, after in m.runs)) for m in line.mappings
    ]
    assert measure_drift(old, new, wrong).mean == pytest.approx(300 / new.size, rel=1e-12)


def test_bytes_after_an_edit_within_a_block_do_not_drift() -> None:
    """Nine bytes are put into the middle of a block: what stands before stays, what stands behind moves by nine."""
    text = " ".join(TEXTS[:4])
    cut = text.index("Room 2")
    old, new = make_edition("d", [text]), make_edition("d", [f"{text[:cut]}Not today{text[cut:]}"], "n")
    (line,) = map_blocks([old], [new])
    assert line.mappings[0].runs[0] == (0, 0)
    assert line.mappings[0].runs[-1][1] - line.mappings[0].runs[-1][0] == 9
    assert measure_drift(old, new, line.mappings).mean < 0.005


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Every field comes back; former ids are listed by new block."""
    old = make_edition("d", [" ".join(TEXTS[:2]), *TEXTS[2:6], "Only once, and soon forgotten by all."])
    new = make_edition("d", [TEXTS[0], TEXTS[1], f"{TEXTS[2]} {TEXTS[3]}", *TEXTS[4:6]], "n")
    table = map_blocks([old], [new])
    assert {mapping.move for mapping in table[0].mappings} == {"shift", "split", "merge", "unmapped"}
    file = tmp_path / "moves.jsonl"
    file.write_text(encode_table(table) + "\n", encoding="utf-8")
    assert read_table(file) == table
    former = {row.id: row.id_prev for row in list_history(table)}
    assert former == {"n0": ("b0",), "n1": ("b0",), "n2": ("b1", "b2"), "n3": ("b3",), "n4": ("b4",)}


@each(
    ("line", "problem"),
    [
        ("[]", "not a line of a migration table: $: expected `object`"),
        ('{"doc_id": "d"}', "missing required field `from_version`"),
        ('{"doc_id": "d", "from_version": "1", "to_version": "2", "mappings": [{}]}', "old_block_id"),
        ("{nonsense", "line 1"),
        ("", "holds no migration table"),
    ],
)
def test_a_file_that_is_no_table_is_refused(tmp_path: Path, line: str, problem: str) -> None:
    """The message says what is wrong, in which line."""
    file = tmp_path / "moves.jsonl"
    file.write_text(line)
    with pytest.raises(InputError, match=problem.replace("$", r"\$").replace("[", r"\[")):
        read_table(file)


@each(
    ("change", "problem"),
    [
        ({"new_block_id": None}, "must be null for unmapped blocks, and for no others"),
        ({"move": "unmapped"}, "must be null for unmapped blocks, and for no others"),
        ({"runs": ()}, "is empty, or not in the order"),
        ({"runs": ((9, 9), (0, 0))}, "is empty, or not in the order"),
        ({"move": "split"}, "a split has new_parts"),
        ({"new_off": None}, "a split has new_parts"),
    ],
)
def test_a_mapping_that_leads_nowhere_is_refused(tmp_path: Path, change: dict[str, object], problem: str) -> None:
    """A table that somebody changed by hand must not make a redirect fail later."""
    (line,) = map_blocks([make_edition("d", TEXTS[:1])], [make_edition("d", TEXTS[:1], "n")])
    bad = msgspec.structs.replace(line, mappings=(msgspec.structs.replace(line.mappings[0], **change),))
    file = tmp_path / "moves.jsonl"
    file.write_text(encode_table([bad]))
    with pytest.raises(InputError, match=problem):
        read_table(file)


def test_a_document_twice_in_a_table_is_refused(tmp_path: Path) -> None:
    """Two lines for one document would be two truths."""
    table = map_blocks([make_edition("d", TEXTS[:1])], [make_edition("d", TEXTS[:1], "n")])
    (tmp_path / "moves.jsonl").write_text(encode_table([*table, *table]))
    with pytest.raises(InputError, match="document 'd' stands twice"):
        read_table(tmp_path / "moves.jsonl")


def test_an_id_of_several_documents_needs_its_document() -> None:
    """Outline ids occur in every document: without a document nothing is guessed."""
    old, new = [make_edition(d, TEXTS[:1]) for d in "xy"], [make_edition(d, ["News.", *TEXTS[:1]], "n") for d in "xy"]
    redirects = Redirects(map_blocks(old, new))
    assert redirects.resolve("b0") == ((), False)
    assert redirects.resolve("b0", "x") == (("n1",), True)
    assert redirects.resolve("b0", "z") == ((), False)
    assert redirects.accepts("n1", "b0", "y")
    assert not redirects.accepts("n0", "b0", "y")


def test_a_version_is_text_and_blocks() -> None:
    """Another cut of the same text is another version; a label wins."""
    old = make_edition("d", TEXTS[:2])
    whole = replace(old, blocks=(Block(id="w", span=Span(0, old.size)),))
    assert old.version == make_edition("d", TEXTS[:2]).version != whole.version
    (line,) = map_blocks([old.named("v1")], [whole.named("v2")])
    assert (line.from_version, line.to_version) == ("v1", "v2")


def test_local_keys_by_hand() -> None:
    """96 bytes: prose without case, spaces and signs, code without indentation, the first sentence of a figure."""
    texts = {"prose": "The Pool -- opens at 7!", "code": "  if x:\n      Y()", "figure": "A plan. Of the house."}
    keys = {}
    for type_, text in texts.items():
        edition = Edition(document="d", text=text, blocks=(Block(id="b", span=Span(0, len(text)), type=type_),))
        keys[type_] = local_key(edition, 0)
    assert keys == {"prose": "thepoolopensat7", "code": "if x:\nY()", "figure": "aplan"}
    long = make_edition("d", ["é" * 200])
    assert len(local_key(long, 0).encode()) == 96


def test_a_drift_beyond_the_target_fails() -> None:
    """A limit below what an edit makes: the worst document is named."""
    text = " ".join(TEXTS[:4])
    old, new = make_edition("d", [text]), make_edition("d", [text.replace("lamp of kind 7", "lamp7")], "n")
    drift = migrate([old], [new], targets=Targets(drift=-1.0)).report.checks[1]
    assert (drift.verdict, drift.reason) == ("fail", "document d")
