"""Solvers beside naive implementations of the same algorithms, and beside read passes."""

from functools import partial

import numpy as np

from benchmarks.case import Case, Work
from benchmarks.read_pass import read_pass
from directrank import make_ranking
from directrank.data import QueryGroups
from directrank.estimators import AdaRank
from directrank.measures import AP, parse_measure
from directrank.measures.positions import positions_of
from directrank.scorers import Linear
from directrank.solvers.frank_wolfe import no_cuts, visits_of
from directrank.surrogates import MeasureItself, Objective, TypeTwoBound

ROUNDS, TRIALS = 30, 25


def adarank_naive(groups: QueryGroups, measure, n_rounds: int) -> list[int]:
    """Train by judging every weak ranker again in each round; return the features chosen."""
    queries = groups.queries
    taught = ~measure.uninformative(queries)

    def values(scores):
        positions = positions_of(queries, scores, n_read=measure.n_read(queries))
        return measure.query_values(queries, positions)

    weights = taught / taught.sum()
    scores, chosen = np.zeros(groups.n_docs), []
    for _ in range(n_rounds):
        columns = (np.ascontiguousarray(groups.features[:, k]) for k in range(groups.n_features))
        merits = np.array([weights @ values(column) for column in columns])
        best = int(np.argmax(merits))
        scores += np.arctanh(merits[best]) * groups.features[:, best]
        weights = taught * np.exp(-values(scores))
        weights /= weights.sum()
        chosen.append(best)
    return chosen


def adarank(name: str) -> tuple[Work, Work]:
    """Return AdaRank and its naive twin, which choose the same features."""
    groups = make_ranking(500, 60, 30, random_state=0)
    ranker = AdaRank(name, variant="paper", rounds=ROUNDS, tolerance=np.inf, n_jobs=1)
    measure = parse_measure(name)
    if [row["feature"] for row in ranker.fit(groups).history_] != adarank_naive(groups, measure, ROUNDS):
        raise ValueError("other features were chosen")
    return lambda: ranker.fit(groups), lambda: adarank_naive(groups, measure, ROUNDS)


def line_search(name: str) -> tuple[Work, Work]:
    """Return an exact line search for a measure, and trial steps that evaluate it."""
    groups = make_ranking(300, 100, 45, random_state=0)
    scores, direction = groups.features @ np.linspace(1, -1, 45), groups.features[:, 0].astype(float)
    objective = Objective(MeasureItself(parse_measure(name)), groups.queries, groups.shards)

    def trials():
        return [objective.value(scores + 0.1 * step * direction) for step in range(TRIALS)]

    return lambda: objective.window_step_along(scores, direction), trials


def frank_wolfe() -> tuple[Work, Work]:
    """Return a pass of block-coordinate Frank-Wolfe for SVM^map, and a read pass."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000 * 60, 46)).astype(np.float32)
    truth = X @ rng.normal(size=46) / np.sqrt(46) + rng.normal(size=len(X))
    groups = QueryGroups(X, (truth > 1.2).astype(float), np.repeat(np.arange(5000), 60))
    objective = Objective(TypeTwoBound(AP()), groups.queries, groups.shards)
    visits = visits_of(objective, Linear(), groups.features)
    kept, order = no_cuts(1e3 * visits.weights, 8, groups.n_features), np.arange(len(visits.weights))
    return lambda: visits.visit(kept, order, None), lambda: read_pass(groups.features.reshape(-1))


def tuned() -> tuple[Work, Work]:
    """Return `tune` of four signals, and SciPy's search for the best weights, which is no better."""
    from scipy.optimize import differential_evolution

    from directrank.apps.fusion import tune

    groups, measure = make_ranking(100, 50, 4, random_state=0), parse_measure("nDCG@10")
    queries, features = groups.queries, groups.features.astype(float)

    def loss(weights):
        positions = positions_of(queries, features @ weights, n_read=measure.n_read(queries))
        return -measure.query_values(queries, positions).mean()

    def searched():
        return differential_evolution(loss, [(0, 1)] * 4, maxiter=25, popsize=8, seed=0, tol=0, polish=False)

    own = -loss(np.array([*tune(groups, resamples=20).tuned.values()]))
    if own < -searched().fun - 0.01:
        raise ValueError("the weights are worse than those of the search")
    return lambda: tune(groups, resamples=20), searched


CASES = (
    Case(
        "solvers/tune",
        "weights of four signals tuned on 100 queries of 50 documents, with folds and 20 resamples",
        "one search by SciPy's differential evolution (26 generations of 32)",
        tuned,
    ),
    *(
        Case(
            f"solvers/adarank-{name}",
            f"AdaRank by {name}, {ROUNDS} rounds, 500 queries of 60 documents and 30 features",
            "judging every weak ranker again in each round",
            partial(adarank, name),
            faster=True,
        )
        for name in ("AP", "nDCG@5")
    ),
    *(
        Case(
            f"solvers/line-search-{name}",
            f"an exact line search for {name}, 300 queries of 100 documents",
            f"{TRIALS} evaluations along the line",
            partial(line_search, name),
        )
        for name in ("AP", "nDCG@10")
    ),
    Case(
        "solvers/bcfw",
        "a pass of block-coordinate Frank-Wolfe for SVM^map, 5,000 queries of 60 documents and 46 features",
        "a read pass",
        frank_wolfe,
    ),
)
