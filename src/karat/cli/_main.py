"""The door: finds the verb, and turns every mistake into one message and an exit code."""

from __future__ import annotations

import io
import os
import sys
import traceback

import click

from karat.cli._table import escaped, silence
from karat.cli._verbs import Verbs
from karat.core import KaratError, __version__

_VERBS = {
    "fuse": "karat.cli._fuse",
    "eval": "karat.cli._eval",
    "baseline": "karat.cli._baseline",
    "check": "karat.cli._check",
    "compare": "karat.cli._compare",
    "experiments": "karat.cli._experiments",
    "export": "karat.cli._export",
    "gate": "karat.cli._gate",
    "golden": "karat.cli._golden",
    "init": "karat.cli._init",
    "measures": "karat.cli._measures",
    "power": "karat.cli._power",
    "report": "karat.cli._report",
    "score": "karat.cli._score",
    "sweep": "karat.cli._sweep",
    "trec-eval": "karat.cli._trec_eval",
    "trend": "karat.cli._trend",
}


@click.group(
    cls=Verbs, verbs=_VERBS, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="karat")
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
        click.echo("karat: " + "\n".join(map(escaped, error.lines)), err=True)
        if arguments[:1] == ["check"] and os.environ.get("GITHUB_ACTIONS") == "true":
            from karat.reports import annotation  # where there is no decision, no report tells why

            click.echo(annotation("error", "karat", "\n".join(map(escaped, error.lines))), err=True)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        return 130
    except BrokenPipeError:
        raise
    except Exception:
        # Python's own exit code would be 1, and a job would take a defect of karat for a gate that failed.
        traceback.print_exc()
        click.echo("karat: this is a defect of karat, and not of your input; please report what stands above", err=True)
        return 3
