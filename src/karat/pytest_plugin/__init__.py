"""The pytest plugin. It imports only its hooks, so that a test suite that does not use karat pays nothing for it."""

from karat.pytest_plugin._hooks import (
    karat_fixture,
    pytest_addoption,
    pytest_configure,
    pytest_configure_node,
    pytest_generate_tests,
    pytest_pyfunc_call,
    pytest_runtest_setup,
    pytest_sessionfinish,
    pytest_terminal_summary,
    pytest_unconfigure,
)

__all__ = [
    "karat_fixture",
    "pytest_addoption",
    "pytest_configure",
    "pytest_configure_node",
    "pytest_generate_tests",
    "pytest_pyfunc_call",
    "pytest_runtest_setup",
    "pytest_sessionfinish",
    "pytest_terminal_summary",
    "pytest_unconfigure",
]
