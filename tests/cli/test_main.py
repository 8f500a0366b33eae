"""The door of the command line: start-up, help, exit codes, pipes and terminals."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shlex
import signal
import struct
import subprocess
import sys
import termios
import time
from functools import partial
from pathlib import Path

import click
import pytest

import karat
from each import each
from in_process import run_karat
from karat.cli._main import _SECTIONS, _VERBS, cli
from karat.cli._table import escaped, printable, render

KARAT = [sys.executable, "-m", "karat"]
QRELS = "q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 2\n"
RUN = "q1 Q0 d1 1 2.0 t\nq1 Q0 d2 2 1.0 t\nq2 Q0 d1 1 3.5 t\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with judgments and a run."""
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "run.txt").write_text(RUN)
    return tmp_path


def run(*arguments: str, cwd: Path | None = None, **options: object) -> subprocess.CompletedProcess[str]:
    """Run karat as a user does."""
    return subprocess.run([*KARAT, *arguments], capture_output=True, text=True, cwd=cwd, timeout=600, **options)  # type: ignore[call-overload,no-any-return]


def shell(line: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of bash in which karat is the command line."""
    line = f'karat() {{ {shlex.join(KARAT)} "$@"; }}; {line}'
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, cwd=cwd, timeout=600)


def imported(*arguments: str, cwd: Path | None = None) -> set[str]:
    """Return the top-level packages that a command imports."""
    code = f"import sys; sys.argv = {['karat', *arguments]!r}\nimport karat.cli\n"
    code += "try: karat.cli.main()\nexcept SystemExit: pass\n"
    code += "print('MODULES', *{name.split('.')[0] for name in sys.modules})"
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=cwd, timeout=600, check=True
    )
    return set(process.stdout.rsplit("MODULES", 1)[1].split())


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["score", "--help"], ["measures", "--help"], []])
def test_help_and_version_import_no_array_library(arguments: list[str]) -> None:
    """What needs no numbers starts at once: neither NumPy nor Polars is imported."""
    assert not imported(*arguments) & {"numpy", "polars", "pandas", "pyarrow"}


def test_a_small_file_is_scored_without_a_dataframe_library(files: Path) -> None:
    """Scoring a small TREC file imports NumPy, and no more."""
    modules = imported("score", "qrels.txt", "run.txt", "--json", "--per-query", cwd=files)
    assert "numpy" in modules
    assert not modules & {"polars", "pandas", "pyarrow"}


def test_version() -> None:
    """``karat --version`` names the version."""
    process = run("--version")
    assert (process.returncode, process.stdout.strip(), process.stderr) == (
        0,
        f"karat, version {karat.__version__}",
        "",
    )


@each("verb", ["", *_VERBS])
def test_help_shows_an_example_whose_options_exist(verb: str) -> None:
    """The help of every verb has an example, and what it shows can be typed."""
    command = cli.get_command(click.Context(cli), verb) if verb else cli
    assert command is not None
    help_text = command.get_help(click.Context(command, info_name=f"karat {verb}".strip()))
    example = re.search(r"Example: (karat .*(?:\n .*)*?)\n\n", help_text)
    assert example, help_text
    words = shlex.split(" ".join(example[1].split()))
    called = cli.get_command(click.Context(cli), words[1])
    assert called is not None
    assert not verb or words[1] == verb
    known = {option for parameter in called.params for option in (*parameter.opts, *parameter.secondary_opts)}
    assert {word for word in words if re.match(r"--?[a-zA-Z]", word)} <= known
    with called.make_context(words[1], words[2:]):
        pass  # the arguments parse


@pytest.fixture(scope="module")
def overview() -> str:
    """What ``karat --help`` prints."""
    return run("--help").stdout


@pytest.mark.parametrize("verb", list(_VERBS))
def test_every_verb_has_help_and_a_summary(verb: str, overview: str) -> None:
    """``karat VERB --help`` works, and ``karat --help`` lists the verb."""
    process = run_karat(verb, "--help")
    assert process.returncode == 0
    assert process.stdout.decode().startswith(f"Usage: karat {verb}")
    assert re.search(rf"^  {verb}  +[A-Z].*\.$", overview, re.MULTILINE)


def test_the_overview_groups_the_verbs_by_what_people_want(overview: str) -> None:
    """Each section lists its verbs in their order, with all summaries in the same column."""
    sections = re.findall(r"^(\w+):\n((?:  .+\n?)+)", overview.partition("Options:")[2], re.MULTILINE)
    listed = {title: tuple(line.split()[0] for line in lines.splitlines()) for title, lines in sections}
    assert listed == {
        "Start": ("init", "golden", "label"),
        "Evaluate": ("eval", "judge", "score", "fuse", "sweep", "ablate", "gain"),
        "Decide": ("check", "gate", "baseline", "compare", "power"),
        "Look": ("explain", "report", "runs", "show", "stability", "trend", "experiments", "serve"),
        "Live": ("online", "shadow", "harvest", "flag", "trial", "migrate", "store"),
        "Toolbox": ("measures", "systems", "engine", "doctor", "completion", "trec-eval", "export", "mcp"),
    }
    assert len({line.index(line.split()[1]) for _, lines in sections for line in lines.splitlines()}) == 1


def test_every_file_of_a_verb_is_in_a_section() -> None:
    """A new verb, which is a module with a command of its name, cannot be forgotten."""
    folder = Path(karat.__file__).parent / "cli"
    commands = [file.stem for file in folder.glob("_*.py") if "\ndef command(" in file.read_text()]
    parts = ("_flag_", "_golden_", "_judge_", "_label_", "_migrate_", "_online_", "_shadow_")
    verbs = {stem[1:].replace("_", "-") for stem in commands if not stem.startswith(parts)}
    assert verbs == {verb for section in _SECTIONS.values() for verb in section} == set(_VERBS)


@each(
    ("arguments", "message"),
    [
        (["scroe"], "no verb 'scroe', did you mean 'score' or 'store'?"),
        (["zzz"], "no verb 'zzz'; 'karat --help' lists the verbs"),
        (["golden", "lint"], "no verb 'lint', did you mean 'check'?"),
        (["runs", "ls"], "no verb 'ls', did you mean 'list'?"),
        (["baseline", "updaet"], "no verb 'updaet', did you mean 'update'?"),
        (["golden", "sweep"], "no verb 'sweep', did you mean 'karat sweep'?"),
        (["serve", "token", "xyzzy"], "no verb 'xyzzy'; it has add, list, revoke"),
        (["score", "--jason", "a", "b"], "No such option '--jason'. Did you mean '--json'?"),
        (["--zzz"], "No such option '--zzz'"),
        (["score", "qrels.txt"], "Missing argument 'RUN...'"),
        (["score", "a", "b", "--pass-at", "x"], "'x' is not a valid integer"),
        (["score", "a", "b", "--conventions", "x"], "'x' is not one of"),
    ],
)
def test_a_wrong_command_line_is_explained(arguments: list[str], message: str) -> None:
    """A mistyped verb or option is answered with what was meant, on standard error, with exit code 2."""
    process = run_karat(*arguments)
    assert (process.returncode, process.stdout) == (2, b"")
    assert message in process.stderr.decode()
    assert b"Traceback" not in process.stderr


def test_without_arguments_the_help_is_shown() -> None:
    """``karat`` alone shows how it is used."""
    process = run()
    assert process.returncode == 2
    assert "Example: karat check" in process.stderr


@pytest.mark.slow
@pytest.mark.parametrize("command", ["karat measures", "karat --help", "karat score qrels.txt run.txt --per-query"])
def test_a_closed_pipe_is_silent(files: Path, command: str) -> None:
    """``| head`` and a reader that is gone at once cause no message, and no failure of a gate."""
    for reader in ("head -1", "true"):
        process = shell(f"{command} | {reader}; echo ${{PIPESTATUS[0]}}", files)
        assert process.stderr == ""
        assert process.stdout.splitlines()[-1] == "0"


def test_a_closed_pipe_for_a_message_is_silent(files: Path) -> None:
    """An error whose reader is gone leaves no traceback."""
    process = shell("karat score nope run.txt 2>&1 | true", files)
    assert process.stderr == ""


def test_a_full_disk_is_an_error(files: Path) -> None:
    """Standard output that takes nothing is one message and exit code 2, not a lost result."""
    process = shell("karat score qrels.txt run.txt > /dev/full", files)
    assert process.returncode == 2
    assert process.stderr == "karat: standard output: cannot be written: No space left on device\n"


@pytest.mark.slow
def test_closed_standard_streams_are_no_traceback(files: Path) -> None:
    """A process without standard output or input still ends in order."""
    assert shell("karat score qrels.txt run.txt >&-", files).stderr == ""
    process = shell("karat score - run.txt <&-", files)
    assert (process.returncode, process.stderr) == (2, "karat: standard input: is closed\n")


def unread(pipe: int) -> int:
    """Return how many bytes of a pipe nobody has read yet."""
    (count,) = struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))
    return int(count)


def test_an_interrupt_is_no_traceback(files: Path) -> None:
    """Ctrl-C while input is awaited ends with exit code 130."""
    process = subprocess.Popen(
        [*KARAT, "score", "-", "run.txt"], cwd=files, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # a shell ignores it for what is behind "&"
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stderr is not None
    process.stdin.write("q1 0 d1 1\n")
    process.stdin.flush()
    while unread(process.stdin.fileno()):  # until karat has read the line, and so waits for the next one
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert process.wait(600) == 130
    assert "Traceback" not in process.stderr.read()
    process.stdin.close()
    process.stderr.close()


@pytest.mark.slow
def test_any_encoding_of_the_terminal_will_do(files: Path) -> None:
    """Ids that the terminal's encoding lacks are escaped, in the table and in messages."""
    (files / "qrels.txt").write_text("\u95ee 0 d1 1\n")
    (files / "run.txt").write_text("\u95ee Q0 d1 1 1 t\n")
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    process = run("score", "qrels.txt", "run.txt", "--per-query", "-m", "P@1", cwd=files, env=environment)
    assert (process.returncode, process.stderr) == (0, "")
    assert "\\u95ee" in process.stdout
    process = run("score", "qrels.txt", "\u95ee.txt", cwd=files, env=environment)
    assert "no such file" in process.stderr


def on_a_terminal(*arguments: str, cwd: Path, **environment: str) -> str:
    """Return what karat writes if its standard output is a terminal."""
    ours, theirs = pty.openpty()
    try:
        clean = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")}
        process = subprocess.Popen(
            [*KARAT, *arguments], cwd=cwd, stdout=theirs, stderr=theirs, env={**clean, **environment}
        )
        os.close(theirs)
        written = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            written += piece
        assert process.wait(600) == 0
    finally:
        os.close(ours)
    return written.decode()


@pytest.mark.slow
def test_colours_are_for_terminals(files: Path) -> None:
    """Colours appear on a terminal, and neither under NO_COLOR, nor in a pipe, nor in a file."""
    command = ["score", "qrels.txt", "run.txt"]
    assert "\x1b[1m" in on_a_terminal(*command, cwd=files)
    assert "\x1b" not in on_a_terminal(*command, cwd=files, NO_COLOR="1")
    assert "\x1b" in on_a_terminal(*command, cwd=files, NO_COLOR="")
    assert "\x1b" not in on_a_terminal(*command, "--json", cwd=files)
    assert "\x1b" not in run(*command, cwd=files).stdout
    on_a_terminal(*command, "-o", "out.txt", cwd=files)
    assert "\x1b" not in (files / "out.txt").read_text()


def test_shells_can_complete(tmp_path: Path) -> None:
    """click's completion, which a shell asks for through the environment, answers."""
    environment = {**os.environ, "_KARAT_COMPLETE": "bash_complete", "COMP_WORDS": "karat sc", "COMP_CWORD": "1"}
    assert "score" in run(env=environment).stdout


def test_a_bug_shows_its_traceback(tmp_path: Path) -> None:
    """What is no mistake of the user is not hidden, and no failed gate, which is exit code 1."""
    code = "import sys, karat.cli, karat.cli._score\nkarat.cli._score.command.callback = lambda **_: 1 / 0\n"
    code += "sys.argv = ['karat', 'score', 'a', 'b']\nkarat.cli.main()"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert process.returncode == 3
    assert "ZeroDivisionError" in process.stderr
    assert process.stderr.endswith(
        "karat: this is a bug in karat, not in your input; please report the traceback above\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain \u00e9\u95ee", "plain \u00e9\u95ee"),
        ("a\x1b[31mb\x07", "a\\x1b[31mb\\x07"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("\x9b31m\x7f", "\\x9b31m\\x7f"),
        ("\u202eabc\u2066\u200b", "\\u202eabc\\u2066\\u200b"),
        ("\ud800", "\\ud800"),
        ("x" * 41, "x" * 18 + "..." + "x" * 19),
        ("\x00" * 1_000_000, "\\x00\\x00\\x00\\x00\\x" + "..." + "x00\\x00\\x00\\x00\\x00"),
    ],
    ids=range(8),
)
def test_ids_are_shown_harmless_and_short(text: str, shown: str) -> None:
    """No character of an id acts on the terminal, and no id fills it."""
    assert printable(text) == shown
    assert len(printable(text)) <= 40
    assert escaped(text).isprintable()


def test_tables_are_aligned() -> None:
    """The first columns go to the left, the others to the right, and lines have no blanks at their end."""
    table = render([["a", "bb", "c"], ["long", "1", "22"]])
    assert table == "a     bb   c\nlong   1  22"
    assert render([["a", "b"], ["long", ""]], left=2) == "a     b\nlong"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk that is always full")
@pytest.mark.parametrize("option", ["--help", "--version"])
def test_a_help_text_on_a_full_disk_is_one_message(option: str) -> None:
    """No traceback says that it is a bug in karat."""
    with Path("/dev/full").open("w") as full:
        process = subprocess.run(
            [sys.executable, "-m", "karat", option], stdout=full, stderr=subprocess.PIPE, text=True, timeout=600
        )
    assert (process.returncode, process.stderr) == (2, "karat: cannot be written: No space left on device\n")


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        (["runs", "."], ". is a folder; type karat runs list ."),
        (["experiments", "."], ". is a folder; type karat experiments list --log ."),
    ],
)
def test_what_people_type_first_is_answered_with_what_to_type(typed: list[str], answer: str) -> None:
    """A folder in the place of a verb."""
    result = run_karat(*typed)
    assert (result.returncode, answer in result.stderr.decode()) == (2, True)
