"""Whole fits to the same quality, ours and those of other libraries, one thread each, from arrays in memory.

The collection is linear, as those are that linear methods are made for; trees must approximate it.
"""

from functools import cache, partial
from itertools import pairwise

import numpy as np

from benchmarks.case import Case, Work
from benchmarks.cases.growth import documents
from directrank import ApproxRank, QueryGroups, RankSVM, TreeRanker, evaluate, make_ranking, parse_measure
from directrank.apps.experiments.plan import external_estimators
from directrank.apps.experiments.plan.external_estimators import (
    LightGBM,
    Task,
    XGBoost,
    rows_of,
    without_relevance,
)
from directrank.data.queries import Queries
from directrank.estimators.methods import configured
from directrank.measures import mean_value

TREES, MOST_ITERATIONS = 50, 200
PENALTY = 0.1
#: How far two solutions of one problem may be apart.
CLOSE = 1e-3
GRADES = (0.52, 0.32, 0.12, 0.03, 0.01)


@cache
def collection() -> tuple[QueryGroups, QueryGroups]:
    """Return training and validation queries whose grades depend on a linear function, with noise."""
    groups = make_ranking(500, 60, 50, noise=0.5, random_state=0)
    return groups.select(range(400)), groups.select(range(400, 500))


def quality(groups: QueryGroups, scores: np.ndarray) -> float:
    """Return nDCG@10."""
    return evaluate(groups, scores, measures="nDCG@10")["nDCG@10"]


def by_lightgbm(train: QueryGroups, objective: str = "lambdarank", **parameters: object):
    """Train LightGBM's trees, with its defaults where none are given, and return the booster."""
    import lightgbm

    given = {"objective": objective, "num_threads": 1, "verbose": -1, **parameters}
    rows = train.queries.sizes
    data = lightgbm.Dataset(train.features, train.queries.relevance, group=rows, params={"verbose": -1})
    return lightgbm.train(given, data, TREES)


def by_xgboost(train: QueryGroups):
    """Train XGBoost's rank:ndcg, with its defaults, and return the booster."""
    import xgboost

    data = xgboost.DMatrix(train.features, train.queries.relevance, group=train.queries.sizes, nthread=1)
    return xgboost.train({"objective": "rank:ndcg", "nthread": 1, "verbosity": 0}, data, TREES)


def by_catboost(train: QueryGroups):
    """Train CatBoost's YetiRank, with its defaults, and return the ranker."""
    import catboost

    quiet = {"verbose": False, "allow_writing_files": False}
    ranker = catboost.CatBoostRanker(loss_function="YetiRank", iterations=TREES, thread_count=1, **quiet)
    query = np.repeat(np.arange(train.n_queries), train.queries.sizes)
    return ranker.fit(train.features, train.queries.relevance, group_id=query)


def scores_of(library: str, model, groups: QueryGroups) -> np.ndarray:
    """Return scores, in the order of the caller."""
    if library == "xgboost":
        import xgboost

        return model.predict(xgboost.DMatrix(groups.X))
    return model.predict(groups.X)


def to_the_same_quality(library: str) -> tuple[Work, Work]:
    """Return fits that reach the validation nDCG@10 of the library's trees, ours with early stopping."""
    train, vali = collection()
    theirs = {"lightgbm": by_lightgbm, "xgboost": by_xgboost, "catboost": by_catboost}[library]
    level = quality(vali, scores_of(library, theirs(train), vali))

    def ours(iterations: int) -> ApproxRank:
        ranker = ApproxRank("nDCG@10", max_iterations=iterations, n_jobs=1)
        return ranker.fit(train, eval_set=vali)

    low, high = 0, 1
    while quality(vali, ours(high).predict(vali)) < level:
        low, high = high, 2 * high
        if high > MOST_ITERATIONS:
            raise ValueError(f"ours does not reach nDCG@10 {level:.4f}")
    while high - low > 1:
        middle = (low + high) // 2
        reached = quality(vali, ours(middle).predict(vali)) >= level
        low, high = (low, middle) if reached else (middle, high)
    return lambda: ours(high), lambda: theirs(train)


def differences(groups: QueryGroups) -> np.ndarray:
    """Return the differences of all pairs of different relevance, the better document first."""
    found = []
    for first, last in pairwise(groups.queries.indptr):
        X, y = groups.features[first:last], groups.queries.relevance[first:last]
        better, worse = np.nonzero(y[:, None] > y[None, :])
        found.append(X[better] - X[worse])
    return np.concatenate(found).astype(np.float64)


def ranksvm() -> tuple[Work, Work]:
    """Return Ranking SVMs, ours and scikit-learn's on expanded pairs, of equal objectives."""
    from sklearn.svm import LinearSVC

    groups = make_ranking(100, 60, 30, random_state=0)
    ours = RankSVM(penalty=PENALTY, scaling="none", n_jobs=1)

    def theirs() -> np.ndarray:
        pairs = differences(groups)
        label = np.where(np.arange(len(pairs)) % 2, 1.0, -1.0)  # it wants two classes
        machine = LinearSVC(C=1.0 / (PENALTY * len(pairs)), dual=False, fit_intercept=False)
        return machine.fit(pairs * label[:, None], label).coef_[0]

    pairs = differences(groups)

    def objective(w: np.ndarray) -> float:
        return float((np.maximum(0.0, 1.0 - pairs @ w) ** 2).mean() + PENALTY / 2 * w @ w)

    found = objective(ours.fit(groups).coef_), objective(theirs())
    if found[0] > (1.0 + CLOSE) * found[1] or found[1] > (1.0 + CLOSE) * found[0]:
        raise ValueError(f"the objectives differ: {found}")
    return lambda: ours.fit(groups), theirs


@cache
def tree_collection() -> QueryGroups:
    """Return queries of log-normal sizes, in the inner order, whose grades depend on products of features."""
    rng, n_queries = np.random.default_rng(0), 150
    sizes = np.maximum(2, np.rint(105 * np.exp(0.5 * rng.standard_normal(n_queries)))).astype(np.int64)
    indptr = np.concatenate(([0], np.cumsum(sizes)))
    features = rng.standard_normal((indptr[-1], 136), dtype=np.float32)
    utility = features[:, 0] * features[:, 1] + features[:, 2] + rng.standard_normal(len(features))
    grades = np.searchsorted(np.quantile(utility, np.cumsum(GRADES)[:-1]), utility).astype(float)
    for first, last in pairwise(indptr):
        order = np.argsort(-grades[first:last], kind="stable") + first
        features[first:last], grades[first:last] = features[order], grades[order]
    return QueryGroups.from_inner(
        features, Queries(grades, indptr, np.arange(len(grades)), np.arange(n_queries))
    )


def trees(objective: str) -> tuple[Work, Work]:
    """Return as many trees under our objective, and under LightGBM's own."""
    groups = tree_collection()

    def ours():
        ranker = TreeRanker(objective, rounds=TREES, patience=None)
        return ranker.set_params(n_jobs=1).fit(groups)

    return ours, lambda: by_lightgbm(groups)


def long_lists(method: str) -> tuple[Work, Work]:
    """Return a whole fit on ten lists, and on a thousand lists of the same documents."""
    ranker = configured(method)[0].build().set_params(n_jobs=1)
    long, short = (documents(100_000, 136, docs_a_query) for docs_a_query in (10_000, 100))
    return lambda: ranker.fit(long), lambda: ranker.fit(short)


#: LightGBM's objectives as ours are: swaps of one of the first ten documents, divided by nothing.
EQUAL = {
    "lambdarank": {"lambdarank_norm": False, "lambdarank_truncation_level": 10, "min_data_in_leaf": 1},
    "xendcg": {"objective": "rank_xendcg", "min_data_in_leaf": 1},
}
#: How far below theirs our training nDCG@10 may be, by other bins and draws.
LEVEL = 0.005


def equal_trees(objective: str) -> tuple[Work, Work]:
    """Return as many trees of equal loss, leaves and limits; ours rank the training set no worse."""
    groups = tree_collection()
    ranker = TreeRanker(
        objective, rounds=TREES, keep="last", leaf_share=0, penalty=0, truncation=None, n_jobs=1
    )

    def theirs():
        return by_lightgbm(groups, **EQUAL[objective])

    models = {"directrank": ranker.fit(groups), "lightgbm": theirs()}
    reached = [quality(groups, scores_of(library, model, groups)) for library, model in models.items()]
    if reached[0] < reached[1] - LEVEL:
        raise ValueError(f"the training nDCG@10 is {reached[0]:.4f}, of LightGBM {reached[1]:.4f}")
    return lambda: ranker.fit(groups), theirs


def early_stopping(learner) -> tuple[Work, Work]:
    """Return a fit that is watched by our nDCG@10 after each round, and the library's own without it."""
    data = make_ranking(300, 60, 40, random_state=0)
    parts = [data.select(piece) for piece in np.array_split(np.arange(data.n_queries), 3)]
    rows, measure = rows_of(parts[0]), parse_measure("nDCG@10")

    def monitor(scores):
        return mean_value(measure, parts[1].queries, parts[1].to_inner(scores))

    parameters = {"n_estimators": TREES, "learning_rate": 0.01}
    task = Task("fold", parts[0], parts[1], without_relevance(parts[2]), parameters, 0, 1, monitor)
    quiet = 0 if learner.library == "xgboost" else -1
    alone = learner.estimator(objective=learner.objective, **parameters, n_jobs=1, verbosity=quiet)
    by = {"group": rows.sizes} if learner.library == "lightgbm" else {"qid": rows.query}

    def watched():
        external_estimators.PATIENCE, kept = TREES, external_estimators.PATIENCE
        try:
            return learner.scored(task)
        finally:
            external_estimators.PATIENCE = kept

    return watched, lambda: alone.fit(rows.X, rows.relevance, **by)


LIBRARIES = {
    "lightgbm": "LightGBM's lambdarank", "xgboost": "XGBoost's rank:ndcg", "catboost": "CatBoost's YetiRank",
}  # fmt: skip
LINEAR = "24,000 documents of 50 features, a linear synthetic collection"
CASES = (
    *(
        Case(
            f"fits/approxndcg-{library}",
            f"ApproxNDCG until it reaches the validation nDCG@10 of the other; {LINEAR}",
            f"{name}, {TREES} trees with its defaults",
            partial(to_the_same_quality, library),
            faster=True,
        )
        for library, name in LIBRARIES.items()
    ),
    Case(
        "fits/ranksvm-sklearn",
        "RankSVM to its optimum, 100 queries of 60 documents and 30 features",
        "scikit-learn's LinearSVC on expanded pairs, to the same objective",
        ranksvm,
        faster=True,
    ),
    *(
        Case(
            f"fits/trees-{objective}",
            f"{TREES} trees under our objective {objective}, 15,000 documents of 136 features",
            f"{TREES} trees of LightGBM under its own lambdarank",
            partial(trees, objective),
        )
        for objective in ("lambdarank", "approx")
    ),
    *(
        Case(
            f"fits/long-lists-{method}",
            f"`{method}` for nDCG@10 on ten lists of 10,000 documents of 136 features",
            "on the same documents in lists of 100",
            partial(long_lists, method),
            target=8.0,
        )
        for method in ("lambdaloss", "lambdarank")
    ),
    *(
        Case(
            f"fits/equal-trees-{objective}",
            f"{TREES} trees under our objective {objective}, 15,000 documents of 136 features, all kept",
            "LightGBM's of the same loss, leaves and limits, of no better training nDCG@10",
            partial(equal_trees, objective),
            target=1.2,
        )
        for objective in EQUAL
    ),
    *(
        Case(
            f"fits/watched-{name}",
            f"{TREES} rounds of {name}, judged by nDCG@10 on a validation set after each",
            "the library alone, without a validation set",
            partial(early_stopping, learner),
        )
        for name, learner in (
            ("lightgbm", LightGBM("trees", "lambdarank")),
            ("xgboost", XGBoost("trees", "rank:ndcg")),
        )
    ),
)
