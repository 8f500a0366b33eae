"""The public sets load with the counts that their files have."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from karat import golden
from karat.core import GoldenSet
from karat.text._canonical import canonical
from public_data import BUNDLE, find_collection

pytestmark = pytest.mark.public_data


def counts(result: GoldenSet) -> tuple[int, int, int]:
    return len(result.documents), len(result.queries), len(result.judgments)


def known(result: GoldenSet) -> bool:
    """Whether every judgment is about a query and a document that are there."""
    return all(
        judgment.query in result.query_by_id and judgment.target.document in result.document_by_id
        for judgment in result.judgments
    )


@pytest.mark.slow
def test_scifact() -> None:
    """5,183 documents, 300 queries and 339 judgments, all of them 1."""
    result = golden.read(find_collection("scifact"))
    assert counts(result) == (5183, 300, 339)
    assert known(result)
    assert {judgment.grade for judgment in result.judgments} == {1}
    assert golden.read(find_collection("scifact") / "qrels" / "test.tsv") == result
    assert result.notes == ()


def test_cranfield() -> None:
    """1,400 documents, 225 queries and 1,837 judgments; each query has one that is disputed."""
    result = golden.read(find_collection("cranfield"))
    assert counts(result) == (1400, 225, 1837)
    assert known(result)
    assert Counter(judgment.grade for judgment in result.judgments) == {0: 225, 1: 363, 2: 734, 3: 387, 4: 128}
    assert Counter(judgment.query for judgment in result.judgments if judgment.grade == 0) == {
        str(n): 1 for n in range(1, 226)
    }
    # The third query has number 4 in cran.qry, and cranqrel calls it 3: composite slabs are what document 5 is about.
    assert result.query_by_id["3"].metadata == {"number": "004"}
    assert "composite slabs" in result.query_by_id["3"].text
    assert result.qrels()["3"]["5"] == 2
    assert "composite slabs" in result.document_by_id["5"].text
    assert [document.id for document in result.documents if not document.text] == ["471", "995"]
    assert "application to turbulent separations" in result.document_by_id["240"].text


def test_attack_procedures() -> None:
    """691 techniques, 1,000 sentences and 1,000 judgments in BEIR's layout without folders."""
    result = golden.read(find_collection("attack"))
    assert counts(result) == (691, 1000, 1000)
    assert known(result)


@pytest.mark.slow
def test_attack_bundle() -> None:
    """691 live techniques among 1,757 live objects; of 17,270 uses, 4,312 make the judgments of 149 groups."""
    path = find_collection(BUNDLE)
    result = golden.read(path)
    assert counts(result) == (1757, 149, 4312)
    assert known(result)
    assert Counter(document.type for document in result.documents) == {
        "technique": 691, "malware": 693, "group": 172, "tool": 91, "campaign": 52, "mitigation": 44, "tactic": 14,
    }  # fmt: skip
    assert any("691 'detects' relations of objects that are not in the file" in note for note in result.notes)
    assert min(Counter(judgment.query for judgment in result.judgments).values()) == 5
    objects = json.loads(gzip.decompress(path.read_bytes()))["objects"]
    uses = [item for item in objects if item.get("relationship_type") == "uses"]
    assert len(uses) == 17270
    # By another way: strings only, and no object of the reader.
    live = {item["id"] for item in objects if not item.get("revoked") and not item.get("x_mitre_deprecated")}
    pairs = {
        (item["source_ref"], item["target_ref"])
        for item in uses
        if item["source_ref"].startswith("intrusion-set--")
        and item["target_ref"].startswith("attack-pattern--")
        and {item["id"], item["source_ref"], item["target_ref"]} <= live
    }
    used = Counter(source for source, _ in pairs)
    assert sum(count for count in used.values() if count >= 5) == 4312


@pytest.mark.slow
def test_techniques_of_the_bundle_are_those_of_the_corpus() -> None:
    """The same 691 ids and names, and the same words, with citations and links taken out by someone else."""
    bundle = golden.read(find_collection(BUNDLE)).document_by_id
    corpus = golden.read(find_collection("attack")).documents
    assert {document.id for document in corpus} == {
        name for name, document in bundle.items() if document.type == "technique"
    }
    assert all(bundle[document.id].title == document.title for document in corpus)
    different = [document.id for document in corpus if _words(document.text) != _words(bundle[document.id].text)]
    assert different == []


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", re.sub(r"</?code>|<br>|&#?\w+;|</?b>|[<>{}]", " ", text))


@pytest.mark.slow
def test_chunking() -> None:
    """276 questions about 3 texts, 452 references, and every span is what its reference says."""
    result = golden.read(find_collection("chunking"))
    assert counts(result) == (3, 276, 452)
    assert known(result)
    assert result.notes == ()
    texts = {document.id: canonical(document.text).encode() for document in result.documents}
    rows = list(golden.Reading().csv(find_collection("chunking") / "questions.csv"))
    contents = [reference["content"] for row in rows for reference in json.loads(row.text("references"))]
    assert len(contents) == 452
    for judgment, content in zip(result.judgments, contents, strict=True):
        span = judgment.target.span
        assert span is not None
        marked = texts[judgment.target.document][span.start : span.end].decode()
        assert marked.split() == content.split()
        # Only white space at the ends of lines can be other than it was.
        assert marked == content or canonical(content).strip() == marked.strip()


def test_nist() -> None:
    """3 topics and 3,681 judgments, of which 561 are relevant as trec_eval counts them."""
    result = golden.read(find_collection("trec_eval") / "qrels.test")
    assert counts(result) == (0, 3, 3681)
    assert sum(judgment.grade for judgment in result.judgments) == 561
    assert [query.id for query in result.queries] == ["301", "302", "303"]
    whole = golden.read(find_collection("trec_eval"))
    assert whole.judgments == result.judgments
    assert any("results.test: neither topics" in note for note in whole.notes)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["scifact", "attack", "chunking"])
@pytest.mark.parametrize("format", ["beir", "trec"])
def test_public_sets_go_round(tmp_path: Path, name: str, format: str) -> None:
    """Through two formats, with every text and grade."""
    result = golden.read(find_collection(name))
    golden.write(result, tmp_path / "set", format)
    again = golden.read(tmp_path / "set")
    assert [(document.id, document.title, document.text) for document in again.documents] == [
        (document.id, document.title, document.text) for document in result.documents
    ]
    assert again.qrels() == result.qrels()


@pytest.mark.slow
def test_chunking_goes_round(tmp_path: Path) -> None:
    """Bytes become characters, and bytes again: the same spans."""
    result = golden.read(find_collection("chunking"))
    golden.write(result, tmp_path / "set", "chroma")
    again = golden.read(tmp_path / "set")
    assert again.judgments == result.judgments
    assert again.queries == result.queries
