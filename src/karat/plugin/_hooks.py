"""What pytest calls. It loads this module in every test suite of an environment with karat: nothing heavy here."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from karat.plugin._names import PARAMETER, PROPERTY

if TYPE_CHECKING:
    from karat.plugin._checking import Fixture

_SHARED: pytest.StashKey[str] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that keeps the runs."""
    group = parser.getgroup("karat", "retrieval quality (karat)")
    group.addoption("--karat-runs", metavar="DIR", help="Keep the runs of the tests marked with karat in this folder.")


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark."""
    config.addinivalue_line(
        "markers",
        "karat(golden='.', *, baseline=None, policy=None, seed=0, **settings): the test returns a retriever, and "
        "becomes one test for each rule of the gate and each query that must pass.",
    )


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell each of xdist's workers where they share what one of them has asked; it is made when it is needed."""
    if _SHARED not in node.config.stash:
        import secrets
        import tempfile

        node.config.stash[_SHARED] = f"{tempfile.gettempdir()}/karat-{secrets.token_hex(16)}"
    node.workerinput["karat_shared"] = node.config.stash[_SHARED]


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove what the workers shared."""
    if _SHARED in config.stash:
        import shutil

        shutil.rmtree(config.stash[_SHARED], ignore_errors=True)


@pytest.hookimpl(trylast=True)  # so that the rule stands last in the name of an item
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one item of each rule and of each query that must pass."""
    mark = metafunc.definition.get_closest_marker("karat")
    if mark is None:
        return
    from karat.plugin._checking import item_id, rules

    names = rules(metafunc.config, mark)
    metafunc.fixturenames.append(PARAMETER)
    metafunc.parametrize(PARAMETER, names, ids=map(item_id, names))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Let a marked test give its system instead of a verdict, and hold the answers against the rule of the item."""
    mark = pyfuncitem.get_closest_marker("karat")
    if mark is None:
        return (yield)
    from karat.plugin._checking import checking

    given = pyfuncitem.obj
    pyfuncitem.obj = checking(pyfuncitem, mark)
    try:
        return (yield)
    finally:
        pyfuncitem.obj = given


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """List what passed without being decided, since a passing test shows nothing of it."""
    found = [
        value
        for report in terminalreporter.stats.get("passed", ())
        for name, value in getattr(report, "user_properties", ())
        if name == PROPERTY and str(value).startswith("inconclusive")
    ]
    if found:
        terminalreporter.section("karat: inconclusive, which the policy lets pass")
        for value in found:
            terminalreporter.write_line(value)


@pytest.fixture(name="karat", scope="session")
def karat_fixture(request: pytest.FixtureRequest) -> Fixture:
    """``karat.check(system=..., golden=...)``: ask a retriever all questions, and fail by the rules of the gate."""
    from karat.plugin._checking import Fixture

    return Fixture(request.config)
