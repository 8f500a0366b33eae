"""Asking a language model: any server with OpenAI's API, typed replies, fenced texts, budget, pace, cache on disk."""

from karat.chat._asker import Asker, Metered
from karat.chat._budget import Budget, BudgetSpent, Spending
from karat.chat._calls import Call, Listener, Subject, asking_about
from karat.chat._dialogue import Check, Dialogue, NotMeasurable
from karat.chat._fence import Part, clean, fence
from karat.chat._model import Chat, Completion, Model, Rung, Usage, make_body, make_probes
from karat.chat._pace import Pace
from karat.chat._prompts import Prompt, parse_prompt
from karat.chat._replies import Reply, make_schema
from karat.chat._reply_file import Replies, make_key

__all__ = [
    "Asker",
    "Budget",
    "BudgetSpent",
    "Call",
    "Chat",
    "Check",
    "Completion",
    "Dialogue",
    "Listener",
    "Metered",
    "Model",
    "NotMeasurable",
    "Pace",
    "Part",
    "Prompt",
    "Replies",
    "Reply",
    "Rung",
    "Spending",
    "Subject",
    "Usage",
    "asking_about",
    "clean",
    "fence",
    "make_body",
    "make_key",
    "make_probes",
    "make_schema",
    "parse_prompt",
]
