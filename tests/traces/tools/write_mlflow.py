"""Runs in .venv-mlflow: MLflow writes a trace into a folder, and reads what karat wrote."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import mlflow
from mlflow.entities import Document, Trace

FOLDER = Path(sys.argv[1])
mlflow.set_tracking_uri(f"sqlite:///{FOLDER}/mlflow.db")


@mlflow.trace(span_type="RETRIEVER", name="dense")
def retrieve(query: str) -> list[Document]:
    """Return two documents, of which one has its id in the metadata."""
    return [
        Document(page_content="?", metadata={"doc_uri": "pool"}),
        Document(page_content="!", id="wifi:chunk:3"),
    ]


@mlflow.trace(span_type="CHAIN")
def answer(query: str) -> int:
    """Answer a question in a session."""
    mlflow.update_current_trace(metadata={"mlflow.trace.session": "s1"})
    return len(retrieve(query))


answer("Is there wifi?")
mlflow.flush_trace_async_logging()
trace = mlflow.get_trace(mlflow.get_last_active_trace_id())
(FOLDER / "mlflow.jsonl").write_text(trace.to_json() + "\n")

read = []
for line in (FOLDER / "karat-mlflow.jsonl").read_text().splitlines():
    again = Trace.from_dict(json.loads(line))
    for span in again.data.spans:
        outputs = [document["id"] for document in span.outputs]
        read.append([span.span_type, span.name, span.inputs, outputs, span.status.status_code.value])
    assert Trace.from_json(again.to_json()).to_dict() == again.to_dict()
json.dump(read, sys.stdout)
