"""Answers to a shell that completes a command line; click has the protocol, and the script of each shell."""

from __future__ import annotations

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    _resolve_context,
    _resolve_incomplete,
    add_completion_class,
)

VARIABLE = "_KARAT_COMPLETE"
"""The environment variable by which the script of a shell asks for completions."""
_MEASURES = ("MEASURE", "NAME[=WEIGHT]")
_FOLDER = "DIR"


class _Completions(ShellComplete):
    """Completes files where click knows nothing, since most arguments are paths, and the names of measures."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        items = super().get_completions(args, incomplete)
        if items or incomplete.startswith("-"):
            return items
        context = _resolve_context(self.cli, self.ctx_args, self.prog_name, args)
        if default := getattr(context.command, "default", ""):  # as in karat judge DIR
            return self.get_completions([*args, default], incomplete)
        parameter, incomplete = _resolve_incomplete(context, args, incomplete)
        return _complete(parameter, incomplete) if isinstance(parameter, click.Parameter) else []


def _complete(parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return measures, or let the shell complete a folder or a file."""
    if parameter.type is not click.STRING:
        return []
    if parameter.metavar in _MEASURES:
        return [CompletionItem(name) for name in _list_measures(incomplete)]
    kind = "dir" if parameter.metavar in (_FOLDER, f"[{_FOLDER}]") else "file"
    return [CompletionItem(incomplete, type=kind)]


def _list_measures(incomplete: str) -> list[str]:
    from karat.core import MEASURES

    return sorted(m.name for m in MEASURES if m.name.lower().startswith(incomplete.lower()))


class _Bash(_Completions, BashComplete):
    """bash 4.4 and newer."""


class _Zsh(_Completions, ZshComplete):
    """zsh."""


class _Fish(_Completions, FishComplete):
    """fish."""


_CLASSES: dict[str, type[ShellComplete]] = {"bash": _Bash, "zsh": _Zsh, "fish": _Fish}


def make_completion(shell: str, cli: click.Command) -> ShellComplete:
    """Return what completes karat's command line in a shell."""
    return _CLASSES[shell](cli, {}, "karat", VARIABLE)


def answer_shell(cli: click.Command) -> None:
    """Answer the shell that asks through the environment, and exit."""
    for complete in _CLASSES.values():
        add_completion_class(complete)
    cli.main(prog_name="karat")
