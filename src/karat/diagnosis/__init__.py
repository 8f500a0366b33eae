"""Diagnosis: why queries fail, and what each part of a system is worth."""

from karat.causes import CAUSES, Cause, Diagnosis, Evidence, cause, diagnose
from karat.diagnosis._ablation import ablate
from karat.diagnosis._document import make_document
from karat.diagnosis._gain import measure_gain
from karat.diagnosis._project import explain

__all__ = [
    "CAUSES",
    "Cause",
    "Diagnosis",
    "Evidence",
    "ablate",
    "cause",
    "diagnose",
    "explain",
    "make_document",
    "measure_gain",
]
