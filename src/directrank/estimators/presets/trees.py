"""Boosted trees under the objectives of this library."""

import warnings
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Annotated, Literal

import numpy as np

from directrank.contracts import Measure, Surrogate
from directrank.data.groups import QueryGroups
from directrank.estimators.parameters import FROM_0, FROM_1, AnyMeasure, Interval, Keep, estimator, positional
from directrank.estimators.ranker import Ranker
from directrank.estimators.starts import initial_trees
from directrank.measures import DEFAULT_MEASURE, parse_measure
from directrank.scorers import Trees
from directrank.scorers.set_trees import SetTrees
from directrank.solvers import TreeBoosting
from directrank.surrogates import (
    GainCrossEntropy,
    OrderPreserving,
    PolicyMeasure,
    SmoothedPositions,
    SoftmaxCrossEntropy,
    SwapWeighted,
)

#: Below so many documents it is told how many have one score though their grades differ.
FEW_DOCUMENTS = 50
#: The surrogate of each other objective than LambdaRank, from the measure and a seed.
OBJECTIVES: dict[str, Callable[[Measure, int], Surrogate]] = {
    "lambdaloss": lambda measure, seed: SwapWeighted(measure, weights="ndcg2"),
    "approx": lambda measure, seed: SmoothedPositions(measure),
    "consistent": lambda measure, seed: OrderPreserving(measure, margin="squared_hinge"),
    "listnet": lambda measure, seed: SoftmaxCrossEntropy("gain"),
    # Shares are drawn anew before each tree, as the paper does.
    "xendcg": lambda measure, seed: GainCrossEntropy("uniform", seed=seed),
    "plrank": lambda measure, seed: PolicyMeasure(measure, seed=seed),
}


@estimator
class TreeRanker(Ranker):
    """Gradient-boosted trees under an objective of this library.

    Attributes
    ----------
    categories_ : str
        What ``categories="auto"`` has taken, where there are categorical columns: "sets" or "single".

    References
    ----------
    .. [1] C. Burges, "From RankNet to LambdaRank to LambdaMART: an overview", MSR-TR-2010-82.
    """

    objective: Annotated[
        Literal["lambdarank", "lambdaloss", "approx", "consistent", "listnet", "xendcg", "plrank"],
        "The loss, as in `LambdaRank`, `LambdaLoss`, `ApproxRank`, `ConsistentRank`, `ListNet`, `XENDCG` and "
        "`PLRank`.",
    ] = positional(default="consistent")
    measure: Annotated[AnyMeasure, "The measure of the objective; listnet and xendcg read none."] = (
        DEFAULT_MEASURE
    )
    distance: Annotated[
        bool, "Whether LambdaRank divides the weight of a pair by 0.01 and the distance of its scores."
    ] = False
    truncation: Annotated[
        int | None,
        "Least cutoff of the measure that weighs LambdaRank's pairs, if it is nDCG or DCG.",
        FROM_1,
    ] = 30
    rounds: Annotated[int, "Largest number of trees.", FROM_1] = 500
    keep: Keep = "best"
    patience: Annotated[
        int | None,
        "With ``keep='best'``, stop after this many rounds without a better value of the selection measure.",
        FROM_1,
    ] = 30
    learning_rate: Annotated[float, "Share of each step that is applied.", Interval(0, 1, above=True)] = 0.1
    leaves: Annotated[
        int | None,
        "Largest number of leaves of a tree; by default 31, 7 where features outnumber documents.",
        Interval(2, 65536),
    ] = None
    depth: Annotated[int | None, "Largest number of splits above a leaf.", FROM_1] = None
    bins: Annotated[
        int | None,
        "Largest number of intervals of a feature between which a split may fall; by default 255, 31 where "
        "features outnumber the documents that are trained on.",
        Interval(2, 255),
    ] = None
    leaf_share: Annotated[
        float,
        "Least size of a leaf, as a share of all curvature at zero scores.",
        Interval(0, 1),
    ] = 1e-3
    penalty: Annotated[
        float,
        "λ on half the squares of the values of leaves, as a share of the same.",
        FROM_0,
    ] = 1e-3
    feature_share: Annotated[
        float,
        "Share of the features, drawn for each tree, on which it may split.",
        Interval(0, 1, above=True),
    ] = 1.0
    categories: Annotated[
        Literal["auto", "sets", "single"],
        "Whether a split on a categorical column divides its values into two sets, or one from all others; "
        "``auto`` takes what ranks better on the validation set or on held-out queries (`categories_`).",
    ] = "auto"
    start: Annotated[
        Ranker | None,
        "A fitted ranker of trees, also one that `load` read from a file of LightGBM or XGBoost: its trees "
        "come first in the model, and `rounds` more are added at most.",
    ] = None

    def components(self):
        """Return the surrogate, and boosting of trees."""
        categories = getattr(self, "categories_", self.categories)
        grown = TreeBoosting(
            rounds=self.rounds, keep=self.keep, patience=self.patience, learning_rate=self.learning_rate,
            leaves=self.leaves, depth=self.depth, bins=self.bins, leaf_share=self.leaf_share,
            penalty=self.penalty, feature_share=self.feature_share,
            categories="single" if categories == "single" else "sets",
            n_threads=self._n_threads(),
        )  # fmt: skip
        measure = parse_measure(self.measure)
        if self.objective == "lambdarank":
            loss: Surrogate = SwapWeighted(
                measure, weights="swap", distance=self.distance, truncation=self.truncation
            )
        else:
            loss = OBJECTIVES[self.objective](measure, self._seed())
        return loss, grown, Trees()

    def idle_parameters(self):
        """See `Ranker`: only LambdaRank weighs pairs, few measures are cut, all rounds need no patience."""
        idle = [] if self.keep == "best" else ["patience"]
        if self.objective != "lambdarank":
            return [*idle, "distance", "truncation"]
        measure = parse_measure(self.measure)
        return [*idle, *["truncation"] * (SwapWeighted.truncated(measure, self.truncation) is measure)]

    def _chooses_categories(self, request) -> bool:
        has_categories = request.groups.encoding is not None
        return self.categories == "auto" and has_categories and request.start is None and self.chooses_rounds

    def _other_solvers(self, solver, request):
        if not self._chooses_categories(request):
            return ()
        single = copy(solver)
        single.categories = "single"
        return (single,)

    def _initial_scorer(self, scorer, request, scaling):
        if request.start is None:
            return super()._initial_scorer(scorer, request, scaling)
        return initial_trees(request.start, request.groups)

    def _train(self, request):
        (solution, measure), groups = super()._train(request), request.groups
        if request.refit:
            return solution, measure
        if self._chooses_categories(request) and solution.rounds:
            self.categories_ = "sets" if isinstance(solution.scorer, SetTrees) else "single"
            solution = replace(solution, message=f"{solution.message}; categories: {self.categories_}")
        n_tied = tied_across_grades(solution.scorer, groups) if groups.n_docs < FEW_DOCUMENTS else 0
        if n_tied >= groups.n_docs / 4:
            text = (
                f"{type(self).__name__}: {n_tied} of only {groups.n_docs} training documents have the score "
                "of a document with another grade and other features. Too little of the loss is left between "
                f"them for the smallest leaf (leaf_share={self.leaf_share:g}), or {measure.name} does not "
                "tell them apart: train on more documents, lower leaf_share, or train a linear method"
            )
            warnings.warn(text, RuntimeWarning, stacklevel=4)
        return solution, measure


def tied_across_grades(scorer: Trees, groups: QueryGroups) -> int:
    """Return how many documents have the score of another one of their query that differs in all else.

    It is for few documents: all are compared with all.
    """
    queries, features = groups.queries, groups.source.columns(0, groups.n_features)
    scores, features = scorer.scores(features), features.view(np.uint32)  # A missing value equals another.
    tied = (queries.query == queries.query[:, None]) & (scores == scores[:, None])
    tied &= queries.relevance != queries.relevance[:, None]
    tied &= (features != features[:, None]).any(axis=2)
    return int(tied.any(axis=1).sum())
