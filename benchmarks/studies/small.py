"""`auto` by the number of judged queries, beside its members, prior, the best feature, RankSVM and LightGBM.

    python benchmarks/studies/small.py OHSUMED CRAN.txt --members --draws 20 --out runs/small.json
    python benchmarks/studies/small.py interaction:1.5 --sizes 20,100 --measure nDCG@10 --out runs/made.json
    python benchmarks/studies/small.py OHSUMED --rows auto --out runs/before.json    # at another revision

A collection is a folder with Fold1 … FoldN, a file whose queries are divided into five, or a made one
with its noise (`ensembles.py` says what they are). In draw d of a collection with folds, n queries of the
training and validation sets of fold d mod N are trained on (0: all of them), without a validation set, and
the test set of the fold judges; made ones have 200 test queries, and no size 0. `--out` keeps the value of
each query: what it has is not trained again.

Means are over draws. Differences to `auto` have a standard error over draws and queries, as one query
judges several draws. `--before` adds `auto` of an earlier revision, whose values `--out` has written.
`--skip` leaves out the first draws, as those that a rule was chosen on. With `--judge rest` the queries of
the training and validation sets judge that were not drawn, so that rules are chosen without a test set.

With `--members`, rows with `auto` are its members, at the points of their grids and with the rounds that it
has chosen, trained on all queries, their sum with equal weights, and the sums of each kind.

The best feature is the one with the highest value on the training queries, in either direction. LightGBM is
LambdaRank with its defaults (`lightgbm`), and with 50 trees of 7 leaves and a learning rate of .05 (`small`).
"""

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
from ensembles import numbers

from directrank import AutoRanker, QueryGroups, Ranker, RankSVM, evaluate, find_folds, load_data
from directrank.apps.auto.ensembles import KINDS, Trained, sum_of
from directrank.estimators.ranker import scores_of

SIZES = (3, 5, 10, 20, 50, 100, 0)
MADE_TEST = 200
ROWS = "auto;prior;best feature;ranksvm(penalty=1);lightgbm;lightgbm, small"
#: A file's queries are divided into so many parts, of which one is the test set.
PARTS = 5


def parts_of(
    collection: str, size: int, draw: int, judge: str = "test"
) -> tuple[QueryGroups, QueryGroups] | None:
    """Return the training and the test queries of a draw; None if there are too few queries."""
    rng = np.random.default_rng(draw)
    if ":" in collection:
        if size == 0:
            return None
        kind, noise = collection.split(":")
        return numbers(kind, size, rng, float(noise)), numbers(kind, MADE_TEST, rng, float(noise))
    if Path(collection).is_dir():
        folds = find_folds(collection)
        train, vali, test = folds[draw % len(folds)].load()
        pool = QueryGroups.concatenate([train, vali])
    else:
        every = load_data(collection)
        order = np.random.default_rng(0).permutation(every.n_queries)
        is_test = np.isin(np.arange(every.n_queries), order[draw % PARTS :: PARTS])
        pool, test = every.select(~is_test), every.select(is_test)
    if size == 0:
        return pool, test
    if size > pool.n_queries:
        return None
    drawn = np.isin(np.arange(pool.n_queries), rng.permutation(pool.n_queries)[:size])
    return pool.select(drawn), pool.select(~drawn) if judge == "rest" else test


def best_feature(train: QueryGroups, test: QueryGroups, measure: str) -> np.ndarray:
    signed = [(sign, column) for column in range(train.n_features) for sign in (1, -1)]
    values = [
        evaluate(train, sign * np.nan_to_num(train.X[:, column]), measures=measure)[measure]
        for sign, column in signed
    ]
    sign, column = signed[int(np.argmax(values))]
    return sign * np.nan_to_num(test.X[:, column])


def by_prior(train: QueryGroups, test: QueryGroups) -> np.ndarray:
    from directrank.apps.auto.shrinkage import prior_scorer  # Earlier revisions have none.

    return test.to_caller(prior_scorer("auto", train, None, 1).scores(test.features))


def by_lightgbm(train: QueryGroups, test: QueryGroups, **parameters) -> np.ndarray:
    import lightgbm

    model = lightgbm.LGBMRanker(n_jobs=1, verbose=-1, random_state=0, **parameters)
    queries = train.queries
    model.fit(train.features, queries.relevance.astype(int), group=queries.sizes)
    return np.asarray(model.predict(test.X))


def of_members(ensemble: AutoRanker, train: QueryGroups, test: QueryGroups) -> Iterator:
    """Yield scores of members, of all with equal weights, and of each kind, trained on all queries."""
    methods = {method.label: method for method, _ in ensemble.candidates()}
    kinds: dict[str, list] = {}
    kept = iter(ensemble.rankers_)
    for member in ensemble.members_:
        method = methods[member["name"]]
        fitted = next(kept) if member["kept"] else dropped(method.build(member["parameters"]), member, train)
        yield member["name"], fitted.predict(test)
        kinds.setdefault("equal weights", []).append(fitted)
        kinds.setdefault(KINDS[Trained(method, {}, fitted).block], []).append(fitted)
    for kind, rankers in kinds.items():
        yield kind, test.to_caller(scores_of(sum_of(rankers, train, None), test.source, test))


def dropped(ranker: Ranker, member: dict, train: QueryGroups) -> Ranker:
    """Train a member that is not in the ensemble, with the number of rounds that was chosen."""
    if ranker.chooses_rounds and member["rounds"]:
        ranker.set_params(rounds=member["rounds"], keep="last", patience=None)
    return ranker.set_params(n_jobs=1).fit(train)


def rows_of(train: QueryGroups, test: QueryGroups, measure: str, rows: list[str], members: bool) -> Iterator:
    """Yield each row with its scores of the test documents, its seconds, and the weights of `auto`."""
    small = {"n_estimators": 50, "num_leaves": 7, "learning_rate": 0.05}
    made_by = {
        "auto": lambda: AutoRanker(measure, n_jobs=1).fit(train),
        "prior": lambda: by_prior(train, test),
        "ranksvm(penalty=1)": lambda: RankSVM(penalty=1.0, n_jobs=1).fit(train),
        "best feature": lambda: best_feature(train, test, measure),
        "lightgbm": lambda: by_lightgbm(train, test),
        "lightgbm, small": lambda: by_lightgbm(train, test, **small),
    }
    for row in rows:
        started = time.process_time()
        result = made_by[row]()
        scores = result if isinstance(result, np.ndarray) else result.predict(test)
        yield row, scores, time.process_time() - started, getattr(result, "shares_", None)
        if row == "auto" and members:
            for member, of_member in of_members(result, train, test):
                yield member, of_member, 0.0, None


def by_query(test: QueryGroups, scores: np.ndarray, measure: str, prefix: str) -> dict[str, float]:
    """Return the value of each test query, by its name after a prefix."""
    result = evaluate(test, scores, measures=measure, per_query=True)
    pairs = zip(result.qid, result.per_query[measure], strict=True)
    return {f"{prefix}{name}": round(float(value), 6) for name, value in pairs if not np.isnan(value)}


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("collections", nargs="+")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--measure", default="AP")
    parser.add_argument("--rows", default=ROWS)
    parser.add_argument("--skip", type=int, default=0)
    parser.add_argument("--judge", choices=["test", "rest"], default="test")
    parser.add_argument("--members", action="store_true")
    parser.add_argument("--before", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tables-only", action="store_true", help="Train nothing: print what --out has.")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    given.out.parent.mkdir(parents=True, exist_ok=True)
    # (collection, size, draw, measure, row) as text: the value of each test query
    values = json.loads(given.out.read_text()) if given.out.exists() else {}
    before = json.loads(given.before.read_text()) if given.before else {}
    rows, sizes = given.rows.split(";"), list(map(int, given.sizes.split(",")))
    for draw, collection, size in product(range(given.skip, given.draws), given.collections, sizes):
        name = f"{Path(collection).name} {size} {draw} {given.measure}"
        missing = [row for row in rows if f"{name} {row}" not in values]
        if given.tables_only or not missing:
            continue
        parts = parts_of(collection, size, draw, given.judge)
        if parts is None:
            continue
        # Each draw of a made collection has queries of its own.
        prefix = f"{draw}:" if ":" in collection else ""
        for row, scores, seconds, shares in rows_of(*parts, given.measure, missing, given.members):
            of_queries = by_query(parts[1], scores, given.measure, prefix)
            values[f"{name} {row}"] = {"values": of_queries, "seconds": seconds, "shares": shares}
        given.out.write_text(json.dumps(values, indent=0))
    for collection in given.collections:
        print_table(Path(collection).name, sizes, given, values, before)


def print_table(collection: str, sizes: list[int], given, values: dict, before: dict) -> None:
    """Print the mean of each row with its number of draws, and differences to `auto` with their errors."""
    draws = range(given.skip, given.draws)

    def drawn(source: dict, size: int, row: str) -> dict[int, dict[str, float]]:
        keys = {draw: f"{collection} {size} {draw} {given.measure} {row}" for draw in draws}
        return {draw: source[key]["values"] for draw, key in keys.items() if key in source}

    sizes = [size for size in sizes if drawn(values, size, "auto")]
    heads = [f"{size or 'all'} ({len(drawn(values, size, 'auto'))})" for size in sizes]
    print(f"\n| {collection}, {given.measure} | {' | '.join(heads)} |\n|{' --- |' * (len(sizes) + 1)}")
    of_collection = [key.split(" ", 4) for key in values if key.startswith(f"{collection} ")]
    shown = dict.fromkeys([*given.rows.split(";"), *(key[4] for key in of_collection if given.members)])
    rows = [(row, values, row) for row in shown]
    for label, source, row in rows + [("auto before", before, "auto")] * bool(before):
        cells = []
        for size in sizes:
            autos, others = drawn(values, size, "auto"), drawn(source, size, row)
            both = [draw for draw in autos if draw in others]
            if label == "auto" or not both:
                cells.append(f"{mean_and_error([*autos.values()])[0]:.4f}" if label == "auto" else "")
                continue
            less = [{q: others[d][q] - value for q, value in autos[d].items()} for d in both]
            mean, error = mean_and_error(less)
            of_fewer = f", {len(both)}" if len(both) < len(autos) else ""
            cells.append(f"{mean:+.4f} ({error:.4f}{of_fewer})" if len(both) > 1 else f"{mean:+.4f}")
        print(f"| {label} | {' | '.join(cells).replace('0.', '.').replace('-.', '−.')} |", flush=True)


if __name__ == "__main__":
    main()
