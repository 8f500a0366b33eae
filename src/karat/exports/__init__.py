"""Exports: runs and experiments as other tools keep them."""

from karat.exports._mlflow import Exported, check_mlflow, export_document, export_mlflow, is_folder, public_uri
from karat.exports._records import Record, read_records

__all__ = [
    "Exported",
    "Record",
    "check_mlflow",
    "export_document",
    "export_mlflow",
    "is_folder",
    "public_uri",
    "read_records",
]
