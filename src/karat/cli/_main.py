"""The door: finds the verb, and turns every mistake into one message and an exit code."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

import click

import karat
from karat.core import KaratError, did_you_mean

_VERBS = {
    "measures": "karat.cli._measures",
    "score": "karat.cli._score",
    "trec-eval": "karat.cli._trec_eval",
}


class _Verbs(click.Group):
    """Imports a verb only when it is called; help for all of them reads their one-line summaries."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        return sorted(_VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002 (click's signature)
        if name not in _VERBS:
            return None
        command: click.Command = import_module(_VERBS[name]).command
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[Any, Any, list[str]]:
        if args and args[0] not in _VERBS:
            ctx.fail(f"no verb {args[0]!r}{did_you_mean(args[0], _VERBS)}")
        return super().resolve_command(ctx, args)


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(karat.__version__, prog_name="karat")
def cli() -> None:
    """Measure retrieval: is it good, did a change make it better or worse, and may it ship.

    Example: karat score qrels.txt run.txt -m nDCG@10 -m R@100
    """


def main() -> None:
    """Run the command line and exit: 0 pass, 1 gate failed, 2 usage or input, 3 infrastructure, 4 inconclusive."""
    try:
        code = cli.main(standalone_mode=False, prog_name="karat")
        sys.stdout.flush()
    except click.exceptions.Exit as exit_:
        code = exit_.exit_code
    except click.UsageError as error:
        error.show()
        code = 2
    except KaratError as error:
        click.echo(f"karat: {error}", err=True)
        code = error.exit_code
    except click.exceptions.Abort:
        code = 130
    except BrokenPipeError:
        # The reader (head, less) has gone; nothing is left to say, also not when Python closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code if isinstance(code, int) else 0)
