"""A real Spark cluster for tests: a master and two workers on loopback, each a process of its own."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pyspark

HOME = Path(pyspark.__file__).parent
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xss512k"
"""Java for a minute: compiling well would take longer than running."""
DEFAULTS = f"""\
# settings of the tests
spark.driver.memory=512m
spark.executor.memory 640m
spark.driver.extraJavaOptions {QUICK}
spark.executor.extraJavaOptions {QUICK}
"""
PATIENCE = 600.0
"""Seconds: a failsafe."""


def wait_for(look: Callable[[], object], what: str) -> None:
    """Wait until something is there."""
    end = time.monotonic() + PATIENCE
    while not look():
        assert time.monotonic() < end, what
        time.sleep(0.05)


class Cluster:
    """A standalone cluster in a folder; ``environment`` is what a driver needs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "conf").mkdir()
        (folder / "conf" / "spark-defaults.conf").write_text(DEFAULTS)
        self.environment = {
            "SPARK_CONF_DIR": str(folder / "conf"),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(folder / "local"),
        }
        self._daemon_environment = os.environ | self.environment | {
            "SPARK_HOME": str(HOME),
            "SPARK_DAEMON_MEMORY": "128m",
            "SPARK_DAEMON_JAVA_OPTS": f"{QUICK} -Dspark.master.rest.enabled=false",
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]),
        }  # fmt: skip
        self.master = self._start("master.Master", "master")
        log = folder / "master.log"
        wait_for(lambda: "New state: ALIVE" in log.read_text() or self.master.poll(), "no master")
        self.address = re.search(r"spark://127.0.0.1:\d+", log.read_text())[0]  # type: ignore[index]
        self.workers: list[subprocess.Popen[bytes]] = []

    def add_worker(self) -> subprocess.Popen[bytes]:
        """Start a worker with one core, and return its process."""
        name = f"worker-{len(self.workers)}"
        size = ("--cores", "1", "--memory", "700m", "--work-dir", str(self.folder / name))
        worker = self._start("worker.Worker", name, *size, self.address)
        self.workers.append(worker)
        log = self.folder / f"{name}.log"
        wait_for(lambda: "Successfully registered with master" in log.read_text() or worker.poll(), log.read_text())
        return worker

    def count_alive(self) -> int:
        """Return how many workers have not ended: tests run in any order, and some kill workers."""
        return sum(worker.poll() is None for worker in self.workers)

    def require_workers(self, count: int) -> None:
        """Start workers until so many run. A test that kills some leaves it to those that need them: Java is slow."""
        while self.count_alive() < count:
            self.add_worker()

    def _start(self, kind: str, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = [HOME / "bin" / "spark-class", f"org.apache.spark.deploy.{kind}"]
        with (self.folder / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                [*command, "--host", "127.0.0.1", "--port", "0", "--webui-port", "0", *arguments],
                env=self._daemon_environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=end_with_parent,
            )

    def stop(self) -> None:
        """End all processes, and those that they started."""
        for process in [*self.workers, self.master]:
            for child in [*list_children(process.pid), process.pid]:
                kill(child)
            process.wait()


def end_with_parent() -> None:
    """Let the kernel kill this process if that of the tests is killed."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def list_children(parent: int) -> list[int]:
    """Return the processes that a process has started."""
    lines = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout.split("\n")
    pairs = [tuple(map(int, line.split())) for line in lines if line.strip()]
    return [pid for pid, owner in pairs if owner == parent]


def find_parent(child: int) -> int:
    """Return the process that started a process."""
    answer = subprocess.run(["ps", "-o", "ppid=", "-p", str(child)], capture_output=True, text=True, check=True)
    return int(answer.stdout)


def kill(process: int) -> None:
    """End a process at once, without a chance to do anything about it."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
