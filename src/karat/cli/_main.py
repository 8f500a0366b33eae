"""The entry point of the command line: it runs a verb, and turns every error into a message and an exit code."""

from __future__ import annotations

import gc
import io
import os
import sys
import traceback

import click

from karat.cli._table import escaped, silence
from karat.cli._verbs import Verbs
from karat.core import KaratError, __version__

_SECTIONS = {
    "Start": ("init", "golden"),
    "Evaluate": ("eval", "score", "fuse", "sweep"),
    "Decide": ("check", "gate", "baseline", "compare", "power"),
    "Look": ("report", "trend", "experiments"),
    "Toolbox": ("measures", "trec-eval", "export"),
}
"""The verbs by what people want to do."""
_VERBS = {
    verb: f"karat.cli._{verb.replace('-', '_')}" for verbs in _SECTIONS.values() for verb in verbs
}  # fmt: skip


@click.group(
    cls=Verbs,
    verbs=_VERBS,
    sections=_SECTIONS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="karat")
def cli() -> None:
    """Measure retrieval: whether it is good, whether a change made it better or worse, and whether it may ship.

    Example: karat check examples/hotel
    """


def main() -> None:
    """Run the command line and exit: 0 pass, 1 gate failed, 2 usage or input, 3 infrastructure, 4 inconclusive."""
    # A command makes many values and few cycles. With Python's own threshold of 700, it looks for cycles in all of them
    # again and again, which takes a tenth of the time of a check.
    gc.set_threshold(100_000)
    if "_KARAT_COMPLETE" in os.environ:
        cli.main(prog_name="karat")  # a shell asks for completions; click prints them and exits
    try:
        code = _run(sys.argv[1:])
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        silence()  # the reader (head, less) has closed the pipe
        code = 0
    sys.exit(code)


def _run(arguments: list[str]) -> int:
    """Run a command line, and return its exit code.

    click's own ``main`` is not used because it exits with 1 if a pipe is closed, which here means a failed gate.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # print ids that the terminal's encoding lacks
    try:
        with cli.make_context("karat", arguments) as context:
            code = cli.invoke(context)
            return code if isinstance(code, int) else 0
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.ClickException as error:
        message = io.StringIO()
        error.show(file=message)
        click.echo("\n".join(map(escaped, message.getvalue().split("\n"))), nl=False, err=True)
        return error.exit_code
    except KaratError as error:
        click.echo("karat: " + "\n".join(map(escaped, error.lines)), err=True)
        if arguments[:1] == ["check"] and os.environ.get("GITHUB_ACTIONS") == "true":
            from karat.reports import annotation  # without a decision there is no report that shows the reason

            click.echo(annotation("error", "karat", "\n".join(map(escaped, error.lines))), err=True)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        return 130
    except BrokenPipeError:
        raise
    except Exception:
        # Python's own exit code would be 1, which a CI job would take for a failed gate.
        traceback.print_exc()
        click.echo("karat: this is a bug in karat, not in your input; please report the traceback above", err=True)
        return 3
