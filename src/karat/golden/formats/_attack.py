"""MITRE ATT&CK as a STIX bundle (``enterprise-attack.json``, gzipped or not). It is read and not written.

- Documents are all live techniques, groups, software, campaigns, mitigations, tactics, assets, data sources, data
  components and detection strategies. A document's id is its ATT&CK id, such as T1059.001. An object without one of its
  own (data components before version 18, old mitigations, which had their technique's) has its STIX id. Revoked and
  deprecated objects and relations are left out. Citations and markup are removed, and links become their text.
- Each group that uses at least five techniques becomes the query "Which techniques does NAME use?", followed by the
  first paragraph of its description. Those techniques are relevant.
- Each detection strategy (since version 18) or data component (before) becomes the query "Which techniques does this
  detect?", followed by its name and description. A strategy without a description has those of its analytics. The
  techniques that it detects are relevant.
- The object of a query comes up first in any search and answers nothing, so it is a hard negative of its query.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from karat.core import Document, GoldenSet, InputError, Judgment, Query, Target
from karat.files import Reading, Row
from karat.golden._format import FORMATS, Format
from karat.golden.formats._head import read_head
from karat.golden.formats._records import name_from_path
from karat.golden.formats._scale import BINARY

TYPES = {
    "attack-pattern": "technique",
    "intrusion-set": "group",
    "malware": "malware",
    "tool": "tool",
    "campaign": "campaign",
    "course-of-action": "mitigation",
    "x-mitre-tactic": "tactic",
    "x-mitre-asset": "asset",
    "x-mitre-data-source": "data source",
    "x-mitre-data-component": "data component",
    "x-mitre-detection-strategy": "detection strategy",
}
_TECHNIQUES = 5  # a group with fewer makes no query
_SOURCES = ("mitre-attack", "mitre-mobile-attack", "mitre-ics-attack")
_CITATION = re.compile(r"(?<!\s)\s*+\(Citation:[^()]*(?:\([^()]*\)[^()]*)*\)")
_LINK = re.compile(r"\[([^\[\]]*)\]\(https?://[^()\s]*\)")
_DISTINCTIVE = re.compile(r"\battack-pattern\b|\bx-mitre-")
_BREAK = re.compile(r"<br\s*/?>", re.I)
_TAG = re.compile(r"</?(?:code|b|i|em|strong|p|ul|li)>", re.I)

_Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bundle:
    """The live objects and relations of a bundle."""

    objects: dict[str, _Object]
    relations: list[_Object]
    names: dict[str, str]
    """The id of each object that becomes a document."""
    everything: set[str]
    """The ids of all objects in the file, including revoked and deprecated ones."""


def _read(path: Path, reading: Reading) -> GoldenSet:
    bundle = _read_bundle(reading.object(path), path, reading)
    uses, detects = _collect_pairs(bundle, "uses", path, reading), _collect_pairs(bundle, "detects", path, reading)
    groups = {
        source: techniques
        for source, techniques in uses.items()
        if bundle.objects[source]["type"] == "intrusion-set" and len(techniques) >= _TECHNIQUES
    }
    reading.note(
        f"{path}: {sum(map(len, groups.values())):,} judgments of {len(groups):,} groups that use at least "
        f"{_TECHNIQUES} techniques, {sum(map(len, detects.values())):,} of {len(detects):,} detections"
    )
    queries, judgments = [], []
    for relation, pairs in (("uses", groups), ("detects", detects)):
        for source, techniques in pairs.items():
            query = _build_query(relation, bundle, source)
            queries.append(query)
            judgments += [Judgment(query=query.id, target=Target(document=name), grade=1) for name in techniques]
    return GoldenSet(
        name=name_from_path(path),
        grades=BINARY,
        relevant=1,
        documents=tuple(_build_document(bundle, reference) for reference in bundle.names),
        queries=tuple(queries),
        judgments=tuple(judgments),
    )


def _read_bundle(row: Row, path: Path, reading: Reading) -> _Bundle:
    objects: dict[str, _Object] = {}
    relations: list[_Object] = []
    everything: set[str] = set()
    for item in row.rows("objects"):
        try:
            values = _read_values(item)
        except InputError as error:
            reading.errors.append(error)
            continue
        everything.add(values["id"])
        if not values["live"]:
            continue
        if values["type"] == "relationship":
            relations.append(values)
        else:
            objects[values["id"]] = values
    names = _assign_names(objects)
    if not any(objects[reference]["type"] == "attack-pattern" for reference in names):
        reading.finish()
        raise InputError("holds no live technique (attack-pattern) of ATT&CK", source=str(path))
    if unnamed := sum(reference == name for reference, name in names.items()):
        reading.note(f"{path}: {unnamed:,} objects without an ATT&CK id of their own have their STIX id")
    return _Bundle(objects=objects, relations=relations, names=names, everything=everything)


def _read_values(row: Row) -> _Object:
    """Return the properties of an object that are used. Others are not unknown keys, since STIX allows any."""
    kind = row.text("type")
    dead = row.value("revoked", default=False) or row.value("x_mitre_deprecated", default=False)
    values: dict[str, Any] = {"type": kind, "id": row.id("id"), "live": not dead}
    if kind == "relationship":
        return values | {key: row.text(key) for key in ("relationship_type", "source_ref", "target_ref")}
    if kind not in TYPES and kind != "x-mitre-analytic":
        return values
    values |= {key: row.text(key, default="") for key in ("name", "description", "x_mitre_version")}
    values |= {key: row.texts(key) for key in ("x_mitre_analytic_refs", "x_mitre_platforms", "x_mitre_domains")}
    values["aliases"] = row.texts("aliases", "x_mitre_aliases")
    values["tactics"] = tuple(phase.text("phase_name") for phase in row.rows("kill_chain_phases"))
    values["references"] = row.list("external_references")
    return values


def _assign_names(objects: Mapping[str, _Object]) -> dict[str, str]:
    """Return a distinct id for each object that becomes a document."""
    techniques_first = sorted(objects, key=lambda reference: objects[reference]["type"] != "attack-pattern")
    names: dict[str, str] = {}
    used: set[str] = set()
    for reference in techniques_first:
        if objects[reference]["type"] in TYPES:
            name = _attack_id(objects[reference])
            names[reference] = reference if not name or name in used else name
            used.add(name)
    return {reference: names[reference] for reference in objects if reference in names}


def _attack_id(values: _Object) -> str:
    items = (item for item in values["references"] if isinstance(item, dict) and item.get("source_name") in _SOURCES)
    return next((str(item["external_id"]) for item in items if item.get("external_id")), "")


def _collect_pairs(bundle: _Bundle, relation: str, path: Path, reading: Reading) -> dict[str, list[str]]:
    """Return the distinct techniques that each live object uses or detects."""
    pairs: dict[str, dict[str, None]] = {}
    missing = 0
    for item in bundle.relations:
        if item["relationship_type"] != relation:
            continue
        source, target = item["source_ref"], item["target_ref"]
        missing += not {source, target} <= bundle.everything
        if source in bundle.names and target in bundle.names and bundle.objects[target]["type"] == "attack-pattern":
            pairs.setdefault(source, {})[bundle.names[target]] = None
    if missing:
        reading.note(f"{path}: {missing:,} {relation!r} relations of objects that are not in the file left out")
    return {source: list(targets) for source, targets in pairs.items()}


def _build_query(relation: str, bundle: _Bundle, source: str) -> Query:
    values, text = bundle.objects[source], _build_text(bundle, source)
    if relation == "uses":
        question = f"Which techniques does {values['name']} use? {text.partition(chr(10))[0]}"
    else:
        question = f"Which techniques does this detect? {values['name']}. {' '.join(text.split())}"
    name = bundle.names[source]
    return Query(
        id=f"{relation}-{name}",
        text=question.strip(),
        category=relation,
        negatives=(Target(document=name),),
    )


def _build_document(bundle: _Bundle, reference: str) -> Document:
    values = bundle.objects[reference]
    metadata = {"platforms": values["x_mitre_platforms"], "aliases": values["aliases"]}
    return Document(
        id=bundle.names[reference],
        text=_build_text(bundle, reference),
        title=values["name"],
        type=TYPES[values["type"]],
        format="text",
        domain=next(iter(values["x_mitre_domains"]), ""),
        tags=values["tactics"],
        version=values["x_mitre_version"],
        metadata={key: list(value) for key, value in metadata.items() if value},
    )


def _build_text(bundle: _Bundle, reference: str) -> str:
    """Return the description of an object, or those of its analytics for a strategy without one."""
    values = bundle.objects[reference]
    analytics = (bundle.objects.get(analytic) for analytic in values["x_mitre_analytic_refs"])
    texts = [values["description"]] if values["description"] else [item["description"] for item in analytics if item]
    return "\n\n".join(filter(None, map(strip_markup, texts)))


def strip_markup(text: str) -> str:
    """Return a description without citations and markup.

    >>> strip_markup("Uses [Native API](https://attack.mitre.org/T1106) via <code>dlopen</code>.(Citation: X)")
    'Uses Native API via dlopen.'
    """
    text = _LINK.sub(r"\1", _CITATION.sub("", text))
    return html.unescape(_TAG.sub("", _BREAK.sub("\n", text))).strip()


def _recognise(path: Path) -> bool:
    head = read_head(path)
    return (
        {"type", "objects"} <= head.keys
        and '"bundle"' in head.text[:500]
        and _DISTINCTIVE.search(head.text) is not None
    )


FORMATS.add(
    "attack",
    Format(
        name="attack",
        summary="MITRE ATT&CK as a STIX bundle: groups and detections ask for techniques",
        read=_read,
        recognise=_recognise,
        published="MITRE publishes it as enterprise-attack.json in its GitHub repository attack-stix-data",
    ),
)
