"""Reading qrels and a TREC run and evaluating it, beside pytrec_eval and, where installed, ranx.

    python benchmarks/system/runs.py [QUERIES] [DOCUMENTS]

prints how many times longer each of them takes, with scores of 4 and of 17 digits. All figures are checked to
be equal first.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytrec_eval

from directrank import evaluate
from directrank.experiments.runs.submissions import Judged

MEASURES = {"AP": "map", "nDCG@10": "ndcg_cut_10", "RR": "recip_rank", "P@10": "P_10"}
JUDGED, REPEATS = 60, 3


def write_files(folder: Path, n_queries: int, n_docs: int, digits: int) -> tuple[Path, Path]:
    """Write qrels of `JUDGED` documents a query and a run of `n_docs`, half of the judged among them."""
    rng = np.random.default_rng(0)
    qrels, run = folder / "qrels", folder / f"run{digits}"
    with qrels.open("w") as judged, run.open("w") as ranked:
        for query in range(301, 301 + n_queries):
            names = [f"FBIS3-{number}" for number in rng.choice(10**6, n_docs + JUDGED // 2, replace=False)]
            grades = rng.choice([0, 0, 0, 1, 2], JUDGED)
            judged.writelines(f"{query} 0 {d} {y}\n" for d, y in zip(names, grades, strict=False))
            scores = np.sort(rng.normal(size=n_docs))[::-1]
            ranked.writelines(
                f"{query} Q0 {d} {rank} {score:.{digits}g} tag\n"
                for rank, (d, score) in enumerate(zip(names[JUDGED // 2 :], scores, strict=True), 1)
            )
    return qrels, run


def ours(qrels: Path, run: Path) -> dict[str, float]:
    """Evaluate by directrank, from files to means, as its command does."""
    one = Judged(qrels).submission(run.name, run)
    found = evaluate(
        one.queries, one.scores, measures=[*MEASURES], convention="trec_eval", retrieved=one.retrieved
    )
    return dict(found)


def by_pytrec_eval(qrels: Path, run: Path) -> dict[str, float]:
    """Evaluate by pytrec_eval, with its own readers."""
    with qrels.open() as judged, run.open() as ranked:
        evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(judged), set(MEASURES.values()))
        found = evaluator.evaluate(pytrec_eval.parse_run(ranked))
    return {
        ours: sum(each[theirs] for each in found.values()) / len(found) for ours, theirs in MEASURES.items()
    }


def by_ranx(qrels: Path, run: Path) -> dict[str, float]:
    """Evaluate by ranx, with its own readers; its nDCG is the linear one."""
    import ranx  # pyright: ignore[reportMissingImports]

    judged, ranked = ranx.Qrels.from_file(str(qrels), kind="trec"), ranx.Run.from_file(str(run), kind="trec")
    names = {"AP": "map", "nDCG@10": "ndcg@10", "RR": "mrr", "P@10": "precision@10"}
    found = ranx.evaluate(judged, ranked, [*names.values()])
    return {ours: float(found[theirs]) for ours, theirs in names.items()}


def seconds(work: Callable[[], object]) -> float:
    """Return the least processor time of several calls; the first call, which may compile, does not count."""
    work()
    times = []
    for _ in range(REPEATS):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


def main(n_queries: int, n_docs: int) -> None:
    """Print the ratios."""
    rivals = {"pytrec_eval": by_pytrec_eval}
    try:
        import ranx  # noqa: F401 # pyright: ignore[reportMissingImports]
    except ImportError:
        print("ranx is not installed")
    else:
        rivals["ranx"] = by_ranx
    with tempfile.TemporaryDirectory() as folder:
        for digits in (4, 17):
            files = write_files(Path(folder), n_queries, n_docs, digits)
            expected, own = by_pytrec_eval(*files), seconds(lambda files=files: ours(*files))
            assert all(abs(ours(*files)[name] - value) < 1e-12 for name, value in expected.items())
            for name, rival in rivals.items():
                ratio = seconds(lambda rival=rival, files=files: rival(*files)) / own
                print(f"{n_queries} x {n_docs}, scores of {digits} digits: {name} / ours = {ratio:.1f}")


if __name__ == "__main__":
    main(*(int(each) for each in (*sys.argv[1:3], *("500", "1000")[len(sys.argv) - 1 :])))
