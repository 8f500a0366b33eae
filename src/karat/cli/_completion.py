"""``karat completion``: what a shell needs to complete verbs, options, choices, measures and files."""

from __future__ import annotations

import click

from karat.cli._table import emit_data

SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(context: click.Context, /, shell: str) -> None:
    """Print the lines that let SHELL complete the command line of karat: bash, zsh or fish.

    This completes verbs, options, their choices, measures and files. For bash, put this into ~/.bashrc:
    eval "$(karat completion bash)"

    Example: karat completion bash
    """
    from karat.cli._completing import make_completion

    emit_data(make_completion(shell, context.find_root().command).source().lstrip("\n") + "\n")
