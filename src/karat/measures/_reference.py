"""The page docs/measures.md, generated from the table of measures.

``./scripts/docs`` writes it, and a test compares.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable

from karat.core import MEASURES, Definition, Parameter
from karat.measures._measure import Bound

SECTIONS = ("Formula", "Range", "Convention", "Citation")
"""The sections of every measure's docstring, besides a summary and an example."""

_INTRODUCTION = """\
<!-- Written by scripts/docs from the table of measures. Change the docstrings of the kernels instead. -->
# Measures

`karat measures` lists what can be measured, `karat measures nDCG` explains one, and `--json` gives either as JSON.

A measure is written `Name(parameter=value, ...)@k`. Case does not matter. Brackets and cut-off are left out where there
is nothing to say. Every measure has one canonical name, which is its key in tables, JSON and frames: `mrr@10`,
`recip_rank@10` and `RR(rel=1)@10` are all `RR@10`. Names as other tools write them are known, too: `ndcg_cut_10`,
`P.10`, `recall_1000`, `iprec_at_recall_0.10`, `ndcg_at_10`, `mrr@10-l2`, `rbp.95`.

A cut-off `@k` is a rank from 1 up; for `IPrec` it is a recall level from 0 to 1. A parameter that has its default value
is not part of the name. In a shell, put quotes around a measure that has brackets: `-m 'nDCG(gain=exp)@10'`.

A query for which a measure is undefined has no value. It is left out of the mean, counted, and shown;
`--undefined zero` or `--undefined one` gives it a value instead. See [Conventions](conventions.md).

Documents that nobody judged count as not relevant; `--bounds` shows how far they could move each measure: see
[Unjudged documents](score.md#unjudged-documents).

You can write [a measure of your own](own-measures.md) and name it as `my_measures:Miss@5`.

Repeated trials of one system give pass@k and pass^k of any measure: see [Trials](score.md#trials).
"""


def reference() -> str:
    """Return the page as Markdown."""
    definitions = [d for d in MEASURES if d.kernel.__module__.startswith("karat.measures.")]
    parts = [_INTRODUCTION, _index(definitions)]
    # One group per file of kernels, titled by its docstring, in the file's order; experimental measures come last.
    groups = {d.kernel.__module__ for d in definitions}
    for group in sorted(groups, key=lambda name: (name.endswith("_experimental"), name)):
        title = (sys.modules[group].__doc__ or group).split("\n", 1)[0].split(",")[0].rstrip(".")
        parts.append(f"## {title}\n")
        members = [d for d in definitions if d.kernel.__module__ == group]
        parts += [_entry(d) for d in sorted(members, key=lambda d: inspect.getsourcelines(d.kernel)[1])]
    return "\n".join(parts)


def sections(definition: Definition) -> dict[str, str]:
    """Split a docstring into ``Summary``, the four sections, and ``Example``; absent sections are left out.

    >>> sections(MEASURES.get("RR"))["Formula"]
    'RR@k = 1 / rank of the first relevant document, 0 if none is in the top k'
    """
    prose, arrow, example = inspect.cleandoc(definition.doc).partition(">>> ")
    lines_of: dict[str, list[str]] = {"Summary": []}
    current = lines_of["Summary"]
    for line in prose.splitlines():
        match = re.fullmatch(rf"({'|'.join(SECTIONS)}): (.*)", line)
        if match:
            current = lines_of.setdefault(match[1], [])
        current.append(match[2] if match else line.strip())
    texts = {name: " ".join(filter(None, lines)) for name, lines in lines_of.items()}
    return texts | ({"Example": arrow + example.rstrip()} if arrow else {})


def _index(definitions: Iterable[Definition]) -> str:
    rows = [f"| [{d.name}](#{d.name.lower()}) | {_cell(sections(d)['Summary'])} |" for d in definitions]
    return "\n".join(["| measure | what it is |", "|---|---|", *rows, ""])


def _entry(definition: Definition) -> str:
    texts = sections(definition)
    facts = {
        "Write": _usage(definition),
        "Also known as": ", ".join(f"`{alias}`" for alias in definition.aliases),
        "Formula": f"`{texts.get('Formula', '')}`",
        "Range": texts.get("Range", ""),
        "Convention": texts.get("Convention", ""),
        "Over queries": {"mean": "mean", "sum": "sum, beside the mean", "geometric": "geometric mean"}[
            definition.aggregate
        ],
        "Better": {True: "higher", False: "lower", None: "neither"}[definition.higher_is_better],
        "Bounds over unjudged documents": _bounds(definition),
        "Citation": texts.get("Citation", ""),
    }
    lines = [f"### {definition.name}", "", texts["Summary"], ""]
    lines += [f"- {name}: {fact}" for name, fact in facts.items() if fact]
    if definition.parameters:
        lines += ["", "| parameter | values | default | meaning |", "|---|---|---|---|"]
        lines += [_parameter(p) for p in definition.parameters]
    return "\n".join([*lines, "", "```python", texts.get("Example", ""), "```", ""])


def _bounds(definition: Definition) -> str:
    """Return whether unjudged documents can be bounded, as ``--bounds`` does."""
    if definition.higher_is_better is None or definition.unjudged is None:
        return "none"
    both = "exact, also of the difference of two runs"
    if isinstance(definition.unjudged, Bound):
        bound = definition.unjudged
        return both if bound.difference else "exact" if bound.exact else "the worst is exact, the best a bound"
    texts = {
        "monotone": "exact",
        "additive": both,
        "share": both,
        "best": both,
        "independent": "judgments do not matter",
        "counted": "none, since it counts them",
    }
    return texts[definition.unjudged]


def _usage(definition: Definition) -> str:
    name = definition.name
    return {
        "none": f"`{name}`",
        "optional": f"`{name}` or `{name}@k`",
        "required": f"`{name}@k`",
        "recall": f"`{name}@x`, x from 0 to 1",
    }[definition.cutoff]


def _parameter(parameter: Parameter) -> str:
    values = " or ".join(f"`'{choice}'`" for choice in parameter.choices) or {
        "int": "whole number",
        "float": "number",
        "bool": "`True` or `False`",
        "str": "text",
        "gains": "`{grade: gain, ...}`",
    }.get(parameter.kind, parameter.kind)
    if parameter.low is not None:
        values += f", at least {parameter.low:g}"
    if parameter.high is not None:
        values += f", at most {parameter.high:g}"
    default = "none" if parameter.default is None else f"`{parameter.default!r}`"
    return f"| `{parameter.name}` | {values} | {default} | {_cell(parameter.help)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(reference())
