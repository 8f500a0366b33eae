"""The cache of embeddings: what it saves, and what happens to it in a rough world."""

from __future__ import annotations

import hashlib
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from karat.core import InputError
from karat.systems.embed import Granite, ModelMissing, Questions, find_cache, with_cache
from karat.systems.embed._vector_file import _switch_to_wal


class Toy:
    """A vector from the hash of the text; counts what it was asked for."""

    def __init__(self, name="toy", size=8, pause=0.0):
        self.name, self.size, self.pause = name, size, pause
        self.texts = []

    def __call__(self, texts):
        self.texts += texts
        time.sleep(self.pause)
        rows = [np.frombuffer(hashlib.shake_128(text.encode()).digest(self.size), np.uint8) for text in texts]
        rows = np.array(rows, np.float32).reshape(-1, self.size) - 100
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def describe(self):
        return {"kind": self.name}


TEXTS = [f"text {number}" for number in range(700)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cache" / "embeddings.sqlite"


def fill(path, texts=TEXTS):
    cache = with_cache(Toy(), path)
    cache(texts)
    cache.close()


def count(path):
    database = sqlite3.connect(path)
    try:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return database.execute("SELECT count(*) FROM vectors").fetchone()[0]
    finally:
        database.close()


def test_nothing_is_embedded_twice(path):
    """The second pass asks for nothing, and gives the same bytes; so does another process's, which opens the file."""
    first = with_cache(Toy(), path)
    wanted = first(TEXTS)
    first.close()
    again = Toy()
    cache = with_cache(again, path)
    assert np.array_equal(cache(TEXTS), wanted)
    assert np.array_equal(wanted, Toy()(TEXTS))
    assert cache(TEXTS).dtype == np.float32
    assert again.texts == []


def test_only_what_is_missing_is_asked_for(path):
    """Each missing text once, in order, however often it stands in the list; rows are in the list's order."""
    toy = Toy()
    cache = with_cache(toy, path)
    cache(["b"])
    vectors = cache(["c", "a", "b", "a", "c"])
    assert toy.texts == ["b", "c", "a"]
    assert np.array_equal(vectors, Toy()(["c", "a", "b", "a", "c"]))


def test_a_cache_is_its_embedder(path):
    """Name, size and description are the embedder's own, so a fingerprint cannot tell whether there is a cache."""
    cache = with_cache(Toy(), path)
    assert (cache.name, cache.size, cache.describe()) == ("toy", 8, {"kind": "toy"})
    assert cache([]).shape == (0, 8)


def test_embedders_are_kept_apart(path):
    """One file serves several models, and none gets another's vectors."""
    first, other = Toy("one", 8), Toy("other", 16)
    with_cache(first, path)(TEXTS)
    assert with_cache(other, path)(TEXTS).shape == (700, 16)
    assert len(other.texts) == 700
    assert with_cache(first, path)(TEXTS).shape == (700, 8)
    assert len(first.texts) == 700


def test_a_model_that_changed_its_size_is_told(path):
    """Old and new vectors of one name cannot stand in one matrix."""
    fill(path, ["a"])
    with pytest.raises(
        InputError, match=r"vectors of 8 and of 16 dimensions under one name, toy; the model .* has changed"
    ):
        with_cache(Toy(size=16), path)(["a", "b"])


def test_texts_that_are_odd(path):
    """Empty, long, and not even Unicode: each has a place of its own."""
    texts = ["", " ", "x" * 1_000_000, "\ud83d", "\0", "ä", "a\u0308"]
    with_cache(Toy(), path)(texts)
    again = Toy()
    assert len(np.unique(with_cache(again, path)(texts), axis=0)) == len(texts)
    assert again.texts == []


@pytest.mark.slow
def test_the_second_pass_is_twenty_times_faster(path):
    """With the real model, reading vectors costs less than a twentieth of computing them (CPU time)."""
    try:
        granite = Granite()
    except ModelMissing as error:
        pytest.skip(str(error))
    cache = with_cache(granite, path)
    texts = [f"{number} {'the pool closes at ten ' * 12}" for number in range(60)]
    seconds = []
    for _ in range(2):
        start = time.process_time()
        vectors = cache(texts)
        seconds.append(time.process_time() - start)
    assert np.array_equal(vectors, cache(texts))
    assert seconds[1] * 20 < seconds[0]


@pytest.mark.slow
def test_a_killed_process_leaves_what_it_finished(path):
    """SIGKILL in the middle: slices that were written are there, whole, and the rest is embedded by the next."""
    with running(path, "with_cache(Toy(pause=0.2), path)(TEXTS + [f'more {n}' for n in range(20_000)])") as process:
        wait_for(path, 256)
        process.send_signal(signal.SIGKILL)
        process.wait()
    saved = count(path)
    assert saved % 256 == 0
    assert 256 <= saved < 20_700
    toy = Toy()
    assert np.array_equal(with_cache(toy, path)(TEXTS), Toy()(TEXTS))
    assert len(toy.texts) == max(0, 700 - saved)


@pytest.mark.slow
def test_several_processes_fill_one_file(path):
    """Four at once, with texts that overlap, from a file that does not exist yet: nobody fails, nothing is lost."""
    code = "assert np.array_equal(with_cache(Toy(), path)(TEXTS), Toy()(TEXTS))"
    processes = [running(path, f"TEXTS = TEXTS[{start}:] + TEXTS[:{start}]; {code}") for start in (0, 0, 200, 400)]
    for process in processes:
        with process:
            assert process.wait(600) == 0, "see its traceback above"
    assert count(path) == 700


def test_who_finds_the_new_file_locked_tries_again(tmp_path):
    """SQLite may say at once that a file is locked when two turn on its log together: here it never waits."""
    other = sqlite3.connect(tmp_path / "new.sqlite", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN EXCLUSIVE")
    mine = sqlite3.connect(tmp_path / "new.sqlite", timeout=0, isolation_level=None)
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        mine.execute("PRAGMA journal_mode = WAL")
    threading.Timer(0.05, other.execute, ["ROLLBACK"]).start()
    _switch_to_wal(mine)
    assert mine.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    mine.close()
    other.close()


def running(path, code):
    """Run code in a process of its own, in which a warning is an error, with the names of this file."""
    folder = str(Path(__file__).parent)
    start = f"import sys; sys.path.insert(0, {folder!r}); from test_embedding_cache import *; path = {str(path)!r}"
    return subprocess.Popen([sys.executable, "-W", "error", "-c", f"{start}\n{textwrap.dedent(code)}"])


def wait_for(path, rows):
    end = time.monotonic() + 600
    while time.monotonic() < end:
        try:
            database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
            try:
                if database.execute("SELECT count(*) FROM vectors").fetchone()[0] >= rows:
                    return
            finally:
                database.close()
        except sqlite3.OperationalError:
            pass  # not there yet
        time.sleep(0.02)
    raise AssertionError("nothing was written in ten minutes")


def test_threads_share_one_cache(path):
    """One cache serves all threads."""
    cache = with_cache(Toy(), path)
    with ThreadPoolExecutor(8) as pool:
        vectors = list(pool.map(lambda start: cache(TEXTS[start : start + 300]), range(0, 400, 50)))
    for start, rows in zip(range(0, 400, 50), vectors, strict=True):
        assert np.array_equal(rows, Toy()(TEXTS[start : start + 300]))
    assert count(path) == 650


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_opens_the_file_itself(path):
    """SQLite forbids a child to use its parent's connection; both write, and the file stays whole."""
    code = """
    cache = with_cache(Toy(), path)
    cache(TEXTS[:100])
    child = os.fork()
    cache(TEXTS[:400] if child else TEXTS[300:])
    if not child:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    """
    with running(path, code) as process:
        assert process.wait(600) == 0
    assert count(path) == 700


def cut_in_half(data):
    return data[: len(data) // 2]


def overwritten(data):
    return data[:4096] + b"\xa5" * (len(data) - 4096)


def no_database(data):
    return b"These are my notes.\n" * 100


def head_destroyed(data):
    return bytes(100) + data[100:]


@pytest.mark.parametrize("damage", [cut_in_half, overwritten, no_database, head_destroyed])
def test_a_damaged_file_is_moved_aside(path, damage):
    """Nothing crashes, nothing is deleted, one message says what happened, and the next run has a cache again."""
    fill(path)
    damaged = damage(path.read_bytes())
    path.write_bytes(damaged)
    said = []
    cache = with_cache(Toy(), path, say=said.append)
    assert np.array_equal(cache(TEXTS), Toy()(TEXTS))
    cache.close()
    aside = path.with_name("embeddings.sqlite.damaged-1")
    assert aside.read_bytes() == damaged
    assert len(said) == 1
    assert said[0].startswith(f"{path}: the cache of embeddings was damaged (")
    assert f"it is now {aside}" in said[0]
    assert count(path) == 700
    path.write_bytes(b"broken again" * 100)
    with_cache(Toy(), path, say=said.append)(TEXTS)
    assert path.with_name("embeddings.sqlite.damaged-2").exists()


def test_a_file_that_another_process_has_replaced_is_not_moved_aside(path):
    """Two find the damage; the first moves the file, and the second takes the new one as it is, without a word."""
    fill(path)
    said = []
    first, second = with_cache(Toy(), path, say=said.append), with_cache(Toy(), path, say=said.append)
    second(TEXTS[:1])
    with path.open("r+b") as file:  # in place, as a disk does it
        file.write(overwritten(path.read_bytes()))
    first(TEXTS)
    assert len(said) == 1
    assert np.array_equal(second(TEXTS), Toy()(TEXTS))
    assert len(said) == 1
    assert second.embedder.texts == []
    assert not path.with_name("embeddings.sqlite.damaged-2").exists()


def test_damage_is_a_warning_when_nobody_listens(path):
    """Without ``say``, the message is a warning."""
    path.parent.mkdir()
    path.write_bytes(b"broken" * 1000)
    with pytest.warns(RuntimeWarning, match="the cache of embeddings was damaged"):
        with_cache(Toy(), path)(["a"])


@pytest.mark.parametrize("data", [b"", b"\0\0\0\0", b"\0" * 32, b"\xff" * 32, np.full(8, 0.9, "<f4").tobytes()])
def test_a_vector_that_is_not_whole_is_embedded_again(path, data):
    """Vectors have length 1; what has not is no vector, and is replaced."""
    fill(path)
    database = sqlite3.connect(path)
    with database:
        database.execute("UPDATE vectors SET vector = ? WHERE text = ?", (data, hashlib.sha256(b"text 7").digest()))
    database.close()
    for texts_asked_for in (["text 7"], []):
        toy = Toy()
        assert np.array_equal(with_cache(toy, path)(TEXTS), Toy()(TEXTS))
        assert toy.texts == texts_asked_for


def test_another_programs_database_is_left_alone(path):
    """A path given by mistake costs nobody's data: no table is added, nothing is moved, and the vectors still come."""
    path.parent.mkdir()
    database = sqlite3.connect(path)
    database.executescript("CREATE TABLE customers (name TEXT); INSERT INTO customers VALUES ('me')")
    database.close()
    before, said = path.read_bytes(), []
    assert np.array_equal(with_cache(Toy(), path, say=said.append)(TEXTS), Toy()(TEXTS))
    assert path.read_bytes() == before
    assert len(said) == 1
    assert "not cached in this file: it is a database of another program" in said[0]


def test_a_place_where_no_file_can_be(tmp_path):
    """A folder, a file in the way, an impossible name: one message, and the run goes on without a cache."""
    (tmp_path / "file").write_text("x")
    for place in (tmp_path, tmp_path / "file" / "cache", tmp_path / "nul\0byte"):
        said = []
        cache = with_cache(Toy(), place, say=said.append)
        assert np.array_equal(cache(["a", "b"]), Toy()(["a", "b"]))
        assert np.array_equal(cache(["a", "b"]), Toy()(["a", "b"]))
        assert len(said) == 1
        assert "embeddings are not cached in this file: " in said[0]


def test_a_disk_that_is_full(path):
    """When no more can be written, it is said once; the vectors come all the same, and what is there stays."""
    fill(path, TEXTS[:256])
    said = []
    cache = with_cache(Toy(), path, say=said.append)
    cache(TEXTS[:10])
    cache._file._database.execute("PRAGMA max_page_count = 1")
    assert np.array_equal(cache(TEXTS), Toy()(TEXTS))
    assert [message.partition("file: ")[2] for message in said] == ["database or disk is full"]
    assert count(path) == 256


def age(path, seconds):
    """Let all vectors look as if they had been used that long ago."""
    database = sqlite3.connect(path)
    with database:
        database.execute("UPDATE vectors SET used = used - ?", (seconds,))
    database.close()


LARGE = 384  # dimensions, so that a vector takes a third of a page
LIMIT = 400_000


def test_the_file_stays_below_its_limit(path):
    """However much is written: the file with all that belongs to it has the size that was allowed."""
    cache = with_cache(Toy(size=LARGE), path, limit=LIMIT)
    for start in range(0, 3000, 100):
        cache([f"text {number}" for number in range(start, start + 100)])
    cache.close()
    assert 0.7 * LIMIT < path.stat().st_size <= LIMIT
    assert 100 < count(path) < 300


def test_what_was_not_used_for_the_longest_time_is_deleted_first(path):
    """Reading a vector counts as using it, however long ago it was written."""
    first, second = TEXTS[:100], TEXTS[100:200]
    cache = with_cache(Toy(size=LARGE), path)
    cache(first)
    cache(second)
    age(path, 10 * 86_400)
    cache(first)
    cache.close()
    cache = with_cache(Toy(size=LARGE), path, limit=LIMIT)
    cache(TEXTS[200:250])
    cache.close()
    database = sqlite3.connect(path)
    keys = {key for (key,) in database.execute("SELECT text FROM vectors")}
    database.close()
    left = {text for text in TEXTS if hashlib.sha256(text.encode()).digest() in keys}
    assert left >= {*first, *TEXTS[200:250]}
    assert not left >= {*second}


def test_a_smaller_limit_shrinks_the_file(path):
    """The next write with another limit gives the disk back what is over it."""
    cache = with_cache(Toy(size=LARGE), path)
    cache([f"text {number}" for number in range(1000)])
    cache.close()
    assert path.stat().st_size > 2 * LIMIT
    cache = with_cache(Toy(size=LARGE), path, limit=LIMIT)
    cache(["one more"])
    cache.close()
    assert path.stat().st_size <= LIMIT


def test_a_cache_that_is_too_small_for_one_run_gives_all_vectors(path):
    """What does not fit is embedded, and returned, all the same."""
    cache = with_cache(Toy(size=LARGE), path, limit=50_000)
    assert np.array_equal(cache(TEXTS), Toy(size=LARGE)(TEXTS))
    cache.close()
    assert count(path) < 50


@pytest.mark.slow
def test_several_processes_share_one_limit(path):
    """Each deletes what is over it while the others write; the file stays whole and within its limit."""
    code = """
    toy = Toy(size=LARGE)
    for start in range(0, 700, 100):
        part = TEXTS[start:start + 100]
        assert np.array_equal(with_cache(toy, path, limit=LIMIT)(part), toy(part))
    """
    processes = [
        running(path, f"TEXTS = [f'{name} {{text}}' for text in TEXTS]\n{textwrap.dedent(code)}") for name in "abc"
    ]
    for process in processes:
        with process:
            assert process.wait(600) == 0, "see its traceback above"
    with_cache(Toy(size=LARGE), path, limit=LIMIT)(["one more"])
    assert 0 < count(path) < 300


def test_the_place_of_the_users_cache(monkeypatch, tmp_path):
    """KARAT_CACHE, else XDG_CACHE_HOME if it is absolute, else ~/.cache; and off by several words."""
    file = Path("embeddings", "vectors.sqlite")
    monkeypatch.delenv("KARAT_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find_cache() == tmp_path / ".cache" / "karat" / file
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert find_cache() == tmp_path / ".cache" / "karat" / file
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert find_cache() == tmp_path / "xdg" / "karat" / file
    monkeypatch.setenv("KARAT_CACHE", "~/mine")
    assert find_cache() == tmp_path / "mine" / file
    for word in ("off", "OFF", "0", "false", "no"):
        monkeypatch.setenv("KARAT_CACHE", word)
        assert find_cache() is None


def test_no_test_uses_the_real_home(user_cache):
    """The suite's own cache is in a temporary folder."""
    assert find_cache() == user_cache / "embeddings" / "vectors.sqlite"


def embed_questions(path, embedder, *texts):
    questions = Questions(embedder, path, pytest.fail)
    results = [questions(text) for text in texts]
    questions.close()
    return results


def test_a_question_of_an_earlier_run_counts_the_time_that_it_took_then(path):
    """It is not embedded again, and is not faster for it."""
    slow, fast = Toy(pause=0.05), Toy()
    first = embed_questions(path, slow, "warm-up", "Where is the pool?")
    second = embed_questions(path, fast, "Where is the pool?")
    assert fast.texts == []
    assert second[0][1] == first[1][1] >= 50
    assert second[0][0].tobytes() == first[1][0].tobytes()


def test_the_first_question_of_a_process_is_recorded_with_the_time_of_a_second_look(path):
    """It takes longer than others, since the model is loaded; later runs neither load it again nor count that."""

    class Loading(Toy):
        def __call__(self, texts):
            self.pause = 0.0 if self.texts else 0.2
            return super().__call__(texts)

    loading, again = Loading(), Toy()
    (_, taken), _ = embed_questions(path, loading, "a", "b")
    assert loading.texts == ["a", "a", "b"]
    assert taken >= 200
    (_, recorded), _ = embed_questions(path, again, "a", "b")
    assert again.texts == []
    assert recorded != taken  # it is that of the second time


def test_questions_and_chunks_are_kept_apart(path):
    """The vector of a text in a batch can differ in its last digit from that of the text alone."""
    fill(path, ["a", "b"])
    toy = Toy()
    embed_questions(path, toy, "a", "b")
    assert toy.texts == ["a", "a", "b"]


def test_questions_that_are_asked_at_once_are_embedded(path):
    """Each takes as long as it takes beside the others, which nobody measured before."""
    embed_questions(path, Toy(), "warm-up", *TEXTS[:8])
    toy, together = Toy(), threading.Barrier(8)

    class Meeting(Toy):
        def __call__(self, texts):
            together.wait(timeout=600)  # until all eight are being asked
            return toy(texts)

    questions = Questions(Meeting(), path, pytest.fail)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(questions, [f"new {i}" for i in range(8)]))
    questions.close()
    assert len(toy.texts) == 8
    assert count(path) == 9  # those of the first run: of the others none was alone


@pytest.mark.parametrize("time", [-5.0, 0.0, float("inf"), "fast", None])
def test_a_time_that_cannot_be_is_not_believed(path, time):
    """Whoever edits the file does not make a question faster than it is: it is embedded again."""
    embed_questions(path, Toy(), "warm-up", "pool?")
    database = sqlite3.connect(path)
    with database:
        database.execute("UPDATE vectors SET milliseconds = ?", (time,))
    database.close()
    toy = Toy(pause=0.02)
    (_, taken), (_, again) = embed_questions(path, toy, "warm-up", "pool?")
    assert toy.texts == ["warm-up", "warm-up", "pool?"]
    assert min(taken, again) >= 20


def test_a_file_of_an_earlier_version_is_brought_up_to_date(path):
    """Its vectors are used, and times are added to it."""
    fill(path, TEXTS[:3])
    database = sqlite3.connect(path)
    with database:
        database.execute("ALTER TABLE vectors DROP COLUMN milliseconds")
        database.execute("PRAGMA user_version = 2")
    database.close()
    toy = Toy()
    cache = with_cache(toy, path, say=pytest.fail)
    cache(TEXTS[:4])
    cache.close()
    assert toy.texts == TEXTS[3:4]
    embed_questions(path, Toy(), "a", "b")
    assert count(path) == 6
