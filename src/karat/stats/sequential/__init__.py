"""Tests that may be looked at after every unit: betting e-processes, Wald's SPRT, read-outs that never decide."""

from karat.stats.sequential._betting import BETS, log_e_above, log_e_below, trace_log_e
from karat.stats.sequential._decision import Assessment, Decision, StoppingRule, assess
from karat.stats.sequential._interval import confidence_sequence
from karat.stats.sequential._planning import SessionPlan, plan_sessions
from karat.stats.sequential._ratio import SampleRatio, check_sample_ratio
from karat.stats.sequential._read_out import ReadOut, read_out
from karat.stats.sequential._sprt import WaldTest, wald_sprt
from karat.stats.sequential._tally import Tally

__all__ = [
    "BETS",
    "Assessment",
    "Decision",
    "ReadOut",
    "SampleRatio",
    "SessionPlan",
    "StoppingRule",
    "Tally",
    "WaldTest",
    "assess",
    "check_sample_ratio",
    "confidence_sequence",
    "log_e_above",
    "log_e_below",
    "plan_sessions",
    "read_out",
    "trace_log_e",
    "wald_sprt",
]
