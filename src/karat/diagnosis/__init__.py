"""Diagnosis: why queries fail, and what each part of a system is worth."""

from karat.diagnosis._ablation import ablate
from karat.diagnosis._cause import CAUSES, Cause, Evidence, cause
from karat.diagnosis._explain import Diagnosis, diagnose
from karat.diagnosis._project import explain, make_document

__all__ = ["CAUSES", "Cause", "Diagnosis", "Evidence", "ablate", "cause", "diagnose", "explain", "make_document"]
