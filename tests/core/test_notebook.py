"""What a notebook shows of scores, evaluations, comparisons and decisions."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from karat.core import Document, GoldenSet, Markup, Provenance, Query, Scores, draw_interval, show_table
from karat.evaluation import Evaluation
from karat.gate import Policy, Rule, compare, decide

HOSTILE = "<script>alert(1)</script>\"'& \u202eright to left\u202c \x1b[31m\x00"


def read(markup: str) -> tuple[list[list[str]], str]:
    """Return the cells of a table, and all its text; markup that is not well-formed is an error."""
    tree = ElementTree.fromstring(markup)
    rows = [["".join(cell.itertext()) for cell in row if cell.tag in ("td", "th")] for row in tree.iter("tr")]
    assert {element.tag for element in tree.iter()} <= {
        *("div", "table", "caption", "thead", "tbody", "tr", "th", "td", "bdi"),
        *("svg", "title", "rect", "line", "circle"),
    }
    return rows, "".join(tree.itertext())


def make_evaluation(name: str, shift: float, queries: int = 40) -> Evaluation:
    values = {f"q{number}": min(1.0, number / 50 + shift) for number in range(queries)}
    scores = Scores.from_columns(name, {"RR@10": values}, queries=[*values, "q40"])
    provenance = Provenance(name=name)
    return Evaluation(provenance=provenance, scores=scores, means=scores.mean(), queries=scores.queries)


def test_a_golden_set_is_one_line() -> None:
    """Its documents would fill screens."""
    golden = GoldenSet(
        name="hotel",
        version="1.2.0",
        documents=(Document(id="a", text="x" * 9999),),
        queries=(Query(id="q", text="?"),) * 2,
    )
    assert repr(golden) == "<GoldenSet 'hotel' 1.2.0, 1 document, 2 queries, 0 judgments>"


def test_scores_show_means_counts_and_reasons() -> None:
    scores = Scores.from_columns(
        "mine", {"RR@10": {"a": 1.0, "b": 0.5}}, queries=["c"], reasons={("c", "RR@10"): "lost"}
    )
    rows, text = read(scores._repr_html_())
    assert rows[1][:3] == ["RR@10", "0.7500", "2 of 3"]
    assert "RR@10: 1 without a value, lost" in text
    assert "2 values from 0 to 1" in rows[1][3]


def test_a_measure_without_a_value_has_no_number() -> None:
    rows, _ = read(Scores.from_columns("mine", {"RR@10": {}}, queries=["a"])._repr_html_())
    assert rows[1] == ["RR@10", "-", "0 of 1", "-"]


def test_an_evaluation_shows_the_interval_that_reports_show() -> None:
    evaluation = make_evaluation("mine", 0.0)
    interval = evaluation.interval("RR@10")
    assert interval is not None
    rows, _ = read(evaluation._repr_html_())
    assert rows[1] == ["RR@10", "0.3900", f"{interval[0]:.4f} to {interval[1]:.4f}", "40 of 41"]
    assert interval[0] < 0.39 < interval[1]


def test_a_comparison_and_a_decision() -> None:
    before, after = make_evaluation("before", 0.2), make_evaluation("after", 0.0)
    comparison = compare(after, before)[0]
    rows, text = read(comparison._repr_html_())
    assert rows[1][:4] == ["RR@10", "0.5900", "0.3900", "-0.2000"]
    assert rows[1][-1] == "0 / 0 / 40"
    assert "40 queries" in text
    decision = decide(after, before, Policy(rules=(Rule(metric="RR@10", min=0.5),)))
    rows, text = read(decision._repr_html_())
    assert text.startswith(f"fail by policy {decision.policy.name}, exit code 1")
    assert rows[0] == ["outcome", "what", "rule", "current", "baseline", "change", "why"]
    assert rows[1] == ["fail", "RR@10", "at least 0.5", "0.3900", "-", "-", "0.3900 is below 0.5"]


def test_a_decision_shows_what_its_rules_tolerate_and_what_it_does_where_nothing_is_known() -> None:
    """An inconclusive one does not look like a failure, nor like a pass: its exit code stands beside it."""
    before, after = make_evaluation("before", 0.2, 3), make_evaluation("after", 0.0, 3)
    decision = decide(after, before, Policy(rules=(Rule(metric="RR@10", non_inferior=True),)))
    rows, text = read(decision._repr_html_())
    assert text.startswith(f"inconclusive by policy {decision.policy.name}, exit code 0")
    assert rows[1][:6] == ["inconclusive", "RR@10", "not worse by more than 0.011", "0.0200", "0.2200", "-0.2000"]
    assert rows[1][6] == decision.checks[0].reason  # all of it


def test_text_from_outside_stays_text() -> None:
    scores = Scores.from_columns(HOSTILE, {"RR@10": {"a": 1.0}})
    markup = scores._repr_html_()
    _, text = read(markup)
    assert "<script>alert(1)</script>" in text
    assert "<script" not in markup
    assert "\x1b" not in markup
    assert "\x00" not in markup
    assert len(show_table("x" * 10_000, [], [])) < 1000


@pytest.mark.parametrize("values", [(0.0, 0.0, 0.0), (-1e300, -1e300, 1e300), (0.5, -2.0, 3.0)])
def test_intervals_stay_in_their_picture(values: tuple[float, float, float]) -> None:
    picture = draw_interval(*values, reach=1.0)
    assert isinstance(picture, Markup)
    tree = ElementTree.fromstring(picture)
    places = [float(line.get(name, "nan")) for line in tree.iter("line") for name in ("x1", "x2")]
    assert all(0 <= place <= 140 for place in places)


def test_elsewhere_they_are_one_quiet_line() -> None:
    """In a terminal and in a failing test nobody wants to read every value."""
    evaluation = make_evaluation("mine", 0.0)
    assert repr(evaluation.scores) == "<Scores of 'mine', 41 queries: RR@10 0.3900>"
    assert repr(evaluation) == "<Evaluation of 'mine', 41 queries: RR@10 0.3900>"
    assert repr(Scores.from_columns("none", {"RR@10": {}}, queries=["a", "b"])).endswith("2 queries: RR@10 ->")
    decision = decide(evaluation, None, Policy(rules=(Rule(metric="RR@10", min=0.5),)))
    assert repr(decision) == f"<Decision: fail by policy {decision.policy.name}, 1 of 1 checks, exit code 1>"
