"""Groups of verbs, which are imported only when they are called."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from karat.core import did_you_mean

_LIMIT = "max_bytes"
_WITHOUT = ("measures", "trec-eval")
"""The first reads no file, and the second has the options of trec_eval and no others."""


def _limit_option() -> click.Option:
    """Return the option that all verbs have that read files."""
    text = "Read files and sets of up to so many bytes, unpacked, such as 8G.  [default: 2G]"
    return click.Option(
        ["--max-bytes"], metavar="SIZE", help=text, expose_value=False, is_eager=True, callback=_set_limit
    )


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


class Verbs(click.Group):
    """A group of verbs by the module of each. The help of the group lists them in sections, if there are any.

    Sections have the summary of each verb; without sections it is that of the verb's module.
    A group may have a ``default``, the verb that is meant where the first word is none.
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
        has_limit = any(option.name == _LIMIT for option in command.params)
        if not (has_limit or name in _WITHOUT or isinstance(command, click.Group)):
            command.params.append(_limit_option())
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if self.default and (not args or args[0] not in (*self.verbs, *self.get_help_option_names(ctx))):
            args = [self.default, *args]
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[Any, Any, list[str]]:
        if args and args[0] not in self.verbs:
            ctx.fail(f"no verb {args[0]!r}{did_you_mean(args[0], self.verbs)}")
        return super().resolve_command(ctx, args)
