"""The extractive answerer: sentences of the hits, cited by their bytes, and refusals where nothing fits."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from each import each
from karat import Document, GoldenSet, Hit, Query, Span
from karat.config import Settings
from karat.core import Answer, Place, UsageError
from karat.projects import open_project
from karat.runs import make_run, read_any_run
from karat.systems import Pipeline, Stages, adapt
from karat.systems.answer import Extractive, Passage, make_answerer
from karat.systems.index import Lexical
from karat.text import canonical

POOL = (
    "# Café and pool\n\nThe café is on the roof. The pool opens at noon.\n\n- Towels cost £3.\n- Dogs may not swim.\n"
)
BAR = "The bar opens at six. Dogs are welcome in the bar."


def read(text: str, start: int = 0, **channels: Place) -> Passage:
    span = Span(start, start + len(text.encode()))
    return Passage(hit=Hit(f"d{start}", 1.0, span=span, channels=channels), text=text)


def ask(question: str, *passages: Passage, answerer: Extractive | None = None) -> Answer:
    index = Lexical().build([passage.text for passage in passages])
    return (answerer or Extractive(similarity=1.0, support=0.0))(question, passages, index)


def test_the_sentences_with_the_rarest_words_of_the_question_come_first() -> None:
    """By hand: N = 2, so swim (in one text) weighs ln(1 + 1.5 / 1.5) = 0.69, and dog (in both) ln(1 + 0.5 / 2.5)."""
    answer = ask("May my dog swim?", read(POOL), read(BAR), answerer=Extractive(sentences=2, support=0.0))
    assert answer.text == "Dogs may not swim. Dogs are welcome in the bar."
    start = POOL.encode().index(b"Dogs may")
    assert [citation.span for citation in answer.citations] == [Span(start, start + 18), Span(22, 50)]
    assert not answer.refused


def test_marks_and_headings_are_not_cited_but_their_words_count() -> None:
    """The question's only known word is in the heading, and the citation begins after it, in bytes."""
    answer = ask("Caf\u00e9?", read(POOL.replace("The caf\u00e9", "It"), start=100), answerer=Extractive(sentences=1))
    assert answer.text == "It is on the roof."
    assert answer.citations[0].span == Span(100 + len("# Café and pool\n\n".encode()), 136)


def test_a_table_is_cited_by_its_lines() -> None:
    """What has no full stop for long is taken apart at its lines."""
    table = "\n".join(f"| room {number} | £{number + 100} for each night of the stay |" for number in range(20))
    answer = ask("What is room 17?", read(table), answerer=Extractive(sentences=1))
    assert answer.text == "| room 17 | £117 for each night of the stay |"


def test_it_refuses_if_neither_meaning_nor_words_fit() -> None:
    """Either suffices: a vector that is similar enough, or the words of the question."""
    far, near = Place(1, 0.5), Place(1, 0.7)
    strict = Extractive(similarity=0.66, support=0.5)
    question = "Is there a yacht at the pool?"  # pool is half as rare as yacht
    assert ask(question, read(POOL, dense=far), answerer=strict).refused
    assert not ask(question, read(POOL, dense=near), answerer=strict).refused
    assert not ask("When does the pool open?", read(POOL, dense=far), answerer=strict).refused
    refusal = ask("Yacht?", read(POOL), answerer=Extractive(support=0.0))
    assert refusal == Answer("The documents do not say.", refused=True)
    assert ask("Anything?").refused


words = st.lists(st.sampled_from(["Pool", "pool", "été", "£5", "bar", "opens", "the", "x"]), min_size=1, max_size=6)
sentences = words.map(lambda listed: f"Here {' '.join(listed)}.")
texts = st.lists(sentences, min_size=1, max_size=8).flatmap(
    lambda listed: st.sampled_from([" ", "\n\n", "\n- ", "\n\n## "]).map(lambda gap: gap.join(listed))
)


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(texts.map(canonical), min_size=1, max_size=5), words.map(" ".join), st.integers(1, 4))
def test_an_answer_is_what_it_cites(bodies: list[str], question: str, count: int) -> None:
    """Word for word; no sentence that is left out has more of the question, by a count of its own."""
    passages = [read(body, start=7 * number) for number, body in enumerate(bodies)]
    answerer = Extractive(sentences=count, similarity=0.0, support=0.0)
    answer = ask(question, *passages, answerer=answerer)
    assert answer == ask(question, *passages, answerer=answerer)
    if answer.refused:
        return
    by_id = {passage.hit.id: passage for passage in passages}
    cited = []
    for citation in answer.citations:
        passage = by_id[citation.id]
        assert passage.hit.span
        assert citation.span
        assert citation.span.end <= passage.hit.span.end
        first = citation.span.start - passage.hit.span.start
        cited.append(passage.text.encode()[first : first + len(citation.span)].decode())
    assert answer.text == " ".join(" ".join(text.split()) for text in cited)
    assert 1 <= len(cited) <= count
    assert len(cited) == len(set(cited))

    holding = [set(re.findall(r"[a-zé]{2,}", body.lower())) for body in bodies]

    def weigh(text: str) -> float:
        shared = {"pool", "été", "bar", "opens"} & set(re.findall(r"[a-zé]{2,}", text.lower()))
        counts = [sum(word in body for body in holding) for word in sorted(shared & set(question.lower().split()))]
        return math.fsum(math.log1p((len(bodies) - df + 0.5) / (df + 0.5)) for df in counts)

    if all("#" not in body for body in bodies):
        read_ = [part for body in bodies[:3] for part in re.split(r"(?<=\.)\s+(?:- )?", body)]
        best = sorted(map(weigh, {part for part in read_ if re.search("[a-zé]{2,}", part)}), reverse=True)
        assert sorted(map(weigh, cited), reverse=True) == pytest.approx(best[: len(cited)])


DOCUMENTS = (
    Document(id="pool", title="The pool", text="The pool opens at noon. Towels are free."),
    Document(id="wifi", title="Wi-Fi", text="The network is called Guest. It has no password."),
)
GOLDEN = GoldenSet(
    documents=DOCUMENTS,
    queries=(
        Query(id="q1", text="When does the pool open?"),
        Query(id="q2", text="Which yacht wins?", answerable=False),
    ),
)


def test_the_pipeline_answers_and_a_run_keeps_it(tmp_path: Path) -> None:
    """Answer, citation and refusal are in the run file, with the time that answering took."""
    system = Pipeline(Stages(dense=False, answer={"sentences": 1}))
    path = tmp_path / "run.jsonl"
    run = make_run(GOLDEN, system, Settings(warm_up=0), output=path)
    answered, refused = run.traces
    assert answered.answer == "The pool opens at noon."
    assert [(citation.document, citation.span) for citation in answered.citations] == [("pool", Span(0, 23))]
    assert answered.timings["answer"] <= answered.timings["total"]
    assert (refused.refused, refused.answer, refused.citations) == (True, "The documents do not say.", ())
    assert read_any_run(path, GOLDEN).traces == run.traces


@pytest.mark.slow
def test_the_words_are_weighed_without_the_lexical_channel() -> None:
    """The index is made for the answerer, and the channel stays off."""
    system = Pipeline(Stages(lexical=False, dense=True, embedder="granite", answer=True))
    system.ingest(DOCUMENTS)
    assert system.indexes["lexical"] is None
    assert system.answer is not None
    answer = system.answer("When does the pool open?", 2)
    assert answer.text.startswith("The pool opens at noon.")


def test_a_pipeline_that_only_retrieves_is_what_it_was() -> None:
    """Its description, and with it the fingerprint of every older run, has no answerer."""
    system = Pipeline(Stages(dense=False))
    assert system.answer is None
    assert "answer" not in system.describe()
    assert adapt(system).retrieve == system.retrieve
    described = Pipeline(Stages(dense=False, answer=True)).describe()["answer"]
    assert described["kind"] == "extractive"
    assert described["support"] == 0.5


@each(
    ("table", "message"),
    [
        ({"kind": "extractiv"}, "kind = 'extractiv' is not an answerer, did you mean 'extractive'?"),
        ({"sentence": 2}, "[pipeline.answer] has no key 'sentence', did you mean 'sentences'?"),
        ({"sentences": 0}, "sentences = 0; choose 1 or more"),
        ({"support": 1.5}, "support = 1.5; choose a number from 0 to 1"),
        ({"hits": "3"}, "hits = '3' is of the wrong type"),
    ],
)
def test_mistakes_in_the_table_are_told(table: dict[str, object], message: str) -> None:
    """With the key, and what to write."""
    with pytest.raises(UsageError, match=re.escape(message)):
        make_answerer(table)


def test_another_system_is_not_answered_for(tmp_path: Path) -> None:
    """A table that nothing reads would be a promise."""
    (tmp_path / "karat.toml").write_text('[pipeline]\nanswer = true\n[system]\nurl = "http://localhost:1"\n')
    (tmp_path / "golden.toml").write_text('name = "x"\n')
    (tmp_path / "queries.jsonl").write_text('{"id": "q", "text": "?"}\n')
    with pytest.raises(UsageError, match="but there is"):
        open_project(tmp_path).system()
