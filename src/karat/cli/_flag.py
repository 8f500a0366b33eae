"""``karat flag``: who gets a feature, and who changed that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from karat.cli._pairs import find_user, split_pairs
from karat.cli._table import emit, escaped, render
from karat.cli._verbs import HintingGroup

if TYPE_CHECKING:
    from karat.schema.trials import FlagChangeRow, FlagHistory, FlagList, FlagRow

_STORE = click.option("--store", metavar="FILE", default="karat.db", show_default=True, help="The store of the log.")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_FIELDS = ("percent", "variants", "overrides", "enabled", "shadow_percent", "salt")


@click.group("flag", cls=HintingGroup)
def command() -> None:
    """Flags decide which sessions get a feature. Hosts see a change within a second.

    Example: karat flag list
    """


@command.command("list", short_help="List the flags.")
@_STORE
@_JSON
def list_(store: str, as_json: bool) -> None:
    """List the flags of a store.

    Example: karat flag list --store karat.db
    """
    from karat.online.flags import list_flags
    from karat.schema import to_json

    document = list_flags(store)
    emit(to_json(document) if as_json else _list_text(document))


@command.command("set", short_help="Change a flag, or create it.")
@click.argument("key")
@click.option("--percent", type=float, help="The share of sessions that get the feature.")
@click.option("--shadow", "shadow_percent", type=float, help="The share of sessions that run it in the shadow.")
@click.option("--on/--off", "enabled", default=None, help="The kill switch: after --off everybody gets the control.")
@click.option("--variant", "variants", multiple=True, metavar="NAME=WEIGHT", help="A variant; can be repeated.")
@click.option(
    "--override", "overrides", multiple=True, metavar="UNIT=VARIANT", help="Who always gets a variant; can be repeated."
)
@click.option("--no-overrides", is_flag=True, help="Remove all overrides.")
@click.option("--salt", help="What deals the sessions.  [default: the key]")
@click.option("--reason", required=True, help="Why, for the history.")
@click.option("--author", help="Who, for the history.  [default: the user of this machine]")
@click.option(
    "--expect",
    "expected",
    type=click.IntRange(min=0),
    metavar="VERSION",
    help="Change the flag only if this is still its version.",
)
@_STORE
@_JSON
def set_(
    key: str,
    variants: tuple[str, ...],
    overrides: tuple[str, ...],
    no_overrides: bool,
    reason: str,
    author: str | None,
    expected: int | None,
    store: str,
    as_json: bool,
    **fields: Any,
) -> None:
    """Change the flag KEY. What you do not name stays as it is; a new flag begins with 0 %.

    Variants, and overrides, replace all earlier ones. Every change is in the history.

    Example: karat flag set rerank --percent 5 --reason "canary of the new reranker"
    """
    from karat.online.flags import set_flag
    from karat.schema import to_json

    changes = {name: value for name, value in fields.items() if value is not None}
    if variants:
        changes["variants"] = {name: _parse_weight(name, weight) for name, weight in split_pairs("--variant", variants)}
    if overrides or no_overrides:
        changes["overrides"] = dict(split_pairs("--override", overrides))
    change = set_flag(store, key, changes, author=author or find_user(), reason=reason, expected=expected)
    emit(to_json(change) if as_json else _change_text(change))


@command.command("history", short_help="Show who changed flags, when and why.")
@click.argument("key", required=False, metavar="[KEY]")
@_STORE
@_JSON
def history(key: str | None, store: str, as_json: bool) -> None:
    """Show the changes of the flag KEY, or of all flags, the oldest first.

    Example: karat flag history rerank
    """
    from karat.online.flags import show_flag_history
    from karat.schema import to_json

    document = show_flag_history(store, key)
    emit(to_json(document) if as_json else _history_text(document))


def _parse_weight(name: str, weight: str) -> int:
    try:
        return int(weight)
    except ValueError:
        raise click.BadParameter(f"{weight!r} of {name!r} is not a whole number", param_hint="--variant") from None


def _list_text(document: FlagList) -> str:
    if not document.flags:
        return f"{escaped(document.store)} has no flags; karat flag set makes one"
    rows = [["flag", "percent", "shadow", "version", "variants", "overrides"]]
    for flag in document.flags:
        percent = f"{flag.percent:g} %" if flag.enabled else "off"
        variants = ", ".join(f"{name}={weight}" for name, weight in flag.variants.items())
        shadow = f"{flag.shadow_percent:g} %" if flag.enabled else "off"
        rows.append([flag.key, percent, shadow, str(flag.version), variants, str(len(flag.overrides))])
    return render(rows)


def _history_text(document: FlagHistory) -> str:
    if not document.changes:
        return f"{escaped(document.store)} has no flags"
    return "\n".join(_change_text(change) for change in document.changes)


def _change_text(change: FlagChangeRow) -> str:
    if not change.changed:
        return f"{escaped(change.key)} is like that already, version {change.after.version}"
    moved = ", ".join(_moves(change.before, change.after)) or "new, 0 %"
    who = f"by {escaped(change.author)}: {escaped(change.reason)}"
    return f"{change.time}  {escaped(change.key)} version {change.after.version}: {escaped(moved)}; {who}"


def _moves(before: FlagRow | None, after: FlagRow) -> list[str]:
    """Return the fields that changed, from what to what."""
    moves = []
    for name in _FIELDS:
        now = getattr(after, name)
        if name == "enabled":
            if now is not (before is None or before.enabled):
                moves.append("on" if now else "off")
        elif before is None:
            if now not in (0, "", {}, {"treatment": 1}, True):
                moves.append(f"{name} {_value(now)}")
        elif getattr(before, name) != now:
            moves.append(f"{name} {_value(getattr(before, name))} -> {_value(now)}")
    return moves


def _value(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}={item}" for name, item in value.items()) + "}"
    return f"{value:g}" if isinstance(value, float) else str(value)
