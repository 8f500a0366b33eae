"""How far the judges without a model agree with people, beside how far people agree among themselves.

Reads the human-labelled sets of the folder that ``KARAT_DATA`` names (docs/public-data.md), and prints AUROC and kappa
of ``lexical_support`` on each, with 95 % intervals over resamples of whole sources; then those of ``overlap_grade`` on
the judgments of ``examples/hotel``. Kappa is that of scores rounded at one half, which was not chosen for any set.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from karat import golden
from karat.judges import Source, grade_by_overlap
from karat.stats.trust import Estimate, measure_agreement, measure_people

ROOT = Path(__file__).resolve().parents[2]
HOTEL = ROOT / "examples" / "hotel"
RESAMPLES = 1_000


@dataclass(frozen=True)
class Labelled:
    """A claim, its source, and what people say: 1 if the source supports it."""

    source: str
    claim: str
    votes: tuple[int, ...]

    @property
    def label(self) -> float:
        return float(2 * sum(self.votes) > len(self.votes))


def read_qags(path: Path) -> Iterator[Labelled]:
    """Yield the sentences of summaries, each with the votes of three people."""
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        for sentence in row["summary_sentences"]:
            votes = tuple(int(vote["response"] == "yes") for vote in sentence["responses"])
            yield Labelled(row["article"], sentence["sentence"], votes)


def read_begin(path: Path) -> Iterator[Labelled]:
    """Yield responses in dialogues; those that say nothing particular have no label."""
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row["begin_label"] != "Generic":
                yield Labelled(row["knowledge"], row["response"], (int(row["begin_label"] == "Fully attributable"),))


def read_wice(path: Path) -> Iterator[Labelled]:
    """Yield claims of Wikipedia; one that is supported in part is not supported."""
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        yield Labelled("\n".join(row["evidence"]), row["claim"], (int(row["label"] == "supported"),))


SETS = {
    "QAGS-cnndm": (read_qags, "qags_mturk_cnndm.jsonl"),
    "QAGS-xsum": (read_qags, "qags_mturk_xsum.jsonl"),
    "BEGIN-cmu": (read_begin, "begin_begin_dev_cmu.tsv"),
    "BEGIN-tc": (read_begin, "begin_begin_dev_tc.tsv"),
    "BEGIN-wow": (read_begin, "begin_begin_dev_wow.tsv"),
    "WiCE": (read_wice, "wice_claim_dev.jsonl"),
}


def show(estimate: Estimate | None) -> str:
    return "-" if estimate is None else f"{estimate.value:.3f} ({estimate.low:.3f} to {estimate.high:.3f})"


def score(items: Iterable[Labelled]) -> list[float]:
    sources: dict[str, Source] = {}
    return [sources.setdefault(item.source, Source(item.source)).support(item.claim).value for item in items]


def judge_words(name: str, items: list[Labelled]) -> str:
    """Return the row of a set."""
    rng = np.random.default_rng(0)
    labels = [item.label for item in items]
    measured = measure_agreement(
        score(items), labels, levels=[0.0, 1.0], positive=0.5, groups=[item.source for item in items], rng=rng,
        resamples=RESAMPLES,
    )  # fmt: skip
    voted = [item.votes for item in items if len(item.votes) > 2]
    people = measure_people(np.array(voted).T, rng=rng, resamples=RESAMPLES) if voted else None
    cells = [
        f"lexical_support on {name}", f"{len(items):,}", f"{np.mean(labels):.2f}", show(measured["auroc"]),
        show(measured["kappa"]), show(None if people is None else people.kappa),
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def judge_overlap() -> str:
    """Return the row of the hotel, whose judgments have one label each."""
    hotel = golden.open_set(HOTEL)
    texts = {document.id: f"{document.title}\n\n{document.text}" for document in hotel.documents}
    ordered = sorted(hotel.judgments, key=lambda judgment: judgment.target.document)  # each text is read once
    grades = {(judgment.query, judgment.target.document): judgment.grade for judgment in ordered}
    judged = [grade_by_overlap(hotel.query_by_id[query].text, texts[document]) / 3 for query, document in grades]
    labels = np.array(list(grades.values())) / 3
    measured = measure_agreement(
        judged, labels, levels=[0, 1 / 3, 2 / 3, 1], positive=0.5, groups=[query for query, _ in grades],
        rng=np.random.default_rng(0), resamples=RESAMPLES,
    )  # fmt: skip
    share = float((labels >= 0.5).mean())
    numbers = show(measured["auroc"]), show(measured["kappa"])
    return f"| overlap_grade on examples/hotel | {len(grades):,} | {share:.2f} | {' | '.join(numbers)} | - |"


def print_agreement() -> None:
    """Print the table, or what is missing for it."""
    print("| judge and set | items | good | AUROC | kappa | kappa of people |")
    print("|---|---|---|---|---|---|", flush=True)
    folder = Path(os.environ.get("KARAT_DATA") or ROOT.parent / "shared" / "data", "faithfulness")
    for name, (read, file) in SETS.items():
        if (folder / file).is_file():
            print(judge_words(name, list(read(folder / file))), flush=True)
    print(judge_overlap(), flush=True)
    if not folder.is_dir():
        print("\nthe human-labelled sets are not there: name their folder in KARAT_DATA (docs/public-data.md)")


if __name__ == "__main__":
    print_agreement()
