"""What tests of several folders share; this folder is on the path, so that every test can import ``strategies``."""

from __future__ import annotations

import gc
import os
import subprocess
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import karat.cli
from browsers import browser as browser
from clocks import Clock
from dealing import deal
from karat.store import _sqlite
from karat.systems.embed import Granite
from kept_vectors import find_kept, keep, lay_out
from new_stores import MAKE_OWN, copy_new_stores
from warm import Warm

ROOT = Path(__file__).resolve().parents[1]
gc.disable()  # until all tests are collected: until then, nearly all that is made stays

# How long an example takes is the machine's business. All else stays as Hypothesis has it, which draws the same
# examples every time where CI is set.
settings.register_profile("karat", settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow])
QUICK = 20
"""The examples that ``./scripts/test quick`` draws for a property, however many its test asks for."""
settings.register_profile("quick", settings.get_profile("karat"), max_examples=QUICK)
settings.load_profile("quick" if os.environ.get("KARAT_QUICK") else "karat")


SLOW_FIXTURES = {
    "actionlint",
    "browser",
    "clone",
    "index",
    "pdflatex",
    "python_of",
    "run_pytest",
    "schema",
    "warm",
    "warm_mlflow",
}
"""They install, start a browser or a compiler, copy the repository, compile a schema, or run a test suite."""


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Iterator[list[pytest.Collector]]:
    """Look for no examples in the docstrings of tests: there are none, and it takes a second in each worker."""
    return [collector for collector in (yield) if type(collector) is pytest.Module]


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what is slow, which ``./scripts/test quick`` leaves out."""
    if item.get_closest_marker("calibration") or SLOW_FIXTURES.intersection(getattr(item, "fixturenames", ())):
        item.add_marker(pytest.mark.slow)
    if os.environ.get("KARAT_QUICK") and isinstance(item, pytest.Function):
        draw_less(getattr(item.obj, "__func__", item.obj))


def draw_less(test: Any) -> None:
    """Let a property be tried with few examples, if it has settings of its own."""
    own = getattr(test, "_hypothesis_internal_use_settings", None)  # where Hypothesis looks for them
    if own is not None and own.max_examples > QUICK:
        test._hypothesis_internal_use_settings = settings(own, max_examples=QUICK)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Deal the tests to the workers so that each begins with slow ones and ends with quick ones.

    The files with the slowest come first, by the seconds that their marks give. Those that need an environment beside
    .venv come after all other slow ones: pip may still be making it.
    """
    quick = [item for item in items if not is_long(item)]
    turns = find_turns([item for item in items if is_long(item)])
    slow = sorted(turns, key=turns.__getitem__)
    groups = [list(group) for _, group in groupby(slow, key=lambda item: (turns[item], item.path))]
    items[:] = deal(groups, quick, workers=int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))


def is_long(item: pytest.Item) -> bool:
    """Whether a test has to begin early, or a core would wait for it at the end."""
    return any(item.get_closest_marker(name) for name in ("slow", "early"))


def find_turns(slow: list[pytest.Item]) -> dict[pytest.Item, float]:
    """Return what slow tests are sorted by: all of a file come with its slowest, or two workers make their fixtures."""
    turns = {item: find_turn(item) for item in slow}
    first: dict[Path, float] = {}
    for item, turn in turns.items():
        first[item.path] = min(turn, first.get(item.path, turn))
    return {item: turn if turn > 0 else first[item.path] for item, turn in turns.items()}


def find_turn(item: pytest.Item) -> float:
    """Return when a slow test would come by itself."""
    if "python_of" in getattr(item, "fixturenames", ()):
        return 1
    marks = (mark for name in ("slow", "early") for mark in item.iter_markers(name))
    return -max(mark.args[0] if mark.args else 0 for mark in marks)


def pytest_collection_finish() -> None:
    """Let the garbage collector no longer look at what stays: modules, and ten thousand tests.

    With them it takes a tenth of a second each time, and statsmodels, for one, calls it in every test of hypotheses.
    What nobody needs any more stays as well: it is little, and to look for it takes longer than a hundred tests.
    """
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def user_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The user's cache of embeddings is a folder of this session, shared by its workers: never the real home."""
    folder = tmp_path_factory.getbasetemp()
    folder = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "user-cache"
    os.environ["KARAT_CACHE"] = str(folder)  # and not XDG_CACHE_HOME, where pip and browsers keep what they downloaded
    kept, cache = find_kept(), folder / "embeddings" / "vectors.sqlite"
    lay_out(kept, cache)
    yield folder
    keep(cache, kept, Granite.name)


@pytest.fixture(scope="session", autouse=True)
def new_stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A new store is a copy of one that has taken all steps."""
    with pytest.MonkeyPatch.context() as patch:
        copy_new_stores(tmp_path_factory.mktemp("new-stores"), patch)
        yield


@pytest.fixture
def steps_are_taken(monkeypatch: pytest.MonkeyPatch, new_stores: None) -> None:
    """A new store takes all steps, and is no copy of one that has taken them."""
    monkeypatch.setattr(_sqlite, "make_own", MAKE_OWN)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock in the place of the real one wherever karat measures how long an answer takes."""
    clock = Clock()
    monkeypatch.setattr("karat.runs._ask.time", clock)
    return clock


@pytest.fixture(scope="session")
def environment(user_cache: Path) -> dict[str, str]:
    """The environment of a user: without what pytest, scripts/test or an active virtual environment add to it."""
    ours = ("KARAT_REACHED", "PYTEST", "PYTHON", "VIRTUAL_ENV", "NO_COLOR", "FORCE_COLOR")
    theirs = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return theirs | {"LC_ALL": "C.UTF-8"}


@pytest.fixture(scope="session")
def measured() -> dict[str, str]:
    """What makes a process leave what it reached of karat for the coverage, if that is measured: see measuring.py."""
    return {name: os.environ[name] for name in ("KARAT_REACHED",) if name in os.environ}


@pytest.fixture(scope="session")
def warm(
    tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str], measured: dict[str, str]
) -> Iterator[Warm]:
    """A process that has imported karat and pytest, for programs that run in forks of it."""
    doors = [f"karat.{door.name}" for door in iter_modules(karat.__path__) if door.ispkg]
    verbs = [f"karat.cli.{verb.name}" for verb in iter_modules(karat.cli.__path__)]
    folder = tmp_path_factory.mktemp("warm")
    process = Warm(folder, environment | measured | {"PYTHONPATH": str(ROOT / "src")}, ("pytest", *doors, *verbs))
    yield process
    process.close()


@pytest.fixture(scope="session")
def python_of(environment: dict[str, str]) -> Callable[[str], Path]:
    """Return the Python of an environment beside .venv, such as ``bench``; the first use makes it.

    Where pip cannot install what belongs into it the test is skipped, and fails in CI.
    """

    def find(name: str) -> Path:
        process = subprocess.run(
            [ROOT / "scripts" / "setup", name], env=environment, capture_output=True, text=True, timeout=900
        )
        if process.returncode and os.environ.get("CI") != "true":
            pytest.skip(f"UNTESTED: there is no .venv-{name}: {process.stderr.strip().splitlines()[-1]}")
        assert process.returncode == 0, process.stderr
        return ROOT / f".venv-{name}" / "bin" / "python"

    return find


@pytest.fixture(scope="session")
def warm_mlflow(
    python_of: Callable[[str], Path],
    tmp_path_factory: pytest.TempPathFactory,
    environment: dict[str, str],
    measured: dict[str, str],
) -> Iterator[Warm]:
    """A process that has imported karat and MLflow, in the environment that has it."""
    folder = tmp_path_factory.mktemp("warm-mlflow")
    theirs = {name: value for name, value in environment.items() if name != "CI" and not name.startswith("MLFLOW_")}
    theirs |= measured | {"HOME": str(folder), "DO_NOT_TRACK": "true"}
    modules = ("karat.cli._export", "karat.exports", "karat.projects", "mlflow", "sqlalchemy.orm", "alembic.command")
    process = Warm(folder, theirs, modules, python_of("mlflow"))
    yield process
    process.close()
