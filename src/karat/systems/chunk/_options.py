"""The options of chunkers, and their validation."""

from __future__ import annotations

from typing import Any, Literal, Protocol, get_args

from karat.core import NORMALISER, UsageError, did_you_mean, shorten
from karat.systems.chunk._tokens import Tokens, name_of

Context = Literal["none", "title", "headings"]
"""What is indexed before the body of a chunk: nothing, the document's title, or the title and the headings above it. A
chunk that begins with its title does not get it twice."""


class Options(Protocol):
    """The options of all chunkers that cut by size."""

    @property
    def size(self) -> int:
        """The largest number of tokens in a chunk, with its context."""
        ...

    @property
    def context(self) -> Context:
        """What is indexed before the body."""
        ...

    @property
    def tokens(self) -> Tokens:
        """What counts as a token."""
        ...


def check(chunker: str, options: Options) -> None:
    """Raise UsageError, with its name, for an option that is not valid."""
    check_number(chunker, "size", options.size, least=1)
    check_context(chunker, options.context)
    if not callable(options.tokens):
        raise UsageError(f"{chunker}: tokens = {shorten(options.tokens)}; pass a function from a text to its tokens")
    name_of(options.tokens)


def check_overlap(chunker: str, overlap: int, size: int) -> None:
    """Raise UsageError for an overlap of more than half the size, which would index every byte three times or more."""
    check_number(chunker, "overlap", overlap)
    if overlap > size // 2:
        raise UsageError(f"{chunker}: overlap = {overlap}; choose at most {size // 2}, half of size = {size}")


def check_number(chunker: str, option: str, value: object, *, least: int = 0) -> None:
    """Raise UsageError for a value that is not a whole number, or too small."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise UsageError(f"{chunker}: {option} = {shorten(value)}; choose a whole number of tokens")
    if value < least:
        raise UsageError(f"{chunker}: {option} = {value}; choose at least {least}")


def check_context(chunker: str, context: object) -> None:
    """Raise UsageError for an unknown context."""
    if context not in get_args(Context):
        choices = get_args(Context)
        hint = did_you_mean(context, choices) if isinstance(context, str) else ""
        raise UsageError(f"{chunker}: context = {shorten(context)}{hint or '; choose from ' + ', '.join(choices)}")


def describe_options(chunker: str, options: Options, **more: Any) -> dict[str, Any]:
    """Return everything that decides what the chunks are; ``version`` rises when the rules of a chunker change."""
    return {
        "chunker": chunker,
        "version": 1,
        "normaliser": NORMALISER,
        "size": options.size,
        **more,
        "context": options.context,
        "tokens": name_of(options.tokens),
    }
