"""Section 3.5 of Qin et al. 2010: starts of ApproxNDCG and ApproxAP, on all folds, judged on test queries."""

import json
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import astuple, dataclass
from functools import cache
from hashlib import sha256
from inspect import getsource
from itertools import product
from pathlib import Path

import numpy as np
from comparing import error_of, say
from paper_tables import LARGE, Row, markdown_rows
from qin2010_results import fold1

from directrank import ApproxRank, evaluate, find_folds
from directrank.apps.experiments.store.identity import code_digest

MEASURES = ("nDCG", "AP")
BESTS = (1, 10, 50, 100)
SINGLE = ("zero", "ranksvm", "annealing")
#: Seeds of simulated annealing; the other two starts have none.
ANNEALINGS = 20


@dataclass(frozen=True)
class Search:
    """One fit: the seed is that of a random start of this name, or of simulated annealing."""

    measure: str
    steepness: float
    fold: int
    start: str
    seed: int


@dataclass(frozen=True)
class End:
    """Where a search ended: the training objective, and the measure on validation and each test query."""

    objective: float
    validation: float
    test: list[float]


@cache
def parts_of(data: Path, fold: int):
    return find_folds(data)[fold].load()


def ended(data: Path, search: Search) -> End:
    """Train, and evaluate in LETOR's convention."""
    train, *judged = parts_of(data, search.fold)
    start = search.start if search.start in SINGLE else fold1.random_direction(train.n_features, search.seed)
    ranker = ApproxRank(
        search.measure, steepness=search.steepness, start=start, scaling="standard",
        select_by=search.measure, random_state=search.seed, **fold1.TO_THE_END,
    ).fit(train)  # fmt: skip
    validation, test = (
        evaluate(part, ranker.predict(part), measures=[search.measure], convention="letor3", per_query=True)
        for part in judged
    )
    return End(
        float(ranker.certificate_["objective"]),
        float(validation[search.measure]),
        test.per_query[search.measure].tolist(),
    )


def searches(n_folds: int, n_starts: int) -> list[Search]:
    """Return all searches, those of one seed side by side, so that an unfinished run has equal pools."""
    seeds = [("zero", 0), ("ranksvm", 0)]
    for seed in range(n_starts):
        seeds += [("random", seed)] + [("annealing", seed)] * (seed < ANNEALINGS)
    rows = list(product(MEASURES, fold1.RESTARTED, range(n_folds)))
    return [Search(*row, *seed) for seed in seeds for row in rows]


def ends(data: Path, out: Path, n_starts: int, jobs: int) -> dict[Search, End]:
    """Return the end of each search; those that a file of the folder has are not trained again.

    The name of the file says which program they come from.
    """
    out.mkdir(parents=True, exist_ok=True)
    facts = repr((code_digest(), getsource(ended), str(data)))
    kept = out / f"ends-{sha256(facts.encode()).hexdigest()[:16]}.jsonl"
    lines = kept.read_text(encoding="utf-8").splitlines() if kept.is_file() else []
    # A line that an interruption cut is trained again.
    known = [json.loads(line) for line in lines if line.endswith("]]")]
    found = {Search(*search): End(*end) for search, end in known}
    asked = searches(len(find_folds(data)), n_starts)
    missing = [each for each in asked if each not in found]
    with kept.open("a", encoding="utf-8") as file, ProcessPoolExecutor(jobs) as pool:
        running = {pool.submit(ended, data, each): each for each in missing}
        for number, each in enumerate(as_completed(running), 1):
            search, end = running[each], each.result()
            found[search] = end
            file.write("\n" * (number == 1) + json.dumps([astuple(search), astuple(end)]) + "\n")
            file.flush()
            if number % 100 == 0:
                say(f"starts: {number} of {len(missing)} fits")
    return {each: found[each] for each in asked}


def on_average(pool: list[End], chances: np.ndarray) -> tuple[float, np.ndarray, float]:
    """Return the expected objective and test values, and the variance of the mean test value."""
    test = np.array([end.test for end in pool])
    means = test.mean(axis=1)
    expected = chances @ means
    objective = chances @ [end.objective for end in pool]
    return float(objective), chances @ test, float(chances @ (means - expected) ** 2)


def ways(n_starts: int):
    """Yield what is compared: name, start, number of seeds, best of how many, chosen by what."""
    yield from (("zeros", "zero", 1, 1, ""), ("RankSVM", "ranksvm", 1, 1, ""))
    yield "annealing", "annealing", min(ANNEALINGS, n_starts), 1, ""
    for k in sorted({n_starts, *(k for k in BESTS if k < n_starts)}):
        for by in ("objective", "validation") if k > 1 else ("objective",):
            yield f"best of {k}" + (f" by {by}" if k > 1 else ""), "random", n_starts, k, by


def rows(collection: str, found: dict[Search, End], n_starts: int) -> list[Row]:
    """Return the training objective, the test measure and its difference to the start at zeros."""
    folds = range(1 + max(each.fold for each in found))
    listed = []
    for measure, steepness in product(MEASURES, fold1.RESTARTED):
        first = np.concatenate([found[Search(measure, steepness, fold, "zero", 0)].test for fold in folds])
        for name, start, n_seeds, k, by in ways(n_starts):
            results = []
            for fold in folds:
                pool = [found[Search(measure, steepness, fold, start, seed)] for seed in range(n_seeds)]
                pool.sort(key=lambda end: -end.validation if by == "validation" else end.objective)
                results.append(on_average(pool, fold1.chances(n_seeds, k)))
            objective, test, variance = zip(*results, strict=True)
            method = f"Approx{measure.upper()}, α = {steepness:g}, {name}"
            drawn = float(np.sqrt(np.sum(variance)) / len(folds))
            difference = np.concatenate(test) - first
            listed += [
                Row(collection, method, "training objective", None, float(np.mean(objective))),
                Row(collection, method, f"test {measure}", None, float(np.mean(list(map(np.mean, test)))),
                    standard_error=drawn),
            ]  # fmt: skip
            if name != "zeros":
                listed.append(
                    Row(collection, method, f"test {measure} - zeros", None, float(difference.mean()),
                        error_of(difference))
                )  # fmt: skip
    return listed


def by_name(listed: list[Row], measure: str) -> dict[str, list[Row]]:
    """Return the rows whose measure ends so by what is compared, one for each measure and α."""
    found = {}
    for row in listed:
        if row.measure.endswith(measure):
            found.setdefault(row.method.rpartition(", ")[2], []).append(row)
    return found


def summarised(n_starts: int) -> list[str]:
    """Return the names that a summary has: not the best of a part of the starts."""
    return [name for name, _, _, k, _ in ways(n_starts) if k in (1, n_starts)]


def short(listed: list[Row], n_starts: int) -> str:
    """Return how many differences exceed two paired errors, and the mean training objectives."""
    every = [row for rows in by_name(listed, "- zeros").values() for row in rows]
    large = sum(abs(float(row.ours)) > LARGE * row.standard_error for row in every)
    objectives = ", ".join(
        f"{name} {np.mean([float(row.ours) for row in by_name(listed, 'objective')[name]]):.4f}"
        for name in summarised(n_starts)
    )
    return (
        f"Test value minus that of the start at zeros, with its paired error over queries, from {n_starts} "
        f"random starts a fold and {ANNEALINGS} runs of annealing; best of k: a mean over all choices of k. "
        f"{large} of {len(every)} exceed two errors. Mean training objective: {objectives}."
    )


def pivot(listed: list[Row], n_starts: int) -> list[str]:
    """Return the differences to the start at zeros in Markdown, one row for each measure and α."""
    rows = by_name(listed, "- zeros")
    names = [name for name in summarised(n_starts) if name in rows]
    lines = [
        [same[0].method.rpartition(", ")[0], *(f"{row.ours:+.4f}±{row.standard_error:.4f}" for row in same)]
        for same in zip(*(rows[name] for name in names), strict=True)
    ]
    return markdown_rows(["", *names], lines)


NOTE = (
    "L-BFGS with the default penalty. The best of k is the mean over all choices of k of the starts of "
    "a fold, chosen by the training objective or by validation; the standard error of a test value is the "
    "deviation over these choices (of annealing: over its seeds), and has no meaning for k equal to all "
    "starts. That of a difference is paired over queries. Test queries choose nothing."
)
