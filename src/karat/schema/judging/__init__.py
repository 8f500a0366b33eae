"""The JSON of judges: what they are sent, and how far they can be trusted."""

from karat.schema.judging._requests import JudgeRequest, JudgeRequests

__all__ = ["JudgeRequest", "JudgeRequests"]
