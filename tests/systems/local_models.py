"""Runs karat's CrossEncoder and SentenceTransformers on tiny untrained models; test_local_models reads what it prints.

It needs torch, and so a Python that has it: ``python local_models.py FOLDER`` prints JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

TOUCHED: list[str] = []
"""What was asked of the network, by anyone in this process."""
sys.addaudithook(lambda event, arguments: TOUCHED.append(f"{event} {arguments}") if event in _NETWORK else None)
_NETWORK = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto")

import torch  # noqa: E402 (after the ears are open)
from transformers import BertConfig, BertForSequenceClassification, BertModel, BertTokenizer  # noqa: E402

from karat.core import KaratError, Span  # noqa: E402
from karat.systems._chunk import Chunk  # noqa: E402
from karat.systems.embed import make_embedder  # noqa: E402
from karat.systems.rerank import CrossEncoder  # noqa: E402

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "pool", "opens", "wifi", "a", "sauna", "text"]
SIZE = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
TEXTS = ["the pool opens", "wifi", "a text the sauna opens the pool the wifi a text", ""]
CHUNKS = [Chunk(id=f"d:chunk:{i}", document="d", span=Span(0, len(text)), text=text) for i, text in enumerate(TEXTS)]


def make(folder: Path, kind: type, **options: Any) -> str:
    """Write a model with random weights, which differ enough for scores to differ."""
    folder.mkdir()
    torch.manual_seed(7)
    model = kind(BertConfig(vocab_size=len(WORDS), initializer_range=0.5, **SIZE, **options)).eval()
    model.save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    return str(folder)


def pair_scores(folder: str, query: str) -> list[float]:
    """Score each text with transformers alone: the sigmoid of the only logit."""
    tokens, model = BertTokenizer.from_pretrained(folder), BertForSequenceClassification.from_pretrained(folder).eval()
    with torch.no_grad():
        logits = [model(**tokens([query], [text], return_tensors="pt")).logits for text in TEXTS]
    return [1 / (1 + float(torch.exp(-logit))) for logit in logits]


def vectors(folder: str) -> list[list[float]]:
    """Embed each text with transformers alone: the mean of the last layer, of length 1."""
    tokens, model = BertTokenizer.from_pretrained(folder), BertModel.from_pretrained(folder).eval()
    with torch.no_grad():
        means = [model(**tokens(text, return_tensors="pt")).last_hidden_state[0].mean(0) for text in TEXTS]
    return [(mean / mean.norm()).tolist() for mean in means]


def mistake(call: Callable[[], object]) -> list[str]:
    """Return what karat says when something goes wrong."""
    try:
        call()
    except KaratError as error:
        return [type(error).__name__, str(error)]
    return ["nothing", ""]


def main(folder: Path) -> dict[str, Any]:
    """Try everything."""
    pairs = make(folder / "pairs", BertForSequenceClassification, num_labels=1)
    two = make(folder / "two", BertForSequenceClassification, num_labels=2)
    texts = make(folder / "texts", BertModel)
    (folder / "empty").mkdir()
    embed = make_embedder(f"sentence-transformers:{texts}")
    absent = ["no-such/model", str(folder / "empty"), str(folder / "gone")]
    return {
        "scores": CrossEncoder(pairs)("pool", CHUNKS),
        "scores one by one": CrossEncoder(pairs, batch=1)("pool", CHUNKS),
        "scores by transformers": pair_scores(pairs, "pool"),
        "no chunks": CrossEncoder(pairs)("pool", []),
        "cross-encoder": CrossEncoder(pairs).describe(),
        "two labels": mistake(lambda: CrossEncoder(two)("pool", CHUNKS)),
        "vectors": embed(TEXTS).tolist(),
        "vectors one by one": make_embedder({"kind": "sentence-transformers", "model": texts, "batch": 1})(
            TEXTS
        ).tolist(),
        "vectors by transformers": vectors(texts),
        "kind of vectors": [str(embed(TEXTS).dtype), list(embed([]).shape), embed.size],
        "embedder": {"name": embed.name, **embed.describe()},
        "absent": {
            name: [
                mistake(lambda name=name: CrossEncoder(name)("pool", CHUNKS)),
                mistake(lambda name=name: make_embedder(f"sentence-transformers:{name}")),
            ]
            for name in absent
        },
        "touched": TOUCHED,
    }


if __name__ == "__main__":
    said = json.dumps(main(Path(sys.argv[1])))
    print(f"\n{said}")
