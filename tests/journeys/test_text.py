"""From texts to a search: BM25 by its formula, and a ranker that finds what was judged."""

import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

N_DOCS, N_QUERIES = 400, 110
#: Words that no stemmer shortens and no list of stop words holds.
WORDS = [a + b + c for a in ("ba", "ko", "mu", "ri") for b in ("fo", "lu", "pa", "ti") for c in "kmnpx"]


@pytest.fixture(scope="module")
def texts(folder):
    """Write a collection as JSON lines; return the words of documents and queries, and the judgments."""
    rng = np.random.default_rng(2)
    chance = 1 / np.arange(1, len(WORDS) + 1)
    documents, queries, judged = {}, {}, {}
    for number in range(N_DOCS):
        topic = rng.choice(len(WORDS), 4, replace=False)
        bodies = [*rng.choice(len(WORDS), 30, p=chance / chance.sum()), *rng.choice(topic, 12)]
        documents[f"doc{2**33 + number}"] = [WORDS[w] for w in bodies]
    names = list(documents)
    for number in range(N_QUERIES):
        target = names[int(rng.integers(N_DOCS))]
        common = Counter(documents[target]).most_common(3)
        words = [word for word, _ in common]
        queries[f"q{number}"] = words
        judged[f"q{number}"] = {
            name: 2 if name == target else 1
            for name, found in documents.items()
            if name == target or sum(found.count(word) for word in words) >= 9
        }
    for file, key, of in (("corpus.jsonl", "text", documents), ("queries.jsonl", "text", queries)):
        lines = [json.dumps({"_id": name, key: " ".join(words)}) for name, words in of.items()]
        Path(file).write_text("\n".join(lines) + "\n", encoding="utf-8")
    lines = [f"{q} 0 {d} {g}" for q, found in judged.items() for d, g in found.items()]
    Path("texts.qrels").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return documents, queries, judged


@pytest.fixture(scope="module")
def made(texts, directrank):
    directrank("index corpus.jsonl -o texts.index -q")
    directrank("features texts.index --queries queries.jsonl --qrels texts.qrels --kfold 3 -o made -q")


def bm25(documents, words, k1=1.2, b=0.75):
    """Return Okapi\'s BM25 of every document, with the logarithm that is never below 0."""
    counts = {name: Counter(found) for name, found in documents.items()}
    mean = sum(map(len, documents.values())) / len(documents)
    sums = dict.fromkeys(documents, 0.0)
    for word in words:
        n = sum(word in count for count in counts.values())
        idf = math.log(1 + (len(documents) - n + 0.5) / (n + 0.5))
        for name, count in counts.items():
            tf = count[word]
            sums[name] += idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * len(documents[name]) / mean))
    return sums


def test_the_run_of_bm25_is_by_its_formula(texts, made, directrank):
    documents, queries, _ = texts
    directrank("search texts.index --run bm25.run --queries queries.jsonl --depth 50 -q")
    found = {}
    for line in Path("bm25.run").read_text("utf-8").splitlines():
        qid, _, docid, _, score, _ = line.split()
        found.setdefault(qid, {})[docid] = float(score)
    assert set(found) == set(queries)
    for qid, words in queries.items():
        wanted = bm25(documents, words)
        best = sorted(wanted.values(), reverse=True)[: len(found[qid])]
        ratio = np.array(sorted(found[qid].values(), reverse=True)) / best
        # Some leave the factor k1 + 1 out, which changes no order.
        np.testing.assert_allclose(ratio, ratio[0], rtol=1e-5)
        assert {d: s / ratio[0] for d, s in found[qid].items()} == pytest.approx(
            {d: wanted[d] for d in found[qid]}, rel=1e-5
        )


def test_methods_are_compared_on_every_fold_and_a_search_finds_the_document(texts, made, directrank):
    documents, queries, judged = texts
    directrank("compare made --methods regression,ranksvm --select-by AP --measures AP --out out -q")
    results = json.loads(Path("out/results.json").read_text("utf-8"))
    for name in ("regression", "ranksvm"):
        cells = [each for each in results["cells"] if each["method"] == name]
        assert sorted(qid for each in cells for qid in each["qid"]) == sorted(queries)
    directrank("fit ranksvm made/all.parquet -o texts.dr -q")
    ranks = []
    for qid, words in list(queries.items())[:10]:
        hits = json.loads(directrank(f"search texts.index texts.dr '{' '.join(words)}' --json"))["hits"]
        assert all(set(words) & set(documents[hit["docid"]]) for hit in hits)
        target = max(judged[qid], key=judged[qid].get)
        ranks.append([*(hit["docid"] for hit in hits), target].index(target) + 1)
    assert np.median(ranks) <= 3
