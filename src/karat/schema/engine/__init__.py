"""The JSON of looking whether an engine can work."""

from karat.schema.engine._engine import EngineCheck, EngineReport, EngineWorker

__all__ = ["EngineCheck", "EngineReport", "EngineWorker"]
