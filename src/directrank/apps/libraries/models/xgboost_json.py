"""XGBoost's model as JSON or UBJSON, as `Booster.save_model("model.json")` or `("model.ubj")` writes it."""

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from directrank.apps.libraries.models import ubjson
from directrank.apps.libraries.models.nodes import (
    LibraryModel,
    Sets,
    UnsupportedModelError,
    check_known,
    checked_tree,
    directions,
    in_tree,
    used_rounds,
    with_sets,
    without_unreached,
)
from directrank.data.categories import Values
from directrank.errors import ModelFormatError
from directrank.scorers import Linear, Sum, Trees
from directrank.scorers.trees import TO_THE_LEFT, at_most
from directrank.storage.strict_json import JSONObject, StrictJSONError, parse

START = b"{"
LEAF = -1
UBJSON = b"{L"


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
#: What `Booster.predict` makes of scores, by the objective.
PREDICTED = {
    **dict.fromkeys(("binary:logistic", "reg:logistic"), "the sigmoid"),
    **dict.fromkeys(("count:poisson", "reg:gamma", "reg:tweedie", "survival:cox", "survival:aft"), "exp"),
    "binary:hinge": "the step at 0",
}
#: The largest category plus 1, and the most bits of all sets together: more would not fit in memory.
MOST_CATEGORIES, MOST_BITS = 1 << 20, 1 << 28
#: Entries of the objects of a model; any other may change scores.
ENTRIES = {
    "learner": {
        "attributes", "feature_names", "feature_types", "gradient_booster", "learner_model_param",
        "objective",
    },
    "gradient_booster": {"gbtree", "model", "name", "weight_drop"},
    "learner_model_param": {"base_score", "boost_from_average", "num_class", "num_feature", "num_target"},
    "model": {"cats", "gbtree_model_param", "iteration_indptr", "tree_info", "trees"},
    "the linear model": {"boosted_rounds", "weights"},
    "gbtree_model_param": {"num_parallel_tree", "num_trees", "size_leaf_vector"},
    "a tree": {
        "base_weights", "categories", "categories_nodes", "categories_segments", "categories_sizes",
        "default_left", "id", "left_children", "loss_changes", "parents", "right_children",
        "split_conditions", "split_indices", "split_type", "sum_hessian", "tree_param",
    },
}  # fmt: skip


def read(content: bytes, rounds: int | None = None) -> LibraryModel:
    """Return the trees of a model: of the first rounds, or as `XGBRanker` predicts, up to the best one.

    A linear model (gblinear) has no rounds to choose.

    Raises
    ------
    ModelFormatError
        If the text was cut or edited, or the model is of a kind that is not supported.
    ValueError
        If there are not so many rounds.
    """
    try:
        learner = (ubjson.parse if content.startswith(UBJSON) else parse)(content)["learner"]
        parameters, booster = learner["learner_model_param"], learner["gradient_booster"]
        _check_learner(learner)
        base = Trees.constant(_base(learner))
        n_features, names = int(parameters["num_feature"]), learner.get("feature_names", [])
        if names and (len(names) != n_features or not all(isinstance(name, str) for name in names)):
            raise ModelFormatError(f"names {len(names)} features, of {n_features}")
        link = PREDICTED.get(learner["objective"]["name"], "")
        link = f"{link} of them for the objective {learner['objective']['name']}" if link else ""
        if booster["name"] == "gblinear":
            if rounds is not None:
                raise RoundsError("rounds: the booster gblinear is one linear function, without rounds")
            return _linear(booster, base, n_features, names)._replace(link=link)
        sets = Sets()
        pieces, starts, best = _read_learner(learner, sets)
        categories = _categories((booster.get("gbtree") or booster)["model"], names)
    except RoundsError as error:
        raise ValueError(str(error)) from None
    except StrictJSONError as error:
        raise ModelFormatError(f"is cut or edited: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        if isinstance(error, ModelFormatError):
            raise
        raise ModelFormatError(f"is cut or edited, or of another version ({error!r})") from None
    n_rounds = len(starts) - 1
    used = used_rounds(rounds, best, n_rounds)
    trees = with_sets([base, *pieces[: starts[used]]], sets)
    stopped = rounds is None and best is not None
    return LibraryModel(trees, n_features, names, used, n_rounds, stopped, link, categories)


class RoundsError(Exception):
    """Rounds are asked for of a model without rounds."""


def _check_learner(learner: JSONObject) -> None:
    """Refuse several outputs, and boosters and objectives that are not known."""
    booster, parameters = learner["gradient_booster"], learner["learner_model_param"]
    if booster["name"] not in ("gbtree", "dart", "gblinear"):
        raise UnsupportedModelError(
            f"has the booster {booster['name']!r}; those read are gbtree, dart and gblinear"
        )
    several = int(parameters["num_class"]) > 1 or int(parameters.get("num_target", 1)) > 1
    if several or "," in parameters["base_score"]:
        raise UnsupportedModelError("predicts several values; a ranking needs one score per document")
    if learner["objective"]["name"] not in LINKS:
        raise UnsupportedModelError(f"has the objective {learner['objective']['name']!r}, which is not known")
    parts = {"learner": learner, "gradient_booster": booster, "learner_model_param": parameters}
    for name, part in parts.items():
        check_known(name, part, ENTRIES[name])


def _linear(booster: JSONObject, base: Trees, n_features: int, names: list[str]) -> LibraryModel:
    """Return the model of gblinear: a weight per feature, a missing value being 0, and the constant."""
    model = booster["model"]
    check_known("the linear model", model, ENTRIES["the linear model"])
    weights = _array(model, "weights", "fiu", n_features + 1).astype(np.float64)
    if not (np.abs(weights) <= np.finfo(np.float32).max).all():
        raise ModelFormatError("is cut or edited: a weight is no number of float32")
    linear = Linear(weights[:-1].copy(), np.zeros(n_features, np.float32))
    n_rounds = int(model.get("boosted_rounds", 0))
    scorer = Sum([linear, Trees.constant(weights[-1]), base], np.ones(3))
    return LibraryModel(scorer, n_features, names, n_rounds, n_rounds)


def _read_learner(learner: JSONObject, sets: Sets) -> tuple[list[Trees], list[int], int | None]:
    """Return the trees, where those of each round begin and the last end, and the best number of rounds.

    Splits on sets of categories have features beyond the last, and new sets are added to `sets`.
    """
    booster, parameters = learner["gradient_booster"], learner["learner_model_param"]
    is_dart = booster["name"] == "dart"
    model = (booster["gbtree"] if is_dart else booster)["model"]
    sizes = model["gbtree_model_param"]
    for name, part in {"model": model, "gbtree_model_param": sizes}.items():
        check_known(name, part, ENTRIES[name])
    n_trees = len(model["trees"])
    weights = [float(weight) for weight in booster["weight_drop"]] if is_dart else [1.0] * n_trees
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
        raise UnsupportedModelError("predicts several values; a ranking needs one score per document")
    pieces = []
    for number, (tree, weight) in enumerate(zip(model["trees"], weights, strict=True)):
        with in_tree(number):
            pieces.append(_tree(tree, weight, int(parameters["num_feature"]), sets))
    if len(sets) * max((8 * len(words) for _, words in sets), default=0) > MOST_BITS:
        raise UnsupportedModelError(f"has {len(sets)} sets of categories, more than are read")
    best = learner.get("attributes", {}).get("best_iteration")
    return pieces, starts, None if best is None else int(best) + 1


def _base(learner: JSONObject) -> float:
    """Return the score before the first tree."""
    text = learner["learner_model_param"]["base_score"].strip("[]")
    score = LINKS[learner["objective"]["name"]](float(text))
    if not math.isfinite(score):
        raise ValueError(f"base_score {text}")
    return score


def _categories(model: JSONObject, names: list[str]) -> dict[str, tuple[str, ...]]:
    """Return the values of data frames' categorical columns, which the model has as texts or numbers."""
    categories: dict[str, tuple[str, ...]] = {}
    for name, enc in zip(names, model.get("cats", {}).get("enc", []), strict=False):
        if "offsets" in enc:
            text = bytes(value % 256 for value in enc["values"])
            ends = [int(end) for end in enc["offsets"]]
            values = [text[first:last].decode() for first, last in pairwise(ends)]
        else:
            values = [Values.text(value) for value in enc["values"]]
        if len(set(values)) < len(values):
            raise ModelFormatError(f"is cut or edited: it has a category of {name!r} twice")
        if values:
            categories[name] = tuple(values)
    return categories


def _set(tree: JSONObject, node: int) -> bytes:
    """Return the bits of the categories that a split sends right."""
    at = list(tree["categories_nodes"]).index(node)
    first, count = int(tree["categories_segments"][at]), int(tree["categories_sizes"][at])
    members = np.asarray(tree["categories"][first : first + count], np.int64)
    if first < 0 or not 0 < count == len(members) or members.min() < 0:
        raise ModelFormatError("splits on a set of categories that does not exist")
    if members.max() >= MOST_CATEGORIES:
        raise UnsupportedModelError(f"has the category {members.max()}, of at most {MOST_CATEGORIES} read")
    bits = np.zeros(32 * (int(members.max()) // 32 + 1), np.uint8)
    bits[members] = 1
    return np.packbits(bits, bitorder="little").tobytes()


def _tree(tree: JSONObject, weight: float, n_features: int, sets: Sets) -> Trees:
    if int(tree["tree_param"].get("size_leaf_vector") or 0) > 1:
        raise UnsupportedModelError(
            "has vectors in its leaves, which are not supported; train with "
            "multi_strategy='one_output_per_tree'"
        )
    check_known("a tree", tree, ENTRIES["a tree"])
    left, right = _array(tree, "left_children", "iu"), _array(tree, "right_children", "iu")
    leaf = left == LEAF
    # XGBoost before 1.3 had no splits on categories, and says nothing of them.
    kinds = _array(tree, "split_type", "iu", len(left)) if "split_type" in tree else np.zeros(len(left), int)
    if ((kinds < 0) | (kinds > 1)).any():
        raise ModelFormatError("has a split_type that is not known")
    condition = _array(tree, "split_conditions", "fiu", len(left)).astype(np.float64)
    if not (np.abs(condition) <= np.finfo(np.float32).max).all():
        raise ModelFormatError("holds a number beyond float32")
    to_the_left = _array(tree, "default_left", "iub", len(left)) != 0
    feature = np.where(leaf, 0, _array(tree, "split_indices", "iu", len(left)))
    if not ((feature >= 0) & (feature < n_features)).all():
        raise ModelFormatError(f"has a feature that does not exist, of {n_features} features")
    threshold = np.where(leaf, 0.0, at_most(condition.astype(np.float32), or_equal=False))
    nodes = without_unreached({
        "number": np.arange(len(left)), "left": left, "right": right, "feature": feature,
        "threshold": threshold, "missing": directions(to_the_left), "on_set": (kinds == 1) & ~leaf,
        "value": np.where(leaf, condition.astype(np.float32) * np.float64(weight), 0.0),
        "gain": np.where(leaf, 0.0, np.maximum(_array(tree, "loss_changes", "fiu", len(left)), 0.0)),
        "cover": np.maximum(_array(tree, "sum_hessian", "fiu", len(left)), 0.0),
    })  # fmt: skip
    on_set, numbers = np.flatnonzero(nodes.pop("on_set")), nodes.pop("number")
    # What is in the set goes right, and here the value 0 of a set, which goes left, says that it is.
    for at in on_set:
        key = int(nodes["feature"][at]), _set(tree, int(numbers[at]))
        nodes["feature"][at] = n_features + sets.setdefault(key, len(sets))
    nodes["threshold"][on_set] = 0.5
    nodes["missing"][on_set] ^= TO_THE_LEFT
    nodes["left"][on_set], nodes["right"][on_set] = nodes["right"][on_set], nodes["left"][on_set]
    return checked_tree(n_features + len(sets), **nodes)


def _array(tree: JSONObject, name: str, kinds: str, length: int | None = None) -> np.ndarray:
    array = np.asarray(tree[name])
    if array.ndim != 1 or array.dtype.kind not in kinds or not len(array):
        raise ModelFormatError(f"has no numbers {name}")
    if length not in (None, len(array)):
        raise ModelFormatError(f"has {len(array)} numbers {name}, expected {length}")
    return array
