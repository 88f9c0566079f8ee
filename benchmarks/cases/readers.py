"""Reading LETOR text, tables, stores and TREC runs, beside other readers of the same documents."""

import tempfile
from functools import cache, partial
from pathlib import Path

import numpy as np

from benchmarks.case import Case, Work
from benchmarks.kernels.web30k import write_web30k
from benchmarks.read_pass import read_pass
from directrank import evaluate
from directrank.apps.evaluation import Judged
from directrank.files import convert_data, load_data, open_store, read_letor

#: About 40 MB of LETOR text of 136 features.
SCALE = 40 / 5_500
MEASURES = {"AP": "map", "nDCG@10": "ndcg_cut_10", "RR": "recip_rank", "P@10": "P_10"}
N_QUERIES, N_DOCS, JUDGED = 100, 1000, 60


@cache
def folder() -> tempfile.TemporaryDirectory:
    """Return a folder with the same documents as LETOR text, CSV, Parquet, Arrow and store."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    made = tempfile.TemporaryDirectory(prefix="directrank-readers-")
    path = Path(made.name)
    write_web30k(path / "web30k.txt", SCALE)
    groups = read_letor(path / "web30k.txt")
    columns = {"qid": groups.qid, "relevance": groups.relevance.astype(int)}
    table = pa.table(columns | {f"f{i}": column for i, column in enumerate(groups.X.T, 1)})
    csv.write_csv(table, path / "web30k.csv")
    parquet.write_table(table, path / "web30k.parquet")
    with pa.ipc.new_file(str(path / "web30k.arrow"), table.schema) as writer:
        writer.write_table(table, 1 << 16)
    convert_data(path / "web30k.txt", path / "store")
    return made


def file(ending: str) -> Path:
    """Return the path of the documents in a format."""
    return Path(folder().name) / f"web30k.{ending}"


def letor() -> tuple[Work, Work]:
    """Return our reader and scikit-learn's, which must read the same numbers."""
    from sklearn.datasets import load_svmlight_file

    path = file("txt")
    groups, (X, y, _) = read_letor(path), load_svmlight_file(path, query_id=True, dtype=np.float32)
    if not (np.array_equal(groups.X, X.toarray()) and np.array_equal(groups.relevance, y)):
        raise ValueError("the readers differ")
    return lambda: read_letor(path), lambda: load_svmlight_file(path, query_id=True, dtype=np.float32)


def bare() -> tuple[Work, Work]:
    """Return our reader, and reading the bytes alone."""
    path = file("txt")
    return lambda: read_letor(path), path.read_bytes


def table(ending: str) -> tuple[Work, Work]:
    """Return reading a table and reading LETOR text, which must give the same documents."""
    path, text = file(ending), file("txt")
    if not np.array_equal(load_data(path).features, load_data(text).features):
        raise ValueError(f"{path.name} differs from {text.name}")
    return lambda: load_data(path), lambda: load_data(text)


def pyarrow() -> tuple[Work, Work]:
    """Return reading CSV, and reading it into columns alone."""
    from pyarrow import csv

    path = file("csv")
    return lambda: load_data(path), lambda: csv.read_csv(path)


def store() -> tuple[Work, Work]:
    """Return opening a store and passing over it, and reading the same documents as text."""
    path, text = Path(folder().name) / "store", file("txt")
    return lambda: read_pass(open_store(path).features.reshape(-1)), lambda: read_letor(text)


def write_run(place: Path) -> tuple[Path, Path]:
    """Write qrels and a run with half of the judged documents among the ranked ones."""
    rng, qrels, run = np.random.default_rng(0), place / "qrels", place / "run"
    with qrels.open("w") as judged, run.open("w") as ranked:
        for query in range(301, 301 + N_QUERIES):
            names = [f"FBIS3-{number}" for number in rng.choice(10**6, N_DOCS + JUDGED // 2, replace=False)]
            grades = rng.choice([0, 0, 0, 1, 2], JUDGED)
            judged.writelines(f"{query} 0 {d} {y}\n" for d, y in zip(names, grades, strict=False))
            scores = np.sort(rng.normal(size=N_DOCS))[::-1]
            ranked.writelines(
                f"{query} Q0 {d} {rank} {score:.4g} tag\n"
                for rank, (d, score) in enumerate(zip(names[JUDGED // 2 :], scores, strict=True), 1)
            )
    return qrels, run


def trec_run() -> tuple[Work, Work]:
    """Return reading and evaluating a run, ours and pytrec_eval's; the figures must be equal."""
    import pytrec_eval

    made = tempfile.TemporaryDirectory(prefix="directrank-runs-")
    qrels, run = write_run(Path(made.name))

    def ours(kept=made):
        one = Judged(qrels).submission(run.name, run)
        asked = {"measures": [*MEASURES], "convention": "trec_eval", "retrieved": one.retrieved}
        return evaluate(one.queries, one.scores, **asked)

    def theirs(kept=made):
        with qrels.open() as judged, run.open() as ranked:
            evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(judged), {*MEASURES.values()})
            found = evaluator.evaluate(pytrec_eval.parse_run(ranked)).values()
        return {name: sum(each[other] for each in found) / len(found) for name, other in MEASURES.items()}

    own, expected = ours(), theirs()
    if any(abs(own[name] - value) > 1e-12 for name, value in expected.items()):
        raise ValueError(f"the values differ: {own}, {expected}")
    return ours, theirs


TEXT = "LETOR text of 136 features (40 MB)"
CASES = (
    Case(
        "readers/letor", f"reading {TEXT}", "scikit-learn's load_svmlight_file(query_id=True)", letor,
        faster=True, target=20.0,
    ),
    Case("readers/letor-bytes", f"reading {TEXT}", "reading the bytes of the file alone", bare),
    *(
        Case(
            f"readers/{ending}", f"reading the same documents as {name}", "reading them as LETOR text",
            partial(table, ending), faster=True,
        )
        for ending, name in (("csv", "CSV"), ("parquet", "Parquet"), ("arrow", "Arrow"))
    ),
    Case("readers/csv-pyarrow", "reading CSV", "pyarrow.csv.read_csv alone, which gives no X", pyarrow),
    Case(
        "readers/store", "opening a store of the same documents, and a read pass over it",
        "reading them as LETOR text", store, faster=True,
    ),
    Case(
        "readers/trec-run",
        f"reading qrels and a run of {N_QUERIES} queries of {N_DOCS:,} documents, and evaluating it",
        "pytrec_eval with its own readers", trec_run, faster=True,
    ),
)  # fmt: skip
