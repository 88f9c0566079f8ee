"""Parameters as other libraries call them: understood where they mean the same, else the error names ours."""

from collections.abc import Collection

__all__ = ["near_name", "our_name"]

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


def our_name(name: str, parameters: Collection[str]) -> str | None:
    """Return the one of some parameters that a name means: itself, or what others call so; else None."""
    if name in parameters:
        return name
    return next((ours for ours, others in _SAME.items() if name in others and ours in parameters), None)


def near_name(name: str, parameters: Collection[str]) -> str | None:
    """Return the one of some parameters that serves the purpose of one of others; None if there is none."""
    return next((ours for ours, others in _NEAR.items() if name in others and ours in parameters), None)
