"""`auto` by the number of judged queries, beside other methods, by `compare` on drawn queries.

    python benchmarks/studies/small.py OHSUMED CRAN.txt --sizes 3,5,10,20 --draws 10 --out runs/small
    python benchmarks/studies/small.py interaction:1.5 --sizes 20,100 --measure nDCG@10 --out runs/made
    python benchmarks/studies/small.py OHSUMED --methods "auto,lambdaloss,approxap" --out runs/members

A collection is a folder with Fold1 … FoldN, a file whose queries are divided into five, or a made one
with its noise: in `interaction` only the product of two features tells the grades, in `monotone` they are the
sum of nonlinear increasing functions of single features, in `rare` one document of 20 has a feature that
decides, and others add a little. In draw d of a collection with folds, n queries of the training and
validation sets of fold d mod N are drawn (0: all of them), and the test set of the fold judges; made ones
have 200 test queries, and no size 0. A comparison divides the drawn queries: every fifth, and at
least one, validates, and with ``refit`` the chosen methods are trained on all of them. Finished comparisons
in `--out` are not made again.

Means are over draws. Differences to `auto`, the first method, have a standard error over draws and
queries, as one query judges several draws. The exit code is 1 if a row is above the first one by two errors.
"""

import argparse
import sys
import warnings
from itertools import product
from pathlib import Path

import numpy as np

from directrank import QueryGroups, compare, find_folds, load_data

SIZES = (3, 5, 10, 20)
MADE_TEST = 200
METHODS = "auto,ranksvm(penalty=1),lightgbm:lambdarank"
#: A file's queries are divided into so many parts, of which one is the test set.
PARTS = 5
#: One of so many drawn queries validates.
VALIDATES = 5
#: The value of each query, by its name, of each draw.
Draws = dict[int, dict[str, float]]


def numbers(kind: str, n_queries: int, rng: np.random.Generator, noise: float, first: int = 0) -> QueryGroups:
    """Draw queries of 20 documents, from number `first` on, whose grades depend on numbers."""
    x = rng.normal(size=(n_queries * 20, 8))
    if kind == "interaction":
        utility = x[:, 0] * x[:, 1]
    elif kind == "monotone":
        utility = np.exp(x[:, 0]) + 2 * (x[:, 1] > 1) + 2 * np.minimum(x[:, 2], 0) + x[:, 3] ** 3 / 3
    else:
        x[:, 0] = rng.random(len(x)) < 0.05
        utility = 4 * x[:, 0] + 0.3 * x[:, 1:5].sum(axis=1)
    utility += noise * rng.normal(size=len(x))
    grades = np.digitize(utility, np.quantile(utility, (0.6, 0.85, 0.95)))
    return QueryGroups(x.astype(np.float32), grades, first + np.arange(len(x)) // 20)


def parts_of(collection: str, size: int, draw: int) -> tuple[QueryGroups, QueryGroups] | None:
    """Return the drawn and the test queries of a draw; None if there are too few queries."""
    rng = np.random.default_rng(draw)
    if ":" in collection:
        if size == 0:
            return None
        kind, noise = collection.split(":")
        drawn = numbers(kind, size, rng, float(noise))
        return drawn, numbers(kind, MADE_TEST, rng, float(noise), first=size)
    if Path(collection).is_dir():
        folds = find_folds(collection)
        train, vali, test = folds[draw % len(folds)].load()
        pool = QueryGroups.concatenate([train, vali])
    else:
        every = load_data(collection)
        order = np.random.default_rng(0).permutation(every.n_queries)
        is_test = np.isin(np.arange(every.n_queries), order[draw % PARTS :: PARTS])
        pool, test = every.select(~is_test), every.select(is_test)
    if size > pool.n_queries:
        return None
    drawn = np.isin(np.arange(pool.n_queries), rng.permutation(pool.n_queries)[: size or None])
    return pool.select(drawn), test


def values_of_draw(collection: str, size: int, draw: int, given) -> dict[str, dict[str, float]]:
    """Return the value of each test query by its name, of each row of a draw's comparison; {} without one."""
    parts = parts_of(collection, size, draw)
    if parts is None:
        return {}
    drawn, test = parts
    validates = np.arange(drawn.n_queries) % VALIDATES == VALIDATES - 1
    validates[-1] |= not validates.any()
    results = compare(
        (drawn.select(~validates), drawn.select(validates), test), given.methods, select_by=given.measure,
        measures=given.measure, refit=True, audit=False, name=Path(collection).name,
        out=given.out / f"{Path(collection).name} {size} {draw}".replace(":", "-"),
    )  # fmt: skip
    # Each draw of a made collection has queries of its own.
    prefix, values = f"{draw}:" if ":" in collection else "", {}
    for row in (*results.trained, *results.references):
        record = results.record(row, results.folds[0])
        if record is not None:
            by_query = zip(test.queries.qid, record.per_query["standard"][results.main], strict=True)
            values[row] = {f"{prefix}{name}": value for name, value in by_query if value is not None}
    return values


def mean_and_error(draws: list[dict[str, float]]) -> tuple[float, float]:
    """Return the mean of the means of draws, and its standard error (Cameron, Gelbach, Miller, 2011).

    Values of one draw are not independent, and those of one query in several draws are not either: the
    variance is the sum of that between draws and that between queries less that of single values, and at
    least the larger of the two.
    """
    n, mean = len(draws), np.mean([np.mean([*draw.values()]) for draw in draws])
    of_draws, of_queries, alone = np.zeros(n), {}, 0.0
    for place, draw in enumerate(draws):
        for query, value in draw.items():
            part = (value - mean) / (n * len(draw))
            of_draws[place] += part
            of_queries[query] = of_queries.get(query, 0.0) + part
            alone += part**2
    between = np.sum(of_draws**2), np.sum(np.square([*of_queries.values()]))
    return float(mean), float(np.sqrt(max(sum(between) - alone, *between) * n / max(n - 1, 1)))


def print_table(name: str, measure: str, of_sizes: dict[int, dict[str, Draws]]) -> list[str]:
    """Print each row's mean or difference to the first; return a line for each that is above it."""
    rows = dict.fromkeys(row for by_row in of_sizes.values() for row in by_row)
    first, lines = next(iter(rows)), []
    heads = [f"{size or 'all'} ({len(by_row[first])})" for size, by_row in of_sizes.items()]
    print(f"\n| {name}, {measure} | {' | '.join(heads)} |\n|{' --- |' * (len(heads) + 1)}")
    for row in rows:
        cells = []
        for size, by_row in of_sizes.items():
            reference, draws = by_row[first], by_row.get(row, {})
            both = [draw for draw in reference if draw in draws]
            if row == first or not both:
                cells.append(f"{mean_and_error([*reference.values()])[0]:.4f}" if row == first else "")
                continue
            less = [{q: draws[d][q] - value for q, value in reference[d].items()} for d in both]
            mean, error = mean_and_error(less)
            cells.append(f"{mean:+.4f} ({error:.4f})" if len(both) > 1 else f"{mean:+.4f}")
            if len(both) > 1 and mean > 2 * error:
                lines.append(f"{name}, {size} queries: {row} is above {first} by {mean:.4f} ({error:.4f})")
        print(f"| {row} | {' | '.join(cells).replace('0.', '.').replace('-.', '−.')} |", flush=True)
    return lines


def main() -> int:
    """Make the comparisons and print their tables; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("collections", nargs="+")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--measure", default="AP")
    parser.add_argument("--methods", default=METHODS)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    sizes = list(map(int, given.sizes.split(",")))
    values: dict[str, dict[int, dict[str, Draws]]] = {}
    collections: list[str] = given.collections
    for draw, (collection, size) in product(range(given.draws), product(collections, sizes)):
        for row, of_queries in values_of_draw(collection, size, draw, given).items():
            by_row = values.setdefault(collection, {}).setdefault(size, {})
            by_row.setdefault(row, {})[draw] = of_queries
    lines = []
    for collection, of_sizes in values.items():
        lines += print_table(Path(collection).name, given.measure, of_sizes)
    print("\n" + ("\n".join(lines) or "No row is above the first one by two errors."))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
