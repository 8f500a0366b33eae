"""Many small cases in one test."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

import pytest
from _pytest._io.saferepr import saferepr
from _pytest.mark import ParameterSet

Test = Callable[..., None]


def each(
    names: str | Sequence[str], cases: Iterable[Any], ids: Callable[[Any], object] | Iterable[object] | None = None
) -> Callable[[Test], Test]:
    """Go through cases as ``pytest.mark.parametrize`` does, but in one test.

    pytest and xdist take some milliseconds for a test, which is longer than many a case. All cases are tried, and all
    that fail are shown. Each has a ``tmp_path`` of its own, if the test asks for one; other fixtures are shared.
    """
    if isinstance(names, str):
        names = [name.strip() for name in names.split(",")]
    parameters = [ParameterSet.extract_from(case, force_tuple=len(names) == 1) for case in cases]
    assert parameters, "a test without cases would always pass"
    assert not any(parameter.marks for parameter in parameters), "a case cannot be skipped or marked"
    rows = [parameter.values for parameter in parameters]
    titles = [None] * len(rows) if ids is None or callable(ids) else list(ids)

    def decorate(test: Test) -> Test:
        @wraps(test)
        def run(*owner: object, **others: Any) -> None:
            failures, folder = [], others.get("tmp_path")
            for number, (row, title) in enumerate(zip(rows, titles, strict=True)):
                if folder is not None:
                    others["tmp_path"] = folder / str(number)
                    others["tmp_path"].mkdir()
                try:
                    test(*owner, **dict(zip(names, row, strict=True)), **others)
                except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:
                    error.add_note(f"in the case {_name(names, row, ids) if title is None else title}")
                    failures.append(error)
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} of {len(rows)} cases failed", failures)

        signature = inspect.signature(test)
        others = [parameter for name, parameter in signature.parameters.items() if name not in names]
        run.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return run

    return decorate


def _name(names: Sequence[str], row: Sequence[Any], how: object) -> str:
    """Return what a case that failed is called."""
    if callable(how):
        return " ".join(str(how(value)) for value in row)
    return ", ".join(f"{name}={saferepr(value, 300)}" for name, value in zip(names, row, strict=True))
