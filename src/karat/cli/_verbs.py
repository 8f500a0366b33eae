"""Groups of verbs, each imported only when it is called."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from karat.core import did_you_mean


class Verbs(click.Group):
    """Imports a verb only when it is called; help for all of them reads their one-line summaries."""

    def __init__(self, *arguments: Any, verbs: Mapping[str, str], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.verbs = verbs

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        return sorted(self.verbs)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002 (click's signature)
        if name not in self.verbs:
            return None
        command: click.Command = import_module(self.verbs[name]).command
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[Any, Any, list[str]]:
        if args and args[0] not in self.verbs:
            ctx.fail(f"no verb {args[0]!r}{did_you_mean(args[0], self.verbs)}")
        return super().resolve_command(ctx, args)
