"""How the ids of a live system name documents and their parts, as in run files."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest

import karat
from karat import golden as sets
from karat.core import Document, GoldenSet, InputError, Judgment, Query, Target

TEXT = "# Pool\n\nThe pool is heated.\n\n## Hours\n\nIt opens at six.\n"
GOLDEN = GoldenSet(
    documents=(Document(id="pool", text=TEXT, format="markdown"), Document(id="wifi", text="The network is free.")),
    queries=(Query(id="q1", text="opens six"), Query(id="q2", text="network free")),
    judgments=(
        Judgment(query="q1", target=Target(document="pool", section="S.1.1"), grade=3),
        Judgment(query="q2", target=Target(document="wifi"), grade=3),
    ),
)


@pytest.mark.parametrize(
    ("ids", "pool", "wifi", "unit"),
    [
        ("chunk", "pool:chunk:1", "wifi:chunk:0", "document"),
        ("prefix", "chunk-pool:1", "chunk-wifi:0", "document"),
        ("path", "pool#s03#p002", "wifi#s01#p001", "document"),
        ("path", "pool#S.1.1", "wifi", "target"),
        ("auto", "pool#S.1.1", "chunk-wifi:0", "target"),
        ("opaque", "pool", "wifi", "document"),
    ],
)
def test_a_store_says_how_its_ids_name_what_was_judged(tmp_path: Path, ids: str, pool: str, wifi: str, unit: str):
    """The same table finds everything with the right scheme; another one is refused with a hint."""
    sets.write(GOLDEN, tmp_path / "golden")
    with sqlite3.connect(tmp_path / "docs.sqlite") as connection:
        connection.execute("create virtual table docs using fts5(name, body)")
        rows = [(pool, "It opens at six."), (wifi, "The network is free.")]
        connection.executemany("insert into docs values (?, ?)", rows)
    connection.close()
    table = 'kind = "sqlite"\npath = "docs.sqlite"\ncollection = "docs"\nid = "name"'
    (tmp_path / "karat.toml").write_text(
        f'[golden]\npath = "golden"\n[system]\n{table}\n[eval]\nids = "{ids}"\nunit = "{unit}"\n', encoding="utf-8"
    )
    assert karat.evaluate(tmp_path, measures=["RR@5"]).mean() == {"RR@5": 1.0}
    if unit == "document" and ids != "opaque":
        with pytest.raises(InputError, match=re.escape(f"with ids = \"{ids}\" in [eval], {pool!r} is 'pool'")):
            karat.evaluate(tmp_path, measures=["RR@5"], ids="opaque")
