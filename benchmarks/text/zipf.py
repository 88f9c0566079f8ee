"""Synthetic texts: words by Zipf's law, as JSON lines."""

import json
from pathlib import Path

import numpy as np

VOCABULARY = 200_000
BATCH = 10_000
#: Words as frequent as these would be stop words.
COMMON = 10


def write_texts(path: Path, n_docs: int, mean_words: int, seed: int = 0) -> None:
    """Write documents of a title of six words and a body of about `mean_words` words."""
    random = np.random.default_rng(seed)
    with path.open("w") as file:
        for first in range(0, n_docs, BATCH):
            sizes = random.poisson(mean_words, min(BATCH, n_docs - first)) + 6
            words = _words(random, int(sizes.sum()))
            for number, end in enumerate(np.cumsum(sizes).tolist(), first):
                own = words[end - sizes[number - first] : end]
                record = {"_id": f"doc{number}", "title": " ".join(own[:6]), "text": " ".join(own[6:])}
                file.write(json.dumps(record) + "\n")


def queries(n_queries: int, seed: int = 1) -> list[str]:
    """Return queries of about eight words of the same law, without the most frequent ones."""
    random = np.random.default_rng(seed)
    found = []
    for size in random.poisson(8, n_queries):
        words = [word for word in _words(random, 8 * size + 40) if int(word[1:]) > COMMON]
        found.append(" ".join(words[: size + 1]))
    return found


def _words(random: np.random.Generator, n: int) -> list[str]:
    numbers = random.zipf(1.15, 2 * n)
    return [f"w{number}" for number in numbers[numbers < VOCABULARY][:n].tolist()]
