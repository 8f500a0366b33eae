"""Groups of verbs, which are imported only when they are called."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import click

from karat.core import did_you_mean

_LIMIT = "max_bytes"
_WITHOUT = ("completion", "doctor", "engine", "flag", "measures", "store", "systems", "token", "trec-eval")
"""The last has the options of trec_eval and no others, and those before read no file of data."""
_READING = {"trial": ("collect", "holdout", "plan", "record")}
"""The verbs of a group that read files of data, where others read nothing but a store."""


def _limit_option() -> click.Option:
    """Return the option that all verbs have that read files."""
    text = "The largest file or set to read, in unpacked bytes, such as 8G.  [default: 2G]"
    return click.Option(
        ["--max-bytes"], metavar="SIZE", help=text, expose_value=False, is_eager=True, callback=_set_limit
    )


def _add_limit(name: str, command: click.Command) -> None:
    """Add the option to a verb, or to those of a group, that read files."""
    if name in _WITHOUT or isinstance(command, Verbs):  # which adds it to a verb when that is called
        return
    if isinstance(command, click.Group):
        for verb, own in command.commands.items():
            if verb in _READING.get(name, command.commands):
                _add_limit(verb, own)
    elif not any(option.name == _LIMIT for option in command.params):
        command.params.append(_limit_option())


def _set_limit(context: click.Context, _: click.Parameter, size: str | None) -> None:
    """Set the limit while the verb runs, also for what it starts."""
    from karat.files import VARIABLE, parse_size

    if size is None or context.resilient_parsing:
        return
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = str(parse_size(size, "--max-bytes"))
    context.call_on_close(lambda: _restore(VARIABLE, before))


def _restore(variable: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(variable, None)
    else:
        os.environ[variable] = value


_SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "add": ("record", "save", "merge"),
    "create": ("queue", "start", "init"),
    "delete": ("prune", "forget", "remove", "undo"),
    "drop": ("prune", "forget"),
    "export": ("convert",),
    "evaluate": ("eval",),
    "lint": ("check",),
    "ls": ("list", "status"),
    "make": ("queue", "synth"),
    "new": ("init", "queue", "start"),
    "remove": ("prune", "forget"),
    "rm": ("prune", "forget"),
    "set-up": ("init",),
    "stats": ("report", "status", "health"),
    "test": ("check", "gate"),
    "validate": ("check",),
    "verify": ("check", "gate"),
    "view": ("show", "serve"),
    "why": ("explain",),
}
"""The verbs that people may mean by a word that is none."""


class HintingGroup(click.Group):
    """A group that answers a word that is no verb of it with the verbs that may be meant."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[Any, Any, list[str]]:
        verbs = self.list_commands(ctx)
        if args and not args[0].startswith("-") and args[0] not in verbs:
            if ctx.resilient_parsing:  # a shell completes what comes after a mistyped verb
                return None, None, []
            ctx.fail(f"no verb {args[0]!r}{self._find_meant(ctx, args[0], verbs)}")
        return super().resolve_command(ctx, args)

    def _find_meant(self, ctx: click.Context, word: str, verbs: Sequence[str]) -> str:
        """Return the verbs that a word may mean: synonyms, then similar ones, then those of karat itself."""
        synonyms = _SYNONYMS.get(word.lower(), ())
        if meant := [verb for verb in synonyms if verb in verbs]:
            return f", did you mean {' or '.join(map(repr, meant))}?"
        if near := did_you_mean(word, verbs):
            return near
        top = ctx.find_root()
        if top is ctx or not isinstance(top.command, click.Group):
            return f"; '{ctx.command_path} --help' lists the verbs"
        if elsewhere := [verb for verb in (word, *synonyms) if verb in top.command.list_commands(top)]:
            return f", did you mean '{top.info_name} {elsewhere[0]}'?"
        return f"; it has {', '.join(verbs)}"


class DefaultGroup(HintingGroup):
    """A group that may have a ``default``: the verb that is meant where the first word is none."""

    default = ""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        known = (*self.list_commands(ctx), *self.get_help_option_names(ctx))
        is_completed = ctx.resilient_parsing and not args  # a shell asks which verbs there are
        if self.default and not is_completed and (not args or args[0] not in known):
            args = [self.default, *args]
        return super().parse_args(ctx, args)


class FolderlessGroup(HintingGroup):
    """A group whose verbs take a folder: one in the place of the verb is answered with what to type."""

    def __init__(self, *arguments: Any, instead: str, **options: Any) -> None:
        """``instead`` is the command to type, with {} for the folder."""
        super().__init__(*arguments, **options)
        self.instead = instead

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if self.get_command(ctx, args[0]) is None and os.path.isdir(args[0]):  # noqa: PTH112 (no import of pathlib)
            ctx.fail(f"{args[0]} is a folder; type {self.instead.format(args[0])}")
        return super().resolve_command(ctx, args)


class Verbs(DefaultGroup):
    """A group of verbs by the module of each. The help of the group lists them in sections, if there are any.

    Sections have the summary of each verb; without sections it is that of the verb's module.
    """

    def __init__(
        self,
        *arguments: Any,
        verbs: Mapping[str, str],
        sections: Mapping[str, Mapping[str, str]] | None = None,
        default: str = "",
        **options: Any,
    ) -> None:
        super().__init__(*arguments, **options)
        self.default = default
        self.verbs = verbs
        self.sections = sections or {"Commands": dict.fromkeys(sorted(verbs), "")}
        self.summaries = {name: text for section in self.sections.values() for name, text in section.items() if text}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        return sorted(self.verbs)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the summary of each verb, section by section, in columns of the same width."""
        width = max(map(len, self.verbs))
        for title, section in self.sections.items():
            rows = [(name.ljust(width), text or self._summarise(ctx, name)) for name, text in section.items()]
            with formatter.section(title):
                formatter.write_dl(rows)

    def _summarise(self, ctx: click.Context, name: str) -> str:
        command = self.get_command(ctx, name)
        return "" if command is None else command.get_short_help_str()

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002 (click's signature)
        if name not in self.verbs:
            return None
        command: click.Command = import_module(self.verbs[name]).command
        command.short_help = self.summaries.get(name, command.short_help)
        _add_limit(name, command)
        return command
