"""The ``karat`` fixture: everything in one test."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from karat.core import KaratError
from karat.projects import GateResult, describe_failure
from karat.pytest_plugin._checking import Test, ask
from karat.pytest_plugin._rules import read_asked, told


class Fixture:
    """What a test gets as ``karat``."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._calls: Counter[str] = Counter()

    def check(
        self,
        system: object = None,
        golden: str | Path = ".",
        *,
        baseline: str | Path | None = None,
        policy: str | Path | None = None,
        seed: int = 0,
        **settings: Any,
    ) -> GateResult:
        """Ask a system every question and fail the test by the gate; give the scores and the decision if it passes.

        As :func:`karat.check`, with paths relative to the root of the test suite.
        """
        __tracebackhide__ = True
        said = {"golden": golden, "baseline": baseline, "policy": policy, "seed": seed, **settings}
        try:
            gated = ask(self._config, self._test(), read_asked(self._config.rootpath, said, {}), system)
        except KaratError as error:
            wrong = told(error)
        else:
            if not gated.decision.exit_code:
                return gated
            wrong = describe_failure(gated)
        pytest.fail(wrong, pytrace=False)

    def _test(self) -> Test:
        """Name the test that calls; pytest tells it as ``test_it.py::test_search (call)``."""
        name = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
        self._calls[name] += 1
        number = "" if self._calls[name] == 1 else f"-{self._calls[name]}"
        return Test(key=f"{name}{number}", name=f"{name}{number}")
