"""Trees under our objectives beside the libraries' own: the same trees, leaves, rounds and stopping.

Every model has at most ROUNDS trees of LEAVES leaves, may use a random 80 % of the features in each tree, and
keeps the trees up to the best value of a measure on the validation set, with the same patience. Nothing else
is tuned: limits of leaves and penalties are the defaults of each library, and ours of `TreeRanker`.
LambdaRank and LambdaLoss train for nDCG@10, which was settled on draws 7 to 9. Differences are to the best of
the libraries on the same queries, means over seeds, with their paired standard error. Defaults are chosen by
`--part vali`.

    python benchmarks/studies/trees.py                     # synthetic collections with interactions
    python benchmarks/studies/trees.py OHSUMED --folds 5   # a folder of folds
    python benchmarks/studies/trees.py OHSUMED --folds 5 --part vali --select-by AP --leaves 7
"""

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from directrank import TreeRanker, evaluate, load_letor, make_ranking
from directrank.data.groups import QueryGroups
from directrank.estimators import RankSVM
from directrank.models.readers import lightgbm_text, xgboost_json

ROUNDS, PATIENCE, LEAVES, RATE, SHARE = 300, 50, 15, 0.05, 0.8
PARTS = ("train", "vali", "test")
MEASURES = ("AP", "nDCG@10")
OURS = {
    "lambdarank": ("lambdarank", "nDCG@10"), "lambdarank-ap": ("lambdarank", "AP"),
    "lambdaloss": ("lambdaloss", "nDCG@10"),
    "approxndcg": ("approx", "nDCG"), "approxap": ("approx", "AP"), "consistent": ("consistent", "nDCG"),
    "listnet": ("listnet", "nDCG"), "xendcg": ("xendcg", "nDCG"),
}  # fmt: skip


class Settings(NamedTuple):
    """What all models of a run share."""

    seed: int
    leaves: int
    bins: int
    select_by: str


Parts = tuple[QueryGroups, QueryGroups, QueryGroups]


def interactions(seed: int, n_queries=(300, 100, 300), n_features: int = 15) -> Parts:
    """Draw three parts whose grades depend on products of features, which have no effect of their own."""
    rng = np.random.default_rng(seed)
    parts = []
    for number in n_queries:
        groups = make_ranking(number, 25, n_features, random_state=rng)
        x = rng.normal(size=(groups.n_docs, n_features)).astype(np.float32)
        utility = x[:, 0] * x[:, 1] + x[:, 2] * x[:, 3] + 0.7 * np.abs(x[:, 4]) + rng.normal(size=len(x))
        grades = np.digitize(utility, [0.8, 1.8, 3.0]).astype(float)
        parts.append(QueryGroups(x, grades, groups.qid))
    return tuple(parts)


def ours(objective: str, measure: str) -> Callable:
    def train(parts: Parts, settings: Settings):
        ranker = TreeRanker(
            objective, measure=measure, rounds=ROUNDS, patience=PATIENCE,
            leaves=settings.leaves, bins=settings.bins, learning_rate=RATE, feature_share=SHARE,
            select_by=settings.select_by, random_state=settings.seed, n_jobs=1,
        ).fit(parts[0], eval_set=parts[1])  # fmt: skip
        return ranker.scorer_

    return train


def of_lightgbm(objective: str) -> Callable:
    def train(parts: Parts, settings: Settings):
        import lightgbm

        import directrank.lightgbm

        parameters = {
            "objective": objective, "metric": "none", "num_leaves": settings.leaves, "learning_rate": RATE,
            "feature_fraction": SHARE, "seed": settings.seed, "num_threads": 1, "verbose": -1,
            "deterministic": True, "force_row_wise": True,
        }  # fmt: skip
        train, vali = (
            lightgbm.Dataset(part.features, label=part.queries.relevance, group=part.queries.sizes)
            for part in parts[:2]
        )
        booster = lightgbm.train(
            parameters, train, ROUNDS, valid_sets=[vali],
            feval=directrank.lightgbm.eval_metric(settings.select_by),
            callbacks=[lightgbm.early_stopping(PATIENCE, verbose=False)],
        )  # fmt: skip
        return lightgbm_text.read(booster.model_to_string().encode())[0]

    return train


def of_xgboost(objective: str) -> Callable:
    def train(parts: Parts, settings: Settings):
        import xgboost

        import directrank.xgboost

        parameters = {
            "objective": objective, "disable_default_eval_metric": True, "max_leaves": settings.leaves,
            "max_depth": 0, "grow_policy": "lossguide", "learning_rate": RATE, "colsample_bytree": SHARE,
            "seed": settings.seed, "nthread": 1, "verbosity": 0,
        }  # fmt: skip
        train, vali = (
            xgboost.DMatrix(
                part.features,
                label=part.queries.relevance,
                qid=np.repeat(np.arange(part.n_queries), part.queries.sizes),
            )
            for part in parts[:2]
        )
        booster = xgboost.train(
            parameters, train, ROUNDS, evals=[(vali, "vali")], maximize=True, verbose_eval=False,
            custom_metric=directrank.xgboost.eval_metric(settings.select_by), early_stopping_rounds=PATIENCE,
        )  # fmt: skip
        return xgboost_json.read(bytes(booster[: booster.best_iteration + 1].save_raw("json")))[0]

    return train


def linear(parts: Parts, settings: Settings):
    return RankSVM(n_jobs=1, select_by=settings.select_by).fit(parts[0], eval_set=parts[1]).scorer_


THEIRS = {
    "lightgbm:lambdarank": of_lightgbm("lambdarank"), "lightgbm:rank_xendcg": of_lightgbm("rank_xendcg"),
    "xgboost:rank:ndcg": of_xgboost("rank:ndcg"),
}  # fmt: skip
TRAINED = {
    "linear (ranksvm)": linear,
    **THEIRS,
    **{f"trees-{name}": ours(*given) for name, given in OURS.items()},
}


def collections(folder: Path | None, first: int, folds: int) -> Iterator[tuple[str, Parts]]:
    if folder is None:
        yield from ((f"draw {seed}", interactions(seed)) for seed in range(first, first + folds))
        return
    for fold in sorted(folder.glob("Fold*"))[:folds]:
        yield fold.name, load_letor(fold)


def values(scorer, part: QueryGroups, measure: str) -> np.ndarray:
    """Return the measure of each query."""
    scores = part.to_caller(scorer.scores(part.features))
    return np.array(evaluate(part, scores, measures=measure, per_query=True).per_query[measure])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--folds", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first synthetic draw")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--leaves", type=int, default=LEAVES)
    parser.add_argument("--bins", type=int, default=255, help="of our trees; the libraries have theirs")
    parser.add_argument("--select-by", default="nDCG@10", help="the measure that chooses the number of trees")
    parser.add_argument("--part", choices=PARTS[1:], default="test", help="where models are judged")
    parser.add_argument("--only", default="", help="names that begin so, with commas between")
    given = parser.parse_args()
    wanted = [name for name in TRAINED if name.startswith(tuple(given.only.split(",")))]
    found = {(name, measure): [] for name in wanted for measure in MEASURES}
    sizes, seconds = dict.fromkeys(wanted, 0.0), dict.fromkeys(wanted, 0.0)
    for title, parts in collections(given.folder, given.first, given.folds):
        print(title, *parts, flush=True)
        judged = parts[PARTS.index(given.part)]
        for name in wanted:
            started = time.perf_counter()
            scorers = [
                TRAINED[name](parts, Settings(seed, given.leaves, given.bins, given.select_by))
                for seed in range(given.seeds)
            ]
            seconds[name] += time.perf_counter() - started
            sizes[name] = len(np.unique(scorers[0].scores(judged.features)))
            for measure in MEASURES:
                of_seeds = [values(scorer, judged, measure) for scorer in scorers]
                found[name, measure].append(np.mean(of_seeds, axis=0))
    print_table(wanted, {key: np.concatenate(each) for key, each in found.items()}, sizes, seconds)


def print_table(wanted, found, sizes, seconds) -> None:
    print(f"{'':32}", *(f"{measure:>8} {'to theirs (SE)':>18}" for measure in MEASURES), " scores  seconds")
    best = {
        measure: max((found[name, measure] for name in THEIRS if name in wanted), key=np.mean)
        for measure in MEASURES
    }
    for name in wanted:
        line = f"{name:32}"
        for measure in MEASURES:
            each = found[name, measure]
            less = each - best[measure]
            error = less.std(ddof=1) / np.sqrt(len(less))
            line += f" {each.mean():8.4f} {less.mean():+9.4f} ({error:.4f})"
        print(f"{line} {sizes[name]:7d} {seconds[name]:8.1f}")


if __name__ == "__main__":
    main()
