"""A queue: the pairs that people are asked about, frozen in a file when it is made."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import accumulate
from pathlib import Path

import msgspec
import numpy as np

from karat.core import Floats, InputError, UsageError, count_things, shorten
from karat.files import read_bytes, write_file
from karat.labelling._book import Pair
from karat.schema.labelling import QueueHead, QueueRow

VERSION = 1
MOST_PEOPLE = 1000
"""So many people may label the same pair."""
ENDING = ".jsonl"
IMPORTANT = ("decide", "uncertain")
"""The kinds whose pairs come by how much they matter; all others come query by query."""
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,40}")
_HEAD = msgspec.json.Decoder(QueueHead)
_ROW = msgspec.json.Decoder(QueueRow)


def check_queue_name(name: str) -> None:
    """Refuse a name that is not good for a file and an address."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"queue {shorten(name)}: use lower-case letters, digits and hyphens, such as pool-2")


@dataclass(frozen=True, kw_only=True)
class Queue:
    """Pairs to label. A pair has a number: its place in the file."""

    head: QueueHead
    rows: tuple[QueueRow, ...]

    @property
    def name(self) -> str:
        """The name of the queue."""
        return self.head.name

    @cached_property
    def starts(self) -> list[int]:
        """The number of the first pair of each row, and of all pairs at the end."""
        return [0, *accumulate(len(row.documents) for row in self.rows)]

    def __len__(self) -> int:
        return self.starts[-1]

    @cached_property
    def needed(self) -> np.ndarray:
        """How many people each pair needs."""
        needed = np.ones(len(self), np.int16)
        for start, row in zip(self.starts, self.rows, strict=False):
            needed[[start + place for place in row.several]] = self.head.people
        return needed

    @cached_property
    def weights(self) -> Floats:
        """How much each pair matters; 0 if it is not known."""
        weights = [weight for row in self.rows for weight in row.weights or (0.0,) * len(row.documents)]
        return np.array(weights, np.float64)

    @cached_property
    def known(self) -> tuple[Floats, Floats]:
        """Weights and gains of what the queue does not ask, and which decides, too: NaN for what cannot be judged."""
        judged = [pair for row in self.rows for pair in row.judged]
        lacking = [weight for row in self.rows for weight in row.lacking]
        weights = [weight for weight, _ in judged] + lacking
        gains = [gain for _, gain in judged] + [float("nan")] * len(lacking)
        return np.array(weights, np.float64), np.array(gains, np.float64)

    @cached_property
    def _row_of(self) -> dict[str, int]:
        return {row.query: place for place, row in enumerate(self.rows)}

    @cached_property
    def _numbers(self) -> dict[str, dict[str, int]]:
        return {}

    def find(self, pair: Pair) -> int | None:
        """Return the number of a pair; None if the queue does not have it."""
        query, document = pair
        place = self._row_of.get(query)
        if place is None:
            return None
        if query not in self._numbers:
            start = self.starts[place]
            self._numbers[query] = {name: start + i for i, name in enumerate(self.rows[place].documents)}
        return self._numbers[query].get(document)

    def locate(self, number: int) -> tuple[QueueRow, int]:
        """Return the row of a pair, and its place among the documents of the row."""
        place = bisect_right(self.starts, number) - 1
        return self.rows[place], number - self.starts[place]

    def pair(self, number: int) -> Pair:
        """Return the query and the document of a pair."""
        row, place = self.locate(number)
        return row.query, row.documents[place]

    def order(self, who: str) -> np.ndarray:
        """Return the numbers of all pairs in the order in which a person is asked.

        What matters most comes first, where that is known. Otherwise pairs come query by query. Queries, documents and
        ties are in an order that is random, and another one for each person, so that it tells nothing of ranks. Pairs
        for several people come early, among others, so that people who have not done all of it have some in common.
        """
        digest = sha256(f"{self.head.seed}\n{self.name}\n{who}".encode()).digest()
        rng = np.random.default_rng(int.from_bytes(digest[:8]))
        shuffled = rng.permutation(len(self))
        if self.head.kind in IMPORTANT:
            return np.lexsort((shuffled, -np.round(np.abs(self.weights), 12)))
        sizes = np.diff(self.starts)
        queries = np.repeat(rng.permutation(len(self.rows)), sizes)
        return np.lexsort((shuffled, queries, self._find_late(shuffled)))

    def _find_late(self, shuffled: np.ndarray) -> np.ndarray:
        """Return which pairs come in the second half: those for one person, but for half as many as for several.

        Those stay among the first, so that nobody knows of a pair that it is for several people.
        """
        late = self.needed <= 1
        for start, row in zip(self.starts, self.rows, strict=False):
            single = [start + place for place in range(len(row.documents)) if late[start + place]]
            kept = (len(row.documents) - len(single) + 1) // 2
            late[sorted(single, key=lambda number: int(shuffled[number]))[:kept]] = False
        return late


def choose_several(rows: Iterable[QueueRow], share: float, seed: int) -> Iterator[QueueRow]:
    """Yield rows with a share of their pairs marked for several people, the same ones for the same seed."""
    for row in rows:
        marked = tuple(i for i, name in enumerate(row.documents) if _draw(seed, row.query, name) < share)
        yield msgspec.structs.replace(row, several=marked)


def _draw(seed: int, query: str, document: str) -> float:
    """Return a number from 0 to 1 that depends on a pair and a seed alone."""
    digest = sha256(f"{seed}\n{query}\n{document}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:7]) / 256**7


def write_queue(path: Path, queue: Queue) -> None:
    """Write a queue to a new file."""
    if path.exists():
        raise UsageError(f"there is a queue {queue.name} already; choose another name, or remove {path}")
    lines = [msgspec.json.encode(queue.head), *map(msgspec.json.encode, queue.rows)]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, (line.decode() + "\n" for line in lines))


def read_queue(path: Path) -> Queue:
    """Read a queue."""
    lines = read_bytes(path).splitlines()
    try:
        head = _HEAD.decode(lines[0] if lines else b"")
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise InputError("is not a queue of labels", source=str(path)) from None
    if head.version > VERSION:
        raise InputError(f"has version {head.version}", source=str(path), line=1, hint="use a newer karat")
    if head.people > MOST_PEOPLE:
        raise InputError(f"{head.people:,} people cannot label the same pair", source=str(path), line=1)
    rows: list[QueueRow] = []
    for number, line in enumerate(lines[1:], 2):
        try:
            rows.append(_check_row(_ROW.decode(line)))
        except RecursionError:
            raise InputError("is nested too deep", source=str(path), line=number) from None
        except (msgspec.DecodeError, ValueError) as error:
            problem = shorten(str(error))[1:-1]
            raise InputError(f"is not a row of a queue: {problem}", source=str(path), line=number) from None
    return Queue(head=head, rows=tuple(rows))


def _check_row(row: QueueRow) -> QueueRow:
    """Return a row; raise ValueError if it says something of documents that it does not have."""
    count = len(row.documents)
    for name in ("weights", "spans", "texts"):
        if len(getattr(row, name)) not in (0, count):
            raise ValueError(f"{name} has {len(getattr(row, name)):,} values for {count:,} documents")
    if any(not 0 <= place < count for place in row.several):
        raise ValueError(f"several names documents by places outside of 0 to {count - 1:,}")
    return row


def describe_queue(head: QueueHead, pairs: int) -> str:
    """Return what the labels of a queue decide, in words."""
    many = count_things(pairs, "pair", "pairs")
    match head.kind:
        case "pool":
            first = "rank" if head.depth == 1 else f"{head.depth} ranks"
            return f"{many} from the first {first} of {_count(head.sources, 'run')}"
        case "decide":
            return f"which of two runs has the better {head.measure}: {many} that tell them apart"
        case "uncertain":
            return f"{many} of which judges are least certain, the least certain first"
        case "disputes":
            return f"{many} on which people disagree, for {head.adjudicator} to settle"
        case _:
            return f"{many} of {_count(head.sources, 'file')}"


def _count(names: Sequence[str], what: str) -> str:
    return count_things(len(names), what, f"{what}s")
