"""The hooks. pytest imports this module in every test suite of an environment with karat, so it has to be light."""

from __future__ import annotations

import sys
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from karat.pytest_plugin._names import FOLDERS, MARK, PARAMETER, PROPERTY, SENDINGS

if TYPE_CHECKING:
    from karat.pytest_plugin._fixture import Fixture

_SHARED: pytest.StashKey[str] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that save runs and reports."""
    group = parser.getgroup("karat", "retrieval quality (karat)")
    for name, text in FOLDERS.items():
        group.addoption(name, metavar="DIR", help=text)


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark, and make folders absolute: they are relative to where pytest was started, in workers, too."""
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
    """Pass to each worker of xdist the folder in which the workers share runs; it is created when it is needed."""
    if _SHARED not in node.config.stash:
        import secrets
        import tempfile

        node.config.stash[_SHARED] = f"{tempfile.gettempdir()}/karat-{secrets.token_hex(16)}"
    node.workerinput["karat_shared"] = node.config.stash[_SHARED]


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the folder that the workers shared."""
    if _SHARED in config.stash:
        import shutil

        shutil.rmtree(config.stash[_SHARED], ignore_errors=True)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Wait for the collector of telemetry, if one is configured, and say what it has not taken."""
    for sending in session.config.stash.get(SENDINGS, ()):
        if note := sending.finish():
            sys.stderr.write(f"karat: {note}\n")


@pytest.hookimpl(trylast=True)  # so that the rule comes last in the name of an item
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one item for each rule, and for each query that must pass."""
    if metafunc.definition.get_closest_marker(MARK) is None:
        return
    from karat.pytest_plugin._rules import make_id, read_rules

    rules = read_rules(metafunc.definition)
    metafunc.fixturenames.append(PARAMETER)
    metafunc.parametrize(PARAMETER, rules, ids=[make_id(rule.name) for rule in rules])


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Fail a marked test that has no rule, which would pass whatever it returns."""
    if isinstance(item, pytest.Function) and item.get_closest_marker(MARK) is not None:
        from karat.pytest_plugin._rules import require_rule

        require_rule(item)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Replace a marked test, which returns a system, by a function that checks the rule of the item."""
    if pyfuncitem.get_closest_marker(MARK) is None:
        return (yield)
    from karat.pytest_plugin._checking import make_check

    function = pyfuncitem.obj
    pyfuncitem.obj = make_check(pyfuncitem)
    try:
        return (yield)
    finally:
        pyfuncitem.obj = function


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """List the rules that passed although they are inconclusive, because a passing test shows no reason."""
    lines = [
        f"{report.nodeid}: {str(value).partition(': ')[2]}"
        for report in terminalreporter.stats.get("passed", ())
        for name, value in getattr(report, "user_properties", ())
        if name == PROPERTY and str(value).startswith("inconclusive")
    ]
    if lines:
        from karat.pytest_plugin._rules import show_message

        terminalreporter.section("karat: inconclusive, which the policy does not fail")
        for line in lines:
            terminalreporter.write_line(show_message(line))


@pytest.fixture(name=MARK, scope="session")
def karat_fixture(request: pytest.FixtureRequest) -> Fixture:
    """``karat.check(golden, system)``: ask a retriever every question, and fail the test if the gate does not pass."""
    from karat.pytest_plugin._fixture import Fixture

    return Fixture(request.config)
