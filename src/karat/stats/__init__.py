"""Intervals, tests and power: functions on numbers and arrays."""

__all__: list[str] = []
