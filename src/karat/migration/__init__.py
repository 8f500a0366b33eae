"""Migrations: where the blocks, citations and judgments of a rebuilt index went."""

from __future__ import annotations

from karat.migration._alignment import KINDS, Move, Part, align
from karat.migration._edition import Block, Edition
from karat.migration._judgments import Proposal, carry_judgments
from karat.migration._redirects import Redirect, Redirects
from karat.migration._rollout import Cited, ShadowedQuery, judge_rollout, read_shadowed
from karat.migration._sources import outline_edition, parse_gone, read_editions, read_new_documents
from karat.migration._table import encode_table, list_history, map_blocks, read_table, redirect_byte
from karat.migration._targets import Migration, Targets, migrate, verdict_code

__all__ = [
    "KINDS",
    "Block",
    "Cited",
    "Edition",
    "Migration",
    "Move",
    "Part",
    "Proposal",
    "Redirect",
    "Redirects",
    "ShadowedQuery",
    "Targets",
    "align",
    "carry_judgments",
    "encode_table",
    "judge_rollout",
    "list_history",
    "map_blocks",
    "migrate",
    "outline_edition",
    "parse_gone",
    "read_editions",
    "read_new_documents",
    "read_shadowed",
    "read_table",
    "redirect_byte",
    "verdict_code",
]
