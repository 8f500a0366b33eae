"""Intervals, tests and power: functions on numbers and arrays."""

from karat.stats._agreement import cohen_kappa, krippendorff_alpha
from karat.stats._power import detectable, power, sample_size

__all__ = ["cohen_kappa", "detectable", "krippendorff_alpha", "power", "sample_size"]
