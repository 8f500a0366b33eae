"""A warm process that forks: Python programs run as processes of their own, and import nothing anew.

Starting Python and importing karat takes longer than most of what tests let it do. ``python warm.py SOCKET MODULE...``
imports the modules once, listens, and forks for each program. The child has the arguments, folder, environment and
standard streams of whoever asked, and runs the module as ``python -m`` does. What a user's own start-up is like
(the launcher, encodings, terminals, signals, what is imported) is tested by processes that start from nothing.
"""

from __future__ import annotations

import array
import atexit
import json
import os
import runpy
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from textwrap import dedent
from typing import NoReturn

_CLIENT = """\
    #!{python} -IS
    import array, json, os, socket, sys
    client = socket.socket(socket.AF_UNIX)
    client.connect({address!r})
    request = {{"arguments": [{module!r}, *sys.argv[1:]], "folder": os.getcwd(), "environment": dict(os.environ)}}
    streams = array.array("i", [0, 1, 2])
    client.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)])
    client.sendall(json.dumps(request).encode())
    client.shutdown(socket.SHUT_WR)
    sys.exit(int(client.recv(16)))
"""


class Warm:
    """A warm process, and programs that run in forks of it."""

    def __init__(
        self, folder: Path, environment: dict[str, str], modules: tuple[str, ...], python: str | Path = sys.executable
    ) -> None:
        self._address = str(folder / "warm")
        self._process = subprocess.Popen(
            [python, "-P", __file__, self._address, *modules], env=environment, stdin=subprocess.DEVNULL
        )
        while not Path(self._address).exists():
            assert self._process.poll() is None, "the warm process did not start"
            time.sleep(0.01)

    def write_program(self, path: Path, module: str) -> Path:
        """Write an executable that runs a module, such as ``karat``, with the arguments that it is called with."""
        text = _CLIENT.format(python=sys.executable, address=self._address, module=module)
        path.unlink(missing_ok=True)
        path.write_text(dedent(text))
        path.chmod(0o755)
        return path

    def close(self) -> None:
        """End the warm process."""
        self._process.terminate()
        self._process.wait()


def serve(address: str, modules: list[str]) -> NoReturn:
    """Import the modules, then fork for every program that is asked for."""
    save = _start_measuring()
    sys.modules["polars"] = None  # type: ignore[assignment]  # its threads are not in a fork, which imports it itself
    for name in modules:
        import_module(name)
    del sys.modules["polars"]
    save()
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(f"{address}.new")
    listening.listen(64)
    Path(f"{address}.new").rename(address)  # whoever finds it can connect
    while True:
        connection, _ = listening.accept()
        if os.fork() == 0:
            listening.close()
            _fork_program(connection, save)
        connection.close()
        _reap()


def _reap() -> None:
    """Forget the forks that have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _fork_program(connection: socket.socket, save: Callable[[], None]) -> NoReturn:
    """Run a program in a fork of its own, and send how it ended to who asked for it."""
    streams = array.array("i")
    _, sent, _, _ = connection.recvmsg(1, socket.CMSG_SPACE(3 * streams.itemsize))
    streams.frombytes(sent[0][2])
    request = json.loads(b"".join(iter(lambda: connection.recv(65536), b"")))
    program = os.fork()
    if program == 0:
        connection.close()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        os.closerange(3, max(streams) + 1)
        sys.stdin = sys.__stdin__ = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 (they are never closed)
        sys.stdout = sys.__stdout__ = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = sys.__stderr__ = open(2, "w", 1, "utf-8", "backslashreplace", closefd=False)  # noqa: SIM115
        _run(request, save)
    for stream in streams:
        os.close(stream)  # else a reader would never see the end of a pipe
    code = os.waitstatus_to_exitcode(os.waitpid(program, 0)[1])
    connection.sendall(str(code if code >= 0 else 128 - code).encode())
    os._exit(0)


def _run(request: dict[str, object], save: Callable[[], None]) -> NoReturn:
    """Be the program: its folder, environment and arguments, and the end that Python would give it."""
    arguments = request["arguments"]
    assert isinstance(arguments, list)
    os.environ.clear()
    os.environ.update(request["environment"])  # type: ignore[call-overload]
    atexit._clear()  # what is registered is for the end of the warm process
    atexit.register(save)  # karat ends the process itself, and runs what is registered
    code = 1
    try:
        os.chdir(str(request["folder"]))
        sys.path[:0] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
        sys.argv = arguments
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
        if code == 1 and ended.code != 1:
            print(ended.code, file=sys.stderr)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        save()
        os._exit(code)


def _start_measuring() -> Callable[[], None]:
    """Measure what is reached of karat if the environment asks for it; return what saves it."""
    sys.path.append(str(Path(__file__).parent))
    import measuring  # which starts by itself

    sys.path.pop()
    return measuring.save


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2:])
