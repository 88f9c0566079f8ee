"""Rankers with a linear scorer, which scale their features."""

from typing import Annotated, Literal

from directrank.estimators.parameters.declared import estimator
from directrank.estimators.ranker import Ranker


@estimator
class LinearRanker(Ranker):
    """Base class of rankers with a linear scorer."""

    scaling: Annotated[
        Literal["auto", "none", "standard", "log", "query"] | None,
        "Scaling of features, fitted on the training set and saved with the model: none; mean 0 and "
        "deviation 1; the same of sign(x)·log1p|x|; to [0, 1] inside each query, where `predict` needs qid; "
        "or chosen among the first three by a rule on the training features (docs/scaling.md).",
    ] = "auto"
