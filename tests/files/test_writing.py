"""Files are written whole or not at all, through no link that somebody put there, and nothing is left beside them."""

from __future__ import annotations

import os
import secrets
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from karat.core import InputError, Provenance
from karat.files import append_file, new_folder, open_own, replace_file, write_file
from karat.files._writing import remove_leftovers
from karat.runs import RunWriter

HEADER = Provenance(name="a", golden={}, system={}, fingerprint="", settings={}, versions={})


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A file outside of the folder that is written to."""
    path = tmp_path / "victim"
    path.write_text("precious")
    (tmp_path / "out").mkdir()
    return path


def names(folder: Path) -> list[str]:
    """What a folder holds."""
    return sorted(path.name for path in folder.iterdir())


def test_a_link_at_a_temporary_name_is_not_followed(victim: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither at a name that can be guessed, nor at the very name that is drawn: then another one is."""
    out = victim.parent / "out"
    drawn = iter(["0" * 16, "1" * 16])
    monkeypatch.setattr(secrets, "token_hex", lambda _: next(drawn))
    planted = [f".karat-{os.getpid()}.tmp", f".karat-{'0' * 16}.tmp"]
    for name in planted:
        (out / name).symlink_to(victim)
    write_file(out / "report.md", "new")
    assert victim.read_text() == "precious"
    assert (out / "report.md").read_text() == "new"
    assert names(out) == sorted([*planted, "report.md"])


def test_names_of_temporary_files_cannot_be_guessed(tmp_path: Path) -> None:
    """Two processes with the same number, in two containers, do not meet."""
    with replace_file(tmp_path / "a"), replace_file(tmp_path / "b"):
        first, second = names(tmp_path)
    assert first != second
    assert str(os.getpid()) not in (first, second)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_a_file_keeps_its_permissions(tmp_path: Path, mode: int) -> None:
    """Until the new one is complete nobody else can read it."""
    path = tmp_path / "private"
    path.write_text("old")
    path.chmod(mode)
    with replace_file(path) as file:
        file.write(b"new")
        file.flush()
        (aside,) = (other for other in tmp_path.iterdir() if other != path)
        assert stat.S_IMODE(aside.stat().st_mode) == 0o600
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", mode)


def test_a_new_file_has_the_permissions_of_the_umask(tmp_path: Path) -> None:
    """As any other program would give it."""
    before = os.umask(0o027)
    try:
        write_file(tmp_path / "new", "")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


def test_after_a_failure_nothing_is_left(tmp_path: Path) -> None:
    """The old file stays, and the temporary one goes; so does a folder with all that is in it."""
    path = tmp_path / "kept"
    path.write_text("old")

    def interrupt() -> None:
        with new_folder(tmp_path) as folder, replace_file(path) as file:
            (folder / "half").write_text("half")
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupt()
    with pytest.raises(InputError, match="half of a surrogate pair"):
        write_file(path, "\ud800")
    assert (names(tmp_path), path.read_text()) == (["kept"], "old")


WAITS = """
import signal, sys, time
from pathlib import Path
from karat.files import new_folder, replace_file
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it, also for those that it starts
with new_folder(Path()) as folder, replace_file(Path("kept")) as file:
    (folder / "half").write_text("half")
    file.write(b"half")
    print("ready", flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_the_process_leaves_nothing(tmp_path: Path, number: int) -> None:
    """The process ends by the signal, as if karat had not handled it, and takes its temporary files along."""
    (tmp_path / "kept").write_text("old")
    process = subprocess.Popen([sys.executable, "-c", WAITS], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    assert len(names(tmp_path)) == 3
    process.send_signal(number)
    assert process.wait(600) == -number
    process.stdout.close()
    assert (names(tmp_path), (tmp_path / "kept").read_text()) == (["kept"], "old")


def test_signals_that_somebody_else_handles_stay_handled(tmp_path: Path) -> None:
    """The handlers of whoever uses karat as a library are not touched, and the default ones come back."""

    def handler(*_: object) -> None:
        raise AssertionError

    before = signal.signal(signal.SIGTERM, handler)
    try:
        with replace_file(tmp_path / "a"):
            assert signal.getsignal(signal.SIGTERM) is handler
        assert signal.getsignal(signal.SIGTERM) is handler
    finally:
        signal.signal(signal.SIGTERM, before)
    write_file(tmp_path / "b", "")
    assert signal.getsignal(signal.SIGTERM) is before


def test_leftovers_of_killed_processes_are_removed(victim: Path) -> None:
    """Those that are a day old, of this and of an older karat; not young ones, other files, or what a link leads to."""
    out, long_ago = victim.parent / "out", time.time() - 2 * 86_400
    old = [f".karat-{'a' * 16}.tmp", ".karat-4711.tmp", f".karat-{'b' * 16}.tmp", f".karat-{'c' * 16}.tmp"]
    young, other = f".karat-{'d' * 16}.tmp", ".karat-notes.tmp"
    for name in (*old[:2], young, other):
        (out / name).write_text("half")
    (out / old[2]).mkdir()
    (out / old[2] / "half").write_text("half")
    (out / old[3]).symlink_to(victim)
    for name in (*old, other):
        os.utime(out / name, (long_ago, long_ago), follow_symlinks=False)
    remove_leftovers.cache_clear()
    write_file(out / "new", "new")
    assert names(out) == sorted([young, other, "new"])
    assert victim.read_text() == "precious"


def test_a_file_that_karat_names_is_not_a_link(victim: Path) -> None:
    """A link, a second name, a pipe: each is refused, with the reason, before a byte is written."""
    out = victim.parent / "out"
    (out / "link").symlink_to(victim)
    (out / "second").hardlink_to(victim)
    os.mkfifo(out / "pipe")
    for name, reason in (
        ("link", "it is a link, through which karat does not write"),
        ("second", "it is another name of a file"),
        ("pipe", "it is a named pipe, not a file"),
    ):
        with pytest.raises(OSError, match=reason):
            append_file(out / name, b"more")
        with pytest.raises(OSError, match=reason):
            open_own(out / name, os.O_RDWR)
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("kind", ["symlink_to", "hardlink_to"])
def test_an_unfinished_run_is_not_written_through_a_link(victim: Path, kind: str) -> None:
    """A .part that was put there beforehand does not lead the answers, or their removal, elsewhere."""
    part = victim.parent / "out" / "run.jsonl.part"
    getattr(part, kind)(victim)
    with pytest.raises(InputError, match=r"run\.jsonl: cannot be written: it is (a link|another name)"):
        RunWriter(part.with_suffix(""), HEADER, resume=False).__enter__()
    assert victim.read_text() == "precious"


def test_an_output_that_is_a_link_stays_one(victim: Path) -> None:
    """A link that the caller names is followed: what it leads to is replaced."""
    link = victim.parent / "out" / "link"
    link.symlink_to(victim)
    write_file(link, "new")
    assert link.is_symlink()
    assert victim.read_text() == "new"


@pytest.mark.parametrize("kind", ["a named pipe", "a socket", "a device"])
def test_what_is_no_file_is_not_written_to(tmp_path: Path, kind: str) -> None:
    """A pipe that nobody reads is not waited for; /dev/null takes everything."""
    path = special(tmp_path, kind)
    with pytest.raises(InputError, match=f"is {kind}, not a file"):
        write_file(path, "x")
    write_file(os.devnull, "x")


def special(folder: Path, kind: str) -> Path:
    """Make a pipe or a socket, or name a device that everybody has."""
    import socket

    path = folder / "special"
    if kind == "a named pipe":
        os.mkfifo(path)
    elif kind == "a socket":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))
    else:
        path.symlink_to("/dev/zero")
    return path
