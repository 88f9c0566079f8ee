"""Index and search a large synthetic collection of short documents: documents per second, memory, latency.

    python -m benchmarks.text.collection [--documents 100000,200000,400000]

Each size is indexed in a process of its own, whose largest resident memory is printed: it includes the pages
of the files that it maps. The latency is that of BM25's first 200 and their 45 features, beside bm25s alone.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.text.zipf import queries, write_texts

WORDS, N_QUERIES = 30, 30


def index_one(source: str, folder: str) -> None:
    from directrank.apps.text import Analysis, build_index

    start = time.perf_counter()
    build_index(Path(source), folder, analysis=Analysis("english", "english-plus"))
    taken = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    size = sum(each.stat().st_size for each in Path(folder).rglob("*")) / 2**20
    print(f"{taken:.1f} {peak:.0f} {size:.0f}")


def search_one(folder: str) -> None:
    import bm25s

    from directrank.apps.text import open_index
    from directrank.apps.text.features.candidates import bm25_top
    from directrank.apps.text.features.definitions import parse_features
    from directrank.apps.text.features.matches import feature_matrix

    start = time.perf_counter()
    index = open_index(folder, verify=False)
    opened = time.perf_counter() - start
    features, terms = (
        parse_features("letor", index.fields),
        [index.terms(text) for text in queries(N_QUERIES)],
    )
    forward = index.forward
    starts = forward.starts.tolist()
    tokens = [forward.terms[a:b].tolist() for a, b in pairwise(starts)]
    other = bm25s.BM25(k1=1.2, b=0.75, method="lucene")
    other.index(
        (tokens, {number: number for number in range(index.n_terms)}),
        show_progress=False,
        create_empty_token=False,
    )

    def ours(each):
        found = bm25_top(index, each, 200)[0]
        return feature_matrix(index, [each], [found], features)

    def theirs(each):
        scores = other.get_scores(each.tolist())
        return np.argpartition(scores, -200)[-200:]

    times = [[_seconds(function, each) for each in terms] for function in (ours, theirs)]
    medians = [1e3 * float(np.median(each)) for each in times]
    latencies = f"directrank {medians[0]:.1f} ms, bm25s alone {medians[1]:.1f} ms"
    print(f"opened in {1e3 * opened:.0f} ms; a query: {latencies}")


def _seconds(function, each):
    best = []
    for _ in range(3):
        start = time.perf_counter()
        function(each)
        best.append(time.perf_counter() - start)
    return min(best)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", default="100000,200000,400000", help="sizes, with commas")
    parser.add_argument("--run", nargs="+", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.run:
        {"index": index_one, "search": search_one}[asked.run[0]](*asked.run[1:])
        return
    print(f"{'documents':>10}{'seconds':>9}{'docs/s':>9}{'peak MB':>9}{'index MB':>10}")
    for size in map(int, asked.documents.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            source, index = f"{folder}/texts.jsonl", f"{folder}/index"
            write_texts(Path(source), size, WORDS)
            taken, peak, disk = map(float, _run("index", source, index).split())
            print(f"{size:>10}{taken:>9.1f}{size / taken:>9.0f}{peak:>9.0f}{disk:>10.0f}", flush=True)
            print(_run("search", index).strip(), flush=True)


def _run(*words: str) -> str:
    command = [sys.executable, __file__, "--run", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
