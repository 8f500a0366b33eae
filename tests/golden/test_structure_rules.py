"""The rules on structure, ids, parts and versions: each fires on the smallest set that is wrong, and on no other."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from each import each
from karat.core import Document, GoldenSet, Judgment, Query, Session, Span, Target
from karat.golden.lint._check import RULES
from karat.golden.lint._rule import Finding, Subject
from karat.text._canonical import canonical
from strategies import quick

TABLE = "| room | price |\n|---|---|\n| all | 0 |\n"
GUIDE = f"# WiFi\n\nThe café has it too.\n\n## Reset\n\nPress the button.\n\n## Prices\n\n{TABLE}"


def judgment(query: str, document: str, grade: int = 3, **more: object) -> Judgment:
    """Judge a document, or a part of it."""
    parts = {name: more.pop(name) for name in ("section", "block", "span") if name in more}
    target = Target(document=document, **parts)  # type: ignore[arg-type]
    return Judgment(query=query, target=target, grade=grade, **more)  # type: ignore[arg-type]


SOUND = GoldenSet(
    documents=(
        Document(id="wifi", text=GUIDE),
        Document(id="pool", text="Open at 7."),
        Document(id="spa", text="Ask."),
    ),
    queries=(Query(id="q1", text="How do I reset the WiFi?"), Query(id="q2", text="When does the pool open?")),
    judgments=(judgment("q1", "wifi"), judgment("q1", "pool", 0), judgment("q2", "pool"), judgment("q2", "spa", 1)),
)


def apply(rule: str, golden: GoldenSet, **subject: object) -> list[Finding]:
    """Return what a rule finds."""
    findings = list(RULES[rule].check(Subject(golden=golden, **subject)))  # type: ignore[arg-type]
    assert all(finding.rule == rule and finding.severity == RULES[rule].severity for finding in findings)
    return findings


def where(rule: str, golden: GoldenSet, **subject: object) -> list[str]:
    """Return all ids that a rule names."""
    return [name for finding in apply(rule, golden, **subject) for name in finding.where]


def query(**changes: object) -> GoldenSet:
    """Return the sound set with changes to its first query."""
    first, *rest = SOUND.queries
    return replace(SOUND, queries=(replace(first, **changes), *rest))  # type: ignore[arg-type]


def judged(*more: Judgment, **head: object) -> GoldenSet:
    """Return the sound set with more judgments."""
    return replace(SOUND, judgments=(*SOUND.judgments, *more), **head)  # type: ignore[arg-type]


def superseded(**by: str) -> GoldenSet:
    """Return the sound set with documents that replace others."""
    return replace(SOUND, documents=tuple(replace(d, superseded_by=by.get(d.id, "")) for d in SOUND.documents))


STRUCTURE = [
    name
    for name, rule in RULES.items()
    if rule.check.__module__.rpartition(".")[2] in ("_structure_rules", "_id_rules", "_part_rules", "_version_rules")
]


@each("rule", STRUCTURE)
def test_a_sound_set_is_silent(rule: str) -> None:
    """No rule on structure speaks where nothing is wrong."""
    assert apply(rule, SOUND, index=frozenset(["wifi", "pool", "spa"])) == []


def test_an_unknown_query() -> None:
    """A judgment of a query that is not there is counted, and the query named once."""
    (finding,) = apply("unknown-query", judged(judgment("q9", "wifi"), judgment("q9", "pool")))
    assert finding.where == ("q9",)
    assert finding.message == "2 judgments of 1 query that the set does not have"


WHOLE = Target(document="gym")


@each(
    ("golden", "place", "named"),
    [
        (judged(judgment("q1", "gym")), "1 judgment of a document", "q1: gym"),
        (query(negatives=(WHOLE,)), "1 hard negative", "q1: gym"),
        (query(anchors=(WHOLE, WHOLE)), "2 anchors", "q1: gym"),
        (query(must_show=("gym",)), "1 must-show document", "q1: gym"),
        (query(chain=("wifi", "gym")), "1 document of a chain", "q1: gym"),
        (query(session=Session(id="s", documents=("gym",))), "1 document of a session", "q1: gym"),
        (query(session=Session(id="s", remember=("gym",))), "1 memory of a session", "q1: gym"),
        (superseded(spa="gym"), "1 successor of a document", "spa: gym"),
        (replace(SOUND, classes={"sport": ("pool", "gym")}), "1 member of a class", "sport: gym"),
    ],
)
def test_an_unknown_document_in_every_place(golden: GoldenSet, place: str, named: str) -> None:
    """Wherever a document is named that is not there, the finding says in which kind of place, and by whom."""
    (finding,) = apply("unknown-document", golden)
    assert finding.message.startswith(f"{place} that the set does not have")
    assert finding.where[0] == named


def test_an_unknown_document_has_a_likely_cause() -> None:
    """An id that differs in case only is shown beside the one that is probably meant."""
    (finding,) = apply("unknown-document", judged(judgment("q1", "Wi-Fi")))
    assert finding.message.endswith("gold has 'Wi-Fi', the set 'wifi'; they differ in case or punctuation only")


def test_without_documents_the_rules_that_need_them_are_silent_and_one_says_so() -> None:
    """For judgments alone one finding says that nothing about documents was checked."""
    bare = judged(judgment("q1", "gym", section="S.9", span=Span(5, 1)), documents=())
    assert [rule for rule in STRUCTURE if apply(rule, bare)] == ["no-documents"]


def test_what_the_index_lacks_is_told_with_the_likely_cause() -> None:
    """The gold names documents and the index chunks: an example of both, and what it means."""
    index = frozenset(["wifi:chunk:0", "wifi:chunk:1", "pool:chunk:0"])
    (finding,) = apply("not-in-index", SOUND, index=index)
    assert finding.severity == "error"
    assert finding.where == ("wifi", "pool")
    assert finding.message == (
        "2 of 2 documents that should be found are not in the index: "
        "gold has 'wifi', the index 'wifi:chunk:0'; the index holds parts of documents"
    )


@pytest.mark.parametrize(
    ("gold", "index", "cause"),
    [
        ("d1", "d1#3", "the index holds parts of documents"),
        ("d1:chunk:0", "d1", "the gold names parts of documents, or endings of files"),
        ("guide/wifi.md", "guide/wifi", "the gold names parts of documents, or endings of files"),
        ("kb/orders/returns.md", "orders/returns", "the gold has a folder before it, or an ending after it"),
        (" orders ", "orders", "the gold has blanks around it"),
        (
            "orders, zzz",
            "orders",
            "several ids in one: name each in a list, or in CSV with ; between them in a column 'documents'",
        ),
        ("DOC_1", "doc-1", "they differ in case or punctuation only"),
        (
            "orders/retruns",
            "orders/returns",
            "gold has 'orders/retruns', the index 'orders/returns'; one of them may be misspelt",
        ),
        ("x", "abc", "gold has 'x', the index for example 'abc'"),
    ],
)
def test_causes_of_ids_that_do_not_match(gold: str, index: str, cause: str) -> None:
    """The ways in which ids differ are recognised; otherwise an example of both is shown."""
    golden = GoldenSet(queries=(Query(id="q", text="x"),), judgments=(judgment("q", gold),))
    (finding,) = apply("not-in-index", golden, index=frozenset([index, "zzz"]))
    assert finding.message.endswith(cause)


def test_only_what_should_be_found_has_to_be_in_the_index() -> None:
    """Documents that are not relevant may be missing; must-show documents and chains may not."""
    ids = frozenset(["wifi", "pool"])
    assert where("not-in-index", SOUND, index=ids) == []
    assert where("not-in-index", query(must_show=("spa",)), index=ids) == ["spa"]
    assert where("not-in-index", query(chain=("wifi", "spa")), index=ids) == ["spa"]
    assert "the index is empty" in apply("not-in-index", SOUND, index=frozenset())[0].message


def test_another_document_of_the_class_will_do() -> None:
    """A document that can be replaced by another one in the index can be found."""
    twins = replace(SOUND, classes={"water": ("pool", "spa")})
    assert where("not-in-index", twins, index=frozenset(["wifi", "spa"])) == []
    assert where("not-in-index", twins, index=frozenset(["wifi"])) == ["pool"]


def test_the_top_chunk_has_to_be_a_chunk() -> None:
    """Where the chunks are known, the chunk that should come first is one of them."""
    golden = query(top_chunk="wifi:chunk:3")
    chunks = (Document(id="wifi:chunk:0", text="Press."),)
    assert where("not-in-index", golden, chunks=chunks) == ["wifi:chunk:3"]
    assert where("not-in-index", query(top_chunk="wifi:chunk:0"), chunks=chunks) == []
    assert where("not-in-index", golden) == []


def test_ids_that_stand_twice() -> None:
    """A query id or a document id that is used twice is named once."""
    assert where("duplicate-query", replace(SOUND, queries=SOUND.queries + SOUND.queries[:1])) == ["q1"]
    assert where("duplicate-document", replace(SOUND, documents=SOUND.documents * 3)) == ["wifi", "pool", "spa"]


def test_judgments_that_stand_twice() -> None:
    """One annotator cannot judge a pair twice, with the same grade or another one; two annotators can."""
    same, other = apply("duplicate-judgment", judged(judgment("q1", "wifi", 3), judgment("q2", "pool", 1)))
    assert (same.where, same.message) == (("q2: pool",), "1 pair judged twice by one annotator, with different grades")
    assert (other.where, other.message) == (("q1: wifi",), "1 pair judged twice by one annotator, with the same grade")
    fine = judged(judgment("q1", "wifi", 1, annotator="bo"), judgment("q1", "wifi", 2, source="validated"))
    assert apply("duplicate-judgment", fine) == []
    assert apply("duplicate-judgment", judged(judgment("q1", "wifi", section="S.1"))) == []


@each(("grade", "wrong"), [(-1, True), (0, False), (3, False), (4, True)])
def test_grades_outside_the_scale(grade: int, wrong: bool) -> None:
    """A grade lies between 0 and the last one that is declared."""
    assert where("grade-outside-scale", judged(judgment("q1", "spa", grade))) == [f"q1: spa ({grade})"] * wrong
    binary = replace(SOUND, grades=("no", "yes"), relevant=1, judgments=(judgment("q1", "wifi", 1),))
    assert apply("grade-outside-scale", binary) == []


@pytest.mark.parametrize("relevant", [-1, 0, 4])
def test_the_lowest_relevant_grade_is_on_the_scale(relevant: int) -> None:
    """Where nothing, or everything, would be relevant, the head of the set is wrong."""
    (finding,) = apply("grade-outside-scale", replace(SOUND, relevant=relevant))
    assert f"grade {relevant}" in finding.message
    assert finding.fix == "choose the lowest relevant grade from 1 to 3"


def test_a_negative_that_is_relevant() -> None:
    """A hard negative with a relevant grade contradicts it; one with a lower grade does not."""
    assert where("relevant-negative", query(negatives=(Target(document="wifi"),))) == ["q1: wifi"]
    assert where("relevant-negative", query(negatives=(Target(document="pool"),))) == []
    low = judged(judgment("q1", "spa", 1))
    assert where("relevant-negative", replace(low, queries=query(negatives=(Target(document="spa"),)).queries)) == []


@each(
    ("negative", "good", "wrong"),
    [
        ({}, {"section": "S.1"}, True),  # the document, of which a part is relevant
        ({"section": "S.1"}, {}, False),  # a part of a relevant document need not be relevant
        ({"section": "S.1"}, {"section": "S.1"}, True),
        ({"section": "S.1"}, {"section": "S.1.1"}, True),
        ({"section": "S.1"}, {"section": "S.10"}, False),
        ({"section": "S.1.1"}, {"section": "S.1"}, False),
        ({"section": "S.1"}, {"block": "S.1.1.p.Bk002"}, True),
        ({"block": "S.1.p.Bk001"}, {"block": "S.1.1.p.Bk002"}, False),
        ({"block": "S.1.p.Bk001"}, {"block": "S.1.p.Bk001"}, True),
        ({"block": "S.1.p.Bk001"}, {"block": "S.1.p.Bk001", "span": Span(3, 9)}, True),
        ({"block": "S.1.p.Bk001", "span": Span(3, 9)}, {"block": "S.1.p.Bk001"}, False),
        ({"span": Span(0, 10)}, {"span": Span(9, 20)}, True),
        ({"span": Span(0, 10)}, {"span": Span(10, 20)}, False),
    ],
)
def test_parts_that_contradict(negative: dict[str, str], good: dict[str, str], wrong: bool) -> None:
    """A negative near the right place is what a hard negative is; one that holds the right place is a mistake."""
    golden = query(negatives=(Target(document="spa", **negative),))  # type: ignore[arg-type]
    golden = replace(golden, judgments=(judgment("q1", "spa", **good),))
    assert bool(apply("relevant-negative", golden)) is wrong


def test_a_negative_in_the_class_of_a_relevant_document() -> None:
    """What can stand for a relevant document is no negative."""
    golden = replace(query(negatives=(Target(document="spa"),)), classes={"all": ("wifi", "spa")})
    assert where("relevant-negative", golden) == ["q1: spa"]


def test_labels_that_contradict_the_list() -> None:
    """In fit files, contradictions between the list of relevant entities and the labels are reported both ways."""
    golden = query(metadata={"relevant_entities": ["pool", "gym"]})
    listed, graded = apply("label-contradiction", golden)
    assert listed.where == ("q1: pool", "q1: gym")
    assert listed.message == "2 documents listed as relevant, without a grade of 2 or more"
    assert graded.where == ("q1: wifi",)
    assert apply("label-contradiction", query(metadata={"relevant_entities": ["wifi"]})) == []


@each(
    ("span", "how"),
    [
        (Span(0, 4), None),
        (Span(8, 17), None),  # "The café " up to the blank, two bytes for the é
        (Span(0, len(canonical(GUIDE).encode())), None),
        (Span(0, len(canonical(GUIDE).encode()) + 1), "outside the text"),
        (Span(-1, 4), "outside the text"),
        (Span(4, 4), "without a byte"),
        (Span(9, 3), "without a byte"),
        (Span(8, 16), "that split a character"),
        (Span(16, 20), "that split a character"),
    ],
)
def test_spans(span: Span, how: str | None) -> None:
    """A span holds at least a byte, lies within the canonical text, and cuts no character."""
    assert GUIDE.encode()[15:17] == "é".encode()
    for golden in (judged(judgment("q1", "wifi", span=span)), query(anchors=(Target(document="wifi", span=span),))):
        findings = apply("span-outside-text", golden)
        assert [finding.message for finding in findings] == ([] if how is None else [f"1 span {how}"])


@quick
@given(text=st.text(alphabet="aé日\U0001f642\r\n \u0301", max_size=30), data=st.data())
def test_spans_of_whole_characters_fit(text: str, data: st.DataObject) -> None:
    """A span counted from characters of the canonical text is right, and one moved into a character is not."""
    whole = canonical(text)
    offsets = [len(whole[:i].encode()) for i in range(len(whole) + 1)]
    if len(offsets) < 2:
        return
    start, end = sorted(data.draw(st.lists(st.sampled_from(offsets), min_size=2, max_size=2, unique=True)))
    document = Document(id="d", text=text)
    base = GoldenSet(documents=(document,), queries=(Query(id="q", text="x"),))
    assert apply("span-outside-text", replace(base, judgments=(judgment("q", "d", span=Span(start, end)),))) == []
    inside = next((i for i in range(start, end) if i not in offsets), None)
    if inside is not None:
        assert apply("span-outside-text", replace(base, judgments=(judgment("q", "d", span=Span(inside, end)),)))


@each(
    ("part", "there"),
    [
        ({"section": "S.1"}, True),
        ({"section": "S.1.2"}, True),
        ({"section": "S.1.3"}, False),
        ({"block": "S.1.1.p.Bk002"}, True),
        ({"block": "S.1.2.t.Bk003"}, True),
        ({"block": "S.1.2.p.Bk003"}, False),
    ],
)
def test_sections_and_blocks(part: dict[str, str], there: bool) -> None:
    """A section or block has to be in the outline of its document, in judgments, negatives and anchors alike."""
    target = Target(document="wifi", **part)  # type: ignore[arg-type]
    for golden in (judged(judgment("q1", "wifi", **part)), query(negatives=(target,)), query(anchors=(target,))):
        assert where("unknown-part", golden) == ([] if there else [str(target)])


def test_a_span_beside_its_part() -> None:
    """A span that does not meet the section or block that is named with it is doubtful."""
    inside = judgment("q1", "wifi", section="S.1.1", span=Span(42, 50))
    before = judgment("q1", "wifi", section="S.1.1", span=Span(8, 12))
    assert where("span-beside-part", judged(inside)) == []
    assert where("span-beside-part", judged(before)) == ["wifi#S.1.1@8-12"]
    assert where("span-beside-part", judged(judgment("q1", "wifi", section="S.9", span=Span(8, 12)))) == []


def test_a_part_is_not_better_than_its_document() -> None:
    """A document counts by its best part, also where people decided that it is not relevant."""
    part, whole = judgment("q1", "wifi", span=Span(42, 50)), judgment("q1", "wifi")
    for grade, settled, found in ((3, 1, True), (3, 2, False), (1, 0, False)):
        golden = judged(replace(part, grade=grade), whole, replace(whole, grade=settled, source="validated"))
        assert where("part-above-document", golden) == (["q1: wifi@42-50"] if found else [])
    assert where("part-above-document", judged(part)) == []  # nobody judged the document
    assert where("part-above-document", judged(part, replace(whole, query="q2", grade=0))) == []


def test_spans_of_another_normaliser_are_not_checked() -> None:
    """Under unknown rules nothing can be said about bytes, and that is said."""
    golden = judged(judgment("q1", "wifi", span=Span(8, 9999)), normaliser="karat-9")
    assert apply("span-outside-text", golden) == []
    assert "karat-9" in apply("unknown-normaliser", golden)[0].message
    assert apply("unknown-normaliser", replace(SOUND, normaliser="karat-9")) == []


def test_documents_that_no_part_touches_have_no_outline(monkeypatch: pytest.MonkeyPatch) -> None:
    """A large collection of which single parts are judged is not taken apart."""
    from karat.golden.lint import _part_rules

    seen = []
    outline = _part_rules.outline
    monkeypatch.setattr(_part_rules, "outline", lambda text: seen.append(text) or outline(text))
    apply("unknown-part", judged(judgment("q1", "pool", section="S.0")))
    assert seen == ["Open at 7.\n"]


def test_queries_without_text() -> None:
    """Blanks are no query."""
    assert where("empty-query", query(text=" \t")) == ["q1"]


def test_an_empty_set() -> None:
    """Without queries there is no set, and without judgments nothing to score."""
    assert apply("empty-set", GoldenSet()) != []
    assert apply("no-judgments", GoldenSet()) == []
    bare = replace(SOUND, judgments=())
    assert apply("no-judgments", bare)[0].message == "none of 2 queries has a judgment"
    assert apply("unjudged-query", bare) == []


def test_queries_without_judgments() -> None:
    """A query that nobody judged is a warning where others are judged."""
    golden = replace(SOUND, judgments=SOUND.judgments[:1])
    (finding,) = apply("unjudged-query", golden)
    assert (finding.severity, finding.where) == ("warning", ("q2",))


def test_queries_to_which_nothing_is_relevant() -> None:
    """Judgments below the relevant grade leave nothing to find; an edge case may be so."""
    golden = replace(SOUND, judgments=(judgment("q1", "wifi", 1), judgment("q2", "pool")))
    assert where("no-relevant-document", golden) == ["q1"]
    for edge in ({"category": "edge-case"}, {"type": "Edge_Case"}):
        assert where("no-relevant-document", replace(golden, queries=query(**edge).queries)) == []


def test_a_document_in_two_classes() -> None:
    """A document belongs to one class; to stand twice in one is harmless."""
    assert where("overlapping-classes", replace(SOUND, classes={"a": ("wifi", "pool"), "b": ("wifi",)})) == ["wifi"]
    assert where("overlapping-classes", replace(SOUND, classes={"a": ("wifi", "wifi")})) == []


def test_more_must_show_documents_than_ranks() -> None:
    """Five can be shown in the top 5, six cannot."""
    assert where("must-show-too-many", query(must_show=tuple("abcdea"))) == []
    assert where("must-show-too-many", query(must_show=tuple("abcdef"))) == ["q1"]


@each(
    ("chain", "wrong"), [((), False), (("a",), True), (("a", "b"), False), (("a", "a"), True), (("a", "b", "a"), True)]
)
def test_chains(chain: tuple[str, ...], wrong: bool) -> None:
    """A chain has at least two documents, each once."""
    assert where("broken-chain", query(chain=chain)) == ["q1"] * wrong


@each(
    ("by", "cycle"),
    [
        ({"wifi": "wifi"}, ["wifi -> wifi"]),
        ({"wifi": "pool", "pool": "wifi"}, ["wifi -> pool -> wifi"]),
        ({"wifi": "pool", "pool": "spa", "spa": "pool"}, ["pool -> spa -> pool"]),
        ({"wifi": "pool", "spa": "pool"}, []),
        ({"wifi": "pool", "pool": "gone"}, []),
    ],
)
def test_superseding_in_a_circle(by: dict[str, str], cycle: list[str]) -> None:
    """Each circle is reported once, from its first document to itself."""
    assert where("superseding-cycle", superseded(**by)) == cycle


def test_a_superseded_document_that_is_judged_higher() -> None:
    """The old document may be relevant only if one of its successors is at least as good."""
    old = superseded(wifi="pool", pool="spa")
    (finding,) = apply("superseded-judged-higher", old)
    assert finding.severity == "warning"
    assert finding.where == ("q1: wifi", "q2: pool")
    fine = replace(old, judgments=(*old.judgments, judgment("q1", "spa"), judgment("q2", "spa", 3, source="validated")))
    assert apply("superseded-judged-higher", fine) == []
    assert apply("superseded-judged-higher", superseded(wifi="wifi")) == []


def test_notes_of_reading_become_warnings() -> None:
    """What reading noticed is reported; unknown keys have a rule of their own."""
    golden = replace(SOUND, notes=("q.jsonl, line 3: unknown key 'txet', ignored", "2 rows dropped"))
    assert [finding.message for finding in apply("unknown-key", golden)] == [golden.notes[0]]
    assert [finding.message for finding in apply("note", golden)] == [golden.notes[1]]


def test_of_many_ids_the_first_are_shown_and_all_are_counted() -> None:
    """A finding names five ids and says how many there are."""
    golden = judged(*(judgment(f"z{i}", "wifi") for i in range(12)))
    (finding,) = apply("unknown-query", golden)
    assert (finding.where, finding.count) == (("z0", "z1", "z2", "z3", "z4"), 12)
