"""What every chunker can be told, and whether it makes sense."""

from __future__ import annotations

from typing import Any, Literal, Protocol, get_args

from karat.core import NORMALISER, UsageError, did_you_mean, shorten
from karat.systems.chunk._tokens import Tokens, name_of

Context = Literal["none", "title", "headings"]
"""What stands before the body of a chunk when it is indexed: nothing; the document's title; the title and the headings
above it. A chunk that begins with its title does not get it twice."""


class Options(Protocol):
    """The options that all chunkers have which cut by size."""

    @property
    def size(self) -> int:
        """The most tokens that a chunk may have, with its context."""
        ...

    @property
    def context(self) -> Context:
        """What stands before the body."""
        ...

    @property
    def tokens(self) -> Tokens:
        """What counts as a token."""
        ...


def check(chunker: str, options: Options) -> None:
    """Raise an error that names the option which makes no sense."""
    check_number(chunker, "size", options.size, least=1)
    check_context(chunker, options.context)
    if not callable(options.tokens):
        raise UsageError(
            f"{chunker}: tokens = {shorten(options.tokens)}; give a callable from a text to the places of its tokens"
        )
    name_of(options.tokens)


def check_overlap(chunker: str, overlap: int, size: int) -> None:
    """Refuse an overlap of more than half the size, with which every byte would be indexed three times and more."""
    check_number(chunker, "overlap", overlap)
    if overlap > size // 2:
        raise UsageError(f"{chunker}: overlap = {overlap}; give at most {size // 2}, half of size = {size}")


def check_number(chunker: str, option: str, value: object, *, least: int = 0) -> None:
    """Refuse what is no whole number, or too small."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise UsageError(f"{chunker}: {option} = {shorten(value)}; give a whole number of tokens")
    if value < least:
        raise UsageError(f"{chunker}: {option} = {value}; give at least {least}")


def check_context(chunker: str, context: object) -> None:
    """Refuse a context that is none of the three."""
    if context not in get_args(Context):
        known = get_args(Context)
        hint = did_you_mean(context, known) if isinstance(context, str) else ""
        raise UsageError(f"{chunker}: context = {shorten(context)}{hint or '; choose from ' + ', '.join(known)}")


def described(chunker: str, options: Options, **more: Any) -> dict[str, Any]:
    """Give all that decides what the chunks are; ``version`` rises when the rules of a chunker change."""
    return {
        "chunker": chunker,
        "version": 1,
        "normaliser": NORMALISER,
        "size": options.size,
        **more,
        "context": options.context,
        "tokens": name_of(options.tokens),
    }
