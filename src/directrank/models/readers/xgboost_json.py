"""XGBoost's model as JSON, as `Booster.save_model("model.json")` writes it."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from directrank.errors import ModelFormatError
from directrank.models.readers.nodes import LARGEST, at_most, checked_tree, constant, directions
from directrank.scorers import Trees
from directrank.storage.strict_json import StrictJSONError, parse

LEAF = -1


def _logit(share: float) -> float:
    return -math.log(1.0 / share - 1.0)


#: The score that stands for `base_score`, for objectives whose predictions are functions of scores.
LINKS: dict[str, Callable[[float], float]] = {
    **dict.fromkeys(("binary:logistic", "binary:logitraw", "reg:logistic"), _logit),
    **dict.fromkeys(("count:poisson", "reg:gamma", "reg:tweedie", "survival:cox", "survival:aft"), math.log),
}


def read(content: bytes) -> tuple[Trees, int, list[str]]:
    """Return the trees of a JSON model, the number of features and their names, if it has names.

    Raises
    ------
    ModelFormatError
        If the text was cut or edited, or the model is of a kind that is not supported.
    """
    try:
        learner = parse(content)["learner"]
        return _read(learner)
    except StrictJSONError as error:
        raise ModelFormatError(f"is cut or edited: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        if isinstance(error, ModelFormatError):
            raise
        raise ModelFormatError(f"is cut or edited, or of another version ({error!r})") from None


def _read(learner: dict[str, Any]) -> tuple[Trees, int, list[str]]:
    booster, parameters = learner["gradient_booster"], learner["learner_model_param"]
    if booster["name"] not in ("gbtree", "dart"):
        raise ModelFormatError(f"has the booster {booster['name']!r}; only trees are read (gbtree, dart)")
    if int(parameters["num_class"]) > 1 or int(parameters.get("num_target", 1)) > 1:
        raise ModelFormatError("predicts several values; a ranking needs one score a document")
    is_dart = booster["name"] == "dart"
    model = (booster["gbtree"] if is_dart else booster)["model"]
    weights = [float(each) for each in booster["weight_drop"]] if is_dart else [1.0] * len(model["trees"])
    n_features, names = int(parameters["num_feature"]), learner.get("feature_names", [])
    if len(model["trees"]) != int(model["gbtree_model_param"]["num_trees"]):
        raise ModelFormatError("is cut or edited: it has not as many trees as it says")
    if names and (len(names) != n_features or not all(isinstance(name, str) for name in names)):
        raise ModelFormatError(f"names {len(names)} features, of {n_features}")
    pieces = [
        _tree(number, tree, weight, n_features)
        for number, (tree, weight) in enumerate(zip(model["trees"], weights, strict=True))
    ]
    return Trees.joined([constant(_base(learner)), *pieces]), n_features, names


def _base(learner: dict[str, Any]) -> float:
    """Return the score before the first tree."""
    text = learner["learner_model_param"]["base_score"].strip("[]")
    score = LINKS.get(learner["objective"]["name"], float)(float(text))
    if not math.isfinite(score):
        raise ValueError(f"base_score {text}")
    return score


def _tree(number: int, tree: dict[str, Any], weight: float, n_features: int) -> Trees:
    try:
        return _nodes(tree, weight, n_features)
    except ModelFormatError as error:
        raise ModelFormatError(f"is cut or edited, or not supported: tree {number} {error}") from None


def _nodes(tree: dict[str, Any], weight: float, n_features: int) -> Trees:
    if int(tree["tree_param"].get("size_leaf_vector") or 0) > 1:
        raise ModelFormatError("has vectors in its leaves; train with multi_strategy='one_output_per_tree'")
    left, right = _array(tree, "left_children", "iu"), _array(tree, "right_children", "iu")
    if tree.get("categories_nodes") or _array(tree, "split_type", "iu", len(left)).any():
        raise ModelFormatError("splits on categories; encode them as numbers and train again")
    leaf = left == LEAF
    condition = _array(tree, "split_conditions", "fiu", len(left)).astype(np.float64)
    if not (np.abs(condition) <= LARGEST).all():
        raise ModelFormatError("holds a number beyond float32")
    to_the_left = _array(tree, "default_left", "iub", len(left)) != 0
    return checked_tree(
        n_features,
        feature=np.where(leaf, 0, _array(tree, "split_indices", "iu", len(left))),
        threshold=np.where(leaf, 0.0, at_most(condition.astype(np.float32), or_equal=False)),
        missing=directions(to_the_left), left=left, right=right,
        value=np.where(leaf, condition.astype(np.float32) * np.float64(weight), 0.0),
        gain=np.where(leaf, 0.0, np.maximum(_array(tree, "loss_changes", "fiu", len(left)), 0.0)),
    )  # fmt: skip


def _array(tree: dict[str, Any], name: str, kinds: str, length: int | None = None) -> np.ndarray:
    array = np.asarray(tree[name])
    if array.ndim != 1 or array.dtype.kind not in kinds or not len(array):
        raise ModelFormatError(f"has no numbers {name}")
    if length not in (None, len(array)):
        raise ModelFormatError(f"has {len(array)} numbers {name}, expected {length}")
    return array
