"""Servers of Debian's PostgreSQL, which have TLS and the programs for standbys; that of the other tests has neither."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from debian import program
from postgres import choose_folder


def find_port() -> str:
    """Return a port of 127.0.0.1 that nobody uses."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return str(free.getsockname()[1])


class Servers:
    """A folder in which servers have their files."""

    def __init__(self, folder: Path) -> None:
        program("servers of Debian's PostgreSQL", "postgresql", names=("pg_lsclusters",))
        self.folder, self._programs = folder, max(Path("/usr/lib/postgresql").glob("*/bin"))
        self._started: set[str] = set()

    def run(self, name: str, data: str, *arguments: str) -> None:
        """Run a program on a server, as its user: it refuses to be root."""
        user: dict[str, Any] = {} if os.geteuid() else {"user": "postgres", "group": "postgres"}
        command = [self._programs / name, "-D", data, *arguments]
        subprocess.run(command, cwd=self.folder, check=True, stdout=subprocess.DEVNULL, **user)

    def own(self) -> None:
        """Give the files in the folder to the user of the servers."""
        for path in (self.folder, *self.folder.iterdir()) if not os.geteuid() else ():
            shutil.chown(path, "postgres", "postgres")

    def configure(self, data: str, port: str, *settings: str) -> None:
        """Add settings of a server on 127.0.0.1."""
        own = f"port = {port}", "listen_addresses = '127.0.0.1'", f"unix_socket_directories = '{self.folder}'"
        with (self.folder / data / "postgresql.conf").open("a") as file:
            file.writelines(f"{line}\n" for line in (*own, "fsync = off", *settings))

    def start(self, data: str) -> None:
        """Start a server, and wait until it takes connections."""
        self._started.add(data)
        self.run("pg_ctl", data, "start", "-w", "-t", "600", "-l", f"{data}.log")

    def stop(self, data: str, mode: str = "fast") -> None:
        """Stop a server; ``immediate`` is as if the power went."""
        self._started.remove(data)
        self.run("pg_ctl", data, "stop", "-m", mode)

    def close(self) -> None:
        """Stop all servers, and remove their files."""
        for data in list(self._started):
            if (self.folder / data / "postmaster.pid").exists():
                self.stop(data, "immediate")
        shutil.rmtree(self.folder)


@contextmanager
def open_servers() -> Iterator[Servers]:
    """Yield a new folder for servers, which end with it."""
    folder = choose_folder(f"debian-{secrets.token_hex(4)}")
    folder.mkdir(mode=0o700)
    servers = Servers(folder)
    try:
        yield servers
    finally:
        servers.close()
