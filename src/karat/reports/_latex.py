"""The measures as a table for a paper."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from karat.reports._words import gain, plain

_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': "{''}", "`": r"\textasciigrave{}", "[": "{[}", "]": "{]}", "*": "{*}",
}  # fmt: skip
"""Also what is special at the beginning of a line of a table: ``[`` and ``*``."""
_MARKS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))


def render_latex(document: Mapping[str, Any]) -> str:
    """Give a table (package booktabs): a row for each measure, the better of the two bold, changes with their marks.

    A mark says how small p of the paired sign-flip test is, after Holm's correction for all measures of the table.
    Without a baseline the table has means only.
    """
    compared = any(one.get("difference") is not None for one in document["measures"])
    head = "Measure & Baseline & Candidate & Change & 95\\,\\% interval" if compared else "Measure & Mean & $n$"
    rows = [_compared(one) if compared else _alone(one) for one in document["measures"]]
    lines = [
        r"% Needs \usepackage{booktabs}.",
        r"\begin{table}",
        r"  \centering",
        f"  \\caption{{{_caption(document, compared=compared)}}}",
        r"  \label{tab:karat}",
        f"  \\begin{{tabular}}{{{'lrrrr' if compared else 'lrr'}}}",
        r"    \toprule",
        f"    {head} \\\\",
        r"    \midrule",
        *(f"    {row} \\\\" for row in rows),
        r"    \bottomrule",
        r"  \end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def latex(value: object) -> str:
    r"""Give text of unknown origin as LaTeX prints it.

    >>> latex("50% of a_b")
    '50\\% of a\\_b'
    """
    return re.sub("-(?=-)", "-{}", "".join(_SPECIAL.get(character, character) for character in plain(value)))


def _caption(document: Mapping[str, Any], *, compared: bool) -> str:
    golden, run = document["golden"], document["run"]
    name = f"{golden.get('name', '')} {golden.get('version', '')}".strip()
    words = f"{latex(run['name'])} on {latex(name)}, {run['queries']:,} queries."
    if compared:
        words += (
            f" Baseline: {latex(document['baseline']['name'])}, recorded {latex(document['baseline']['recorded'])}."
            " Marks: * $p \\le 0.05$, ** $p \\le 0.01$, *** $p \\le 0.001$ (paired sign-flip test, Holm)."
        )
    return words


def _alone(one: Mapping[str, Any]) -> str:
    return f"{latex(one['name'])} & {_number(one['mean'])} & {one['n']:,}"


def _compared(one: Mapping[str, Any]) -> str:
    better = gain(one, one.get("difference"))
    before, now = _number(one["baseline"]), _number(one["mean"])
    if better > 1e-9:
        now = f"\\textbf{{{now}}}"
    elif better < -1e-9:
        before = f"\\textbf{{{before}}}"
    interval = "--" if one.get("low") is None else f"$[{_signed(one['low'])}, {_signed(one['high'])}]$"
    change = "--" if one.get("difference") is None else f"${_signed(one['difference'])}${_mark(one.get('p_corrected'))}"
    return f"{latex(one['name'])} & {before} & {now} & {change} & {interval}"


def _mark(p: float | None) -> str:
    stars = next((stars for limit, stars in _MARKS if p is not None and p <= limit), "")
    return f"\\textsuperscript{{{stars}}}" if stars else ""


def _number(value: float | None) -> str:
    return "--" if value is None else f"{value:.4f}"


def _signed(value: float) -> str:
    return f"{value + 0.0:+.4f}"
