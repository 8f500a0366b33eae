"""What a system records about an answer, checked: the list after each stage, and telemetry."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from karat.core import Answer, Stage, SystemFailed, shorten
from karat.systems._hits import Retrieved, read_hits

_LONGEST = 1e15  # milliseconds


def read_stages(result: object) -> tuple[Stage, ...]:
    """Return the stages of an answer with their hits checked; raise SystemFailed if they are not stages.

    >>> stage = Stage(name="candidate", channel="dense", hits=[("wifi", 0.8), "pool"])
    >>> [hit.document for hit in read_stages(Retrieved([], {}, stages=[stage]))[0].hits]
    ['wifi', 'pool']
    """
    stages: object = result.stages if isinstance(result, Retrieved) else ()
    if not isinstance(stages, list | tuple) or not all(isinstance(stage, Stage) for stage in stages):
        raise SystemFailed(f"the system reports {shorten(stages)} as its stages, not a list of Stage")
    return tuple(_check(stage) for stage in stages)


def _check(stage: Stage) -> Stage:
    try:
        milliseconds = None if stage.milliseconds is None else round(float(stage.milliseconds), 4)
        counts = [None if count is None else int(count) for count in (stage.inputs, stage.outputs)]
        if not 0 <= (milliseconds or 0) <= _LONGEST or min(count or 0 for count in counts) < 0:
            raise ValueError("a count or a time is below 0, or too large")
    except (TypeError, ValueError, OverflowError) as error:
        raise SystemFailed(f"stage {shorten(stage.name)}: {error}") from None
    try:
        hits = read_hits(stage.hits, len(stage.hits))
    except (SystemFailed, TypeError) as error:
        raise SystemFailed(f"stage {shorten(stage.name)}: {error}") from error
    name, channel = str(stage.name), str(stage.channel)
    return replace(
        stage, name=name, channel=channel, inputs=counts[0], outputs=counts[1], milliseconds=milliseconds, hits=hits
    )


def read_telemetry(result: object) -> Mapping[str, Any]:
    """Return the telemetry of an answer as plain JSON values; raise SystemFailed if it is not a mapping of such.

    >>> read_telemetry(Retrieved([], {}, telemetry={"mode": "deep", "fallback": False}))
    {'mode': 'deep', 'fallback': False}
    """
    telemetry = result.telemetry if isinstance(result, Retrieved | Answer) else {}
    if not telemetry:
        return {}
    try:
        return dict(json.loads(json.dumps(dict(telemetry), allow_nan=False)))
    except (TypeError, ValueError, RecursionError) as error:
        raise SystemFailed(f"the system reports {shorten(telemetry)} as its telemetry: {error}") from None
