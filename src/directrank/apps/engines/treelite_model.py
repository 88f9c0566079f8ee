"""Treelite's serialised model, which its own predictor and FIL read."""

import numpy as np

from directrank.apps.engines.documents import Documents
from directrank.apps.engines.function import Function, Target, Version, Written
from directrank.scorers.trees import LEAF


def write(function: Function, version: Version | None = None) -> Written:
    """Return the bytes of `Model.serialize`."""
    from treelite.model_builder import Metadata, ModelBuilder, PostProcessorFunc, TreeAnnotation

    trees = function.as_trees()
    builder = ModelBuilder(
        threshold_type="float64", leaf_output_type="float64",
        metadata=Metadata(len(function.names), "kRegressor", False, 1, [1], (1, 1)),
        tree_annotation=TreeAnnotation(trees.n_trees, [0] * trees.n_trees, [0] * trees.n_trees),
        postprocessor=PostProcessorFunc("identity"), base_scores=[0.0],
    )  # fmt: skip
    for tree in trees.each():
        builder.start_tree()
        for at, left_child in enumerate(tree.left.tolist()):
            builder.start_node(at)
            if left_child == LEAF:
                builder.leaf(float(tree.value[at]))
            else:
                builder.numerical_test(
                    int(tree.feature[at]), float(tree.threshold[at]), default_left=bool(tree.missing[at]),
                    opname="<=", left_child_key=left_child, right_child_key=int(tree.right[at]),
                )  # fmt: skip
            builder.end_node()
        builder.end_tree()
    return Written(builder.commit().serialize_bytes(), ("Features in the order of the model.",))


def scores(content: bytes, documents: Documents) -> np.ndarray:
    """Return the scores of Treelite's own predictor."""
    import treelite

    model = treelite.Model.deserialize_bytes(content)
    return treelite.gtil.predict(model, documents.in_order.astype(np.float64), nthread=1).reshape(-1)


TARGET = Target(
    "treelite",
    "serialised model for Treelite's predictor and FIL",
    write,
    scores,
    "Treelite's GTIL",
    kinds=("trees",),
    library="treelite",
)
