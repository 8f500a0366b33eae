"""What spans and log records say besides retrieval: answers, evaluations, and changes of an agent's memory."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from karat.traces.spans._otlp import Entry
from karat.traces.spans._span import Span, parse_text, to_number
from karat.traces.spans._steps import find_kind

EVALUATION_EVENT = "gen_ai.evaluation.result"
MEMORY_WRITES = ("create_memory", "update_memory", "upsert_memory", "delete_memory")
HUMAN = "HUMAN"
_ANSWERS = ("chat", "text_completion", "generate_content")
_ANSWER_KINDS = ("LLM", "GENERATION", "CHAT_MODEL")
_MESSAGE = re.compile(r"llm\.output_messages\.([0-9]{1,4})\.message\.(content|contents\.[0-9]+\.message_content\.text)")
_COMPLETION = re.compile(r"gen_ai\.completion\.([0-9]{1,4})\.content()")
_EVALUATION = re.compile(r"evaluations\.([0-9]{1,4})\.evaluation\.(.+)", re.DOTALL)
_PEOPLE = re.compile(r"(user|human)[ _.-]?(feedback|rating|score)|feedback|thumbs?([ _.-]?up)?", re.IGNORECASE)
_GOOD = frozenset(
    ("thumbs-up", "thumbs_up", "up", "good", "correct", "positive", "useful", "helpful", "relevant", "yes", "true")
)
_BAD = frozenset((
    "thumbs-down", "thumbs_down", "down", "bad", "incorrect", "negative", "useless", "unhelpful", "irrelevant",
    "not useful", "not helpful", "not relevant", "no", "false",
))  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanEvaluation:
    """What somebody, or something, said of a request."""

    name: str
    score: float | None = None
    label: str = ""
    explanation: str = ""
    annotator: str = ""
    """``HUMAN``, ``LLM`` or ``CODE``; empty if nobody says."""
    document: str = ""
    """The document that it is about; empty if it is about the request."""
    position: int | None = None
    """The place of that document in the list, from 0."""
    time: int = 0
    """Nanoseconds since 1970; 0 if it is not known."""

    @property
    def is_by_people(self) -> bool:
        """Whether a person said it: by the annotator, or by a name such as ``user_feedback`` where none is named."""
        return self.annotator == HUMAN or (not self.annotator and _PEOPLE.fullmatch(self.name) is not None)

    @property
    def value(self) -> float | None:
        """How good it is, from 0 to 1; None if neither score nor label tells.

        >>> [SpanEvaluation(name="feedback", score=score).value for score in (-1, 0.5, 7)]
        [0.0, 0.5, None]
        """
        if self.score is not None and math.isfinite(self.score) and -1 <= self.score <= 1:
            return max(0.0, self.score)
        label = self.label.strip().lower()
        return 1.0 if label in _GOOD else 0.0 if label in _BAD else None


def read_answer(span: Span) -> str:
    """Return the text that a model generated, if the span is that of a model and has it."""
    known, kind = span.attributes, find_kind(span.attributes)
    if kind not in _ANSWER_KINDS and known.get("gen_ai.operation.name") not in _ANSWERS:
        return ""
    for pattern in (_MESSAGE, _COMPLETION):
        if text := _join_numbered(known, pattern):
            return text
    for name in ("gen_ai.output.messages", "langfuse.observation.output", "mlflow.spanOutputs"):
        if text := _find_message(parse_text(known.get(name))):
            return text
    return read_output(span)


def read_output(span: Span) -> str:
    """Return what a span returned, if that is a plain text."""
    output = span.attributes.get("output.value")
    plain = span.attributes.get("output.mime_type") in (None, "", "text/plain")
    return output if plain and isinstance(output, str) else ""


def _join_numbered(known: Mapping[str, Any], pattern: re.Pattern[str]) -> str:
    """Return the last of numbered messages; one of several parts is joined."""
    parts = [(int(match[1]), name) for name in known if (match := pattern.fullmatch(name))]
    last = max((number for number, _ in parts), default=0)
    return "".join(value for number, name in parts if number == last and isinstance(value := known[name], str))


def _find_message(value: Any) -> str:
    """Return the text of what a model returned: a text, a message, or the last of several."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return _find_message(value[-1]) if value else ""
    if not isinstance(value, dict):
        return ""
    if isinstance(parts := value.get("parts"), list):
        texts = (part.get("content") for part in parts if isinstance(part, dict) and part.get("type") == "text")
        return "".join(text for text in texts if isinstance(text, str))
    for key in ("choices", "message", "content", "text"):
        if text := _find_message(value.get(key)):
            return text
    return ""


def read_evaluations(span: Span) -> list[SpanEvaluation]:
    """Return the evaluations that a span of OpenInference carries."""
    rows: dict[int, dict[str, Any]] = {}
    for name, value in span.attributes.items():
        if match := _EVALUATION.fullmatch(name):
            rows.setdefault(int(match[1]), {})[match[2]] = value
    return [evaluation for _, row in sorted(rows.items()) for evaluation in _read_row(row, span.end)]


def read_log_evaluation(entry: Entry) -> SpanEvaluation | None:
    """Return the evaluation that a log record by GenAI's conventions is; None for any other record."""
    if entry.event != EVALUATION_EVENT:
        return None
    prefix = "gen_ai.evaluation."
    row = {name.removeprefix(prefix): value for name, value in entry.attributes.items() if name.startswith(prefix)}
    row = {"score": row.get("score.value"), "label": row.get("score.label"), **row}
    row["annotator_kind"] = entry.attributes.get("karat.annotator") or ""
    return next(_read_row(row, entry.time), None)


def read_score_row(row: Mapping[str, Any], time: int) -> SpanEvaluation | None:
    """Return a score of Langfuse, or an annotation of Phoenix, as one."""
    people = {"ANNOTATION": HUMAN, "EVAL": "LLM"}
    value = row.get("value", row.get("score"))
    flat = {
        "name": row.get("name") or row.get("annotation_name"),
        "score": value if not isinstance(value, str) else _to_number(value),
        "label": row.get("stringValue") or row.get("label") or "",
        "explanation": row.get("comment") or row.get("explanation") or "",
        "annotator_kind": row.get("annotator_kind") or people.get(str(row.get("source")), ""),
        "metadata": row.get("metadata"),
        "position": row.get("document_position"),
    }
    return next(_read_row(flat, time), None)


def _read_row(row: Mapping[str, Any], time: int) -> Iterator[SpanEvaluation]:
    """Yield the evaluation of a row; one without a name is none."""
    if not (name := str(row.get("name") or "")):
        return
    metadata = parse_text(row.get("metadata"))
    about = metadata if isinstance(metadata, dict) else _strip(row, "metadata.")
    position = row.get("position", about.get("document_position"))
    score = to_number(row.get("score"))
    yield SpanEvaluation(
        name=name,
        score=score if score is not None and math.isfinite(score) else None,
        label=str(row.get("label") or ""),
        explanation=str(row.get("explanation") or ""),
        annotator=str(row.get("annotator_kind") or "").upper(),
        document=str(about.get("document_id") or about.get("document.id") or ""),
        position=position if type(position) is int and position >= 0 else None,
        time=time,
    )


def _strip(row: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {name.removeprefix(prefix): value for name, value in row.items() if name.startswith(prefix)}


def _to_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def list_memory_writes(span: Span) -> Iterable[tuple[str, str]]:
    """Return what a span did to an agent's memory: pairs of an operation and the id of a record."""
    operation = span.attributes.get("gen_ai.operation.name")
    if operation not in MEMORY_WRITES:
        return []
    record = span.attributes.get("gen_ai.memory.record.id")
    ids = record if isinstance(record, list) else [record]
    return [(str(operation), str(name or "")) for name in ids]
