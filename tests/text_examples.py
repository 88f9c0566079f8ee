"""A small collection of texts, and what its index and its features are by definition."""

import math
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np

from directrank.apps.text import Analysis
from directrank.apps.text.index.analysis import terms_of

WORDS = [
    "wing", "flutter", "flutters", "boundary", "layer", "layers", "heat", "transfer", "hypersonic", "the",
    "of", "and", "pressure", "flow", "flows", "supersonic", "plate", "shock", "wave", "waves", "résumé", "42",
]  # fmt: skip
QUERIES = {
    "q1": "the flutter of a wing",
    "q2": "heat transfer heat",
    "q3": "shock waves in unknownword flows",
}


def texts(n_docs: int = 60, seed: int = 0) -> dict[str, tuple[str, str]]:
    """Return titles and bodies by name; some are empty."""
    random = np.random.default_rng(seed)
    found = {}
    for number in range(n_docs):
        title = " ".join(random.choice(WORDS, random.integers(0, 6)))
        body = " ".join(random.choice(WORDS, random.integers(0, 25)))
        found[f"d{number}"] = title, body
    found["d3"] = "", ""
    return found


def write_smart(folder: Path, documents: dict[str, tuple[str, str]]) -> Path:
    """Write documents in SMART's format."""
    path = folder / "documents.smart"
    items = [f".I {name}\n.T\n{title}\n.W\n{body}\n" for name, (title, body) in documents.items()]
    path.write_text("".join(items), encoding="utf-8")
    return path


def write_queries(folder: Path) -> tuple[Path, Path]:
    """Write queries as a table, and judgements as qrels: the first documents that have both words, graded."""
    queries, qrels = folder / "queries.csv", folder / "qrels"
    queries.write_text("qid,text\n" + "".join(f"{qid},{text}\n" for qid, text in QUERIES.items()))
    lines = [f"{qid} 0 d{number} {number % 3}\n" for qid in QUERIES for number in range(5, 40)]
    qrels.write_text("".join(lines))
    return queries, qrels


def tokens_of(document: tuple[str, str], field: str, analysis: Analysis) -> list[str]:
    """Return the terms of a field, by definition."""
    title, body = (terms_of(text, analysis) for text in document)
    return {"title": title, "body": body, "whole": title + body}[field]


def field_of(document: tuple[str, str], field: str, analysis: Analysis) -> Counter[str]:
    """Return how often a field has each term, by definition."""
    return Counter(tokens_of(document, field, analysis))


def smallest_window(tokens: list[str], terms: set[str]) -> int:
    """Return the least number of tokens in a row that have all terms; 0 without terms."""
    spans = [(a, b) for a in range(len(tokens)) for b in range(a, len(tokens) + 1)]
    return min(b - a for a, b in spans if terms <= set(tokens[a:b])) if terms else 0


def neighbours_within(tokens: list[str], query: list[str], window: int, *, either_order: bool) -> int:
    """Return how often neighbours in the query are less than `window` places apart."""
    return sum(
        (tokens[i], tokens[j]) == pair or (either_order and (tokens[j], tokens[i]) == pair)
        for pair in pairwise(query)
        for i in range(len(tokens))
        for j in range(i + 1, min(i + window, len(tokens)))
    )


def naive_features(
    documents: dict[str, tuple[str, str]], field: str, query: str, analysis: Analysis
) -> dict[str, dict[str, float]]:
    """Return the features of each document for a query, by their definitions, in plain Python."""
    counts = {each: field_of(text, field, analysis) for each, text in documents.items()}
    asked = terms_of(query, analysis)
    df = Counter(term for own in counts.values() for term in own)
    cf = sum(counts.values(), Counter())
    n, total = len(documents), cf.total()
    asked = [term for term in asked if df[term]]
    mean = total / n
    idf = {term: math.log(n / df[term]) for term in asked}
    features = {}
    for docid, d in counts.items():
        length, shared = d.total(), [term for term in asked if d[term]]
        tokens = tokens_of(documents[docid], field, analysis)
        window = smallest_window(tokens, set(shared))
        features[docid] = {
            "tf": sum(d[t] for t in shared),
            "log_tf": sum(math.log(1 + d[t]) for t in shared),
            "tf_share": sum(d[t] / length for t in shared),
            "log_tf_share": sum(math.log(1 + d[t] / length) for t in shared),
            "idf": sum(idf[t] for t in shared),
            "log_idf": sum(math.log(1 + idf[t]) for t in shared),
            "icf": sum(math.log(1 + total / cf[t]) for t in shared),
            "tf_idf": sum(d[t] * idf[t] for t in shared),
            "log_tf_idf": sum(math.log(1 + d[t] / length * idf[t]) for t in shared),
            "log_tf_icf": sum(math.log(1 + d[t] / length * total / cf[t]) for t in shared),
            "length": length,
            "log_length": math.log(1 + length),
            "bm25": (
                bm25 := sum(
                    math.log(1 + (n - df[t] + 0.5) / (df[t] + 0.5))
                    * d[t]
                    / (d[t] + 1.2 * (0.25 + 0.75 * length / mean))
                    for t in shared
                )
            ),
            "log_bm25": math.log(1 + bm25),
            "lm_jelinek_mercer": sum(
                math.log(0.9 * d[t] / length + 0.1 * cf[t] / total if length else cf[t] / total)
                for t in asked
            ),
            "lm_dirichlet": sum(math.log((d[t] + 2000 * cf[t] / total) / (length + 2000)) for t in asked),
            "lm_absolute": sum(
                math.log(
                    max(d[t] - 0.7, 0) / length + 0.7 * len(d) / length * cf[t] / total
                    if length
                    else cf[t] / total
                )
                for t in asked
            ),
            "coverage": len(set(shared)) / max(len(set(asked)), 1),
            "idf_coverage": sum(idf[t] for t in set(shared)) / max(sum(idf[t] for t in set(asked)), 1e-300),
            "window": window,
            "window_share": len(set(shared)) / max(window, 1),
            "phrases": neighbours_within(tokens, asked, 2, either_order=False),
            "ordered_pairs": neighbours_within(tokens, asked, 8, either_order=False),
            "unordered_pairs": neighbours_within(tokens, asked, 8, either_order=True),
        }
    return features
