"""The folder of an export: read again without loss, of either format, and only if it is whole."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from each import each
from in_process import run_karat
from karat import online
from karat.core import InputError
from karat.online import export_log, import_ubi, ingest, read_log
from karat.online._export_folder import CONTENTS
from karat.online._parquet import read_rows, write_rows
from karat.online._records import LoggedEvent, LoggedQuery
from online.test_exchange import events, queries


def write_log(path: Path) -> None:
    """Write a log whose texts and ids were not hidden, one of them too long for UBI."""
    with online.open(path, keep_ids=True, redact=False) as log:
        row = {"user_query": "q", "timestamp": "2018-11-13", "session_id": "x" * 200}
        log.record("q", session="x" * 200, ubi=row, time=4.0)
        query = log.record(
            "ask ann@example.org", [("a", 0.5), ("b:chunk:1", 0.25)], session="s", user="u", stages={"x": 1.5},
            time=5.0, latency=2, flags={"rerank": "treatment"},
        )  # fmt: skip
        log.feedback("read_after_search", "s", "a", query=query, rank=1, time=86_406.0)
        log.feedback("read_after_search", "s", "a", query=query, rank=1, time=86_406.0)
    ingest(path)


@each("format", ["ubi", "parquet"])
def test_a_folder_comes_back_as_it_was(tmp_path: Path, format: str) -> None:
    """Ids are not hashed a second time, and texts are not redacted; the second time nothing is new. No key is made."""
    write_log(tmp_path / "karat.db")
    export_log(tmp_path / "karat.db", tmp_path / "out", format=format)
    done = run_karat("online", "import", tmp_path / "new.db", tmp_path / "out", "--json")
    assert json.loads(done.stdout) == {"queries": 2, "events": 2, "repeated": 0, "ignored": {}}
    assert import_ubi(tmp_path / "new.db", [tmp_path / "out"]).repeated == 4
    with read_log(tmp_path / "karat.db") as old, read_log(tmp_path / "new.db") as new:
        assert list(old.queries()) == list(new.queries())
        assert list(old.events()) == list(new.events())
    assert not (tmp_path / "new.db.key").exists()


def test_an_export_that_is_not_whole_is_refused(tmp_path: Path) -> None:
    """A line that is missing, a file that is missing, one outside of the folder, and a folder of somebody else."""
    write_log(tmp_path / "karat.db")
    out = tmp_path / "out"
    export_log(tmp_path / "karat.db", out)

    def refuse(change: str) -> str:
        with pytest.raises(InputError) as raised:
            import_ubi(tmp_path / "new.db", [out])
        assert not (tmp_path / "new.db").exists(), change
        return str(raised.value)

    lines = (out / "queries.jsonl").read_text().splitlines(keepends=True)
    (out / "queries.jsonl").write_text(lines[0])
    assert "has 1 of 2 queries, and 2 of 2 events" in refuse("a line")
    (out / "queries.jsonl").unlink()
    assert "queries.jsonl" in refuse("a file")
    contents = json.loads((out / CONTENTS).read_text())
    for name in ("../karat.db", "/etc/passwd", ""):
        (out / CONTENTS).write_text(json.dumps({**contents, "files": [name]}))
        assert "outside of it" in refuse(name)
    (out / CONTENTS).write_text("{}")
    assert "is not the list of an export" in refuse("its list")
    (out / CONTENTS).unlink()
    assert "is a folder, and no export of karat" in refuse("no list")


def test_a_parquet_file_that_karat_did_not_write_is_refused(tmp_path: Path) -> None:
    """No table at all, and one of the other kind."""
    write_log(tmp_path / "karat.db")
    out = tmp_path / "out"
    done = export_log(tmp_path / "karat.db", out, format="parquet")
    events_file, queries_file = (out / name for name in done.files)
    shutil.copy(events_file, queries_file)
    with pytest.raises(InputError, match="is not a file of records that karat exported"):
        import_ubi(tmp_path / "new.db", [out])
    queries_file.write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"0000\.parquet"):
        import_ubi(tmp_path / "new.db", [out])


@pytest.mark.slow
@settings(max_examples=30)
@given(st.lists(queries, min_size=1, max_size=3), st.lists(events, min_size=1, max_size=3))
def test_records_survive_parquet(searches: list[LoggedQuery], done: list[LoggedEvent]) -> None:
    """Every field comes back as it was."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.parquet")
        write_rows(path, ((record, "home") for record in searches))
        assert list(read_rows(path, "query")) == searches
        write_rows(path, ((record, "home") for record in done))
        assert list(read_rows(path, "event")) == done
