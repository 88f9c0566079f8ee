"""XGBoost's model as JSON, as `Booster.save_model("model.json")` writes it."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from directrank.errors import ModelFormatError
from directrank.models.readers.nodes import (
    CATEGORIES,
    LibraryModel,
    UnsupportedModelError,
    check_known,
    checked_tree,
    directions,
    in_tree,
    used_rounds,
)
from directrank.scorers import Trees
from directrank.scorers.trees import LARGEST, at_most
from directrank.storage.strict_json import StrictJSONError, parse

LEAF = -1


def _logit(share: float) -> float:
    return -math.log(1.0 / share - 1.0)


#: The score that stands for `base_score`, by the objective; predictions may be functions of scores.
LINKS: dict[str, Callable[[float], float]] = {
    **dict.fromkeys(("binary:logistic", "reg:logistic"), _logit),
    **dict.fromkeys(("count:poisson", "reg:gamma", "reg:tweedie", "survival:cox", "survival:aft"), math.log),
    **dict.fromkeys(
        (
            "binary:hinge", "binary:logitraw", "rank:map", "rank:ndcg", "rank:pairwise", "reg:absoluteerror",
            "reg:linear", "reg:pseudohubererror", "reg:quantileerror", "reg:squarederror",
            "reg:squaredlogerror",
        ),
        float,
    ),
}  # fmt: skip
#: Entries of the objects of a model; any other may change scores.
ENTRIES = {
    "learner": {
        "attributes", "feature_names", "feature_types", "gradient_booster", "learner_model_param",
        "objective",
    },
    "gradient_booster": {"gbtree", "model", "name", "weight_drop"},
    "learner_model_param": {"base_score", "boost_from_average", "num_class", "num_feature", "num_target"},
    "model": {"cats", "gbtree_model_param", "iteration_indptr", "tree_info", "trees"},
    "gbtree_model_param": {"num_parallel_tree", "num_trees", "size_leaf_vector"},
    "a tree": {
        "base_weights", "categories", "categories_nodes", "categories_segments", "categories_sizes",
        "default_left", "id", "left_children", "loss_changes", "parents", "right_children",
        "split_conditions", "split_indices", "split_type", "sum_hessian", "tree_param",
    },
}  # fmt: skip


def read(content: bytes, rounds: int | None = None) -> LibraryModel:
    """Return the trees of a JSON model: of the first rounds, or as `XGBRanker` predicts, up to the best one.

    Raises
    ------
    ModelFormatError
        If the text was cut or edited, or the model is of a kind that is not supported.
    ValueError
        If there are not so many rounds.
    """
    try:
        learner = parse(content)["learner"]
        pieces, starts, best = _read(learner)
        base, parameters = Trees.constant(_base(learner)), learner["learner_model_param"]
        n_features, names = int(parameters["num_feature"]), learner.get("feature_names", [])
        if names and (len(names) != n_features or not all(isinstance(name, str) for name in names)):
            raise ModelFormatError(f"names {len(names)} features, of {n_features}")
    except StrictJSONError as error:
        raise ModelFormatError(f"is cut or edited: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        if isinstance(error, ModelFormatError):
            raise
        raise ModelFormatError(f"is cut or edited, or of another version ({error!r})") from None
    n_rounds = len(starts) - 1
    used = used_rounds(rounds, best, n_rounds)
    trees = Trees.joined([base, *pieces[: starts[used]]])
    return LibraryModel(trees, n_features, names, used, n_rounds, rounds is None and best is not None)


def _read(learner: dict[str, Any]) -> tuple[list[Trees], list[int], int | None]:
    """Return the trees, where those of each round begin and the last end, and the best number of rounds."""
    booster, parameters = learner["gradient_booster"], learner["learner_model_param"]
    if booster["name"] not in ("gbtree", "dart"):
        raise UnsupportedModelError(
            f"has the booster {booster['name']!r}; only trees are read (gbtree, dart)"
        )
    several = int(parameters["num_class"]) > 1 or int(parameters.get("num_target", 1)) > 1
    if several or "," in parameters["base_score"]:
        raise UnsupportedModelError("predicts several values; a ranking needs one score a document")
    if learner["objective"]["name"] not in LINKS:
        raise UnsupportedModelError(f"has the objective {learner['objective']['name']!r}, which is not known")
    is_dart = booster["name"] == "dart"
    model = (booster["gbtree"] if is_dart else booster)["model"]
    sizes = model["gbtree_model_param"]
    parts = {
        "learner": learner,
        "gradient_booster": booster,
        "learner_model_param": parameters,
        "model": model,
    }
    for name, part in {**parts, "gbtree_model_param": sizes}.items():
        check_known(name, part, ENTRIES[name])
    n_trees = len(model["trees"])
    weights = [float(each) for each in booster["weight_drop"]] if is_dart else [1.0] * n_trees
    starts = model.get("iteration_indptr") or list(
        range(0, n_trees + 1, int(sizes["num_parallel_tree"]) or 1)
    )
    if (
        n_trees != int(sizes["num_trees"])
        or starts != sorted(starts)
        or (starts[0], starts[-1]) != (0, n_trees)
    ):
        raise ModelFormatError("is cut or edited: it has not as many trees as it says")
    if any(model["tree_info"]):
        raise UnsupportedModelError("predicts several values; a ranking needs one score a document")
    pieces = []
    for number, (tree, weight) in enumerate(zip(model["trees"], weights, strict=True)):
        with in_tree(number):
            pieces.append(_tree(tree, weight, int(parameters["num_feature"])))
    best = learner.get("attributes", {}).get("best_iteration")
    return pieces, starts, None if best is None else int(best) + 1


def _base(learner: dict[str, Any]) -> float:
    """Return the score before the first tree."""
    text = learner["learner_model_param"]["base_score"].strip("[]")
    score = LINKS[learner["objective"]["name"]](float(text))
    if not math.isfinite(score):
        raise ValueError(f"base_score {text}")
    return score


def _tree(tree: dict[str, Any], weight: float, n_features: int) -> Trees:
    if int(tree["tree_param"].get("size_leaf_vector") or 0) > 1:
        raise UnsupportedModelError(
            "has vectors in its leaves, which are not supported; train with "
            "multi_strategy='one_output_per_tree'"
        )
    check_known("a tree", tree, ENTRIES["a tree"])
    left, right = _array(tree, "left_children", "iu"), _array(tree, "right_children", "iu")
    if tree.get("categories_nodes") or _array(tree, "split_type", "iu", len(left)).any():
        raise UnsupportedModelError(CATEGORIES)
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
        cover=np.maximum(_array(tree, "sum_hessian", "fiu", len(left)), 0.0),
    )  # fmt: skip


def _array(tree: dict[str, Any], name: str, kinds: str, length: int | None = None) -> np.ndarray:
    array = np.asarray(tree[name])
    if array.ndim != 1 or array.dtype.kind not in kinds or not len(array):
        raise ModelFormatError(f"has no numbers {name}")
    if length not in (None, len(array)):
        raise ModelFormatError(f"has {len(array)} numbers {name}, expected {length}")
    return array
