"""Fewer messages from the workers of xdist, which take it longer than many a test.

A worker sends six for every test: that it begins, three reports (before, the test itself, after), that it ends, and
that the next one can come. Of a test that passes, pytest shows the second report and nothing else.
"""

from __future__ import annotations

import pytest

SHOWN = 0.005
"""Seconds from which ``--durations`` shows what comes before and after a test, unless it is asked for more."""


def pytest_configure(config: pytest.Config) -> None:
    """Replace the hooks of the plugin that sends messages, if this is a worker."""
    for plugin in config.pluginmanager.get_plugins():
        if type(plugin).__name__ == "WorkerInteractor":  # xdist has it in a module without a name
            config.pluginmanager.unregister(plugin)
            send_less(plugin)
            config.pluginmanager.register(plugin)


def send_less(plugin: object) -> None:
    """Let a plugin send only what is shown; it must not be registered."""
    send = plugin.pytest_runtest_logreport  # type: ignore[attr-defined]

    @pytest.hookimpl
    def pytest_runtest_logreport(report: pytest.TestReport) -> None:
        if report.when == "call" or not report.passed or report.sections or report.duration >= SHOWN:
            send(report)

    plugin.pytest_runtest_logstart = plugin.pytest_runtest_logfinish = None  # type: ignore[attr-defined]
    plugin.pytest_runtest_logreport = pytest_runtest_logreport  # type: ignore[attr-defined]
