"""The fixture ``karat``, which checks all rules in one test."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from karat.core import KaratError
from karat.projects import GateResult, describe_failure
from karat.pytest_plugin._checking import Test, ask
from karat.pytest_plugin._rules import describe_error, read_request, show_message


class Fixture:
    """The value of the fixture ``karat``."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._calls: Counter[str] = Counter()

    def check(
        self,
        golden: str | Path = ".",
        system: object = None,
        *,
        baseline: str | Path | None = None,
        policy: str | Path | None = None,
        seed: int = 0,
        **settings: Any,
    ) -> GateResult:
        """Ask a system every question, and return the scores and the decision; fail the test if the gate does not pass.

        This is :func:`karat.check`, with paths relative to the root of the test suite.
        """
        __tracebackhide__ = True
        arguments = {"golden": golden, "baseline": baseline, "policy": policy, "seed": seed, **settings}
        try:
            result = ask(self._config, self._name_test(), read_request(self._config.rootpath, arguments, {}), system)
        except KaratError as error:
            message = describe_error(error)
        else:
            if not result.decision.exit_code:
                return result
            message = show_message(describe_failure(result))
        pytest.fail(message, pytrace=False)

    def _name_test(self) -> Test:
        """Return the test that calls, which pytest names as in ``test_it.py::test_search (call)``."""
        name = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
        self._calls[name] += 1
        number = "" if self._calls[name] == 1 else f"-{self._calls[name]}"
        return Test(key=f"{name}{number}", name=f"{name}{number}")
