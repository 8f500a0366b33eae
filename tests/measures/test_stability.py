"""Lambda and the stability of citations, by hand."""

from __future__ import annotations

from dataclasses import replace

from each import each
from karat import score_hits
from karat.core import Citation, GoldenSet, Judgment, Query, Target, Trace

QUERY = Query(id="q", text="a?", paraphrases=("b?", "c?"), anchors=(Target(document="guide", section="S.4"),))
GOLDEN = GoldenSet(
    queries=(QUERY,), judgments=(Judgment(query="q", target=Target(document="wifi", block="S.1.p.Bk001"), grade=3),)
)
WIFI = Citation("wifi", block="S.1.p.Bk001")
SIDE = Citation("wifi", block="S.1.p.Bk002")
POOL = Citation("pool", section="S.2")
BAR = Citation("bar")
ANCHOR = Citation("guide", section="S.4.2")


def ask(*cited: tuple[Citation, ...] | str, repeats: int = 2) -> tuple[Trace, ...]:
    """Return the answers to one question, wording by wording; a text is an error, and () a refusal."""
    traces = []
    for number, citations in enumerate(cited):
        paraphrase, repeat = divmod(number, repeats)
        trace = Trace(query="q", text="?", paraphrase=paraphrase, repeat=repeat)
        if isinstance(citations, str):
            traces.append(replace(trace, error=citations))
        elif citations:
            traces.append(replace(trace, answer="Yes.", citations=citations))
        else:
            traces.append(replace(trace, refused=True))
    return tuple(traces)


def value(traces: tuple[Trace, ...], measure: str, golden: GoldenSet = GOLDEN) -> float | str | None:
    scores = score_hits(golden, {"q": ()}, [measure], traces={"q": traces[0]}, variants={"q": traces})
    (name,) = scores.measures
    number = scores.value("q", name)
    return scores.reason("q", name) if number is None else number


@each(
    ("traces", "expected"),
    [
        (ask((WIFI,), (WIFI,)), 1.0),
        (ask((WIFI, POOL), (WIFI,), (WIFI, POOL, BAR)), 1 / 3),  # all cite wifi; any: wifi, pool, bar
        (ask((WIFI,), (SIDE,)), 0.0),  # two blocks of one section
        (ask((WIFI,), ()), 0.0),
        (ask((), ()), 1.0),
        (ask("timed out", "timed out"), 0.0),
        (ask((WIFI,)), "the question was asked once"),
        ((Trace(query="q", text="?"), Trace(query="q", text="?", repeat=1)), "no answer recorded"),
    ],
)
def test_citation_stability(traces: tuple[Trace, ...], expected: float | str) -> None:
    """What all answers cite among what any cites; a failure agrees with nothing."""
    assert value(traces, "CiteStability") == expected


def test_one_answer_of_three_cites_more() -> None:
    """All cite wifi, and any cites wifi and pool."""
    assert value(ask((WIFI,), (WIFI,), (WIFI, POOL)), "CiteStability") == 1 / 2


@each(
    ("traces", "expected"),
    [
        (ask(*[(WIFI,)] * 6), 1.0),
        (ask(*[(ANCHOR,)] * 6), 1.0),  # in the section that has the answer
        (ask(*[(WIFI,)] * 5, (WIFI, POOL)), 0.0),  # all are right, but they agree by one half
        (ask(*[(WIFI,)] * 5, (POOL,)), 0.0),
        (ask(*[(WIFI,)] * 5, ()), 0.0),
        (ask(*[(WIFI,)] * 5, "timed out"), 0.0),
        (ask(*[(POOL,)] * 6), 0.0),
        (ask(*[(WIFI,)] * 4), "the question was asked in fewer wordings or repeats"),
        (ask(*[(WIFI,)] * 3, repeats=1), "the question was asked in fewer wordings or repeats"),
    ],
)
def test_lambda(traces: tuple[Trace, ...], expected: float | str) -> None:
    """A question converges if each of three wordings, asked twice, is right, and all cite the same."""
    assert value(traces, "Lambda") == expected


def test_lambda_with_other_demands() -> None:
    """A triplet without repeats will do where the measure says so, and less agreement, too."""
    assert value(ask(*[(WIFI,)] * 3, repeats=1), "Lambda(repeats=1)") == 1.0
    assert value(ask(*[(WIFI,)] * 5, (WIFI, POOL)), "Lambda(agree=0.5)") == 1.0
    unknown = GoldenSet(queries=(Query(id="q", text="a?"),))
    assert value(ask(*[(WIFI,)] * 6), "Lambda", unknown) == "nothing relevant in the golden set"
