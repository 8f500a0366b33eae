"""What pytest calls. It loads this module in every test suite of an environment with karat: nothing heavy here."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from karat.pytest_plugin._names import FOLDERS, MARK, PARAMETER, PROPERTY

if TYPE_CHECKING:
    from karat.pytest_plugin._fixture import Fixture

_SHARED: pytest.StashKey[str] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that keep what was found."""
    group = parser.getgroup("karat", "retrieval quality (karat)")
    for name, text in FOLDERS.items():
        group.addoption(name, metavar="DIR", help=text)


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark; folders of the command line are from where pytest was started, in its workers too."""
    for name in FOLDERS:
        if (folder := config.getoption(name)) is not None:
            setattr(config.option, name[2:].replace("-", "_"), str(config.invocation_params.dir / folder))
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
    if metafunc.definition.get_closest_marker(MARK) is None:
        return
    from karat.pytest_plugin._rules import item_id, rules_of

    rules = rules_of(metafunc.definition)
    metafunc.fixturenames.append(PARAMETER)
    metafunc.parametrize(PARAMETER, rules, ids=[item_id(rule.name) for rule in rules])


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let no marked test pass that was not made into its rules."""
    if isinstance(item, pytest.Function) and item.get_closest_marker(MARK) is not None:
        from karat.pytest_plugin._rules import refuse_unmade

        refuse_unmade(item)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Let a marked test give its system instead of a verdict, and hold the answers against the rule of the item."""
    if pyfuncitem.get_closest_marker(MARK) is None:
        return (yield)
    from karat.pytest_plugin._checking import checking

    given = pyfuncitem.obj
    pyfuncitem.obj = checking(pyfuncitem)
    try:
        return (yield)
    finally:
        pyfuncitem.obj = given


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """List what passed without being decided, since a passing test shows nothing of it."""
    found = [
        f"{report.nodeid}: {str(value).partition(': ')[2]}"
        for report in terminalreporter.stats.get("passed", ())
        for name, value in getattr(report, "user_properties", ())
        if name == PROPERTY and str(value).startswith("inconclusive")
    ]
    if found:
        terminalreporter.section("karat: inconclusive, which the policy lets pass")
        for line in found:
            terminalreporter.write_line(line)


@pytest.fixture(name=MARK, scope="session")
def karat_fixture(request: pytest.FixtureRequest) -> Fixture:
    """``karat.check(system=..., golden=...)``: ask a retriever all questions, and fail by the rules of the gate."""
    from karat.pytest_plugin._fixture import Fixture

    return Fixture(request.config)
