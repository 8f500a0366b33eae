"""Groups of verbs, which are imported only when they are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import click

from karat.core import did_you_mean


class Verbs(click.Group):
    """A group of verbs by the module of each. The help of the group lists them in sections, if there are any."""

    def __init__(
        self,
        *arguments: Any,
        verbs: Mapping[str, str],
        sections: Mapping[str, Sequence[str]] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(*arguments, **options)
        self.verbs = verbs
        self.sections = sections or {"Commands": sorted(verbs)}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        return sorted(self.verbs)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the summary of each verb, section by section, in columns of the same width."""
        width = max(map(len, self.verbs))
        for title, names in self.sections.items():
            commands = [(name, self.get_command(ctx, name)) for name in names]
            limit = formatter.width - 6 - width
            rows = [(name.ljust(width), command.get_short_help_str(limit)) for name, command in commands if command]
            with formatter.section(title):
                formatter.write_dl(rows)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002 (click's signature)
        if name not in self.verbs:
            return None
        command: click.Command = import_module(self.verbs[name]).command
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[Any, Any, list[str]]:
        if args and args[0] not in self.verbs:
            ctx.fail(f"no verb {args[0]!r}{did_you_mean(args[0], self.verbs)}")
        return super().resolve_command(ctx, args)
