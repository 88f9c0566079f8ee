"""ApproxRank's ways out of local optima (Qin et al. 2010, 3.5), and α against restarts (5.5.1, Table 5).

    python benchmarks/studies/approx_starts.py --data OHSUMED [--seeds 20] [--restarts 100] [--processes N]
        [--out approx_starts.json]

For ApproxNDCG and ApproxAP, at three values of α, on each fold and with each seed: the first start (zeros),
the start at RankSVM's solution, simulated annealing, and the best of 1, 10 and so many random restarts,
chosen by the training objective and by the validation measure. Printed are means over folds and seeds of the
objective, of the validation and of the test measure, with the standard error over seeds, and the paired
error over test queries of the difference to the first start. The test sets choose nothing. One fit is one
job of a process. All of it is 60,000 fits, of half a second each; `--seeds 4 --restarts 20` is 2,400.
"""

import argparse
import json
import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np

from directrank import ApproxRank, QueryGroups, evaluate, find_folds

MEASURES, STEEPNESSES = ("nDCG", "AP"), (50.0, 100.0, 300.0)
SINGLE = {"zero": "zero", "RankSVM": "ranksvm", "annealing": "annealing"}


@dataclass(frozen=True)
class Job:
    """A measure, α, a start, a fold and a seed."""

    measure: str
    steepness: float
    start: str
    fold: int
    seed: int


@dataclass(frozen=True)
class End:
    """Where a search ended, and the test measure of each query."""

    objective: float
    validation: float
    test: list[float]


@cache
def fold(data: str, number: int) -> tuple[QueryGroups, QueryGroups, QueryGroups]:
    return find_folds(data)[number].load()


def ended(ranker: ApproxRank, job: Job, parts) -> End:
    """Return the objective, and the measure on the validation and on the test queries."""
    values = []
    for part in parts[1:]:
        judged = evaluate(
            part, ranker.predict(part), measures=[job.measure], convention="letor3", per_query=True
        )
        values.append(judged.per_query[job.measure])
    return End(ranker.certificate_["objective"], float(np.mean(values[0])), list(map(float, values[1])))


def run(data: str, job: Job, restarts: int) -> dict[str, dict]:
    """Return the ends of one job by name: of a single start, or of the best of so many restarts."""
    parts = fold(data, job.fold)
    train = parts[0]
    options = {"steepness": job.steepness, "select_by": job.measure, "random_state": job.seed, "n_jobs": 1}
    if job.start != "restarts":
        ranker = ApproxRank(job.measure, start=SINGLE[job.start], **options).fit(train)
        return {job.start: asdict(ended(ranker, job, parts))}
    rng, ends = np.random.default_rng(1000 * job.fold + job.seed), []
    for _ in range(restarts):
        direction = rng.standard_normal(train.n_features)
        start = direction / np.linalg.norm(direction)
        ranker = ApproxRank(job.measure, start=start, scaling="standard", **options).fit(train)
        ends.append(ended(ranker, job, parts))
    found = {}
    for k in sorted({1, min(10, restarts), restarts}):
        found[f"best of {k}, by training"] = asdict(min(ends[:k], key=lambda end: end.objective))
        found[f"best of {k}, by validation"] = asdict(max(ends[:k], key=lambda end: end.validation))
    return found


def table(found: list[tuple[Job, dict[str, dict]]]) -> list[str]:
    """Return lines: one a measure, α and search."""
    lines = ["measure α search: objective, validation, test (± over seeds; ± paired, against zeros)"]
    for measure, steepness in product(MEASURES, STEEPNESSES):
        chosen = [(job, ends) for job, ends in found if (job.measure, job.steepness) == (measure, steepness)]
        first = {job.fold: ends["zero"]["test"] for job, ends in chosen if "zero" in ends}
        for name in dict.fromkeys(name for _, ends in chosen for name in ends):
            own = [(job, ends[name]) for job, ends in chosen if name in ends]
            by_seed = {}
            for job, end in own:
                by_seed.setdefault(job.seed, []).append(np.mean(end["test"]))
            means = [np.mean(each) for each in by_seed.values()]
            over_seeds = np.std(means, ddof=1) if len(means) > 1 else 0.0
            mean_test = {
                number: np.mean([end["test"] for job, end in own if job.fold == number], axis=0)
                for number in first
            }
            difference = np.concatenate([mean_test[number] - np.array(first[number]) for number in first])
            paired = np.std(difference, ddof=1) / np.sqrt(len(difference))
            objective, validation = (
                np.mean([end[key] for _, end in own]) for key in ("objective", "validation")
            )
            lines.append(
                f"{measure:5} {steepness:5g} {name:28} {objective:.4f}  {validation:.4f}  "
                f"{np.mean(means):.4f} ± {over_seeds:.4f}; {difference.mean():+.4f} ± {paired:.4f}"
            )
    return lines


def statistics(data: str) -> list[str]:
    """Return Table 2: queries, documents, features, and documents a query of each grade."""
    parts = [test for _, _, test in (each.load() for each in find_folds(data))]
    grades, counts = np.unique(np.concatenate([part.relevance for part in parts]), return_counts=True)
    queries, documents = sum(part.n_queries for part in parts), sum(part.n_docs for part in parts)
    line = f"{queries} queries, {documents} documents, {parts[0].n_features} features, {len(grades)} grades"
    each = ", ".join(f"{n / queries:.1f} of grade {g:g}" for g, n in zip(grades, counts, strict=True))
    return ["Table 2: " + line, f"documents a query: {documents / queries:.1f}; {each}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--restarts", type=int, default=100)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=Path, help="JSON of all ends")
    options = parser.parse_args()
    print("\n".join(statistics(options.data)))
    folds = range(len(find_folds(options.data)))
    seeds = {"annealing": options.seeds, "restarts": options.seeds, "zero": 1, "RankSVM": 1}
    jobs = [
        Job(measure, steepness, start, number, seed)
        for start, n in seeds.items()  # the long ones first
        for measure, steepness, number, seed in product(MEASURES, STEEPNESSES, folds, range(n))
    ]
    jobs.sort(key=lambda job: job.start != "restarts")
    with ProcessPoolExecutor(options.processes) as pool:
        running = [pool.submit(run, options.data, job, options.restarts) for job in jobs]
        found = [(job, each.result()) for job, each in zip(jobs, running, strict=True)]
    print("\n".join(table(found)))
    if options.out:
        options.out.write_text(json.dumps([{**asdict(job), "ends": ends} for job, ends in found]))


if __name__ == "__main__":
    main()
