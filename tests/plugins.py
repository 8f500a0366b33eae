"""The plugins of pytest that ``scripts/test`` loads, in this order: what imports karat comes after what measures it.

Left to itself, pytest loads that of karat first of all, and rewrites the asserts of all its modules.
"""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from pathlib import Path

import pytest


def pytest_addoption(pluginmanager: pytest.PytestPluginManager) -> None:
    """Load them by the names of their entry points, which some of them look for."""
    pluginmanager.import_plugin("measuring")
    for name in ("xdist", "randomly", "hypothesispytest", "karat"):
        pluginmanager.load_setuptools_entrypoints("pytest11", name)
    pluginmanager.import_plugin("messages")
    pluginmanager.import_plugin("compiling")


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Iterator[list[pytest.Collector]]:
    """Look for examples only in the modules that have some: to look takes a second in each worker."""
    collectors = yield
    if collectors and b">>>" not in file_path.read_bytes():
        return [collector for collector in collectors if type(collector) is pytest.Module]
    return collectors


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Empty the cache of source lines before an example of a docstring.

    Its debugger, which is not used, looks at each file in there, and by now these are a thousand.
    """
    if isinstance(item, pytest.DoctestItem):
        linecache.clearcache()
