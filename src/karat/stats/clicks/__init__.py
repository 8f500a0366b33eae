"""Clicks as evidence: how attractive items are, how many people look at each rank, what another policy would bring."""

from karat.stats.clicks._attraction import (
    CLIP,
    combine_intervals,
    estimate_coec,
    estimate_ctr,
    estimate_ips,
    estimate_sdbn,
    exact_interval,
)
from karat.stats.clicks._cells import Cells, ClickTotals
from karat.stats.clicks._clusters import ShareSums, clustered_share, crossed_share
from karat.stats.clicks._impressions import LEAST_IMPRESSIONS, Attractions, Impressions
from karat.stats.clicks._propensities import LEAST_CLICKS, Propensities, estimate_propensities
from karat.stats.clicks._value import PolicyValue, estimate_policy_value

__all__ = [
    "CLIP",
    "LEAST_CLICKS",
    "LEAST_IMPRESSIONS",
    "Attractions",
    "Cells",
    "ClickTotals",
    "Impressions",
    "PolicyValue",
    "Propensities",
    "ShareSums",
    "clustered_share",
    "combine_intervals",
    "crossed_share",
    "estimate_coec",
    "estimate_ctr",
    "estimate_ips",
    "estimate_policy_value",
    "estimate_propensities",
    "estimate_sdbn",
    "exact_interval",
]
