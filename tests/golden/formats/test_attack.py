"""MITRE ATT&CK as a STIX bundle."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from each import each
from karat import golden
from karat.core import InputError, Query, Target
from karat.files import Mistakes
from karat.golden.formats._attack import strip_markup


def thing(kind: str, name: str, **more: Any) -> dict[str, Any]:
    """An object with the ATT&CK id ``name``."""
    references = [{"source_name": "somebody"}, {"source_name": "mitre-attack", "external_id": name}]
    return {
        "type": kind,
        "id": f"{kind}--{name}",
        "name": f"The {name}",
        "description": f"About {name}.(Citation: Somebody 2020)",
        "external_references": references,
        "x_mitre_anything": 1,
        **more,
    }


def relation(kind: str, source: dict[str, Any], target: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "type": "relationship",
        "id": f"relationship--{kind}-{source['id']}-{target['id']}",
        "relationship_type": kind,
        "source_ref": source["id"],
        "target_ref": target["id"],
        **more,
    }


TECHNIQUES = [thing("attack-pattern", f"T100{n}") for n in range(6)]
BUSY = thing("intrusion-set", "G1", description="[G1](https://attack.mitre.org/groups/G1) spies.\n\nMore of it.")
QUIET = thing("intrusion-set", "G2")
MALWARE = thing("malware", "S1", x_mitre_aliases=["Worm"], x_mitre_platforms=["Windows"])
ANALYTICS = [
    {"type": "x-mitre-analytic", "id": f"x-mitre-analytic--{n}", "description": f"Look for {n}."} for n in "ab"
]
STRATEGY = thing(
    "x-mitre-detection-strategy", "DET1", description=None, x_mitre_analytic_refs=[item["id"] for item in ANALYTICS]
)
COMPONENT = thing("x-mitre-data-component", "DC1")


def bundle(*objects: dict[str, Any]) -> dict[str, Any]:
    return {"type": "bundle", "id": "bundle--1", "objects": list(objects)}


def write(path: Path, *objects: dict[str, Any]) -> Path:
    path.write_text(json.dumps(bundle(*objects)))
    return path


def test_a_group_asks_for_the_techniques_it_uses(tmp_path: Path) -> None:
    """If they are five or more; with fewer, and for software, nobody asks."""
    relations = [relation("uses", BUSY, technique) for technique in TECHNIQUES[:5]]
    relations += [relation("uses", QUIET, technique) for technique in TECHNIQUES[:4]]
    relations += [relation("uses", MALWARE, technique) for technique in TECHNIQUES]
    relations += [relation("uses", BUSY, MALWARE), relation("uses", BUSY, TECHNIQUES[0])]
    result = golden.read(write(tmp_path / "enterprise.json", *TECHNIQUES, BUSY, QUIET, MALWARE, *relations))
    assert result.queries == (
        Query(
            id="uses-G1",
            text="Which techniques does The G1 use? G1 spies.",
            category="uses",
            negatives=(Target(document="G1"),),
        ),
    )
    assert result.qrels() == {"uses-G1": {f"T100{n}": 1 for n in range(5)}}
    assert (result.name, result.relevant) == ("enterprise", 1)
    assert any("5 judgments of 1 groups that use at least 5 techniques, 0 of 0" in note for note in result.notes)


def test_a_detection_asks_for_what_it_detects(tmp_path: Path) -> None:
    """A strategy by the analytics it is made of, and before version 18 a data component by its description."""
    relations = [relation("detects", STRATEGY, TECHNIQUES[1]), relation("detects", COMPONENT, TECHNIQUES[2])]
    objects = [*TECHNIQUES, STRATEGY, *ANALYTICS, COMPONENT, *relations]
    result = golden.read(write(tmp_path / "a.json", *objects))
    assert {query.id: query.text for query in result.queries} == {
        "detects-DET1": "Which techniques does this detect? The DET1. Look for a. Look for b.",
        "detects-DC1": "Which techniques does this detect? The DC1. About DC1.",
    }
    assert result.qrels() == {"detects-DET1": {"T1001": 1}, "detects-DC1": {"T1002": 1}}
    assert result.document_by_id["DET1"].text == "Look for a.\n\nLook for b."


def test_only_what_is_live_counts(tmp_path: Path) -> None:
    """Revoked and deprecated objects are no documents, and their relations no judgments; nor are dead relations."""
    dead = [thing("attack-pattern", "T2000", revoked=True), thing("malware", "S9", x_mitre_deprecated=True)]
    relations = [relation("uses", BUSY, technique) for technique in TECHNIQUES[:4]]
    relations += [relation("uses", BUSY, dead[0]), relation("uses", BUSY, TECHNIQUES[5], revoked=True)]
    result = golden.read(write(tmp_path / "a.json", *TECHNIQUES, *dead, BUSY, *relations))
    assert result.queries == ()
    assert {document.id for document in result.documents} == {*(f"T100{n}" for n in range(6)), "G1"}
    assert not any("not in the file" in note for note in result.notes)


def test_a_document_has_what_the_object_says(tmp_path: Path) -> None:
    """Its id, name, kind, domain, tactics, platforms and aliases."""
    technique = thing(
        "attack-pattern",
        "T1.001",
        x_mitre_domains=["enterprise-attack"],
        x_mitre_version="2.1",
        kill_chain_phases=[{"kill_chain_name": "mitre-attack", "phase_name": "execution"}],
    )
    result = golden.read(write(tmp_path / "a.json", technique, MALWARE))
    first, second = result.documents
    assert (first.id, first.title, first.type, first.text) == ("T1.001", "The T1.001", "technique", "About T1.001.")
    assert (first.domain, first.version, first.tags) == ("enterprise-attack", "2.1", ("execution",))
    assert second.metadata == {"platforms": ["Windows"], "aliases": ["Worm"]}


def test_every_kind_of_object_is_a_document(tmp_path: Path) -> None:
    """All that has a text of its own; what only holds the bundle together (matrix, identity, analytic) is none."""
    kinds = {
        "campaign": "campaign", "course-of-action": "mitigation", "tool": "tool", "x-mitre-tactic": "tactic",
        "x-mitre-asset": "asset", "x-mitre-data-source": "data source",
    }  # fmt: skip
    things = [thing(kind, f"X{n}") for n, kind in enumerate(kinds)]
    frame = [thing("x-mitre-matrix", "enterprise-attack"), {"type": "identity", "id": "identity--1"}, *ANALYTICS]
    objects = [*TECHNIQUES[:1], BUSY, MALWARE, STRATEGY, COMPONENT, *things, *frame]
    result = golden.read(write(tmp_path / "a.json", *objects))
    assert {document.id: document.type for document in result.documents} == {
        "T1000": "technique", "G1": "group", "S1": "malware", "DET1": "detection strategy", "DC1": "data component",
        **{f"X{n}": kind for n, kind in enumerate(kinds.values())},
    }  # fmt: skip


def test_an_object_without_an_attack_id_has_its_stix_id(tmp_path: Path) -> None:
    """As data components before version 18: they are documents and ask what they detect, though they have no number."""
    component = thing("x-mitre-data-component", "unnumbered", external_references=[])
    result = golden.read(
        write(tmp_path / "a.json", *TECHNIQUES, component, relation("detects", component, TECHNIQUES[3]))
    )
    assert result.qrels() == {"detects-x-mitre-data-component--unnumbered": {"T1003": 1}}
    assert "x-mitre-data-component--unnumbered" in result.document_by_id
    assert any("1 objects without an ATT&CK id of their own have their STIX id" in note for note in result.notes)


def test_an_id_that_a_technique_has_is_the_techniques(tmp_path: Path) -> None:
    """Mitigations of old had the number of their technique; no document stands in another's place."""
    old = thing("course-of-action", "T1000")
    result = golden.read(write(tmp_path / "a.json", old, *TECHNIQUES))
    assert [document.id for document in result.documents][:2] == ["course-of-action--T1000", "T1000"]
    assert result.document_by_id["T1000"].type == "technique"


def test_what_is_not_in_the_file_is_counted(tmp_path: Path) -> None:
    """Relations of absent objects."""
    result = golden.read(write(tmp_path / "a.json", *TECHNIQUES, relation("detects", STRATEGY, TECHNIQUES[0])))
    assert any("1 'detects' relations of objects that are not in the file" in note for note in result.notes)


def test_a_packed_bundle_is_read(tmp_path: Path) -> None:
    """As MITRE's own is large."""
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(json.dumps(bundle(*TECHNIQUES)).encode()))
    assert len(golden.read(tmp_path / "a.json.gz").documents) == 6


@each(
    ("text", "clean"),
    [
        ("Said so.(Citation: A (2020) B)(Citation: C) And", "Said so. And"),
        ("[PowerShell](https://attack.mitre.org/techniques/T1059/001) and [a](b)", "PowerShell and [a](b)"),
        ("<code>net use</code><br>x<br/>&lt;user&gt; <PID>", "net use\nx\n<user> <PID>"),
        ("  (Citation: A)", ""),
    ],
)
def test_marks_are_taken_out_of_a_text(text: str, clean: str) -> None:
    """Citations, links to ATT&CK itself, tags and entities; what only looks like a tag stays."""
    assert strip_markup(text) == clean


def test_every_mistake_is_reported_with_its_place(tmp_path: Path) -> None:
    """The object and the field."""
    wrong = [{"type": "malware"}, {"id": "x"}, {"type": "relationship", "id": "r"}, thing("tool", "S1") | {"name": 5}]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(bundle(*TECHNIQUES, *wrong) | {"objects": [*TECHNIQUES, *wrong, 5]}))
    with pytest.raises(Mistakes) as caught:
        golden.read(path)
    assert [error.what for error in caught.value.errors] == [
        "objects[6]: 'id' is missing",
        "objects[7]: 'type' is missing",
        "objects[8]: 'relationship_type' is missing",
        "objects[9]: 'name' is 5, not text",
        "objects[10]: 5 is not an object",
    ]


def test_a_bundle_of_something_else_is_refused(tmp_path: Path) -> None:
    """STIX without a technique of ATT&CK."""
    with pytest.raises(InputError, match="holds no live technique"):
        golden.read(write(tmp_path / "a.json", {"type": "indicator", "id": "indicator--1"}), "attack")
