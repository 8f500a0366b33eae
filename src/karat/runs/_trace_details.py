"""What a retriever's log says besides the hits: stages, context, answer, citations, telemetry and envelope.

Nothing of it changes the hits. What karat does not interpret (delta-S, lambda state, anchor, modes, fallbacks) is kept
as telemetry under the name that the log gives it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from karat.core import Citation, Context, Hit, Place, Stage
from karat.measures import HIT_FIELDS
from karat.runs._trace_answers import NamelessCitation
from karat.schema import LONGEST
from karat.traces import (
    AGENT_ENVELOPE,
    AGENT_LATENCIES,
    AGENT_TELEMETRY,
    BLOCKS_ENVELOPE,
    BLOCKS_TELEMETRY,
    OTHER_SPELLINGS,
)

if TYPE_CHECKING:
    from karat.files import Row

ENVELOPE = (*BLOCKS_ENVELOPE, *AGENT_ENVELOPE)
TELEMETRY = (*BLOCKS_TELEMETRY, *AGENT_TELEMETRY)
_SESSION = ("session", "session_id", "sessionId")
_TURN = ("turn", "turnNumber")


def read_details(row: Row, read_hits: Callable[[Row, str], tuple[Hit, ...]]) -> dict[str, Any]:
    """Return what a row of a log has besides its hits, as arguments of a trace."""
    return {
        "stages": tuple(_read_stage(stage, read_hits) for stage in row.rows("stages")),
        "context": _read_context(row),
        "answer": row.text("answer", default=""),
        "citations": _read_citations(row),
        "refused": row.flag("refused", default=False),
        "telemetry": {
            **row.mapping("telemetry"),
            **{
                name: value
                for name in TELEMETRY
                if (value := row.value(*OTHER_SPELLINGS.get(name, (name,)), default=None)) is not None
            },
        },
        "envelope": {name: value for name in ENVELOPE if (value := row.value(name, default=None)) is not None},
    }


def _read_stage(row: Row, read_hits: Callable[[Row, str], tuple[Hit, ...]]) -> Stage:
    counts = [
        row.integer(*names) if row.has(*names) else None
        for names in (("inputs", "inputCount"), ("outputs", "outputCount"))
    ]
    if any(count is not None and count < 0 for count in counts):
        raise row.error("has a count below 0")
    stage = Stage(
        name=row.text("stage", "name"),
        channel=row.text("channel", default=""),
        inputs=counts[0],
        outputs=counts[1],
        milliseconds=read_time(row, "ms", "durationMs", "duration_ms"),
        hits=read_hits(row, "hits"),
    )
    row.ignore("timestamp", "metadata")
    row.close()
    return stage


def read_time(row: Row, *names: str) -> float | None:
    """Return milliseconds; None if the row has none. A time below 0, or longer than anything takes, is an error."""
    time = row.number(*names, default=None)
    if time is not None and not 0 <= time <= LONGEST:
        limit = "0 or above" if time < 0 else f"at most {LONGEST:g}"
        raise row.error(f"{names[0]!r} is {time:g}", f"a time should be {limit}")
    return time


def read_latencies(row: Row) -> dict[str, float]:
    """Return the milliseconds of the stages that agent's telemetry names."""
    times = {stage: read_time(row, name) for name, stage in AGENT_LATENCIES.items()}
    return {stage: time for stage, time in times.items() if time is not None}


def _read_context(row: Row) -> Context:
    nested = row.row("context")
    source = row if nested is None else nested
    turn = source.integer(*_TURN) if source.has(*_TURN) else 0
    if turn < 0:
        raise source.error(f"'turn' is {turn}", "it should be 0 or above")
    context = Context(
        session=source.id(*_SESSION, default=""),
        turn=turn,
        time=source.text("time", default=""),
        tenant=source.text("tenant", default=""),
        metadata=source.mapping("metadata") if nested is not None else {},
    )
    if nested is not None:
        nested.close()
    return context


def _read_citations(row: Row) -> tuple[Citation, ...]:
    """Return what an answer cites: records, or ids of chunks, as blocks' contract of an answer has them."""
    records = tuple(_read_citation(citation) for citation in row.rows("answer_citations", "citations"))
    chunks = [row.nested({"id": chunk}, f"cited_chunks[{i}]") for i, chunk in enumerate(row.list("cited_chunks"))]
    return (*records, *map(_read_citation, chunks))


def _read_citation(row: Row) -> Citation:
    id_, document = row.id(*HIT_FIELDS["id"]), row.id(*HIT_FIELDS["document"], default="")
    citation = (Citation if document else NamelessCitation)(
        id_,
        document,
        row.span(*HIT_FIELDS["span"]),
        row.text(*HIT_FIELDS["section"], default=""),
        row.text("block", default=""),
    )
    row.close()
    return citation


def read_channels(row: Row) -> dict[str, Place]:
    """Return the channels of a hit: a list of names, or a mapping from names to rank, score, or both.

    The rank of a channel that only has a name is 0: not known.
    """
    value = row.value("channels", "sourceChannels", "source_channels", default=None)
    if value is None:
        return {}
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        return {name: Place(0, 0.0) for name in value}
    if isinstance(value, dict):
        return {name: _read_place(row, name, place) for name, place in value.items()}
    raise row.error("'channels' is neither a list of names nor a mapping of them")


def _read_place(row: Row, name: str, place: object) -> Place:
    pair = (place.get("rank", 0), place.get("score", 0.0)) if isinstance(place, dict) else place
    if not isinstance(pair, list | tuple) or len(pair) != 2 or not all(type(number) in (int, float) for number in pair):
        raise row.error(f"channel {name!r} should have a rank and a score, as in [3, 0.8]")
    return Place(int(pair[0]), float(pair[1]))
