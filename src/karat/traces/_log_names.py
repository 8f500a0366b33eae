"""The names that the logs of agent and blocks have for what is beside their hits."""

from __future__ import annotations

BLOCKS_ENVELOPE = ("schema_version", "event", "ts", "trace_id", "agent_id", "mem_rev", "mem_hash", "index_hash")
"""Fields around a record, as in blocks' contracts."""
AGENT_ENVELOPE = ("traceId",)
BLOCKS_TELEMETRY = ("ΔS", "λ_state", "anchor")
AGENT_TELEMETRY = (
    "selectedMode", "modeOverrideApplied", "pressureLevel", "tokenUsageRatio", "fallbackTriggered", "fallbackReason",
    "degradedModeActive", "resultCount", "avgRelevanceScore", "topResultScore", "boostImpactDelta",
    "extractionCountInSession", "qualityProxyScore", "dedup", "expansion",
)  # fmt: skip
AGENT_LATENCIES = {
    "candidateLatencyMs": "candidate",
    "fusionLatencyMs": "fusion",
    "rerankLatencyMs": "rerank",
    "boostLatencyMs": "boost",
}
"""The stages whose times agent's telemetry names; the total is ``totalLatencyMs``."""
OTHER_SPELLINGS = {
    "ΔS": ("ΔS", "∆S", "deltaS", "delta_S", "delta_s", "DeltaS"),
    "λ_state": ("λ_state", "lambda_state", "lambdaState", "λ", "lambda"),
}
"""How logs write the names of blocks' observations: in Greek, with the sign for an increment, and in ASCII."""
TRACE_EVENT = "retrieve.run"
"""The event of a row with hits, in a log that has other events too."""
