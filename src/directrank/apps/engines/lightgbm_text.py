"""LightGBM's model text: trees with x ≤ t in float64, with the direction of missing values."""

import re

import numpy as np

from directrank.apps.engines.documents import Documents
from directrank.apps.engines.function import Function, Target, Version, Written
from directrank.scorers import Trees
from directrank.scorers.trees import LEAF, TO_THE_LEFT, ZERO_TOO
from directrank.scorers.trees import ZERO as ZERO_VALUE

#: Bits of decision_type: missing values go left; what is missing, zeros or NaN.
LEFT, ZERO, NAN = 2, 4, 8


def write(function: Function, version: Version | None = None) -> Written:
    """Return the model text."""
    trees = function.trees
    pieces = (
        [trees, Trees.constant(function.intercept)] if function.intercept or not trees.n_trees else [trees]
    )
    blocks = [_block(number, tree) for number, tree in enumerate(Trees.concatenate(pieces).each())]
    allowed = all(re.fullmatch(r"[^\s\",:\[\]{}]+", name) for name in function.names)
    names = function.names if allowed else [f"Column_{at}" for at in range(len(function.names))]
    renamed = "LightGBM takes no names with blanks or signs of JSON: features are Column_0 and so on."
    changes = () if allowed else (renamed,)
    if (np.abs(trees.threshold[trees.left != LEAF]) < ZERO_VALUE).any():
        changes = (*changes, "LightGBM reads values of at most 1e-35 as 0, and a threshold is so small.")
    head = [
        "tree", "version=v4", "num_class=1", "num_tree_per_iteration=1", "label_index=0",
        f"max_feature_idx={len(names) - 1}", "objective=regression", f"feature_names={' '.join(names)}",
        f"feature_infos={' '.join(['[-1e300:1e300]'] * len(names))}",
        f"tree_sizes={' '.join(str(len(block.encode())) for block in blocks)}", "", "",
    ]  # fmt: skip
    end = "end of trees\n\nfeature_importances:\n\nparameters:\n\nend of parameters\n\n"
    end += "pandas_categorical:null\n"
    return Written(
        ("\n".join(head) + "".join(blocks) + end).encode(), ("Features in the order of the model.",), changes
    )


def _block(number: int, tree: Trees) -> str:
    leaf = tree.left == LEAF
    kind = np.where(tree.missing & ZERO_TOO, ZERO, NAN)
    decision = kind + np.where(tree.missing & TO_THE_LEFT, LEFT, 0)
    # Splits are counted from 0 up, leaves from −1 down.
    place = np.where(leaf, -np.cumsum(leaf), np.cumsum(~leaf) - 1)
    lines = {"Tree": [number], "num_leaves": [leaf.sum()], "num_cat": [0]}
    if not leaf[0]:
        lines |= {
            "split_feature": tree.feature[~leaf], "split_gain": tree.gain[~leaf],
            "threshold": tree.threshold[~leaf].astype(float), "decision_type": decision[~leaf],
            "left_child": place[tree.left[~leaf]], "right_child": place[tree.right[~leaf]],
        }  # fmt: skip
    lines |= {"leaf_value": tree.value[leaf], "shrinkage": [1]}
    texts = [f"{name}={' '.join(map(repr, np.asarray(row).tolist()))}" for name, row in lines.items()]
    return "\n".join([*texts, "", "", ""])


def scores(content: bytes, documents: Documents) -> np.ndarray:
    """Return the scores of LightGBM."""
    import lightgbm

    booster = lightgbm.Booster(model_str=content.decode())
    features = documents.features(booster.feature_name())
    return np.asarray(booster.predict(features, raw_score=True, num_threads=1, validate_features=False))


TARGET = Target(
    "lightgbm",
    "model text, which reads numbers up to 1e-35 as 0",
    write,
    scores,
    "LightGBM",
    kinds=("trees",),
    zero=float(ZERO_VALUE),
)
