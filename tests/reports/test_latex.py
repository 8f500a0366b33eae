"""The table for a paper."""

from __future__ import annotations

import re
import string
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import karat
from debian import program
from each import each
from karat.measures import score_report
from karat.reports import render_latex, render_scores
from karat.reports._latex import _EVERYWHERE, LETTER, latex
from reports.documents import ATTACKS, attacked, make_document, make_measure, typed, without_baseline

WORLD = "naïve Łódź ąę « » „q“ поиск Δ 検索 😀 👩\u200d👩 e\u0301 \u00ad \u200b \u2028 \ufe0f"
Compiled = Callable[..., str]


@pytest.fixture(scope="module")
def pdflatex() -> str:
    """LaTeX, which Debian has."""
    return program("LaTeX", "texlive-latex-base", "texlive-latex-recommended", names=("pdflatex",))


@pytest.fixture
def compiled(pdflatex: str, tmp_path: Path) -> Compiled:
    """Compile the body of a paper twice, as a paper is, but for the file; give what the log says."""

    def call(body: str, preamble: str = "") -> str:
        source = (
            "\\documentclass{article}\n\\usepackage{booktabs}\n"
            f"{preamble}\n\\begin{{document}}\n{body}\n\\listoftables\n\\end{{document}}\n"
        )
        (tmp_path / "paper.tex").write_text(source, encoding="utf-8")
        for _ in range(2):
            subprocess.run(
                [pdflatex, "-no-shell-escape", "-draftmode", "-interaction=nonstopmode", "paper.tex"],
                cwd=tmp_path, capture_output=True, timeout=600, check=False,
            )  # fmt: skip
        log = (tmp_path / "paper.log").read_text("latin-1")
        assert set(re.findall(r"^! .*", log, re.MULTILINE)) <= {"! OK."}  # after what it was asked to show
        assert "PDF statistics" in log, log[-300:]  # it came to its end
        return log

    return call


def body(text: str) -> list[str]:
    return [line.strip() for line in text[text.index("\\midrule") : text.index("\\bottomrule")].splitlines()[1:-1]]


def named(name: str) -> dict[str, Any]:
    """Return a document in which everything that has a name has this one."""
    document = make_document(measures=[make_measure(name), make_measure()])
    document["run"]["name"] = document["golden"]["name"] = document["baseline"]["name"] = name
    return document


@each(
    ("p", "mark"),
    [
        (0.2, ""),
        (None, ""),
        (0.05, r" \textsuperscript{*}"),
        (0.01, r" \textsuperscript{**}"),
        (0.0005, r" \textsuperscript{***}"),
    ],
)
def test_a_mark_says_how_small_p_is(p: float | None, mark: str) -> None:
    """One star at 0.05, two at 0.01, three at 0.001, in a column of their own; the better number is bold."""
    (row,) = body(render_latex(typed(make_document(measures=[make_measure(p_corrected=p)]))))
    assert row == rf"RR@10 & \textbf{{0.8000}} & 0.7500 & $-0.0500$ &{mark} & $[-0.1000, +0.0100]$ \\"


def test_where_less_is_better_the_smaller_is_bold() -> None:
    """The direction is that of the measure."""
    (row,) = body(render_latex(typed(make_document(measures=[make_measure(lower_is_better=True)]))))
    assert row.startswith(r"RR@10 & 0.8000 & \textbf{0.7500} &")


def test_no_change_has_no_minus() -> None:
    """What is rounded to nothing is +0.0000."""
    (row,) = body(render_latex(typed(make_document(measures=[make_measure(difference=-0.00001, low=-0.00002)]))))
    assert r"& $+0.0000$ & \textsuperscript{*} & $[+0.0000, +0.0100]$ \\" in row


def test_without_a_baseline_there_are_means_only() -> None:
    """Three columns, and no word of marks."""
    text = render_latex(typed(without_baseline()))
    assert body(text) == [r"RR@10 & 0.7500 & 4 \\"]
    assert "\\begin{tabular}{lrr}" in text
    assert "Marks" not in text


def test_the_list_of_tables_has_the_names_only_and_labels_differ() -> None:
    """A paper holds several of them."""
    text = render_latex(typed(named("two sets_1")))
    assert r"\caption[{two sets\_1 on two sets\_1 1.0.0}]{two sets\_1 on two sets\_1 1.0.0, 4 queries. Base" in text
    assert r"\label{tab:karat-two-sets-1-two-sets-1}" in text
    assert r"\label{tab:karat-turns-new}" in render_latex(typed(make_document()))


@each("attack", ATTACKS)
def test_no_content_is_a_command(attack: str) -> None:
    """Braces balance, the commands are those of harmless words and of escapes, and no line more but for letters."""
    text, calm = (
        render_latex(typed(attacked(attack))).replace(f"{LETTER}\n", ""),
        render_latex(typed(attacked("calm"))),
    )
    assert len(text.splitlines()) == len(calm.splitlines())
    bare = re.sub(r"\\[{}$&#%_]", "", text)
    assert bare.count("{") == bare.count("}")
    assert (bare.count("$"), bare.count("&"), bare.count("%"), bare.count("#")) == tuple(
        map(calm.replace("\\,\\%", "").count, "$&%#")
    )
    new = set(re.findall(r"\\[a-z]+", text)) - set(re.findall(r"\\[a-z]+", calm))
    assert all(name.startswith("\\text") or name in ("\\kern", "\\karatletter") for name in new)


@given(st.text(alphabet=st.sampled_from("\\{}$&#%_~^<>|\"`[]*-,'ab \né検")))
def test_escaped_text_has_no_bare_special(text: str) -> None:
    """After the escapes are taken away nothing special is left, and nothing is said to TeX in other signs."""
    left = re.sub(
        r"\\text[a-z]+\{\}|\\[{}$&#%_]|\{''\}|\{[\[\]*]\}|\{\\kern0pt\}|\\karatletter\{26908\}\{検\}", "", latex(text)
    )
    assert not re.search(r"[\\{}$&#%_~^<>|\"`\[\]*\n検]", left)
    assert not re.search("--|,,", latex(text))


def test_tables_compile_without_a_complaint(compiled: Compiled) -> None:
    """With and without a baseline, and without measures: no error, no warning, and nothing too wide for the page."""
    tables = [make_document(), without_baseline(), make_document(measures=[])]
    tables[1]["run"]["name"], tables[2]["run"]["name"] = "first", "empty"
    log = compiled("\n".join(render_latex(typed(table)) for table in tables))
    assert not re.search(r"Warning|Overfull|Missing character", log)


@pytest.mark.parametrize("preamble", ["", r"\usepackage[T1]{fontenc}"], ids=["plain", "T1"])
def test_whatever_is_in_a_name_compiles(compiled: Compiled, preamble: str) -> None:
    """Every attack, all that is special in ASCII, and letters that the fonts lack, in captions, rows and the list."""
    names = [*ATTACKS, string.printable, WORLD, "".join(_EVERYWHERE), "*", "[1em]", "--", r"\\[1em]", "\\", "%", "{"]
    # LaTeX holds eighteen tables before it wants a page.
    tables = [
        f"{render_latex(typed(named(name))).replace('tab:karat', f'{i}')}\\clearpage" for i, name in enumerate(names)
    ]
    log = compiled("\n".join(tables), preamble)
    assert not re.search(r"LaTeX Warning|Missing character|Runaway", log)


def printed(compiled: Compiled, text: str, preamble: str = "") -> list[str]:
    """Return TeX's own account of the signs that it set; two that became one are listed as such."""
    log = compiled(
        f"{LETTER}\n\\showboxbreadth=999 \\showboxdepth=9 \\setbox0\\hbox{{{latex(text)}}}\\showbox0", preamble
    )
    return re.findall(r"^\.+\\\w+/cmr/m/n/10 (.+)$", log[log.index("> \\box0") :], re.MULTILINE)


def test_every_sign_is_printed_as_itself(compiled: Compiled) -> None:
    """None is lost, and no two became one, such as a dash or a quotation mark."""
    text = "".join(sign for sign in string.punctuation if sign != '"') + "a--b---c,,d''e<<f>>g?`h!`i"
    assert "".join(printed(compiled, text, r"\usepackage[T1]{fontenc}")) == text


def test_a_letter_is_printed_where_the_document_has_it(compiled: Compiled) -> None:
    """One that its encoding has not is a question mark, and so is one that the author chose no encoding for."""
    assert printed(compiled, "ę検") == ["?", "?"]
    (first, second) = printed(compiled, "ę検", r"\usepackage[T1]{fontenc}")
    assert first != "?" == second


def test_scores_compile_without_a_complaint(compiled: Compiled) -> None:
    """The tables of ``karat score -o FILE.tex``, whatever runs, fields and queries are called."""
    scores = karat.score_runs({"q_1": {"a": 1}}, {WORLD: {"q_1": {"a": 1.0}}, "50%_&": {"q_1": {"b": 1.0}}}, "RR")
    groups = {"q_1": "#1 $x$"}
    report = score_report(scores, qrels="my_qrels#1", conventions="karat", per_query=True, by="a_b", groups=groups)
    log = compiled(render_scores(report, "tex"))
    assert not re.search(r"LaTeX Warning|Missing character|Runaway", log)
