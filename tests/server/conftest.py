"""One project and one client for the tests that change neither."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from dialects import dialect as dialect
from dialects import pytest_generate_tests as pytest_generate_tests
from karat.index import Indexer
from server.served import make_client, make_indexed_project


@pytest.fixture(scope="session")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with an index, and the comparison of its two runs."""
    folder = make_indexed_project(tmp_path_factory.mktemp("indexed"))
    Indexer(folder).compare("old", "new", bounds=True)
    return folder


@pytest.fixture(scope="session")
def client(indexed: Path) -> TestClient:
    """A client of its pages."""
    return make_client(indexed)
