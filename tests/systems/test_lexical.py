"""The lexical index: BM25 by hand and by another implementation, ties, odd texts, saving, quality on public data."""

from __future__ import annotations

import logging
import math
import zipfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import karat
from each import each
from karat import golden
from karat.core import InputError, UsageError
from karat.systems.index import Lexical, LexicalIndex, fingerprint
from public_data import find_collection
from strategies import quick

PLAIN = Lexical(stemmer="none", stop_words="none")
TEXTS = ["The pool opens at six.", "Free WiFi in all rooms.", "Pools, pools!", "", "the and of"]


def bm25(texts: list[list[str]], query: list[str], k1: float = 1.2, b: float = 0.75) -> list[float]:
    """BM25 as Lucene has it, written down word by word."""
    mean = sum(map(len, texts)) / len(texts)
    scores = []
    for text in texts:
        total = 0.0
        for word in query:
            df, tf = sum(word in other for other in texts), text.count(word)
            if tf:
                idf = math.log(1 + (len(texts) - df + 0.5) / (df + 0.5))
                total += idf * tf / (tf + k1 * (1 - b + b * len(text) / mean))
        scores.append(total)
    return scores


def test_scores_by_hand() -> None:
    """A word in one of three texts, twice in a text of three words, has the score that the formula gives.

    idf = ln(1 + 2.5 / 1.5) = 0.98083; tf part = 2 / (2 + 1.2 * (0.25 + 0.75 * 3 / 2)) = 0.54795.
    """
    index = PLAIN.build(["apple apple pear", "pear", "plum fig"])
    assert index.search("apple", 9) == [(0, pytest.approx(0.98083 * 0.54795, abs=1e-5))]
    # pear: idf = ln(1 + 1.5 / 2.5) = 0.47000; in the short text 1 / (1 + 1.2 * 0.625), in the long one 1 / 2.65.
    assert index.search("pear", 9) == [
        (1, pytest.approx(0.47000 / 1.75, abs=1e-5)),
        (0, pytest.approx(0.47000 / 2.65, abs=1e-5)),
    ]


WORDS = st.lists(st.sampled_from(["aa", "bb", "cc", "dd", "ee"]), max_size=12)


@pytest.mark.slow
@quick
@given(st.lists(WORDS, min_size=1, max_size=8).filter(any), WORDS, st.floats(0, 3), st.floats(0, 1))
def test_scores_equal_another_implementation(texts: list[list[str]], query: list[str], k1: float, b: float) -> None:
    """For any texts, query and parameters, what is found has the scores of the formula, and nothing else."""
    index = Lexical(k1=k1, b=b, stemmer="none", stop_words="none").build(" ".join(text) for text in texts)
    scores = dict(index.search(" ".join(query), 100))
    wanted = bm25(texts, query, k1, b)
    assert set(scores) == {number for number, score in enumerate(wanted) if score > 0}
    for number, score in scores.items():
        assert score == pytest.approx(wanted[number], rel=1e-5)


@quick
@given(st.lists(WORDS, min_size=1, max_size=20), WORDS, st.integers(1, 25))
def test_order_is_by_score_and_then_number(texts: list[list[str]], query: list[str], k: int) -> None:
    """The first k of any search are the first k of a longer one, and equal scores stand by number."""
    index = PLAIN.build(" ".join(text) for text in texts)
    everything = index.search(" ".join(query), len(texts))
    assert everything == sorted(everything, key=lambda hit: (-hit[1], hit[0]))
    assert index.search(" ".join(query), k) == everything[:k]


def test_equal_texts_tie_exactly() -> None:
    """Copies of a text have one score and come in their order, also where the cut goes through them."""
    index = PLAIN.build(["other words", *["same thing here"] * 50])
    hits = index.search("thing here same", 7)
    assert [number for number, _ in hits] == [1, 2, 3, 4, 5, 6, 7]
    assert len({score for _, score in hits}) == 1


def test_order_of_words_changes_no_bit() -> None:
    """A query gives the same scores whichever way round it is written, and a word that stands twice counts twice."""
    index = PLAIN.build([f"{'aa ' * (i % 3)}{'bb ' * (i % 5)}{'cc ' * (i % 7)}dd" for i in range(1, 40)])
    assert index.search("aa bb cc dd", 40) == index.search("dd cc bb aa", 40)
    once, twice = dict(index.search("aa", 40)), dict(index.search("aa aa", 40))
    assert twice == pytest.approx({number: 2 * score for number, score in once.items()})


@each("query", ["", "   ", "?!", "the", "zebra", "a b c", "\ud83d"])
def test_nothing_to_look_for_finds_nothing(query: str) -> None:
    """An empty query, stop words, unknown words and single letters give no hits."""
    assert Lexical().build(TEXTS).search(query, 5) == []


@pytest.mark.parametrize("texts", [[], [""], ["", "the and of", "?"]])
def test_texts_without_words_are_never_found(texts: list[str], tmp_path: Path) -> None:
    """An index of nothing can be built, searched, saved and loaded."""
    index = Lexical().build(texts)
    index.save(tmp_path / "index", "f")
    for loaded in (index, Lexical().load(tmp_path / "index", "f")):
        assert (len(loaded), loaded.search("pool", 3)) == (len(texts), [])


def test_words_are_stemmed_and_stopped() -> None:
    """A query finds other forms of its words, in any case; without stemming it does not."""
    assert [number for number, _ in Lexical().build(TEXTS).search("POOL opening", 5)] == [0, 2]
    assert [number for number, _ in PLAIN.build(TEXTS).search("pool", 5)] == [0]
    assert [number for number, _ in PLAIN.build(TEXTS).search("the", 5)] == [4, 0]
    german = Lexical(stemmer="german", stop_words="german")
    assert german.words("Die Häuser und das Haus") == ["haus", "haus"]


def test_composed_and_decomposed_letters_are_one() -> None:
    """An accent written as a letter of its own finds the text that has it in one, and the other way round."""
    assert PLAIN.build(["caf\u00e9"]).search("cafe\u0301", 1)
    assert PLAIN.build(["cafe\u0301"]).search("caf\u00e9", 1)


def test_weights_of_words() -> None:
    """Half the weight is half the score, and a weight of 0 finds nothing."""
    index = PLAIN.build(["aa bb", "bb cc"])
    first, half = index.search_words({"aa": 1.0}, 5), index.search_words({"aa": 0.5}, 5)
    assert half == [(0, pytest.approx(first[0][1] / 2))]
    assert index.search_words({"aa": 0.0}, 5) == []
    for weight in (-1.0, math.nan, math.inf):
        with pytest.raises(UsageError, match="finite numbers from 0 up"):
            index.search_words({"aa": weight}, 5)


@each(
    ("make", "message"),
    [
        (lambda: Lexical(k1=-1), "k1=-1"),
        (lambda: Lexical(k1=math.nan), "k1=nan"),
        (lambda: Lexical(b=1.5), "b=1.5"),
        (lambda: Lexical(stemmer="englisch").build(["x"]), "unknown stemmer 'englisch', did you mean 'english'"),
        (lambda: Lexical(stop_words="xx").build(["x"]), "unknown stop words 'xx'; known: danish"),
        (lambda: PLAIN.build(["aa"]).search("aa", 0), "k=0; ask for at least one hit"),
    ],
)
def test_mistakes_are_named(make: object, message: str) -> None:
    """A parameter that makes no sense is refused, with what would."""
    with pytest.raises(UsageError, match=message):
        make()  # type: ignore[operator]


def saved(folder: Path) -> tuple[LexicalIndex, Path, str]:
    index, path = Lexical().build(TEXTS), folder / "deep" / "lexical.index"
    mark = fingerprint(Lexical().describe(), TEXTS)
    index.save(path, mark)
    return index, path, mark


def test_saved_and_loaded_is_the_same(tmp_path: Path) -> None:
    """A loaded index finds the same with the same scores; the file holds no pickled object, and no other is left."""
    index, path, mark = saved(tmp_path)
    loaded = Lexical().load(path, mark)
    for query in ("pool opens", "wifi", "rooms six", "zebra"):
        assert loaded.search(query, 5) == index.search(query, 5)
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if name.endswith(".npy"):
                assert not np.lib.format.read_array(archive.open(name), allow_pickle=False).dtype.hasobject
    assert [file.name for file in path.parent.iterdir()] == ["lexical.index"]


def test_building_twice_gives_the_same_file(tmp_path: Path) -> None:
    """The contents do not depend on the process: the vocabulary is in the order of the texts."""
    Lexical().build(TEXTS).save(tmp_path / "one", "f")
    Lexical().build(TEXTS).save(tmp_path / "two", "f")
    with zipfile.ZipFile(tmp_path / "one") as first, zipfile.ZipFile(tmp_path / "two") as two:
        assert {n: first.read(n) for n in first.namelist()} == {n: two.read(n) for n in two.namelist()}
        assert bytes(np.lib.format.read_array(first.open("words.npy"))).decode().split() == [
            *("pool", "open", "six", "free", "wifi", "all", "room"),
        ]


def test_another_origin_is_refused(tmp_path: Path) -> None:
    """An index of other texts, or made with other parameters, is not loaded."""
    _, path, mark = saved(tmp_path)
    other = fingerprint(Lexical().describe(), [*TEXTS, "new"])
    with pytest.raises(InputError, match="built from something else: sha256:"):
        Lexical().load(path, other)
    with pytest.raises(InputError, match="built in another way"):
        Lexical(b=0.5).load(path, mark)
    with pytest.raises(InputError, match="no such file"):
        Lexical().load(tmp_path / "none", mark)


def test_fingerprint_changes_with_all_that_matters() -> None:
    """Texts, their order, where one ends, and the parameters change it."""
    base = fingerprint({"k1": 1.2}, ["ab", "c"])
    others = [({"k1": 1.3}, ["ab", "c"]), ({"k1": 1.2}, ["c", "ab"]), ({"k1": 1.2}, ["a", "bc"]), ({"k1": 1.2}, ["ab"])]
    assert len({base, *(fingerprint(description, texts) for description, texts in others)}) == 5
    assert fingerprint({}, ["\ud83d"]) != fingerprint({}, ["?"])


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    """A file that is cut off anywhere, or has a flipped byte in an array, is not loaded and not believed."""
    _, path, mark = saved(tmp_path)
    whole = path.read_bytes()
    for length in (0, 1, 30, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError, match=r"not a saved index, or damaged.*build it again"):
            Lexical().load(path, mark)
    path.write_bytes(whole)
    with zipfile.ZipFile(path) as archive:
        values = archive.read("values.npy")
    for place in range(whole.index(values), whole.index(values) + len(values), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(InputError, match="damaged"):
            Lexical().load(path, mark)


def test_an_archive_of_a_later_version_is_refused(tmp_path: Path) -> None:
    """A zip file may ask for a version that Python does not know."""
    _, path, mark = saved(tmp_path)
    data = path.read_bytes()
    place = data.index(b"PK\x01\x02") + len("PK12") + 2  # where the directory says which version is needed
    path.write_bytes(data[:place] + b"\x63\x00" + data[place + 2 :])
    with pytest.raises(InputError, match=r"damaged: zip file version 9\.9"):
        Lexical().load(path, mark)


@each("about", ["[]", "{}", "null", "no JSON"])
def test_an_archive_of_something_else_is_refused(tmp_path: Path, about: str) -> None:
    """A zip file that karat did not write is not a saved index."""
    with zipfile.ZipFile(tmp_path / "x", "w") as archive:
        archive.writestr("about.json", about)
    with pytest.raises(InputError, match="not a saved index"):
        Lexical().load(tmp_path / "x", "f")


def test_a_save_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    """When the new file cannot be written, the old one stays and the mistake has a name."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="cannot be written"):
        Lexical().build(TEXTS).save(tmp_path / "file" / "index", "f")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        Lexical().build(TEXTS).save(tmp_path / "folder", "f")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["file", "folder"]


def test_many_threads_find_the_same() -> None:
    """Searches that run at once do not disturb each other's stems."""
    texts = [f"running swimmers number{i % 50} happily connected relations" for i in range(200)]
    index = Lexical().build(texts)
    queries = [f"swimming runners number{i % 50} happiness connection" for i in range(400)]
    alone = [index.search(query, 10) for query in queries]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda query: index.search(query, 10), queries)) == alone


def test_building_says_nothing_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """A program with a log at the usual level hears nothing from bm25s."""
    Lexical().build(TEXTS)
    assert logging.getLogger("bm25s").level == logging.NOTSET
    assert not caplog.records


def test_scores_equal_those_of_bm25s() -> None:
    """The scores are bm25s's own."""
    import bm25s

    texts = [f"{'aa ' * (i % 3)}{'bb ' * (i % 5)}{'cc ' * (i % 7)}dd".split() for i in range(1, 40)]
    theirs = bm25s.BM25(k1=1.2, b=0.75, method="lucene")
    theirs.index(texts, show_progress=False)
    ours = PLAIN.build(" ".join(text) for text in texts)
    expected = theirs.get_scores(["bb", "cc", "cc"])
    assert dict(ours.search("cc bb cc", 40)) == pytest.approx({i: s for i, s in enumerate(expected) if s})


@pytest.mark.slow
@pytest.mark.public_data
@pytest.mark.parametrize(("name", "wanted"), [("scifact", 0.679), ("cranfield", 0.331), ("attack", 0.476)])
def test_quality_on_public_data(name: str, wanted: float) -> None:
    """nDCG@10 of title and text as one document is what was computed elsewhere, within 0.01."""
    golden_set = golden.read(find_collection(name))
    ids = [document.id for document in golden_set.documents]
    index = Lexical().build(f"{document.title} {document.text}" for document in golden_set.documents)
    run = {query.id: {ids[i]: score for i, score in index.search(query.text, 100)} for query in golden_set.queries}
    qrels = golden_set.qrels()
    if name == "cranfield":  # the expected value takes the grades as ir_datasets reads them, 4 for the best
        lines = (line.split() for line in (find_collection(name) / "cranqrel").read_text().splitlines())
        qrels = {}
        for query, document, grade, *_ in lines:
            qrels.setdefault(query, {})[document] = int(grade)
    assert karat.score(qrels, run, "nDCG@10").mean()["nDCG@10"] == pytest.approx(wanted, abs=0.01)


def test_counter_of_words_is_the_query() -> None:
    """Searching for the words of a query is searching for the query."""
    index = Lexical().build(TEXTS)
    assert index.search("pool pool wifi", 5) == index.search_words(Counter(["pool", "pool", "wifi"]), 5)
