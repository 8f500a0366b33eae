"""The entry point of the command line: it runs a verb, and turns every error into a message and an exit code."""

from __future__ import annotations

import errno
import gc
import io
import os
import sys
import traceback

import click

from karat.cli._ending import has_own_code, leave
from karat.cli._process import is_tuned
from karat.cli._table import escaped, silence, tell
from karat.cli._verbs import Verbs
from karat.core import InputError, KaratError, __version__, shorten
from karat.files import record_reads

_SECTIONS = {
    "Start": {
        "init": "Start a project: configuration, golden set and CI.",
        "golden": "Read, check, make and compare golden sets.",
        "label": "Let several people label pairs, and propose the result as gold.",
    },
    "Evaluate": {
        "eval": "Ask a system the queries of a golden set, and score it.",
        "judge": "Judge the answers of a run, with a model or by words alone.",
        "score": "Score runs against relevance judgments.",
        "fuse": "Fuse several runs into one.",
        "sweep": "Try many variants of a configuration.",
        "ablate": "Turn off each part of the pipeline to see what it is worth.",
        "gain": "See what new documents would add before you ingest them.",
    },
    "Decide": {
        "check": "Check a golden set, evaluate on it and gate the run, in one go.",
        "gate": "Decide whether a run may ship: pass, fail or inconclusive.",
        "baseline": "Record, show or compare the accepted run.",
        "compare": "Compare runs: what changed, and how sure that is.",
        "power": "Plan how many queries it takes to find a difference.",
    },
    "Look": {
        "explain": "Find out why queries fail, and what to fix first.",
        "report": "Report on a run: Markdown, HTML, JUnit and others.",
        "runs": "List, show, convert or remove saved runs.",
        "show": "Show one query of a run: expected, returned, moved and why.",
        "stability": "Show how scores and citations differ by wording and repeat.",
        "trend": "Show how quality changed from run to run.",
        "experiments": "List, show or compare what you tried.",
        "serve": "Look at a project in a browser, alone or with a team.",
    },
    "Live": {
        "online": "Log live queries and feedback, and look at them.",
        "shadow": "Try a system in the shadow of another.",
        "harvest": "Make a golden-set candidate from live traffic.",
        "flag": "List and set flags: which sessions get a feature.",
        "trial": "Start, watch and decide trials of features on live traffic.",
        "migrate": "Follow block ids into a rebuilt index.",
        "store": "Make, check or copy the store of a log.",
    },
    "Toolbox": {
        "measures": "List the measures, or explain one.",
        "systems": "List the systems that karat can connect to.",
        "engine": "Check whether work can run on a cluster, and what is missing.",
        "doctor": "Show what is installed, what is missing, and where files are.",
        "completion": "Let bash, zsh or fish complete the command line.",
        "trec-eval": "Print what NIST's trec_eval prints, byte for byte.",
        "export": "Write runs and experiments to MLflow.",
        "mcp": "Serve a project to coding agents (MCP).",
    },
}
"""The verbs by what people want to do, each with its line of the help, which imports none of them."""
_DECIDING = ("check", "gate", "baseline", "sweep")
"""The verbs whose exit code 0 says that something may ship."""
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""A disk without room, or a limit of the user: no bug of karat, wherever it happens."""
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
    gc.set_threshold(250_000)
    # After each product of matrices, OpenBLAS lets its threads spin for 2^26 cycles in case of another one. 2^20 are
    # enough for those that follow each other, and the rest is wasted.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "20")
    if "_KARAT_COMPLETE" in os.environ:
        from karat.cli._completing import answer_shell

        answer_shell(cli)  # and exit
    code = _run(sys.argv[1:])
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        silence()  # the reader (head, less) has closed the pipe, which does not change what was decided
    leave(code, at_once=_is_program() and (is_tuned() or not has_own_code()))


def _is_program() -> bool:
    """Return whether this process is nothing but karat; another one may call :func:`main` and go on, as tests do."""
    return getattr(sys.modules["__main__"], "main", None) is main


def _run(arguments: list[str]) -> int:
    """Run a command line, and return its exit code.

    click's own ``main`` is not used because it exits with 1 if a pipe is closed, which here means a failed gate.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # print ids that the terminal's encoding lacks
    try:
        _require_folder()
        with record_reads(), cli.make_context("karat", arguments) as context:
            code = cli.invoke(context)
            return code if isinstance(code, int) else 0
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.ClickException as error:
        message = io.StringIO()
        error.show(file=message)
        tell(message.getvalue(), nl=False)
        return error.exit_code
    except KaratError as error:
        lines = "\n".join(map(escaped, error.lines))
        tell(f"karat: {lines}")
        if arguments[:1] == ["check"] and os.environ.get("GITHUB_ACTIONS") == "true":
            from karat.reports import annotation  # without a decision there is no report that shows the reason

            tell(annotation("error", "karat", lines), commands=True)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        return 130
    except RecursionError:
        hint = "if nothing there has hundreds of levels, this is a bug in karat"
        tell(f"karat: something in the input is nested too deep; {hint}")
        return 2
    except BrokenPipeError:
        silence()  # the reader of a help text has closed the pipe; whatever a verb prints goes through emit()
        return 3 if arguments[:1] and arguments[0] in _DECIDING and not {"-h", "--help"} & {*arguments} else 0
    except BaseException as error:
        if isinstance(error, OSError) and (reason := _explain_refusal(error)):
            tell(f"karat: {reason}")
            return 2
        # Python's own exit code would be 1, which a CI job would take for a failed gate.
        tell(traceback.format_exc(), nl=False)
        tell(f"karat: {_blame(error)}")
        return 3


def _explain_refusal(error: OSError) -> str:
    """Return the message for what the system refuses in so many places that no verb asks for it; empty for others."""
    if error.errno == errno.ENAMETOOLONG:  # pathlib asks for it in many places
        return f"{shorten(error.filename)}: is not a usable path: the name is too long"
    if error.errno in _FULL:
        silence()  # of a help text, for example; whatever a verb prints goes through emit()
        return f"cannot be written: {error.strerror}"
    return ""


def _blame(error: BaseException) -> str:
    """Return who has to mend an error. karat itself raises nothing that is not an Exception."""
    if isinstance(error, Exception):
        return "this is a bug in karat, not in your input; please report the traceback above"
    return f"code of the system under test raised {type(error).__name__}; see the traceback above"


def _require_folder() -> None:
    """Refuse to work in a folder that was removed: every path that is not absolute would be nowhere."""
    try:
        os.getcwd()  # noqa: PTH109 (the same)
    except OSError as error:
        hint = "change into a folder that exists, such as with 'cd ~'"
        raise InputError(f"the current folder cannot be used: {error.strerror}", hint=hint) from None
