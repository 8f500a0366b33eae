"""Options that have a name and a value, and who gives them."""

from __future__ import annotations

import click


def split_pairs(option: str, pairs: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return names and values of an option such as ``--variant NAME=WEIGHT``; the last = is between them.

    >>> split_pairs("--override", ("a=b=control",))
    [('a=b', 'control')]
    """
    parts = [pair.rpartition("=") for pair in pairs]
    for (name, _, value), pair in zip(parts, pairs, strict=True):
        if not name or not value:
            raise click.BadParameter(f"{pair!r} should be a name and a value, with = between them", param_hint=option)
    return [(name, value) for name, _, value in parts]


def find_user() -> str:
    """Return who runs the command."""
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        raise click.UsageError("karat cannot find out who you are: pass --author") from None
