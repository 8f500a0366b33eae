"""A retriever of your own in fifteen lines: the documents that share the most words with the question.

karat check examples/hotel --system search:Search
"""


class Search:
    def ingest(self, documents):
        self.words = {document.id: set(document.text.lower().split()) for document in documents}

    def retrieve(self, query, k):
        wanted = set(query.lower().split())
        ranked = sorted(self.words, key=lambda id: -len(wanted & self.words[id]))
        return ranked[:k]
