"""Files that have the right keys and anything under them: read, or refused with a message, and never a crash."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from golden.sets import JSON, sent_round
from karat import golden
from karat.core import InputError

KEYS = {
    "fit": (
        *(
            "entities",
            "queries",
            "grades",
            "relevant",
            "entity_id",
            "content",
            "metadata",
            "format",
            "category",
            "tags",
        ),
        *("query_id", "query_text", "expected_results", "relevant_entities", "relevance_labels", "top_1_chunk"),
    ),
    "beluga": ("queries", "grades", "relevant", "id", "query", "relevant_doc_ids", "graded_relevance"),
    "rig": ("query_id", "query", "relevant_docs", "reference_answer"),
    "agent": (
        *("queries", "grades", "relevant", "queryId", "query", "intent", "category", "sessionContext", "sessionId"),
        *("workingMemoryIds", "turnNumber", "judgments", "judgmentSource", "harvestedAt", "memoryId", "relevance"),
        *("sourceChannels", "annotator", "confidence", "source"),
    ),
    "blocks": (
        *("qid", "paraphrases", "relevant", "anchor_section", "negatives", "offsets", "doc", "query", "grades"),
        "normaliser",
    ),
}
WHOLE = {
    "fit": {
        "entities": [{"entity_id": "d", "metadata": {"format": "JSON"}, "tags": ["t"]}],
        "queries": [{"query_id": "q", "query_text": "?", "expected_results": {"relevance_labels": {"d": 3}}}],
    },
    "beluga": {"queries": [{"id": "q", "query": "?", "relevant_doc_ids": ["d"], "graded_relevance": {"d": 3}}]},
    "rig": {"query_id": "q", "query": "?", "relevant_docs": {"d": 3}, "reference_answer": "a"},
    "agent": {
        "queries": [
            {
                "queryId": "q",
                "query": "?",
                "sessionContext": {"sessionId": "s", "workingMemoryIds": [1]},
                "judgments": [{"memoryId": 1, "relevance": 3, "confidence": 1}],
                "judgmentSource": "manual",
            }
        ]
    },
    "blocks": {"qid": "q", "paraphrases": ["?"], "relevant": ["b"], "negatives": ["c"], "offsets": {"b": [0, 9]}},
}


def broken(value: Any, draw: st.DrawFn, format: str) -> Any:
    """Change a file in one place: another value, a key that is gone, or one more."""
    if draw(st.integers(0, 3)) == 0 or not isinstance(value, dict | list) or not value:
        keys = st.sampled_from(KEYS[format])
        return draw(JSON | st.dictionaries(keys, JSON, max_size=2) | st.sampled_from([float("inf"), "\ud800", 10**30]))
    at = draw(st.sampled_from(list(value) if isinstance(value, dict) else range(len(value))))
    if isinstance(value, list):
        return [*value[:at], broken(value[at], draw, format), *value[at + 1 :]]
    if draw(st.integers(0, 5)) == 0:
        return {key: inner for key, inner in value.items() if key != at}
    return {**value, at: broken(value[at], draw, format)}


@pytest.mark.slow
@pytest.mark.parametrize("format", KEYS)
@given(data=st.data())
@settings(max_examples=100, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
def test_what_is_read_can_be_written_and_nothing_crashes(
    format: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A file with one thing wrong is refused, or it is a set that survives its own format."""
    path = tmp_path_factory.mktemp("any") / "golden.json"
    path.write_text(json.dumps(broken(WHOLE[format], data.draw, format)), encoding="utf-8")
    try:
        result = golden.read(path, format)
    except InputError:
        return
    if "\\ud800" in path.read_text():  # half a character, which JSON can spell and no file can hold
        return
    back, _ = sent_round(result, format)
    assert (back.queries, back.judgments, back.relevant) == (result.queries, result.judgments, result.relevant)
