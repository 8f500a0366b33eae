"""Public collections, which are not in the repository. Tests that read them have the marker ``public_data``.

The environment variable ``KARAT_DATA`` names their folder; without it, it is ``../shared/data`` beside the repository.
If a collection is missing, its tests are skipped and say so. ``docs/public-data.md`` says where to get it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("KARAT_DATA") or ROOT.parent / "shared" / "data").absolute()

BUNDLE = "attack/enterprise-attack-18.1.json.gz"
FILES = {
    "scifact": "scifact/qrels/test.tsv",
    "cranfield": "cranfield/cranqrel",
    "attack": "attack/qrels.tsv",
    "chunking": "chunking/questions.csv",
    "clicks": "clicks/open_bandit_random_men.csv",
    "faithfulness": "faithfulness/wice_claim_dev.jsonl",
    "trec_eval": "trec_eval/qrels.test",
    "ubi": "ubi/schema-1.3.0/event.schema.json",
    BUNDLE: BUNDLE,
}
"""A file of each collection, by the folder or file that tests read."""


def find_collection(name: str) -> Path:
    """Return the path of a collection, or skip the test if it is missing."""
    if not (DATA / FILES[name]).exists():
        pytest.skip(explain_missing(name))
    return DATA / name


def skip_without(name: str) -> pytest.MarkDecorator:
    """Return a mark that skips a test if a collection is missing."""
    return pytest.mark.skipif(not (DATA / FILES[name]).exists(), reason=explain_missing(name))


def explain_missing(name: str) -> str:
    """Return why a test is skipped, and what to do about it."""
    return f"UNTESTED: {DATA / FILES[name]} is missing; set KARAT_DATA, docs/public-data.md says where to get it"
