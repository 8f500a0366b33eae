"""What answers tell of a window, by a golden set: coverage, citations, recall, delta-S and lambda, by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from karat.config import OnlineConfig
from karat.core import InputError
from karat.monitoring import open_watched, watch
from karat.schema.watch import WatchReport
from monitoring.hotel import QUESTIONS, TEXTS, make_project
from monitoring.logs import DAY, find, make_query, write

CONFIG = OnlineConfig(samples=10, least=2)


def ask(path: Path, *questions: tuple[str, dict[str, Any]]) -> WatchReport:
    """Write queries, fill up the window with others, and look."""
    queries = [make_query(str(i), DAY + i, text, **fields) for i, (text, fields) in enumerate(questions)]
    others = [make_query(f"x{i}", DAY + 100 + i, f"other {i}") for i in range(10)]
    write(path, [*queries, *others])
    return watch(path, make_project(), config=CONFIG, now=DAY + 400)


def cite(*documents: str) -> dict[str, Any]:
    return {"answer": "So it is.", "citations": documents}


def test_coverage_counts_what_was_not_answered(path: Path) -> None:
    """Of five that ask what the set asks two cite what is relevant: one errs, one is not answered, one cites else."""
    wifi, pool = QUESTIONS["wifi"], QUESTIONS["pool"]
    report = ask(
        path,
        (wifi[0], cite("wifi")),
        (wifi[1].upper(), cite("pool", "wifi")),
        (pool[0], cite("wifi")),
        (pool[1], {"error": "down", "documents": (), "count": None}),
        (pool[0], {}),
    )
    coverage = find(report, "coverage")
    assert (coverage.value, coverage.n, coverage.state) == (pytest.approx(2 / 5), 5, "firing")
    assert coverage.evidence == ("2 of 5 queries of the golden set have answers that cite what is relevant",)
    window = report.windows[0]
    assert window.signals["recall"].value == pytest.approx(4 / 5)  # wifi and pool are returned, but for the error
    citation = find(report, "citation")
    assert (citation.value, citation.n) == (pytest.approx(2 / 3), 3)  # what failed or has no answer cites nothing
    assert citation.evidence == ("2 of 3 answers that cite anything cite the right place",)


def test_every_answer_counts_however_often_one_question_is_asked(path: Path) -> None:
    """Nine of ten people ask one question, whose answer cites the wrong document: coverage is 0.1, not 0.5."""
    popular, other = QUESTIONS["wifi"][0], QUESTIONS["pool"][0]
    wrong, right = cite("pool"), {**cite("pool"), "answer": "At seven."}
    report = ask(path, *[(popular, wrong)] * 90, *[(other, right)] * 10)
    coverage, citation = find(report, "coverage"), find(report, "citation")
    assert (coverage.value, coverage.n) == (pytest.approx(0.1), 100)
    assert (citation.value, citation.n) == (pytest.approx(0.1), 100)
    assert report.windows[0].signals["recall"].n == 100
    assert find(report, "divergent").value == pytest.approx(1 / 2)  # of two questions, as all of their answers say


def test_answers_after_the_fifth_count(path: Path) -> None:
    """The first five to a question cite what is relevant, and the fifteen after them nothing."""
    wifi = QUESTIONS["wifi"][0]
    silent = {"answer": "So it is.", "citations": ()}
    report = ask(path, *[(wifi, cite("wifi"))] * 5, *[(wifi, silent)] * 15)
    assert (find(report, "coverage").value, find(report, "coverage").n) == (0.25, 20)
    assert (find(report, "citation").value, find(report, "citation").n) == (1.0, 5)


def test_an_answer_that_cites_nothing_is_no_wrong_citation(path: Path) -> None:
    """17 of 20 cite the right document, and three cite nothing: every citation is right."""
    wifi = QUESTIONS["wifi"][0]
    report = ask(path, *[(wifi, cite("wifi"))] * 17, *[(wifi, {"answer": "See there.", "citations": ()})] * 3)
    assert (find(report, "citation").value, find(report, "citation").state) == (1.0, "fine")
    assert find(report, "coverage").value == pytest.approx(0.85)


def test_a_log_without_any_citation_says_nothing_of_citations(path: Path) -> None:
    """Its hosts do not log them; once one answer of the last day cites, answers without a citation cover nothing."""
    wifi, pool = QUESTIONS["wifi"][0], QUESTIONS["pool"][0]
    silent = {"answer": "See there.", "citations": ()}
    report = ask(path, *[(wifi, silent)] * 10, *[(pool, silent)] * 10)
    for name in ("coverage", "citation", "divergent"):
        assert find(report, name).state == "not measurable"
        assert find(report, name).reason.startswith("no answer cites anything; if yours never do, [online.alerts]")
    write(path, [make_query("early", DAY - 9_000, "elsewhere", **cite("wifi"))])
    report = watch(path, make_project(), config=CONFIG, now=DAY + 400)
    assert (find(report, "coverage").value, find(report, "divergent").value) == (0.0, 1.0)
    assert find(report, "citation").reason.startswith("0 answers that cite anything")


def test_states_of_questions_that_were_asked_twice(path: Path) -> None:
    """Both answers to one cite the wrong document: it diverges; those to the other converge."""
    wifi, pool = QUESTIONS["wifi"], QUESTIONS["pool"]
    report = ask(
        path, (wifi[0], cite("pool")), (wifi[1], cite("pool")), (pool[0], cite("pool")), (pool[0], cite("pool"))
    )
    divergent = find(report, "divergent")
    assert (divergent.value, divergent.n, divergent.state) == (0.5, 2, "firing")


@pytest.mark.slow
def test_delta_s_of_what_answers_cite(path: Path) -> None:
    """As CiteDeltaS has it, of any query, whether the set has it or not."""
    import numpy as np

    from karat.systems.embed import Granite

    texts = {"room network?": "wifi", "swimming?": "pool", "breakfast?": "pool"}
    report = ask(path, *((text, cite(document)) for text, document in texts.items()))
    embed = Granite()
    distances = []
    for text, document in texts.items():
        one, other = np.asarray(embed([text, TEXTS[document]]), dtype=float)
        distances.append(1 - one @ other / np.linalg.norm(one) / np.linalg.norm(other))
    assert find(report, "delta_s_median").value == pytest.approx(float(np.median(distances)), abs=1e-4)
    assert find(report, "delta_s_p90").value == pytest.approx(float(np.percentile(distances, 90)), abs=1e-4)


def test_documents_that_nobody_has_are_no_distance(path: Path) -> None:
    """More than a tenth of them, and the rest is not taken for all."""
    report = ask(path, *((f"question {i}", cite("elsewhere")) for i in range(4)))
    assert find(report, "delta_s_p90").state == "not measurable"
    assert "4 of 4 answers" in find(report, "delta_s_p90").reason


def test_too_few_that_the_set_has(path: Path) -> None:
    """One question is not enough, and neither is one answer that cites."""
    report = ask(path, (QUESTIONS["wifi"][0], cite("wifi")))
    assert find(report, "coverage").reason.startswith("1 query asks what the golden set asks")
    assert "questions of the golden set that were asked twice" in find(report, "divergent").reason
    other = path.with_name("other.db")
    report = ask(
        other, (QUESTIONS["wifi"][0], cite("wifi")), (QUESTIONS["pool"][0], {"answer": "No.", "citations": ()})
    )
    assert find(report, "coverage").value == 0.5


def test_offsets_under_several_normalisers_are_not_compared(path: Path) -> None:
    """Coverage and citations are of the bytes of one canonical text."""
    wifi = QUESTIONS["wifi"][0]
    report = ask(path, *((wifi, {**cite("wifi"), "normaliser": f"n{i}", "build": "b"}) for i in range(2)))
    assert "offsets under them do not compare" in find(report, "citation").reason


def test_answers_without_a_project(path: Path) -> None:
    """No golden set tells what is relevant, and there are no documents to measure a distance by."""
    write(path, [make_query(str(i), DAY + i, "wifi?", **cite("wifi")) for i in range(10)])
    report = watch(path, config=CONFIG, now=DAY + 400)
    assert find(report, "coverage").reason == "there is no golden set to tell: name its project"
    assert find(report, "divergent").reason.startswith("no state is logged, and there is no golden set")
    assert find(report, "delta_s_p90").reason.startswith("no delta-S is logged, and there are no documents")


def test_answers_that_cite_nothing_have_no_distance(path: Path) -> None:
    """It says so."""
    report = ask(path, ("wifi?", {"answer": "Yes.", "citations": ()}))
    assert find(report, "delta_s_median").reason == "no answer cites anything"


def test_a_folder_that_names_a_golden_set_has_to_have_it(tmp_path: Path) -> None:
    """Only a karat.toml without [golden] may be without one, and says so; without a folder there are the defaults."""
    assert open_watched().config == OnlineConfig()
    (tmp_path / "karat.toml").write_text("[online]\nsamples = 7\n")
    alone = open_watched(tmp_path)
    assert (alone.project, alone.config.samples, alone.note != "") == (None, 7, True)
    (tmp_path / "karat.toml").write_text('[golden]\npath = "gold"\n')
    with pytest.raises(InputError):
        open_watched(tmp_path)


def test_a_golden_set_of_another_index_is_told(path: Path) -> None:
    """Where no document that came back is one of the set, nothing is scored, and the reason is the scorer's."""
    texts = [text for wordings in QUESTIONS.values() for text in wordings]
    report = ask(path, *((text, {**cite("x1"), "documents": ("x1", "x2")}) for text in texts))
    assert find(report, "coverage").state == "not measurable"
    assert "no document that the system returned is judged" in find(report, "coverage").reason
