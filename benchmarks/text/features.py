"""LETOR's 45 features of texts against the same in plain Python loops, and BM25 against bm25s.

    python benchmarks/text/features.py [--documents 20000] [--queries 100]

All run in this process on the same terms; times are processor times. The loops find the counts of a document
in dictionaries that are made before. Values are compared.
"""

import argparse
import math
import tempfile
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

import bm25s
import numpy as np
from zipf import queries, write_texts

from directrank.text import Analysis, build_index, open_index
from directrank.text.features.candidates import bm25_top
from directrank.text.features.matrix import feature_matrix
from directrank.text.features.names import features_named

DEPTH, NAIVE_QUERIES = 200, 5


def seconds(function, repeats=3):
    """Return the least processor time of some calls, and the last result."""
    times, result = [], None
    for _ in range(repeats):
        start = time.process_time()
        result = function()
        times.append(time.process_time() - start)
    return min(times), result


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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--queries", type=int, default=100)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        write_texts(Path(folder) / "texts.jsonl", asked.documents, 60)
        build_index(Path(folder) / "texts.jsonl", Path(folder) / "index", analysis=Analysis("none", "none"))
        index = open_index(Path(folder) / "index")
        terms = [index.terms(text) for text in queries(asked.queries)]
        taken, found = seconds(lambda: [bm25_top(index, each, DEPTH) for each in terms])
        documents = [each for each, _ in found]
        features = features_named("letor", index.fields)
        ours, X = seconds(lambda: feature_matrix(index, terms, documents, features))
        fields = counted(index)
        some = range(NAIVE_QUERIES)
        loops, Y = seconds(
            lambda: np.concatenate([naive(fields, terms[q].tolist(), documents[q].tolist()) for q in some])
        )
        error = float(np.abs(X[: len(Y)] - Y).max())
        pairs = [sum(map(len, documents)), len(Y)]
        rates = [pairs[0] / ours, pairs[1] / loops]
        print(f"{pairs[0]} pairs × {len(features)} features, largest difference {error:.1e}")
        times = rates[0] / rates[1]
        print(f"directrank {rates[0]:,.0f} pairs a second, loops {rates[1]:,.0f}: {times:.0f} times as fast")
        compare_bm25s(index, terms, found, taken)


def compare_bm25s(index, terms, found, taken):
    forward = index.forward
    starts = forward.starts.tolist()
    tokens = [forward.terms[a:b].tolist() for a, b in pairwise(starts)]
    other = bm25s.BM25(k1=1.2, b=0.75, method="lucene", dtype="float64")
    vocabulary = {number: number for number in range(index.n_terms)}
    other.index((tokens, vocabulary), show_progress=False, create_empty_token=False)
    theirs, scores = seconds(lambda: [np.sort(other.get_scores(each.tolist()))[::-1] for each in terms])
    error = max(
        float(np.abs(values - own[: len(values)]).max())
        for (_, values), own in zip(found, scores, strict=True)
    )
    times = f"directrank {taken:.3f} s, bm25s {theirs:.3f} s"
    print(f"BM25's first {DEPTH}: {times}, largest difference {error:.1e}")


if __name__ == "__main__":
    main()
