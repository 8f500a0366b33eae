"""Starting Spark from here, and stopping it, without a word from its Java process."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from karat.core import SystemFailed, UsageError, shorten
from karat.files import open_file
from karat.net import require_package

OLDEST_JAVA = 17
"""What Spark 4 needs."""
EXECUTOR_MEMORY, PYTHON_MEMORY, DRIVER_MEMORY = "1g", "3g", "1g"
"""Of each executor's Java process, of each of its Python processes (one for each core), and of the driver's Java."""
_REACH = 10.0
"""Seconds in which a master has to take a connection."""
_ERROR = re.compile(r"\bERROR\b[^:]*: (.*)")
_JAVA_VERSION = re.compile(r'version "(\d+)')


@dataclass(frozen=True)
class Running:
    """Spark that was started from here."""

    session: Any
    log: IO[bytes]
    """The file into which its Java process writes."""
    files: ExitStack
    """What is closed and removed when it has ended."""

    def stop(self) -> None:
        """Stop Spark and its Java process, so that another one can be started in this process."""
        gateway = self.session.sparkContext._gateway
        with self.files:
            with suppress(Exception):  # the Java process may have ended before
                self.session.stop()
            stop_gateway(require_pyspark(), gateway)


def start_session(master: str, settings: Mapping[str, str]) -> Running:
    """Start Spark for a master."""
    package = require_pyspark()
    # Spark asks for pandas in many places, and karat lets it do nothing with it.
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    if package.SparkContext._active_spark_context is not None:
        raise UsageError("this process has a Spark session already; stop it first: there can be only one")
    find_java()
    for place in list_masters(master):
        reach(place)
    conf = package.SparkConf(loadDefaults=False).setAll(list({**settings, "spark.master": master}.items()))
    with ExitStack() as files:
        log = files.enter_context(tempfile.TemporaryFile())
        try:
            home = None if list_masters(master) else files.enter_context(own_home())
            with _environment(home):
                session = _launch(conf, log)
        except OSError as error:
            raise SystemFailed(f"Spark does not start: {error}; is SPARK_HOME its folder?") from None
        return Running(session, log, files.pop_all())


def _launch(conf: Any, log: IO[bytes]) -> Any:
    """Start Spark's Java process, and return its session."""
    package = require_pyspark()
    try:
        gateway = require_pyspark("java_gateway").launch_gateway(conf, {"stdout": log, "stderr": log})
    except require_pyspark("errors").PySparkException:
        raise SystemFailed(f"Spark does not start: {last_error(log)}") from None
    try:
        context = package.SparkContext(gateway=gateway)
    except Exception as error:
        stop_gateway(package, gateway)
        raise SystemFailed(f"Spark does not start: {first_line(error)}") from None
    return require_pyspark("sql").SparkSession(context)


def require_pyspark(module: str = "") -> Any:
    """Return the package pyspark or a module of it, or say how to install it."""
    return require_package(f"pyspark.{module}" if module else "pyspark", purpose="a Spark engine", extra="spark")


def stop_gateway(package: Any, gateway: Any) -> None:
    """End the Java process, and let pyspark forget it."""
    with suppress(Exception):
        gateway.shutdown()
    gateway.proc.stdin.close()  # at its end the process ends
    gateway.proc.wait()
    package.SparkContext._gateway = package.SparkContext._jvm = None
    package.SparkContext._active_spark_context = None


@contextmanager
def own_home() -> Iterator[str]:
    """Yield a folder that stands for Spark's own, in which workers inside this machine write, and remove nothing."""
    with tempfile.TemporaryDirectory(prefix="karat-spark-") as folder:
        for entry in Path(require_pyspark("find_spark_home")._find_spark_home()).iterdir():
            if entry.name != "work":
                Path(folder, entry.name).symlink_to(entry.absolute())
        yield folder


@contextmanager
def _environment(home: str | None) -> Iterator[None]:
    """Set, as long as Spark starts, which Python its workers run, and where its home is."""
    wanted = {"PYSPARK_PYTHON": os.environ.get("PYSPARK_PYTHON", sys.executable)}
    wanted |= {"SPARK_HOME": home} if home else {}
    kept = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in kept.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def make_settings() -> dict[str, str]:
    """Return the settings of Spark that karat chooses; those of the user's spark-defaults.conf are left alone."""
    chosen = {
        "spark.app.name": "karat",
        "spark.driver.memory": DRIVER_MEMORY,
        "spark.executor.memory": EXECUTOR_MEMORY,
        "spark.executor.pyspark.memory": PYTHON_MEMORY,
        "spark.log.level": "WARN",
        "spark.ui.enabled": "false",
    }
    defaults = read_defaults()
    fixed = {
        "spark.executorEnv.POLARS_MAX_THREADS": "1",  # one task for each core
        "spark.executorEnv.OPENBLAS_NUM_THREADS": "1",
        "spark.sql.adaptive.enabled": "false",  # it would change how many rows a task has
        "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.showConsoleProgress": "false",
    }
    return {name: value for name, value in chosen.items() if name not in defaults} | fixed


def read_defaults() -> set[str]:
    """Return the names of the settings in spark-defaults.conf."""
    home = os.environ.get("SPARK_HOME")
    folder = os.environ.get("SPARK_CONF_DIR") or (home and str(Path(home, "conf")))
    path = Path(folder or ".", "spark-defaults.conf")
    if not folder or not path.is_file():
        return set()
    with open_file(path, is_input=False) as file:
        lines = [line.strip() for line in file.read().decode(errors="replace").splitlines()]
    return {re.split(r"[\s=]", line, maxsplit=1)[0] for line in lines if line and not line.startswith("#")}


def find_java() -> tuple[str, int]:
    """Return the path of Java and its version, or raise SystemFailed: that of JAVA_HOME, or else that of the path."""
    home = os.environ.get("JAVA_HOME")
    path = str(Path(home, "bin", "java")) if home else shutil.which("java")
    hint = f"install Java {OLDEST_JAVA} or newer, and set JAVA_HOME to its folder"
    if not path:
        raise SystemFailed(f"Spark needs Java, and there is none on the path; {hint}")
    try:
        process = subprocess.run([path, "-version"], capture_output=True, text=True, timeout=60)  # noqa: S603
    except (OSError, subprocess.SubprocessError) as error:
        raise SystemFailed(f"Spark needs Java, and {path} does not run ({error}); {hint}") from None
    match = _JAVA_VERSION.search(process.stderr + process.stdout)
    if not match:
        raise SystemFailed(f"Spark needs Java, and {path} is not a Java that works; {hint}")
    version = int(match[1])
    if version < OLDEST_JAVA:
        raise SystemFailed(f"Spark needs Java {OLDEST_JAVA} or newer, and {path} is {version}; {hint}")
    return path, version


def list_masters(master: str) -> list[tuple[str, int]]:
    """Return the hosts and ports of ``spark://HOST:PORT,HOST:PORT``; none of a cluster inside this machine."""
    if not master.startswith("spark://"):
        return []
    places = []
    for place in master.removeprefix("spark://").split(","):
        host, _, port = place.rpartition(":")
        places.append((host.strip("[]"), int(port)))
    return places


def reach(place: tuple[str, int]) -> None:
    """Raise SystemFailed if nothing takes connections at an address."""
    try:
        socket.create_connection(place, timeout=_REACH).close()
    except OSError as error:
        reason = error.strerror or str(error)
        hint = "is the address right, and does a master run there?"
        raise SystemFailed(f"cannot reach the Spark master {place[0]}:{place[1]}: {reason}; {hint}") from None


def last_error(log: IO[bytes]) -> str:
    """Return the last error that a Java process wrote, or else its last line."""
    log.seek(0)
    lines = [line for line in log.read().decode(errors="replace").splitlines() if line.strip()]
    errors = [match[1] for line in lines if (match := _ERROR.search(line))]
    return shorten((errors or lines or ["it says nothing"])[-1])


def first_line(error: BaseException) -> str:
    """Return the first line of what an error says."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def wait_for_executors(session: Any, seconds: float, log: IO[bytes]) -> int:
    """Wait until the cluster has given an executor, and return how many there are."""
    scala = session.sparkContext._jsc.sc()
    end = time.monotonic() + seconds
    while not (count := count_executors(session)):
        if scala.isStopped():
            raise SystemFailed(f"Spark has stopped: {last_error(log)}")
        if time.monotonic() > end:
            hint = "are there workers with a free core and enough memory? 'karat engine doctor' looks"
            raise SystemFailed(f"the cluster gave no executor within {seconds:.0f} seconds; {hint}")
        time.sleep(0.1)
    return count


def count_executors(session: Any) -> int:
    """Return how many executors there are."""
    return int(session.sparkContext._jsc.sc().getExecutorMemoryStatus().size()) - 1  # the driver is among them
