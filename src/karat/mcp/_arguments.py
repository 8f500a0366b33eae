"""The arguments of each tool: typed values, whose JSON Schema is the input schema of the tool."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from msgspec import Meta, Struct, structs

from karat.core import UsageError, did_you_mean, shorten
from karat.schema import Mismatch, from_plain

_LONGEST = 300
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")

Name = Annotated[str, Meta(max_length=_LONGEST)]
Run = Annotated[
    str,
    Meta(
        max_length=_LONGEST,
        description="A run of the project: its file, label, title or commit, as list_runs shows them. "
        "Empty: the newest complete run.",
    ),
]
Measures = Annotated[
    tuple[Name, ...], Meta(max_length=10, description="Measures such as nDCG@10. Empty: those of the project.")
]


Reason = Annotated[
    str, Meta(min_length=1, max_length=1_000, description="Why, for the person who decides: quote what shows it.")
]


class NoArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a resource takes."""


class CheckArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``check`` takes."""

    label: Annotated[str, Meta(max_length=80, description="A name for the run: what you changed.")] = ""


class GateArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``gate`` takes."""

    run: Run = ""


class CompareArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``compare_runs`` takes."""

    before: Annotated[
        str,
        Meta(max_length=_LONGEST, description="The run to compare with, named as candidate is. Empty: the baseline."),
    ] = ""
    candidate: Run = ""
    measures: Measures = ()


class ExplainArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``explain`` takes."""

    query: Annotated[
        str, Meta(max_length=_LONGEST, description="The id of a query. Empty: all that failed, grouped by cause.")
    ] = ""
    run: Run = ""
    ask: Annotated[
        bool, Meta(description="Ask the system again with one thing changed; false only reads the run, which is quick.")
    ] = True


class ListArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``list_runs`` takes."""

    last: Annotated[int, Meta(ge=1, le=50, description="How many of the newest runs.")] = 10
    measures: Measures = ()


class NextArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``next_pair`` takes."""

    queue: Annotated[str, Meta(max_length=50, description="A queue. Empty: the first that has something left.")] = ""


class JudgmentArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``propose_judgment`` takes."""

    query: Annotated[str, Meta(max_length=_LONGEST, description="The id of a query of the golden set.")]
    document: Annotated[str, Meta(max_length=_LONGEST, description="The id of a document of the golden set.")]
    grade: Annotated[int, Meta(ge=0, le=100, description="On the scale of the golden set: 0 is not relevant.")]
    reason: Reason


class QueryArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``propose_query`` takes."""

    text: Annotated[str, Meta(min_length=1, max_length=1_000, description="What somebody would ask.")]
    reason: Reason
    document: Annotated[
        str, Meta(max_length=_LONGEST, description="The id of a document that answers it, unless it is a paraphrase.")
    ] = ""
    grade: Annotated[int, Meta(ge=1, le=100, description="How well, on the scale of the golden set.")] = 1
    of: Annotated[
        str, Meta(max_length=_LONGEST, description="The id of the query that text is a paraphrase of. Empty: new.")
    ] = ""


Arguments = TypeVar("Arguments", bound=Struct)


def read_arguments(kind: type[Arguments], values: Mapping[str, Any]) -> Arguments:
    """Return the arguments of a call; raise UsageError with what is wrong, where, and what to do.

    >>> read_arguments(ListArguments, {"last": 3}).last
    3
    >>> read_arguments(ListArguments, {"lats": 3})
    Traceback (most recent call last):
        ...
    karat.core._errors.UsageError: there is no argument 'lats', did you mean 'last'?
    """
    names = kind.__struct_fields__
    for name in values:
        if name not in names:
            others = did_you_mean(name, names) or f"; there are {', '.join(names)}"
            raise UsageError(f"there is no argument {shorten(name)}{others}")
    try:
        arguments = from_plain(dict(values), kind)
    except Mismatch as error:
        raise UsageError(f"argument {str(error).removeprefix('$.')}") from None
    for name, value in structs.asdict(arguments).items():
        for text in value if isinstance(value, tuple) else (value,):
            if isinstance(text, str) and _CONTROL.search(text if name not in _PROSE else text.replace("\n", " ")):
                raise UsageError(f"argument {name}: has a control character; leave it out")
    return arguments


_PROSE = ("text", "reason", "note")
"""Arguments that may have several lines."""
