"""The plugins of pytest that ``scripts/test`` loads, in this order: what imports karat comes after what measures it.

Left to itself, pytest loads that of karat first of all, and rewrites the asserts of all its modules.
"""

from __future__ import annotations

import pytest


def pytest_addoption(pluginmanager: pytest.PytestPluginManager) -> None:
    """Load them by the names of their entry points, which some of them look for."""
    pluginmanager.import_plugin("measuring")
    for name in ("xdist", "randomly", "hypothesispytest", "karat"):
        pluginmanager.load_setuptools_entrypoints("pytest11", name)
