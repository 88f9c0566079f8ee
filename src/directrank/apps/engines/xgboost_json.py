"""XGBoost's JSON model: trees with x < t in float32; both arrays that hold leaf values are equal."""

import json

import numpy as np

from directrank.apps.engines.documents import Documents
from directrank.apps.engines.function import Function, Target, Version, Written, strict
from directrank.scorers.trees import LEAF

ROOT = 2**31 - 1


def write(function: Function, version: Version | None = None) -> Written:
    """Return the text of `Booster.save_model`."""
    pieces = []
    for number, tree in enumerate(strict(function.as_trees()).each()):
        own_left, own_right = tree.left.tolist(), tree.right.tolist()
        # XGBoost takes the node after the left child for the right one.
        order, parents, left_children = [0], [ROOT], []
        for number_of_node, at in enumerate(order):
            left_children.append(LEAF if own_left[at] == LEAF else len(order))
            if own_left[at] != LEAF:
                order += [own_left[at], own_right[at]]
                parents += [number_of_node] * 2
        right = [child if child == LEAF else child + 1 for child in left_children]
        # The servers that read this form take leaves from base_weights, XGBoost from split_conditions.
        leaf, values = tree.left[order] == LEAF, tree.value[order].astype(np.float32)
        zeros, floats = [0] * len(left_children), [0.0] * len(left_children)
        pieces.append({
            "base_weights": values.tolist(), "categories": [], "categories_nodes": [],
            "categories_segments": [], "categories_sizes": [], "default_left": tree.missing[order].tolist(),
            "id": number, "left_children": left_children, "loss_changes": floats, "parents": parents,
            "right_children": right,
            "split_conditions": np.where(leaf, values, tree.threshold[order]).tolist(),
            "split_indices": tree.feature[order].tolist(), "split_type": zeros, "sum_hessian": floats,
            "tree_param": {"num_deleted": "0", "num_feature": str(len(function.names)),
                           "num_nodes": str(len(left_children)), "size_leaf_vector": "1"},
        })  # fmt: skip
    allowed = not any(set("[]<") & set(name) for name in function.names)
    # Without names of its own, a model would refuse the arrays that it was trained with.
    counted = [tuple(map(form.format, range(1 + len(function.names)))) for form in ("f{}", "Column_{}")]
    has_names = allowed and not any(function.names in (names[1:], names[:-1]) for names in counted)
    model = {
        "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(len(pieces))},
        "iteration_indptr": list(range(len(pieces) + 1)), "tree_info": [0] * len(pieces), "trees": pieces,
    }  # fmt: skip
    learner = {
        "attributes": {}, "feature_names": list(function.names) if has_names else [], "feature_types": [],
        "gradient_booster": {"model": model, "name": "gbtree"},
        "learner_model_param": {"base_score": "0E0", "boost_from_average": "0", "num_class": "0",
                                "num_feature": str(len(function.names)), "num_target": "1"},
        "objective": {"name": "reg:squarederror", "reg_loss_param": {"scale_pos_weight": "1"}},
    }  # fmt: skip
    changes = ["XGBoost takes no names with [, ] or <: features are known by their order."] * (not allowed)
    # XGBoost reads letters beyond 16 bits as they are, and not their escapes in JSON.
    text = json.dumps({"learner": learner, "version": [2, 1, 0]}, ensure_ascii=False)
    changes = (*changes, "Leaf values are float32.")
    return Written(text.encode(), ("Features in the order of the model.",), changes)


def scores(content: bytes, documents: Documents) -> np.ndarray:
    """Return the scores of XGBoost."""
    import xgboost

    booster = xgboost.Booster(model_file=bytearray(content))
    features = documents.features(booster.feature_names or ())
    return booster.predict(xgboost.DMatrix(features), output_margin=True, validate_features=False)


TARGET = Target(
    "xgboost",
    "JSON model; leaf values in float32, the same in both arrays that servers read",
    write,
    scores,
    "XGBoost",
    kinds=("trees",),
    float32=True,
)
