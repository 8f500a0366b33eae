"""Four changes of the hotel's search: one is better, one changes nothing, one is harmful, one wins clicks by junk.

They know the judgments, as no real one does: that makes sure which is which.
"""

from dataclasses import replace
from functools import cache

from needs import NEEDS

from karat import golden
from karat.projects import open_project

BAIT = "lark-circle-newsletter-october-2026"
"""A newsletter with a title that everybody opens, and no answers."""


@cache
def read_hotel():
    """Return the pipeline of karat.toml, and the grades of documents by everything that somebody may ask."""
    project = open_project("examples/hotel")
    system, grades = project.system(), project.golden.qrels()
    system.ingest(project.golden.documents)
    by_text = {query.text: grades.get(query.id, {}) for query in project.golden.queries}
    return system, by_text | {wording: grades[need] for need, wordings in NEEDS.items() for wording in wordings}


@cache
def search(text):
    """Return the documents that the hotel's search finds today, each once."""
    answer = read_hotel()[0].retrieve(text, 10)
    return () if answer.refused else tuple(dict.fromkeys(hit.document for hit in answer.hits))


def rerank(text):
    """Return them with the best ones first."""
    grades = read_hotel()[1].get(text, {})
    return tuple(sorted(search(text), key=lambda document: -grades.get(document, 0)))


def lose(text):
    """Return them from the second page on: somebody has counted pages from one."""
    return search(text)[5:]


def bait(text):
    """Return them after the newsletter."""
    return (BAIT, *(document for document in search(text) if document != BAIT))


FEATURES = {"rerank": rerank, "refactor": search, "paging": lose, "newsletter": bait}


class Reranker:
    """The better one, for ``karat check --system systems:Reranker``."""

    def ingest(self, documents):
        """Take in nothing: the hotel's search has its documents."""

    def retrieve(self, query, k):
        """Return the hits of the hotel's search with the best documents first."""
        system, by_text = read_hotel()
        answer = system.retrieve(query, k)
        grades = by_text.get(query, {})
        hits = sorted(answer.hits, key=lambda hit: -grades.get(hit.document, 0))
        return replace(answer, hits=tuple(replace(hit, score=1 / rank) for rank, hit in enumerate(hits, 1)))


def read_grades():
    """Return the grades of documents by the need of a guest."""
    return golden.read("examples/hotel").qrels()
