"""Spans of applications that are instrumented already, as records of the log: over HTTP, and from files."""

from karat.online.receiving._importing import import_files
from karat.online.receiving._receiver import PATIENCE, SETTLE, Accepted, Overloaded, Receiver
from karat.online.receiving._receiving import HOST, PORT, receive
from karat.online.receiving._span_files import KINDS
from karat.online.receiving._taking import EVALUATION, make_record_id

__all__ = [
    "EVALUATION",
    "HOST",
    "KINDS",
    "PATIENCE",
    "PORT",
    "SETTLE",
    "Accepted",
    "Overloaded",
    "Receiver",
    "import_files",
    "make_record_id",
    "receive",
]
