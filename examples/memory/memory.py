"""An agent's memory in thirty lines: words in common, the session's own memories first, and of each fact the newest."""

import re

from karat.systems import Retrieved


class Memory:
    def __init__(self, boost=0.3, newest=True, dedup=False):
        self.boost, self.newest, self.dedup = boost, newest, dedup
        self.pages, self.memories, self.shown = [], {}, {}

    def ingest(self, documents):
        self.pages = list(documents)

    def start_session(self, context):
        self.memories[context.session], self.shown[context.session] = {}, set()

    def remember(self, documents, context):
        for document in documents:
            fact = document.metadata.get("about", document.id) if self.newest else document.id
            self.memories[context.session][fact] = document

    def retrieve(self, query, k, context):
        sessions = [context.session] if context.session else list(self.memories)
        memories = [memory for name in sessions for memory in self.memories[name].values()]
        boost, shown = (self.boost, self.shown[context.session]) if context.session else (0.0, set())
        ranked = [(score(query, page), page) for page in self.pages]
        ranked += [(score(query, memory) + boost, memory) for memory in memories]
        best = sorted(ranked, key=lambda pair: -pair[0])[:k]
        known = [document for _, document in best if self.dedup and document.id in shown]
        hits = [(document.id, value) for value, document in best if document not in known]
        shown.update(name for name, _ in hits)
        saved = sum(len(document.text.split()) for document in known)
        return Retrieved(hits, {}, telemetry={"dedup": {"tokens_saved": saved}})


def score(query, document):
    return len(words(query) & words(document.text)) / len(words(document.text)) ** 0.5


def words(text):
    return set(re.findall(r"[a-z0-9]+", text.lower()))
