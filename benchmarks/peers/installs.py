"""The peers, each installed into an environment of its own: how large it is, and how to run something in it."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


@dataclass(frozen=True)
class Peer:
    """A tool, what to install for it, and which of the packages is the tool itself."""

    name: str
    packages: tuple[str, ...]
    main: str
    pins: tuple[str, ...] = ()
    """What has to be installed beside it, or it cannot be imported."""


PEERS = (
    Peer("karat", (str(ROOT),), "karat"),
    Peer("pytrec_eval", ("pytrec-eval-terrier",), "pytrec-eval-terrier"),
    Peer("ranx", ("ranx",), "ranx"),
    Peer("ir-measures", ("ir-measures",), "ir-measures"),
    Peer("ragas", ("ragas",), "ragas", pins=("langchain-community<0.4",)),
    Peer("deepeval", ("deepeval",), "deepeval"),
    Peer("MLflow", ("mlflow",), "mlflow"),
    Peer("Phoenix", ("arize-phoenix",), "arize-phoenix"),
    Peer("promptfoo", ("promptfoo",), "promptfoo"),
)


@dataclass(frozen=True)
class Finished:
    """A process that has ended: what it printed as JSON, if it did, and what it cost."""

    code: int
    document: Any
    error: str
    cpu: float
    seconds: float


class Installed:
    """A peer in a folder of its own; nothing outside of it is changed, and home is inside, too."""

    def __init__(self, peer: Peer, folder: Path) -> None:
        self.peer, self.folder = peer, folder
        self.home = folder / "home"
        self.home.mkdir(parents=True, exist_ok=True)

    @property
    def is_node(self) -> bool:
        return self.peer.name == "promptfoo"

    def install(self, extra: Sequence[str] = ()) -> str:
        """Install it, unless it is there, and return the last line of the error if that fails."""
        if not extra and (self.folder / "env").exists() | (self.folder / "node_modules").exists():
            return ""
        if self.is_node:
            command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(self.folder), *self.peer.packages]
        else:
            subprocess.run([sys.executable, "-m", "venv", "--without-pip", self.folder / "env"], check=True)
            pip = [sys.executable, "-m", "pip", "--python", str(self.python), "--quiet", "--disable-pip-version-check"]
            command = [*pip, "install", *self.peer.packages, *extra]
        process = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        return "" if process.returncode == 0 else (process.stderr.strip().splitlines() or ["no message"])[-1]

    @property
    def python(self) -> Path:
        return self.folder / "env" / "bin" / "python"

    @property
    def packages(self) -> Path:
        return (
            self.folder / "node_modules"
            if self.is_node
            else next((self.folder / "env" / "lib").glob("python*/site-packages"))
        )

    def measure(self) -> tuple[str, int, float]:
        """Return the version, the number of packages and the size in MB."""
        size = sum(path.lstat().st_size for path in self.packages.rglob("*") if path.is_file() or path.is_symlink())
        if self.is_node:
            found = [
                json.loads(path.read_text(encoding="utf-8"))
                for path in self.packages.rglob("package.json")
                if _is_package(path)
            ]
            version = json.loads((self.packages / self.peer.main / "package.json").read_text(encoding="utf-8"))[
                "version"
            ]
            return version, len(found), size / 1e6
        infos = list(self.packages.glob("*.dist-info"))
        wanted = self.peer.main.replace("-", "_").lower()
        (version,) = (path.name.split("-")[1] for path in infos if path.name.lower().startswith(f"{wanted}-"))
        return version.removesuffix(".dist"), len(infos), size / 1e6

    def run(self, *command: object, environment: Mapping[str, str] = {}) -> Finished:
        """Run something in it without any network, and with the user's own settings out of sight."""
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TZ") if name in os.environ}
        started, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        process = subprocess.run(
            [*isolation(), *map(str, command)], cwd=self.home, env={**kept, "HOME": str(self.home), **environment},
            capture_output=True, text=True, timeout=1800, check=False,
        )  # fmt: skip
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        lines = process.stdout.strip().splitlines()
        document = json.loads(lines[-1]) if lines and lines[-1].startswith("{") else None
        error = (process.stderr.strip().splitlines() or [""])[-1]
        return Finished(process.returncode, document, error, cpu, time.monotonic() - started)

    def probe(self, task: str, workload: Path, environment: Mapping[str, str] = {}) -> Finished:
        """Run a probe of a peer in Python."""
        return self.run(self.python, HERE / "probes.py", self.peer.name, task, workload, environment=environment)


def _is_package(path: Path) -> bool:
    """Return whether a package.json is that of an installed package: its folder lies right in node_modules."""
    folder = path.parent
    return "node_modules" in (
        folder.parent.name,
        folder.parent.parent.name if folder.parent.name.startswith("@") else "",
    )


def isolation() -> list[str]:
    """Return what a command begins with that shall have no network; not even the loopback is up."""
    for command in (["unshare", "-n"], ["unshare", "-rn"]):
        if (
            shutil.which("unshare")
            and subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0
        ):
            return command
    raise SystemExit(
        "no network namespace can be made here (unshare -n), and without one nothing would be said about offline use"
    )
