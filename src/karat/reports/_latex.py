"""The measures as a table for a paper."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import UNSET

from karat.reports._words import clean
from karat.schema import DecisionDocument, MeasureRow

_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': "{''}", "`": r"\textasciigrave{}", "[": "{[}", "]": "{]}", "*": "{*}",
}  # fmt: skip
"""``[`` and ``*`` are special at the beginning of a line of a table."""
_EVERYWHERE = frozenset(
    "¡¢£§©ª®°±µ¶·º¿ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖ×ØÙÚÛÜÝßàáâãäåæçèéêëìíîïñòóôõö÷øùúûüýÿ"  # noqa: RUF001
    "ĀāĂăĆćČčĎďĒēĔĕĖėĚěĞğĢģĪīİıĶķĹĺĻļĽľŁłŃńŅņŇňŌōŐőŒœŔŕŘřŚśŞşŠšŢţŤťŪūŮůŰűŸŹźŻżŽž–—‘’“”†‡•…€™"  # noqa: RUF001
)
"""Characters that pdflatex prints without any package, and that the default font of lualatex and xelatex has."""
LETTER = r"""% A character that the fonts of a document lack is printed as a question mark: load an encoding
% that has it (pdflatex: fontenc), or a font (lualatex, xelatex: fontspec).
\providecommand{\karatletter}[2]{% its number, and itself
  \ifdefined\Umathchar \iffontchar\font#1 #2\else ?\fi
  \else\ifnum\pdfstrcmp{\encodingdefault}{OT1}=0 ?%
  \else\ifcsname u8:\detokenize{#2}\endcsname #2\else ?\fi\fi\fi}"""
"""OT1, the default encoding, has none of the characters that this is for, even where LaTeX knows them."""
_PAIRED = "-,'<>"
"""Two of them become a dash or a quotation mark, with lualatex even if an empty group stands between them."""
_MARKS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
_NAME = 80  # characters of a name in a caption


def render_latex(document: DecisionDocument) -> str:
    """Return a table (package booktabs) with a row for each measure; the better of two means is bold.

    A mark says how small p of the paired sign-flip test is, corrected for all measures of the table (Westfall and
    Young). Without a baseline the table has means only. Whatever the names are, pdflatex, lualatex and xelatex compile
    it.
    """
    compared = any(measure.comparison for measure in document.measures)
    table = "\n".join(_table(document, compared=compared)) + "\n"
    definitions = [LETTER] if r"\karatletter" in table else []
    return "\n".join([r"% Needs \usepackage{booktabs}.", *definitions, table])


def _table(document: DecisionDocument, *, compared: bool) -> Iterator[str]:
    # Marks have a column of their own, so that the numbers before them are aligned.
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
    for measure in document.measures:
        yield f"    {_comparison_row(measure) if compared else _mean_row(measure)} \\\\"
    yield r"    \bottomrule"
    yield r"  \end{tabular}"
    yield r"\end{table}"


def latex(value: object, width: int | None = None) -> str:
    r"""Return text of unknown origin as LaTeX prints it; a character that some fonts lack is left to ``\karatletter``.

    >>> latex("50% of a_b")
    '50\\% of a\\_b'
    >>> latex("naïve 検")
    'naïve \\karatletter{26908}{検}'
    """
    parts = re.split(f"(?<=[{_PAIRED}])(?=[{_PAIRED}])", clean(value, width))
    return r"{\kern0pt}".join("".join(map(_escape, part)) for part in parts)


def _escape(character: str) -> str:
    if character.isascii() or character in _EVERYWHERE:
        return _SPECIAL.get(character, character)
    return f"\\karatletter{{{ord(character)}}}{{{character}}}"


def _subject(document: DecisionDocument) -> str:
    return f"{latex(document.run.shown, _NAME)} on {latex(document.golden.full_name, _NAME)}"


def _label(document: DecisionDocument) -> str:
    """Return a label with the names of golden set and run, so that a paper can hold several tables."""
    words = f"{document.golden.name} {document.run.name}".lower()
    return "-".join(["tab:karat", *re.findall("[a-z0-9]+", words)])[:_NAME]


def _caption(document: DecisionDocument, subject: str, *, compared: bool) -> str:
    words = f"{subject}, {document.run.queries:,} queries."
    if compared and document.baseline:
        name, day = latex(document.baseline.shown, _NAME), latex(document.baseline.recorded)
        words += _partial(document) + (
            f" Baseline: {name}, recorded \\mbox{{{day}}}."
            " Marks: * $p \\le 0.05$, ** $p \\le 0.01$, *** $p \\le 0.001$ (paired sign-flip test, Westfall-Young)."
        )
    return words + _corrected(document)


def _corrected(document: DecisionDocument) -> str:
    """Return what people's labels make of judges' means: the numbers that rules look at."""
    rows = [(measure.name, measure.by_labels) for measure in document.measures if measure.by_labels is not UNSET]
    means = [f"{latex(name)} {_number(own.mean)}" for name, own in rows if own.mean is not None]
    return f" By people's labels, and not by the judge alone: {', '.join(means)}." if means else ""


def _partial(document: DecisionDocument) -> str:
    """Return how many queries the means cover, if the baseline does not have all of them."""
    counts = {measure.n_compared for measure in document.measures if measure.is_partial}
    if not counts:
        return ""
    sizes = sorted(count for count in counts if isinstance(count, int))
    span = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    return f" Means over the {span} that the baseline has, too."


def _mean_row(measure: MeasureRow) -> str:
    return f"{latex(measure.name)} & {_number(measure.mean)} & {measure.n:,}"


def _comparison_row(measure: MeasureRow) -> str:
    before, now = _number(measure.baseline), _number(measure.current)
    if measure.overall_gain > 1e-9:
        now = f"\\textbf{{{now}}}"
    elif measure.overall_gain < -1e-9:
        before = f"\\textbf{{{before}}}"
    change, mark, interval = "--", "", "--"
    if comparison := measure.comparison:
        change, mark = f"${_signed(comparison.difference)}$", _mark(comparison.p_corrected)
        if comparison.low is not None and comparison.high is not None:
            interval = f"$[{_signed(comparison.low)}, {_signed(comparison.high)}]$"
    return f"{latex(measure.name)} & {before} & {now} & {change} &{mark} & {interval}"


def _mark(p: float | None) -> str:
    stars = next((stars for limit, stars in _MARKS if p is not None and p <= limit), "")
    return f" \\textsuperscript{{{stars}}}" if stars else ""


def _number(value: float | None) -> str:
    return "--" if value is None else f"{value:.4f}"


def _signed(value: float) -> str:
    return f"{round(value, 4) + 0.0:+.4f}"
