"""Whether the texts of hits are those of their documents, and what answers cite."""

from __future__ import annotations

from each import each
from karat.core import Citation, Document, GoldenSet, Hit, Judgment, Provenance, Query, Run, Target, Trace
from karat.evaluation import describe_altered, describe_returned, score_run

TEXT = "The pool opens at 7.\n\nLate check-\nout costs 20 \u20ac, a cafe\u0301 is near.\n"
GOLDEN = GoldenSet(
    documents=(Document(id="pool", text=TEXT, title="Water"), Document(id="bare")),
    queries=(Query(id="q", text="When?", paraphrases=("At what time?", "how early?")),),
    judgments=(Judgment(query="q", target=Target(document="pool"), grade=3),),
)


@each(
    ("document", "content", "altered"),
    [
        ("pool", "", False),
        ("pool", TEXT, False),
        ("pool", "opens  at\t7. Late", False),
        ("pool", "Late check- out costs", False),  # as it was written
        ("pool", "Late checkout costs", False),  # as it is in canonical form
        ("pool", "a caf\u00e9 is near", False),
        ("pool", "Water\nThe pool opens at 7.", False),
        ("pool", "The pool opens at 8.", True),
        ("pool", "The pool opens at 7. And it is free.", True),
        ("bare", "The set does not have this text.", False),
        ("ghost", "Nor this document.", False),
    ],
)
def test_a_text_has_to_be_in_its_document(document: str, content: str, altered: bool) -> None:
    """Only a text that the golden set contradicts counts; its white space, form and title do not matter."""
    hits = (Hit(f"{document}:chunk:0", 1.0, content=content),)
    notes = describe_altered(GOLDEN, [Trace(query="q", text="?", hits=hits)])
    expected = "1 hit of 1 query has a text that is not in the document, and judges believe such texts: 'q'"
    assert notes == ([expected] if altered else [])


def test_an_id_counts_once_however_often_it_is_cited() -> None:
    """Three wordings, asked twice, cite the same ghost: the note names it, and says what is counted."""
    traces = tuple(
        Trace(
            query="q", text="?", paraphrase=i % 3, repeat=i // 3, hits=(Hit("pool", 1.0),), answer="At 7.",
            citations=(Citation("ghost"),),
        )
        for i in range(6)
    )  # fmt: skip
    evaluation = score_run(GOLDEN, Run(provenance=Provenance(name="mine"), traces=traces), ["RR@10"])
    counted = "an id counts once for a query, however often it is cited"
    assert describe_returned(GOLDEN, evaluation) == [
        f"1 cited id of 1 query is neither a hit nor a document: 'ghost' of 'q' ({counted})"
    ]


def test_a_type_that_no_block_has_is_told() -> None:
    """As a hit of prose, code, a table, a figure or a caption; what has no type is of an unknown one."""
    types = ("prose", "code", "table", "figure", "caption", "", "Prose", "video", "video")
    hits = tuple(Hit(f"pool:chunk:{i}", 1.0 - i / 10, type=name) for i, name in enumerate(types))
    provenance = Provenance(name="mine", settings={"k": 10})
    evaluation = score_run(GOLDEN, Run(provenance=provenance, traces=(Trace(query="q", text="?", hits=hits),)), ["RR"])
    told = (
        "3 hits of 1 query have a type that no block has: 'video', 'Prose'; write prose, code, table, figure or caption"
    )
    assert describe_returned(GOLDEN, evaluation) == [f"{told}, or none"]
