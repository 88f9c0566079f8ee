"""Features of texts and BM25, beside plain Python loops and bm25s."""

import math
import tempfile
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.case import Case, Work
from benchmarks.text.zipf import queries, write_texts
from directrank.apps.text import Analysis, build_index, open_index
from directrank.apps.text.features.candidates import bm25_top
from directrank.apps.text.features.definitions import parse_features
from directrank.apps.text.features.matches import feature_matrix

N_TEXTS, N_QUERIES, DEPTH = 20_000, 100, 200
#: The loops take seconds for a query; they are timed on so many, and ours on the same.
FEW = 5


@cache
def indexed() -> tuple:
    """Return an index of synthetic texts, and queries as terms; the folder lives as long."""
    folder = tempfile.TemporaryDirectory(prefix="directrank-texts-")
    path = Path(folder.name)
    write_texts(path / "texts.jsonl", N_TEXTS, 60)
    build_index(path / "texts.jsonl", path / "index", analysis=Analysis("none", "none"))
    index = open_index(path / "index")
    return index, [index.terms(text) for text in queries(N_QUERIES)], folder


def counted(index):
    """Return the counts of terms of each document, and the statistics of terms, by field."""
    fields = {}
    for field in index.fields:
        rows = index.postings(field).matrix().tocsr()
        counts = [
            dict(zip(rows.indices[a:b].tolist(), rows.data[a:b].tolist(), strict=True))
            for a, b in pairwise(rows.indptr)
        ]
        df = Counter(term for own in counts for term in own)
        cf = Counter()
        for own in counts:
            cf.update(own)
        fields[field] = counts, df, cf, cf.total()
    return fields


def naive(fields, terms, documents):
    """Return the features of some documents in plain loops."""
    rows = []
    for document in documents:
        row = []
        for counts, df, cf, total in fields.values():
            row += naive_field(counts[document], df, cf, total, len(counts), terms)
        rows.append(row)
    return np.array(rows, np.float32)


def naive_field(d, df, cf, total, n, terms):
    length, mean = sum(d.values()), total / n
    out = [0.0] * 15
    for t in terms:
        if not cf[t]:
            continue
        p = cf[t] / total
        tf = d.get(t, 0)
        if tf:
            share, idf, icf = tf / length, math.log(n / df[t]), total / cf[t]
            weight = math.log(1 + (n - df[t] + 0.5) / (df[t] + 0.5))
            for place, value in enumerate((
                tf, math.log(1 + tf), share, math.log(1 + share), idf, math.log(1 + idf), math.log(1 + icf),
                math.log(1 + share * icf), tf * idf, math.log(1 + share * idf),
                weight * tf / (tf + 1.2 * (0.25 + 0.75 * length / mean)),
            )):  # fmt: skip
                out[place] += value
        out[12] += math.log(max(tf - 0.7, 0) / length + 0.7 * len(d) / length * p if length else p)
        out[13] += math.log((tf + 2000 * p) / (length + 2000))
        out[14] += math.log(0.9 * tf / length + 0.1 * p if length else p)
    out[11] = math.log(1 + out[10])
    return out


def features() -> tuple[Work, Work]:
    """Return LETOR's features of some queries, by our matrix and by plain loops over dictionaries."""
    index, terms, _ = indexed()
    terms = terms[:FEW]
    documents = [bm25_top(index, each, DEPTH)[0] for each in terms]
    named, fields = parse_features("letor", index.fields), counted(index)

    def ours():
        return feature_matrix(index, terms, documents, named)

    def theirs():
        lists = zip(terms, documents, strict=True)
        return np.concatenate([naive(fields, own.tolist(), found.tolist()) for own, found in lists])

    if not np.allclose(ours(), theirs(), rtol=1e-3, atol=1e-3):
        raise ValueError("the features differ")
    return ours, theirs


def bm25() -> tuple[Work, Work]:
    """Return the first documents of each query by BM25, and the same by bm25s."""
    import bm25s
    from bm25s.selection import topk

    index, terms, _ = indexed()
    starts = index.forward.starts.tolist()
    tokens = [index.forward.terms[a:b].tolist() for a, b in pairwise(starts)]
    other = bm25s.BM25(k1=1.2, b=0.75, method="lucene", dtype="float64")
    vocabulary = {number: number for number in range(index.n_terms)}
    other.index((tokens, vocabulary), show_progress=False, create_empty_token=False)
    asked = [each.tolist() for each in terms]
    return (
        lambda: [bm25_top(index, each, DEPTH) for each in terms],
        lambda: [topk(other.get_scores(each), DEPTH, backend="numpy") for each in asked],
    )


CASES = (
    Case(
        "texts/features",
        f"LETOR's 45 features of the first {DEPTH} documents of {FEW} queries",
        "the same in plain Python loops over dictionaries",
        features,
        faster=True,
    ),
    Case(
        "texts/bm25",
        f"BM25's first {DEPTH} documents of {N_TEXTS:,} for {N_QUERIES} queries",
        "bm25s on its own index of the same terms",
        bm25,
        faster=True,
    ),
)
