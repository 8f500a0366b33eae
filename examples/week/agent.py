"""A small agent for guests of the hotel: it searches the documents, shows the best, and logs what it showed."""

from karat.projects import open_project


class Agent:
    def __init__(self, log, draw, project="examples/hotel"):
        self.log, self.draw, self.answers = log, draw, {}
        opened = open_project(project)
        self.system = opened.system()  # the pipeline of karat.toml
        self.system.ingest(opened.golden.documents)

    def ask(self, text, **fields):
        """Return the id of a logged query and the documents to show; none if the pipeline refuses to answer."""
        if text not in self.answers:
            self.answers[text] = self.system.retrieve(text, 10)
        answer = self.answers[text]
        best = {}
        for hit in answer.hits:
            best.setdefault(hit.document, hit)  # of each document the first part
        shown = self.swap(list(best.values())) if not answer.refused else []
        query = self.log.record(text, shown, tool="search_documents", **fields)
        return query, [hit.document for hit in shown]

    def swap(self, hits):
        """Return hits with neighbours swapped at random: otherwise nothing tells a good place from a good document."""
        first = self.draw.randrange(2)
        for place in range(first, len(hits) - 1, 2):
            if self.draw.random() < 0.5:
                hits[place : place + 2] = hits[place + 1], hits[place]
        return hits
