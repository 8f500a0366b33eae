"""The page on public data has every collection that tests read, and only one module knows their folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from docs.test_docs import ROOT
from public_data import FILES

PAGE = ROOT / "docs" / "public-data.md"


def test_every_collection_is_on_the_page() -> None:
    """With its folder and the file by which the tests find it."""
    rows = re.findall(r"^\| `(\w+)/` \|.*$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(rows) == {file.split("/")[0] for file in FILES.values()}
    page = PAGE.read_text(encoding="utf-8")
    assert [file for file in FILES.values() if f"`{file.partition('/')[2]}`" not in page] == []


def test_one_module_of_the_tests_knows_the_folder() -> None:
    """A test that looked for it elsewhere would not heed KARAT_DATA."""
    others = [
        path.name
        for path in (ROOT / "tests").rglob("*.py")
        if path.name not in ("public_data.py", "test_public_data_page.py") and '"shared" / "data"' in path.read_text()
    ]
    assert others == []


def test_what_reads_public_data_is_marked() -> None:
    """``-m public_data`` runs all of it, and ``-m 'not public_data'`` needs none of it."""
    readers = [path for path in (ROOT / "tests").rglob("test_*.py") if "\nfrom public_data import" in path.read_text()]
    unmarked = [path.name for path in readers if "pytest.mark.public_data" not in path.read_text()]
    assert unmarked == []


def test_a_benchmark_without_its_data_says_which_variable_names_it(tmp_path: Path) -> None:
    """And exits with 2, as for any input that is missing."""
    process = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "retrieval", "--quick"],
        env={**os.environ, "KARAT_DATA": str(tmp_path / "none")},
        capture_output=True,
        text=True,
    )
    message = f"no public collections at {tmp_path / 'none'}: set KARAT_DATA, see docs/public-data.md\n"
    assert (process.returncode, process.stderr) == (2, message)
