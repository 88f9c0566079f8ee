"""Parameters as other libraries call them: understood where they mean the same, else the error names ours."""

import inspect
from collections.abc import Callable, Collection, Sequence
from dataclasses import InitVar, dataclass
from typing import TYPE_CHECKING, Any

#: Our parameter, by the names that LightGBM, XGBoost, CatBoost and scikit-learn have for the same thing. None
#: of these names is a parameter of ours.
_SAME = {
    "rounds": (
        "n_estimators", "num_boost_round", "num_iterations", "num_round", "num_rounds", "num_trees",
        "iterations",
    ),
    "leaves": ("num_leaves", "max_leaves", "max_leaf_nodes"),
    "patience": ("early_stopping_rounds", "early_stopping_round", "n_iter_no_change", "od_wait"),
    "learning_rate": ("eta", "shrinkage_rate", "lr"),
    "shrinkage": ("eta", "shrinkage_rate", "lr"),
    "bins": ("max_bin", "max_bins", "border_count"),
    "feature_share": ("feature_fraction", "colsample_bytree"),
    "depth": ("max_depth",),
    "max_iterations": ("max_iter",),
    "random_state": ("seed", "random_seed"),
    "n_jobs": ("n_threads", "num_threads", "nthread", "num_thread", "thread_count"),
    "select_by": ("metric", "eval_metric"),
    "start": ("init_model", "xgb_model"),
    "weak_ranker": ("estimator", "base_estimator"),
}  # fmt: skip
#: Our parameter for the same purpose, by the names of others that have another unit or another meaning.
_NEAR = {
    "penalty": (
        "C", "alpha", "reg_lambda", "lambda_l2", "l2_leaf_reg", "l2_regularization", "weight_decay",
        "reg_alpha", "lambda_l1",
    ),
    "C": ("alpha", "penalty", "reg_lambda", "weight_decay"),
    "ridge": ("alpha", "C", "penalty", "reg_lambda"),
    "leaf_share": (
        "min_child_samples", "min_data_in_leaf", "min_samples_leaf", "min_child_weight",
        "min_sum_hessian_in_leaf",
    ),
    "leaves": ("max_depth", "depth"),
    "shrinkage": ("learning_rate",),
    "tolerance": ("tol",),
    "max_iterations": ("n_epochs", "epochs", "max_epochs"),
    "max_passes": ("max_iter", "n_epochs", "epochs", "max_epochs"),
    "feature_share": ("max_features", "colsample_bynode", "feature_fraction_bynode", "rsm"),
    "steepness": ("sigmoid", "sigma", "temperature"),
    "start": ("warm_start", "coef_init"),
    "measure": (
        "eval_at", "lambdarank_truncation_level", "lambdarank_num_pair_per_sample", "objective",
        "loss_function",
    ),
}  # fmt: skip

if TYPE_CHECKING:

    @dataclass(kw_only=True)
    class OtherNames:
        """The names of `_SAME` as keywords of constructors, for type checkers."""

        n_estimators: InitVar[int] = 0
        num_boost_round: InitVar[int] = 0
        num_iterations: InitVar[int] = 0
        num_round: InitVar[int] = 0
        num_rounds: InitVar[int] = 0
        num_trees: InitVar[int] = 0
        iterations: InitVar[int] = 0
        num_leaves: InitVar[int] = 0
        max_leaves: InitVar[int] = 0
        max_leaf_nodes: InitVar[int] = 0
        early_stopping_rounds: InitVar[int | None] = None
        early_stopping_round: InitVar[int | None] = None
        n_iter_no_change: InitVar[int | None] = None
        od_wait: InitVar[int | None] = None
        eta: InitVar[float] = 0.0
        shrinkage_rate: InitVar[float] = 0.0
        lr: InitVar[float] = 0.0
        max_bin: InitVar[int] = 0
        max_bins: InitVar[int] = 0
        border_count: InitVar[int] = 0
        feature_fraction: InitVar[float] = 0.0
        colsample_bytree: InitVar[float] = 0.0
        max_depth: InitVar[int] = 0
        max_iter: InitVar[int] = 0
        seed: InitVar[int | None] = None
        random_seed: InitVar[int | None] = None
        n_threads: InitVar[int | None] = None
        num_threads: InitVar[int | None] = None
        nthread: InitVar[int | None] = None
        num_thread: InitVar[int | None] = None
        thread_count: InitVar[int | None] = None
        metric: InitVar[Any] = None
        eval_metric: InitVar[Any] = None
        init_model: InitVar[Any] = None
        xgb_model: InitVar[Any] = None
        estimator: InitVar[Any] = None
        base_estimator: InitVar[Any] = None

else:

    class OtherNames:
        """Names that constructors take besides their own; type checkers read them above."""


#: Parameters of earlier releases, and what to do without them.
_FORMER = {
    "engine": "directrank grows the trees itself: leave it out, or train in LightGBM or XGBoost under "
    "directrank.lightgbm.objective or directrank.xgboost.objective",
}
_CATEGORIES = (
    "categorical columns of a data frame are categories; from_frame(…, categorical=[…]) names others"
)
_WEIGHTS = "validation queries weigh alike; weigh training queries by sample_weight"
_BEGINNING = "give a fitted ranker by init_model"
_SELECTION = "the measure that selects is select_by=… of the constructor, with its cutoff, such as nDCG@5"
_QUERIES = "give the query of each row by qid, or sizes by group"
#: What to use in place of arguments that `fit` of LightGBM, XGBoost and CatBoost has.
_OF_FIT = {
    "eval_metric": _SELECTION, "eval_at": _SELECTION, "eval_names": "there is one validation set, so omit it",
    "categorical_feature": _CATEGORIES, "cat_features": _CATEGORIES,
    "feature_name": "names of features are those of the columns of a data frame",
    "feature_names": "names of features are those of the columns of a data frame",
    "feature_weights": "features have no weights, so omit it",
    "xgb_model": _BEGINNING, "init_score": _BEGINNING, "eval_init_score": _BEGINNING,
    "base_margin": _BEGINNING, "base_margin_eval_set": _BEGINNING,
    "eval_sample_weight": _WEIGHTS, "sample_weight_eval_set": _WEIGHTS, "eval_class_weight": _WEIGHTS,
    "group_id": _QUERIES, "groups": _QUERIES, "query_id": _QUERIES, "group_weight": _WEIGHTS,
    "pairs": "preferences are y=PreferenceGraph(…)", "use_best_model": "the best round is kept, so omit it",
}  # fmt: skip


def unknown_of_fit(name: str, estimator: str, parameters: Collection[str]) -> str:
    """Return what is wrong with an argument that `fit` does not have, and what to use in its place."""
    ours = our_name(name, parameters)
    if name in _OF_FIT:
        advice = _OF_FIT[name]
    elif name in _SAME["patience"]:
        advice = _stopping(parameters)
    elif ours is not None:
        advice = f"give {ours}=… to the constructor"
    else:
        advice = "omit it"
    return f"{estimator}.fit has no argument {name}: {advice}"


def _stopping(parameters: Collection[str]) -> str:
    if "patience" in parameters:
        return "give patience=… to the constructor, and eval_set to fit"
    return "this method ends by its own rule, and eval_set chooses what is kept"


def check_callbacks(callbacks: Sequence[Callable[..., Any]], parameters: Collection[str]) -> None:
    """Raise TypeError if a callback does not take a name and a value, as those of other libraries do not."""
    for callback in callbacks:
        try:
            inspect.signature(callback).bind("AP", 0.0)
        except ValueError:  # Some functions of C have no signature.
            continue
        except TypeError:
            kind = type(callback)
            problem = f"{kind.__name__} of {kind.__module__.partition('.')[0]} does not"
            stops = "stop" in kind.__name__.lower()
            advice = f"; to stop early, {_stopping(parameters)}" if stops else ""
            raise TypeError(f"callbacks take the name of a measure and a value, {problem}{advice}") from None


def our_name(name: str, parameters: Collection[str]) -> str | None:
    """Return the one of some parameters that a name means: itself, or what others call so; else None."""
    if name in parameters:
        return name
    return next((ours for ours, words in _SAME.items() if name in words and ours in parameters), None)


def near_name(name: str, parameters: Collection[str]) -> str | None:
    """Return the one of some parameters that serves the purpose of one of others; None if there is none."""
    return next((ours for ours, words in _NEAR.items() if name in words and ours in parameters), None)


def without(name: str) -> str | None:
    """Return what to do without a parameter that earlier releases had; None if there was none."""
    return _FORMER.get(name)
