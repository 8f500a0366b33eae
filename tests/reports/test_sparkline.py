"""Sparklines: bars in a terminal, and one SVG file that needs nothing else."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from each import each
from karat.reports import Chart, Sparkline, bars, render_sparklines
from karat.reports._sparkline import describe

SVG = "{http://www.w3.org/2000/svg}"
VALUES = st.lists(st.none() | st.floats(), min_size=1, max_size=12)


def drawn(*values: float | None, name: str = "RR", label: str = "run", title: str = "set") -> ElementTree.Element:
    """Return the file of one line as a parser reads it."""
    line = Sparkline(name=name, values=values)
    labels = [f"{label} {i}" for i in range(len(values))]
    return ElementTree.fromstring(render_sparklines(title, [Chart(title="runs", labels=labels, lines=[line])]))


def path(tree: ElementTree.Element) -> str:
    """Return the line that is drawn."""
    return next((node.attrib["d"] for node in tree.iter(f"{SVG}path") if node.attrib["class"] == "line"), "")


def read_titles(tree: ElementTree.Element) -> list[str | None]:
    """Return what a browser shows where the mouse rests."""
    return [node[0].text for node in tree.iter(f"{SVG}rect") if node.get("class") == "run"]


def test_a_change_is_that_of_the_numbers_and_not_of_their_digits() -> None:
    """34/36 to 29/36 is -5/36, -0.1389; the difference of the printed 0.9444 and 0.8056 would be -0.1388."""
    line = Sparkline(name="R@5", values=[34 / 36, 29 / 36])
    assert line.format(line.change or 0, signed=True) == "-0.1389"
    assert [Sparkline(name="RR", values=values).change for values in ([0.5], [None, 0.5], [0.5, math.nan])] == [
        None
    ] * 3


def test_bars_stand_between_the_lowest_and_the_highest() -> None:
    """Seven eighths apart, counted by hand; the same value gives the same bar."""
    assert bars([0.0, 1.0, 0.5, 2 / 7, 1.0]) == "▁█▅▃█"


@each(
    ("values", "shown"),
    [([], ""), ([0.3], "▅"), ([0.3, 0.3], "▅▅"), ([None], "·"), ([math.nan, 1.0, math.inf, 2.0], "·▁·█")],
)
def test_bars_of_little(values: list[float | None], shown: str) -> None:
    """All the same stands in the middle, and what is no number is a dot."""
    assert bars(values) == shown


@given(VALUES)
def test_bars_keep_the_order_of_the_values(values: list[float | None]) -> None:
    """One character for each value, and a higher bar only for a higher value."""
    shown = bars(values)
    assert len(shown) == len(values)
    pairs = sorted((value, bar) for value, bar in zip(values, shown, strict=True) if bar != "·")
    assert all(first[1] <= other[1] for first, other in pairwise(pairs))


def test_the_line_is_where_the_numbers_say() -> None:
    """From left to right at equal distances; the highest value on top."""
    assert path(drawn(0.0, 1.0, 0.5)) == "M200.0 128.0L385.0 96.0L570.0 112.0"


def test_a_value_that_is_missing_is_a_gap() -> None:
    """Neighbours of a gap are not joined, and a value between two gaps is a dot alone."""
    tree = drawn(0.0, 1.0, None, 0.5, math.nan)
    assert re.sub(r"[\d. ]+", "", path(tree)) == "MLM"
    assert len(list(tree.iter(f"{SVG}circle"))) == 3
    assert "no value in the newest of 5 runs" in next(tree.iter(f"{SVG}g"))[1].text  # type: ignore[operator]


def test_many_runs_are_a_line_without_dots() -> None:
    """But for the newest, and for one that nothing joins; each is told all the same, in a field that can be hit."""
    values: list[float | None] = [i / 500 for i in range(500)]
    values[100] = values[102] = None
    tree = drawn(*values)
    dots = [float(dot.attrib["cx"]) for dot in tree.iter(f"{SVG}circle")]
    assert dots == pytest.approx([200 + 370 * 101 / 499, 570], abs=0.1)
    assert len(read_titles(tree)) == 498
    fields = [node for node in tree.iter(f"{SVG}rect") if node.get("class") == "run"]
    assert {float(field.attrib["height"]) for field in fields} == {48}
    assert len(list(drawn(*range(40)).iter(f"{SVG}circle"))) == 40


@each(
    ("values", "beside"),
    [
        ([0.5], {"RR": 117, "0.5000": 117}),
        ([0.5, 0.5], {"RR": 107, "always the same": 125, "0.5000": 107, "+0.0000 since first": 125}),
        ([0.5, 0.25], {"RR": 107, "0.2500 to 0.5000": 125, "0.2500": 107, "-0.2500 since first": 125}),
        ([None, 0.5], {"RR": 117, "0.5000": 117}),
        ([None, None], {"RR": 107, "no value": 125, "-": 117}),
    ],
)
def test_what_stands_beside_a_line(values: list[float | None], beside: dict[str, float]) -> None:
    """Name and range, newest value and change; a word without one below it stands at the height of the line."""
    group = next(drawn(*values).iter(f"{SVG}g"))
    assert {node.text: float(node.attrib["y"]) for node in group.iter(f"{SVG}text")} == beside


@each(
    ("value", "shown"),
    [
        (1e17, "1e+17"), (1.7976931348623157e308, "1.8e+308"), (99999999.0, "99999999.00"), (1234.5, "1234.50"),
        (0.005, "0.01"), (0.0049, "0.0049"), (1.2345e-9, "1.23e-09"), (0.0, "0.00"),
    ],
)  # fmt: skip
def test_numbers_of_any_size_are_short(value: float, shown: str) -> None:
    """Neither seventeen digits, nor 0 of what is more; where that is not asked for, too small is 0."""
    line = Sparkline(name="p95 ms", values=[value], digits=2, tiny=True)
    assert line.format(value) == shown
    assert len(line.format(-value, signed=True)) <= 12
    assert math.isfinite(line.present[0])
    assert Sparkline(name="RR", values=()).format(1.2e-9) == "0.0000"


def test_a_difference_that_no_number_shows_is_not_drawn() -> None:
    """The last bit of a mean makes no mountain."""
    assert len({point.split()[1] for point in path(drawn(0.25, 0.25 + 1e-12)).split("L")}) == 1


def test_every_line_is_told_in_words() -> None:
    """Each has a title and a description that its group points to, and each run a field with a title."""
    tree = drawn(0.5, 0.75)
    group = next(tree.iter(f"{SVG}g"))
    by_id = {node.attrib["id"]: node.text for node in tree.iter() if "id" in node.attrib}
    assert group.attrib["role"] == "img"
    assert by_id[group.attrib["aria-labelledby"]] == "RR"
    words = "0.7500 in the newest of 2 runs, +0.2500 since the first; lowest 0.5000, highest 0.7500."
    assert by_id[group.attrib["aria-describedby"]] == words
    assert read_titles(tree) == ["run 0: 0.5000", "run 1: 0.7500"]
    assert by_id[tree.attrib["aria-labelledby"]] == "set"


@each(
    ("values", "words"),
    [
        ([0.5], "0.50 in the newest of 1 run; lowest 0.50, highest 0.50."),
        ([None, None], "no value in 2 runs."),
        ([None, 0.5], "0.50 in the newest of 2 runs; lowest 0.50, highest 0.50; 1 without a value."),
        ([0.504, 0.501], "0.50 in the newest of 2 runs, +0.00 since the first; lowest 0.50, highest 0.50."),
    ],
)
def test_words_claim_no_change_that_is_not_known(values: list[float | None], words: str) -> None:
    """A change is from the first to the newest run, or it is not told; none is never a minus."""
    assert describe(Sparkline(name="RR", values=values, digits=2)) == words


def test_names_are_text_whatever_they_hold() -> None:
    """Markup, control characters, half pairs and changes of direction: the file stays one that a parser reads."""
    hostile = "</title><script>alert(1)</script>\x1b[31m\0\ud800\u202e&\"'\ufffe"
    line = Sparkline(name=hostile, values=[0.1, 0.2])
    text = render_sparklines(hostile, [Chart(title=hostile, labels=[hostile, hostile], lines=[line])])
    tree = ElementTree.fromstring(text.encode())
    assert "<script" not in text
    assert {node.tag.removeprefix(SVG) for node in tree.iter()} == {
        "svg", "title", "desc", "style", "rect", "text", "path", "g", "circle",
    }  # fmt: skip
    assert not set("\x1b\0\ud800\u202e\ufffe") & set(text)


def test_the_file_loads_nothing_and_knows_the_dark() -> None:
    """No reference leaves it, and both colour schemes are in it."""
    text = render_sparklines("set", [Chart(title="runs", labels=["a"], lines=[Sparkline(name="RR", values=[1.0])])])
    assert text.count("http") == 1  # the name of SVG itself
    assert not re.search(r"href|url\(|@import|<script|<image|<foreignObject", text)
    assert "@media(prefers-color-scheme:dark)" in text


def test_nothing_to_draw_is_a_file_too() -> None:
    """Without charts there is the title alone."""
    assert ElementTree.fromstring(render_sparklines("set", [])).find(f"{SVG}title").text == "set"  # type: ignore[union-attr]


def test_a_long_name_is_cut_where_it_is_drawn_and_whole_in_the_title() -> None:
    """It does not run into the line."""
    tree = drawn(1.0, name="n" * 40)
    assert "n" * 21 + "…" in [node.text for node in tree.iter(f"{SVG}text")]
    assert next(tree.iter(f"{SVG}g"))[0].text == "n" * 40
    assert "検" * 10 + "…" in [node.text for node in drawn(1.0, name="検" * 12).iter(f"{SVG}text")]


@pytest.mark.slow
@given(VALUES, st.text(), st.text())
def test_any_numbers_and_names_give_a_file(values: list[float | None], name: str, label: str) -> None:
    """What is drawn stays in the picture, and the same numbers give the same bytes."""
    tree = drawn(*values, name=name, label=label)
    places = [(float(dot.attrib["cx"]), float(dot.attrib["cy"])) for dot in tree.iter(f"{SVG}circle")]
    assert len(places) == sum(value is not None and math.isfinite(value) for value in values)
    assert all(200 <= x <= 570 and 96 <= y <= 128 for x, y in places)
    assert ElementTree.tostring(tree) == ElementTree.tostring(drawn(*values, name=name, label=label))
