"""From the answers of a run to what the gate looks at: no query gets lost on the way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from each import each
from karat.core import Document, GoldenSet, InputError, Judgment, Provenance, Query, Run, Target, Trace
from karat.evaluation import score_run
from karat.golden import fingerprint
from karat.projects import GateResult, Project, gate_run
from karat.runs import Settings, make_run, read_any_run

SET = GoldenSet(
    name="tiny",
    grades=("no", "yes"),
    relevant=1,
    documents=tuple(Document(id=name, text=name) for name in "abc"),
    queries=tuple(Query(id=f"q{name}", text=f"{name}?", paraphrases=(f"{name}!",)) for name in "abc"),
    judgments=tuple(Judgment(query=f"q{name}", target=Target(document=name), grade=1) for name in "ab"),
)


def traces(path: Path, *rows: tuple[str, int, list[str]]) -> Path:
    """Write a trace file of queries with seeds."""
    records: list[dict[str, Any]] = [
        {"qid": query, "query": f"{query[1]}?", "seed": seed, "topk": hits} for query, seed, hits in rows
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_a_query_that_was_asked_less_often_keeps_its_score(tmp_path: Path) -> None:
    """qa has two seeds, and qb, a failure, one: with no value it would drop out of every test."""
    path = traces(tmp_path / "t.jsonl", ("qa", 1, ["a"]), ("qa", 2, ["b", "a"]), ("qb", 1, ["a"]), ("qc", 1, ["a"]))
    taken = score_run(SET, read_any_run(path, SET), ["RR"])
    assert taken.repeated_values("RR", "qa") == (1.0, 0.5)
    assert taken.repeated_values("RR", "qb") == (0.0,)
    assert taken.values("RR") == {"qa": 0.75, "qb": 0.0}


def test_repeats_are_kept_and_wordings_averaged() -> None:
    """By hand: asked twice in two wordings each; the second time the paraphrase of a finds nothing."""
    questions: list[str] = []

    def find(query: str, k: int) -> list[str]:
        questions.append(query)
        return ["c"] if query == "a!" and questions.count("a!") == 2 else [query[0]]

    run = make_run(SET, find, Settings(repeat=2, paraphrases=True, warm_up=0))
    taken = score_run(SET, run, ["RR"])
    assert taken.repeated_values("RR", "qa") == (1.0, 0.5)
    assert taken.means["RR"] == (0.75 + 1.0) / 2
    assert taken.lists["qa"] == ("a",)


def test_what_failed_and_what_nothing_answers() -> None:
    """A query that failed scores 0 and lowers coverage; one without a relevant document has nothing to find."""

    def find(query: str, k: int) -> list[str]:
        if query == "b?":
            raise RuntimeError("closed")
        return ["a"]

    taken = score_run(SET, make_run(SET, find), ["RR"])
    assert taken.values("RR") == {"qa": 1.0, "qb": 0.0}
    assert taken.failures == {"qb": "RuntimeError: closed"}
    assert taken.unfound == {"qb", "qc"}
    assert taken.coverage == pytest.approx(2 / 3)


def test_a_sample_covers_its_share() -> None:
    """One of three queries was asked."""
    taken = score_run(SET, make_run(SET, lambda query, k: [query[0]], Settings(sample=1)), ["RR"])
    assert (len(taken.queries), taken.total, taken.coverage) == (1, 3, pytest.approx(1 / 3))


class TestComplete:
    """A run has one answer to every question that it says it asked; the gate refuses any other."""

    def gate(self, **fields: Any) -> GateResult:
        """Gate a run that was put together by hand."""
        from karat.config import Config, EvalConfig

        known: dict[str, Any] = {
            "name": "mine", "golden": {"fingerprint": fingerprint(SET)}, "system": {}, "fingerprint": "",
            "settings": {"k": 10, "paraphrases": False, "repeat": 1, "sample": None, "seed": 0},
            "traces": tuple(Trace(query=query.id, text=query.text) for query in SET.queries),
        }  # fmt: skip
        project = Project(config=Config(folder=Path(), golden=Path(), eval=EvalConfig(measures=("RR",))), golden=SET)
        header = known | fields
        traces = header.pop("traces")
        return gate_run(project, Run(provenance=Provenance(**header), traces=traces), alone=True)

    def test_whole(self) -> None:
        """Nothing is missing: also where another tool asked each query in some way."""
        elsewhere = tuple(Trace(query=query.id, text="", paraphrase=2, repeat=1) for query in SET.queries)
        for result in (self.gate(), self.gate(settings={"k": 10}, traces=elsewhere)):
            assert result.evaluation.queries == ("qa", "qb", "qc")

    @each(
        ("fields", "message"),
        [
            ({"traces": ()}, "lacks answers to 3 of the queries that it should have asked: 'qa', 'qb', 'qc';"),
            ({"traces": (), "settings": {}}, "lacks answers to 3 of the queries"),
            ({"settings": {"sample": None, "repeat": 2}}, "lacks answers to 3 of the queries"),
            ({"settings": {"sample": None, "paraphrases": True}}, "lacks answers to 3 of the queries"),
            ({"settings": {"sample": 5}}, "n=5; the set has 3 queries"),
            ({"settings": {"sample": "all"}}, "has wrong settings: {'sample': 'all'}"),
            ({"settings": {"sample": None, "repeat": "twice"}}, "has wrong settings"),
            ({"settings": {"sample": None, "repeat": 0}, "traces": ()}, "has wrong settings"),
            ({"settings": {"sample": None, "repeat": 10**30}}, "lacks answers to 3 of the queries"),
            ({"settings": {"k": [10]}}, "has wrong settings: {'k': [10]}"),
            ({"traces": tuple(Trace(query=name, text="", repeat=i) for name in ("qa", "qb", "qc") for i in (0, 1))},
             "has answers to questions that it should not have asked, on query 'qa'"),
            ({"traces": tuple(Trace(query=name, text="") for name in ("qa", "qb", "qc", "qb"))},
             "has two answers to the same question of query 'qb'"),
        ],
    )  # fmt: skip
    def test_not_whole(self, fields: dict[str, Any], message: str) -> None:
        """Some are missing, or there twice, or nothing says how many there should be."""
        from karat.core import KaratError

        with pytest.raises(KaratError) as caught:
            self.gate(**fields)
        assert message in str(caught.value)
        assert caught.value.exit_code == 2

    def test_another_set(self) -> None:
        """A run of another golden set has other queries."""
        traces = (Trace(query="qa", text="Another question?"),)
        with pytest.raises(InputError, match="'mine' has no question in common with golden set"):
            self.gate(golden={"fingerprint": "sha256:0"}, traces=traces)
