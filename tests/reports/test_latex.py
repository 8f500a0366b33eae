"""The table for a paper."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.reports import render_latex
from karat.reports._latex import latex
from reports.documents import ATTACKS, attacked, make_document, make_measure, without_baseline


def body(text: str) -> list[str]:
    return [line.strip() for line in text[text.index("\\midrule") : text.index("\\bottomrule")].splitlines()[1:-1]]


@pytest.mark.parametrize(
    ("p", "mark"),
    [
        (0.2, ""),
        (None, ""),
        (0.05, r"\textsuperscript{*}"),
        (0.01, r"\textsuperscript{**}"),
        (0.0005, r"\textsuperscript{***}"),
    ],
)
def test_a_mark_says_how_small_p_is(p: float | None, mark: str) -> None:
    """One star at 0.05, two at 0.01, three at 0.001; the better number is bold."""
    (row,) = body(render_latex(make_document(measures=[make_measure(p_corrected=p)])))
    assert row == rf"RR@10 & \textbf{{0.8000}} & 0.7500 & $-0.0500${mark} & $[-0.1000, +0.0100]$ \\"


def test_where_less_is_better_the_smaller_is_bold() -> None:
    """The direction is that of the measure."""
    (row,) = body(render_latex(make_document(measures=[make_measure(lower_is_better=True)])))
    assert row.startswith(r"RR@10 & 0.8000 & \textbf{0.7500} &")


def test_without_a_baseline_there_are_means_only() -> None:
    """Three columns, and no word of marks."""
    text = render_latex(without_baseline())
    assert body(text) == [r"RR@10 & 0.7500 & 4 \\"]
    assert "\\begin{tabular}{lrr}" in text
    assert "Marks" not in text


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_content_is_a_command(attack: str) -> None:
    """Braces balance, the commands are those of harmless words and of escapes, and no line more."""
    text, calm = render_latex(attacked(attack)), render_latex(attacked("calm"))
    assert len(text.splitlines()) == len(calm.splitlines())
    bare = re.sub(r"\\[{}$&#%_]", "", text)
    assert bare.count("{") == bare.count("}")
    assert (bare.count("$"), bare.count("&"), bare.count("%"), bare.count("#")) == tuple(
        map(calm.replace("\\,\\%", "").count, "$&%#")
    )
    new = set(re.findall(r"\\[a-z]+", text)) - set(re.findall(r"\\[a-z]+", calm))
    assert all(name.startswith("\\text") for name in new)


@given(st.text(alphabet=st.sampled_from("\\{}$&#%_~^<>|\"`[]*-'ab \n")))
def test_escaped_text_has_no_bare_special(text: str) -> None:
    """After the escapes are taken away nothing special is left."""
    left = re.sub(r"\\text[a-z]+\{\}|\\[{}$&#%_]|\{''\}|\{[\[\]*]\}|-\{\}(?=-)", "", latex(text))
    assert not re.search(r"[\\{}$&#%_~^<>|\"`\[\]*\n]", left)
    assert "--" not in latex(text)
