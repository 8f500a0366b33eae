"""What a gate can find: the least loss that a number of queries shows, and how often simulated runs pass."""

from karat.gate.power._reach import (
    SPREADS,
    Aim,
    Reach,
    compute_reach,
    compute_reach_of_repeats,
    compute_reach_of_runs,
)
from karat.gate.power._simulation import GateRates, describe_rates, simulate_losses, simulate_noise

__all__ = [
    "SPREADS",
    "Aim",
    "GateRates",
    "Reach",
    "compute_reach",
    "compute_reach_of_repeats",
    "compute_reach_of_runs",
    "describe_rates",
    "simulate_losses",
    "simulate_noise",
]
