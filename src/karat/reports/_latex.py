"""The measures as a table for a paper."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from karat.reports._words import gain, plain

_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': "{''}", "`": r"\textasciigrave{}", "[": "{[}", "]": "{]}", "*": "{*}",
}  # fmt: skip
"""Also what is special at the beginning of a line of a table: ``[`` and ``*``."""
_EVERYWHERE = frozenset(
    "¡¢£§©ª®°±µ¶·º¿ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖ×ØÙÚÛÜÝßàáâãäåæçèéêëìíîïñòóôõö÷øùúûüýÿ"  # noqa: RUF001
    "ĀāĂăĆćČčĎďĒēĔĕĖėĚěĞğĢģĪīİıĶķĹĺĻļĽľŁłŃńŅņŇňŌōŐőŒœŔŕŘřŚśŞşŠšŢţŤťŪūŮůŰűŸŹźŻżŽž–—‘’“”†‡•…€™"  # noqa: RUF001
)
"""What pdflatex prints without any package, and the default font of lualatex and xelatex has."""
_LETTER = r"""% A character that the fonts of a document lack is printed as a question mark: load an encoding
% that has it (pdflatex: fontenc), or a font (lualatex, xelatex: fontspec).
\providecommand{\karatletter}[2]{% its number, and itself
  \ifdefined\Umathchar \iffontchar\font#1 #2\else ?\fi
  \else\ifnum\pdfstrcmp{\encodingdefault}{OT1}=0 ?%
  \else\ifcsname u8:\detokenize{#2}\endcsname #2\else ?\fi\fi\fi}"""
"""OT1, the encoding of who chose none, has none of the characters that this is for, even where LaTeX knows them."""
_PAIRED = "-,'<>"
"""Two of them are printed as a dash or a quotation mark, by lualatex even with an empty group between them."""
_MARKS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
_NAME = 80  # characters of a name in a caption


def render_latex(document: Mapping[str, Any]) -> str:
    """Give a table (package booktabs): a row for each measure, the better of the two bold, changes with their marks.

    A mark says how small p of the paired sign-flip test is, after Holm's correction for all measures of the table.
    Without a baseline the table has means only. Whatever the names are, pdflatex, lualatex and xelatex compile it.
    """
    compared = any(one.get("difference") is not None for one in document["measures"])
    table = "\n".join(_table(document, compared=compared)) + "\n"
    needed = [_LETTER] if r"\karatletter" in table else []
    return "\n".join([r"% Needs \usepackage{booktabs}.", *needed, table])


def _table(document: Mapping[str, Any], *, compared: bool) -> Iterator[str]:
    # Marks have a column of their own, so that the numbers before them stand below each other.
    columns = "lrrr@{}lc" if compared else "lrr"
    head = r"Measure & Baseline & Candidate & Change & & 95\,\% interval" if compared else "Measure & Mean & $n$"
    short = _subject(document)
    yield r"\begin{table}"
    yield r"  \centering"
    yield f"  \\caption[{{{short}}}]{{{_caption(document, short, compared=compared)}}}"
    yield f"  \\label{{{_label(document)}}}"
    yield r"  \addvspace{\medskipamount}"
    yield f"  \\begin{{tabular}}{{{columns}}}"
    yield r"    \toprule"
    yield f"    {head} \\\\"
    yield r"    \midrule"
    for one in document["measures"]:
        yield f"    {_compared(one) if compared else _alone(one)} \\\\"
    yield r"    \bottomrule"
    yield r"  \end{tabular}"
    yield r"\end{table}"


def latex(value: object, width: int | None = None) -> str:
    r"""Give text of unknown origin as LaTeX prints it; what not every font has is left to ``\karatletter``.

    >>> latex("50% of a_b")
    '50\\% of a\\_b'
    >>> latex("naïve 検")
    'naïve \\karatletter{26908}{検}'
    """
    parts = re.split(f"(?<=[{_PAIRED}])(?=[{_PAIRED}])", plain(value, width))
    return r"{\kern0pt}".join("".join(map(_escaped, part)) for part in parts)


def _escaped(character: str) -> str:
    if character.isascii() or character in _EVERYWHERE:
        return _SPECIAL.get(character, character)
    return f"\\karatletter{{{ord(character)}}}{{{character}}}"


def _subject(document: Mapping[str, Any]) -> str:
    golden = document["golden"]
    name = f"{golden.get('name', '')} {golden.get('version', '')}".strip()
    return f"{latex(document['run']['name'], _NAME)} on {latex(name, _NAME)}"


def _label(document: Mapping[str, Any]) -> str:
    """Name the table after set and run, so that a paper can hold several."""
    words = f"{document['golden'].get('name', '')} {document['run']['name']}".lower()
    return "-".join(["tab:karat", *re.findall("[a-z0-9]+", words)])[:_NAME]


def _caption(document: Mapping[str, Any], subject: str, *, compared: bool) -> str:
    words = f"{subject}, {document['run']['queries']:,} queries."
    if compared:
        name, day = latex(document["baseline"]["name"], _NAME), latex(document["baseline"]["recorded"])
        words += (
            f" Baseline: {name}, recorded \\mbox{{{day}}}."
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
    change = "--" if one.get("difference") is None else f"${_signed(one['difference'])}$"
    return f"{latex(one['name'])} & {before} & {now} & {change} &{_mark(one.get('p_corrected'))} & {interval}"


def _mark(p: float | None) -> str:
    stars = next((stars for limit, stars in _MARKS if p is not None and p <= limit), "")
    return f" \\textsuperscript{{{stars}}}" if stars else ""


def _number(value: float | None) -> str:
    return "--" if value is None else f"{value:.4f}"


def _signed(value: float) -> str:
    return f"{round(value, 4) + 0.0:+.4f}"
