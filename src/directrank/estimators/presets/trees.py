"""Boosted trees, grown by LightGBM or XGBoost, under the objectives of this library."""

from collections.abc import Callable
from importlib import import_module
from typing import Annotated, Any, Literal

from directrank.contracts import Measure, Surrogate
from directrank.estimators.parameters import FROM_0, FROM_1, AnyMeasure, Interval, Keep, estimator, positional
from directrank.estimators.ranker import Ranker
from directrank.measures import parse_measure
from directrank.scorers import Trees
from directrank.surrogates import (
    GainCrossEntropy,
    OrderPreserving,
    PolicyMeasure,
    SmoothedPositions,
    SoftmaxCrossEntropy,
    SwapWeighted,
)

#: The solver of each library, above this layer and imported when it is used.
ENGINES = {
    "lightgbm": ("directrank.integrations.lightgbm", "LightGBMTrees"),
    "xgboost": ("directrank.integrations.xgboost", "XGBoostTrees"),
}
#: The surrogate of each objective, from the measure and a seed.
OBJECTIVES: dict[str, Callable[[Measure, int], Surrogate]] = {
    "lambdarank": lambda measure, seed: SwapWeighted(measure, weights="swap"),
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
    """Gradient-boosted trees under an objective of this library, grown by LightGBM or XGBoost.

    Training needs one of these libraries, which the extras ``lightgbm`` and ``xgboost`` install; the trained
    ranker and its file need neither.

    References
    ----------
    .. [1] C. Burges, "From RankNet to LambdaRank to LambdaMART: an overview", MSR-TR-2010-82.
    """

    objective: Annotated[
        Literal["lambdarank", "lambdaloss", "approx", "consistent", "listnet", "xendcg", "plrank"],
        "The loss, as in `LambdaRank`, `LambdaLoss`, `ApproxRank`, `ConsistentRank`, `ListNet`, `XENDCG` and "
        "`PLRank`.",
    ] = positional(default="consistent")
    engine: Annotated[Literal["lightgbm", "xgboost"], "The library that grows the trees."] = "lightgbm"
    measure: Annotated[AnyMeasure, "The measure of the objective; listnet and xendcg read none."] = "nDCG"
    rounds: Annotated[int, "Largest number of trees.", FROM_1] = 500
    keep: Keep = "best"
    patience: Annotated[
        int | None, "Stop after this many rounds without a better value of the selection measure.", FROM_1
    ] = 30
    learning_rate: Annotated[float, "Share of each step that is applied.", Interval(0, 1, above=True)] = 0.1
    leaves: Annotated[int, "Largest number of leaves of a tree.", Interval(2, 65536)] = 31
    bins: Annotated[
        int, "Largest number of intervals of a feature between which a split may fall.", Interval(2, 65535)
    ] = 255
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

    def components(self):
        """Return the surrogate, and boosting of trees that the library grows."""
        module, name = ENGINES[self.engine]
        solver: Any = getattr(import_module(module), name)
        grown = solver(
            rounds=self.rounds, keep=self.keep, patience=self.patience, learning_rate=self.learning_rate,
            leaves=self.leaves, bins=self.bins, leaf_share=self.leaf_share, penalty=self.penalty,
            feature_share=self.feature_share, n_threads=self._n_threads(),
        )  # fmt: skip
        return OBJECTIVES[self.objective](parse_measure(self.measure), self._seed()), grown, Trees()
