"""The JSON of live traffic: what was harvested from it."""

from karat.schema.feedback._harvest import BehaviourRow, HarvestGroup, HarvestReport

__all__ = ["BehaviourRow", "HarvestGroup", "HarvestReport"]
