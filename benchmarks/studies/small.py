"""`auto` by the number of judged queries, beside its members, prior, the best feature, RankSVM and LightGBM.

    python benchmarks/studies/small.py OHSUMED WEB_RAW CRAN.txt --measure AP --out runs/small.json
    python benchmarks/studies/small.py interaction:1.5 --sizes 20,100 --measure nDCG@10 --out runs/made.json
    python benchmarks/studies/small.py OHSUMED --rows auto --out runs/before.json    # at another revision
    python benchmarks/studies/small.py OHSUMED --before runs/before.json --out runs/small.json

A collection is a folder with Fold1 … FoldN, a file whose queries are divided into five, or a made one
with its noise (`ensembles.py` says what they are). In draw d of a collection with folds, n queries of the
training and validation sets of fold d mod N are trained on (0: all of them), without a validation set, and
the test set of the fold judges; made ones have 200 test queries. Means are over draws, differences to `auto`
with their standard error over draws. `--before` adds `auto` of an earlier revision, whose values `--out` has
written. `--skip` leaves out the first draws, as those that a rule was chosen on. With `--judge rest` the
queries of the training and validation sets judge that were not drawn, so that rules are chosen without a
test set.

If `--fits FOLDER` is given, rows with `auto` are its members, at the points of their grids and with the
rounds that it has chosen, their sum with equal weights, and the sums of each kind. The folder keeps what
held-out queries say of members, so that another rule of weights is measured without that training, and the
scores of judged documents.

The best feature is the one with the highest value on the training queries, in either direction. LightGBM is
LambdaRank with its defaults (`lightgbm`), and with 50 trees of 7 leaves and a learning rate of .05 (`small`).
"""

import argparse
import json
import pickle
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from ensembles import numbers
from refit import keep_judged

from directrank import AutoRanker, QueryGroups, RankSVM, evaluate, find_folds, load_data
from directrank.estimators.ensembles import KINDS, sum_of
from directrank.estimators.ranker import scores_of

SIZES = (3, 5, 10, 20, 50)
MADE_TEST = 200
#: A file's queries are divided into so many parts, of which one is the test set.
PARTS = 5


def parts_of(
    collection: str, size: int, draw: int, judge: str = "test"
) -> tuple[QueryGroups, QueryGroups] | None:
    """Return the training and the test queries of a draw; None if there are too few queries."""
    rng = np.random.default_rng(draw)
    if ":" in collection:
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
    from directrank.estimators.shrinkage import prior_scorer  # Earlier revisions have none.

    return test.to_caller(prior_scorer("auto", train, None, 1).scores(test.features))


def by_lightgbm(train: QueryGroups, test: QueryGroups, **parameters) -> np.ndarray:
    import lightgbm

    model = lightgbm.LGBMRanker(n_jobs=1, verbose=-1, random_state=0, **parameters)
    queries = train.queries
    model.fit(train.features, queries.relevance.astype(int), group=queries.sizes)
    return np.asarray(model.predict(test.X))


def of_members(ranker: AutoRanker, train: QueryGroups, test: QueryGroups, path: Path) -> Iterator:
    """Yield scores of members, of all with equal weights, and of each kind, trained on all queries."""
    kinds: dict[str, list] = {}
    kept = iter(ranker.rankers_)
    chosen = pickle.loads(path.read_bytes())[0]
    for member, described in zip(chosen, ranker.members_, strict=True):
        if described["kept"]:
            fitted = next(kept)
        else:
            fitted = ranker._built(member.method, member.point)._fit_rounds(member.rounds, train, None)
        yield described["name"], fitted.predict(test)
        kinds.setdefault("equal weights", []).append(fitted)
        kinds.setdefault(KINDS[member.block], []).append(fitted)
    for kind, fitted in kinds.items():
        yield kind, test.to_caller(scores_of(sum_of(fitted, train, None), test.source, test))


def rows_of(
    train: QueryGroups, test: QueryGroups, measure: str, rows: list[str], path: Path | None
) -> Iterator:
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
        if row == "auto" and path is not None:
            keep_judged(path)
        started = time.process_time()
        found = made_by[row]()
        scores = found if isinstance(found, np.ndarray) else found.predict(test)
        yield row, scores, time.process_time() - started, getattr(found, "shares_", None)
        if row == "auto" and path is not None:
            for member, of_member in of_members(found, train, test, path):
                yield member, of_member, 0.0, None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("collections", nargs="+")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--measure", default="AP")
    parser.add_argument(
        "--rows", default="auto;prior;best feature;ranksvm(penalty=1);lightgbm;lightgbm, small"
    )
    parser.add_argument("--skip", type=int, default=0)
    parser.add_argument("--judge", choices=["test", "rest"], default="test")
    parser.add_argument("--fits", type=Path)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    # (collection, size, draw, row) as text: the mean over test queries
    values = json.loads(given.out.read_text()) if given.out.exists() else {}
    before = json.loads(given.before.read_text()) if given.before else {}
    rows, sizes = given.rows.split(";"), list(map(int, given.sizes.split(",")))
    if given.fits:
        given.fits.mkdir(parents=True, exist_ok=True)
    for draw in range(given.skip, given.draws):
        for collection in given.collections:
            for size in sizes:
                keys = {row: f"{collection} {size} {draw} {given.measure} {row}" for row in rows}
                missing = [row for row, key in keys.items() if key not in values]
                parts = parts_of(collection, size, draw, given.judge) if missing else None
                if parts is None:
                    continue
                name = f"{Path(collection).name} {size} {draw} {given.measure}"
                path, scores_of_rows = given.fits / f"{name}.pickle" if given.fits else None, {}
                for row, scores, seconds, shares in rows_of(*parts, given.measure, missing, path):
                    found = evaluate(parts[1], scores, measures=given.measure)[given.measure]
                    key = f"{collection} {size} {draw} {given.measure} {row}"
                    values[key] = {"value": found, "seconds": seconds, "shares": shares}
                    scores_of_rows[row] = scores
                if path is not None:
                    path.with_suffix(".scores").write_bytes(pickle.dumps(scores_of_rows))
                given.out.write_text(json.dumps(values, indent=0))
    for collection in given.collections:
        print_table(collection, sizes, given, values, before)


def print_table(collection: str, sizes: list[int], given, values: dict, before: dict) -> None:
    """Print the means over draws of each row, and its difference to `auto` with the error over draws."""
    print(f"\n| {Path(collection).name}, {given.measure} | {' | '.join(map(str, sizes))} |")
    print(f"|{' --- |' * (len(sizes) + 1)}")

    def drawn(size: int, source: dict, row: str) -> np.ndarray:
        keys = (
            f"{collection} {size} {draw} {given.measure} {row}" for draw in range(given.skip, given.draws)
        )
        return np.array([source[key]["value"] if key in source else np.nan for key in keys])

    of_auto = [*dict.fromkeys(key.split(" ", 4)[4] for key in values)]
    shown = dict.fromkeys([*given.rows.split(";"), *(of_auto if given.fits else [])])
    rows = [(row, values, row) for row in shown]
    for label, source, row in rows + [("auto before", before, "auto")] * bool(before):
        cells = []
        for size in sizes:
            found = drawn(size, source, row)
            less = found - drawn(size, values, "auto")
            found, less = found[~np.isnan(found)], less[~np.isnan(less)]
            cell = f"{found.mean():.4f}" if len(found) else ""
            if label != "auto" and len(less) > 1:
                cell += f", {less.mean():+.4f} ({less.std(ddof=1) / np.sqrt(len(less)):.4f})"
            cells.append(cell.replace("0.", ".").replace("-.", "−."))
        print(f"| {label} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
