"""Spans of applications that are instrumented already, as records of the log: over HTTP, and from files."""

from karat.online.receiving._receiver import PATIENCE, SETTLE, Accepted, Overloaded, Receiver
from karat.online.receiving._receiving import HOST, PORT, receive
from karat.online.receiving._taking import EVALUATION, make_record_id

__all__ = [
    "EVALUATION",
    "HOST",
    "PATIENCE",
    "PORT",
    "SETTLE",
    "Accepted",
    "Overloaded",
    "Receiver",
    "make_record_id",
    "receive",
]
