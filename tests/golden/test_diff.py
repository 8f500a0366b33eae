"""What changed between two golden sets, and which bump it is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from each import each
from karat.core import Document, GoldenSet, Judgment, Query, Span, Target, UsageError
from karat.golden import diff, fingerprint
from karat.golden._diff import next_version
from karat.schema import RegradedPair

WIFI, POOL = Target(document="wifi"), Target(document="pool", span=Span(0, 4))
BASE = GoldenSet(
    version="1.0.0",
    documents=(Document(id="wifi", text="Free."), Document(id="pool", text="Open from six.")),
    queries=(Query(id="q1", text="wifi?", paraphrases=("internet?",)), Query(id="q2", text="pool?", category="a")),
    judgments=(Judgment(query="q1", target=WIFI, grade=3), Judgment(query="q2", target=POOL, grade=2)),
)


def queries(**changed):
    return replace(BASE, queries=(replace(BASE.queries[0], **changed), BASE.queries[1]))


def documents(**changed):
    return replace(BASE, documents=(replace(BASE.documents[0], **changed), BASE.documents[1]))


def judgments(**changed):
    return replace(BASE, judgments=(replace(BASE.judgments[0], **changed), BASE.judgments[1]))


@each(
    ("after", "bump"),
    [
        (BASE, "none"),
        (replace(BASE, version="9.9.9", notes=("x",), created="today"), "none"),
        (replace(BASE, description="new words"), "patch"),
        (replace(BASE, gate={"P@5": 0.5}), "patch"),
        (queries(category="b"), "patch"),
        (queries(metadata={"a": 1}), "patch"),
        (documents(tags=("a",)), "patch"),
        (documents(path="wifi.md"), "patch"),
        (judgments(annotator="ana"), "patch"),
        (queries(paraphrases=("internet?", "wlan?")), "minor"),
        (queries(answer="Yes."), "minor"),
        (queries(must_show=("wifi",)), "minor"),
        (replace(BASE, queries=(*BASE.queries, Query(id="q3", text="?"))), "minor"),
        (replace(BASE, documents=(*BASE.documents, Document(id="new"))), "minor"),
        (replace(BASE, judgments=(*BASE.judgments, Judgment(query="q2", target=WIFI, grade=0))), "minor"),
        (queries(paraphrases=("wlan?", "internet?")), "minor"),
        (queries(text="Wi-Fi?"), "major"),
        (queries(paraphrases=()), "major"),
        (documents(text="Paid."), "major"),
        (judgments(grade=2), "major"),
        (judgments(target=POOL), "major"),
        (replace(BASE, queries=BASE.queries[:1]), "major"),
        (replace(BASE, documents=BASE.documents[:1]), "major"),
        (replace(BASE, relevant=1), "major"),
        (replace(BASE, normaliser="karat-2"), "major"),
        (replace(BASE, classes={"c": ("wifi", "pool")}), "major"),
    ],
)
def test_every_change_has_its_bump(after, bump):
    """Changed or removed is major, added is minor, described is patch."""
    assert diff(BASE, after).bump == bump


def test_pairs_are_told():
    """Added, removed and regraded pairs are listed with their grades."""
    after = replace(
        BASE, judgments=(Judgment(query="q1", target=WIFI, grade=1), Judgment(query="q1", target=POOL, grade=3))
    )
    changes = diff(BASE, after)
    assert changes.regraded == {("q1", WIFI): (3, 1)}
    assert changes.removed == {("q2", POOL): 2}
    assert changes.added == {("q1", POOL): 3}
    assert changes.document().pairs.regraded == (RegradedPair(query="q1", target="wifi", before=3, after=1),)


def test_another_voice_that_decides_the_same_is_a_description():
    """A second annotator who agrees changes no score."""
    after = replace(BASE, judgments=(*BASE.judgments, replace(BASE.judgments[0], annotator="bo")))
    assert diff(BASE, after).bump == "patch"


@each(("bump", "version"), [("major", "2.0.0"), ("minor", "1.3.0"), ("patch", "1.2.4"), ("none", "1.2.3")])
def test_the_next_version(bump, version):
    """A bump sets what stands right of it to zero."""
    assert next_version("1.2.3", bump) == version


def test_what_is_no_version_is_refused():
    """A version has three numbers."""
    with pytest.raises(UsageError, match=r"not like 1\.2\.0"):
        next_version("v1", "minor")
    with pytest.raises(UsageError, match="is not like"):
        next_version(f"{'9' * 5000}.0.0", "minor")


def test_the_fingerprint_sees_content_only():
    """Order, names, versions and where a text lies do not matter; every grade and letter does."""
    same = replace(BASE, name="x", version="2.0.0", description="d", judgments=BASE.judgments[::-1])
    same = replace(same, documents=(replace(BASE.documents[0], path="a.md"), BASE.documents[1]))
    assert fingerprint(same) == fingerprint(BASE)
    others = [
        queries(text="W"),
        documents(text="W"),
        judgments(grade=1),
        replace(BASE, relevant=1),
        queries(category="z"),
    ]
    assert len({fingerprint(golden) for golden in [BASE, *others]}) == 6


def test_the_order_of_a_chain_counts_and_that_of_paraphrases_does_not():
    """Cause and effect the other way round is another chain; paraphrases have no order."""
    chain = [queries(chain=names) for names in [("a", "b"), ("b", "a"), ("a", "c", "b"), ("a", "b", "c")]]
    assert [diff(chain[0], other).bump for other in chain[1:]] == ["major", "major", "minor"]
    assert diff(queries(paraphrases=("a", "b")), queries(paraphrases=("b", "a"))).bump == "patch"


def test_a_set_with_an_id_twice_is_not_compared():
    """Which of the two changed cannot be said."""
    with pytest.raises(UsageError, match="has an id twice"):
        diff(BASE, replace(BASE, queries=BASE.queries * 2))
