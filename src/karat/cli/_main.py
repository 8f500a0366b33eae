"""The door: finds the verb, and turns every mistake into one message and an exit code."""

from __future__ import annotations

import io
import os
import sys
from importlib import import_module
from typing import Any

import click

import karat
from karat.cli._table import escaped, silence
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
    if "_KARAT_COMPLETE" in os.environ:
        cli.main(prog_name="karat")  # a shell asks how a line may go on; click answers and exits
    try:
        code = _run(sys.argv[1:])
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        silence()  # the reader (head, less) has gone, and nothing is left to say
        code = 0
    sys.exit(code)


def _run(arguments: list[str]) -> int:
    """Do what the command line says, and give the exit code.

    Not with click's own ``main``: for it a closed pipe is a failure with exit code 1, which here means a failed gate.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # an id that the terminal's encoding lacks is no failure
    try:
        with cli.make_context("karat", arguments) as context:
            code = cli.invoke(context)
            return code if isinstance(code, int) else 0
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.ClickException as error:
        shown = io.StringIO()
        error.show(file=shown)
        click.echo("\n".join(map(escaped, shown.getvalue().split("\n"))), nl=False, err=True)
        return error.exit_code
    except KaratError as error:
        click.echo(f"karat: {escaped(str(error))}", err=True)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        return 130
