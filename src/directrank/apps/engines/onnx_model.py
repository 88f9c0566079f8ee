"""ONNX: weighted features by operators of the main set, trees by the set for machine learning."""

from functools import partial

import numpy as np

from directrank.apps.engines.documents import Documents
from directrank.apps.engines.function import Function, Target, Term, Version, Written
from directrank.scorers import Trees
from directrank.scorers.trees import LEAF, TO_THE_LEFT

#: Sets of operators: the main one, and those of trees in float32 and in float64.
MAIN, TREES, TREES_DOUBLE = 17, 3, 5


def write(function: Function, version: Version | None = None, *, double: bool = False) -> Written:
    """Return the bytes of the model; with `double` features, thresholds and scores are float64."""
    from onnx import TensorProto, checker, helper, numpy_helper

    function = function.without_special_cases(float32=not double)
    kind, number = (np.float64, TensorProto.DOUBLE) if double else (np.float32, TensorProto.FLOAT)
    nodes, constants, parts = [], [], ["intercept"]

    def put(name: str, values: object, dtype: type = kind) -> str:
        constants.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def add(operator: str, inputs: list[str], output: str) -> str:
        nodes.append(helper.make_node(operator, inputs, [output]))
        return output

    put("intercept", [[function.intercept]])
    # A constant alone would have one row, whatever the features have.
    terms = function.weighted or (() if function.has_trees else (Term(0, 0.0, fill=0.0),))
    if terms:
        columns = put("columns", [term.feature for term in terms], np.int64)
        nodes.append(helper.make_node("Gather", ["features", columns], ["raw"], axis=1))
        fill = put("fill", [np.nan if term.fill is None else term.fill for term in terms])
        x = add("Where", [add("IsNaN", ["raw"], "missing"), fill, "raw"], "filled")
        if any(term.logarithm for term in terms):
            # See `log1p_form`.
            above = add("Add", [add("Abs", [x], "size"), put("one", 1)], "above")
            ratio = add("Div", [add("Log", [above], "log"), add("Sub", [above, "one"], "beyond")], "ratio")
            log = add(
                "Where", [add("Greater", [above, "one"], "large"), add("Mul", [x, ratio], "p"), x], "ln"
            )
            x = add("Where", [put("logarithm", [term.logarithm for term in terms], np.bool_), log, x], "x")
        parts.append(add("MatMul", [x, put("weights", [[term.weight] for term in terms])], "weighted"))
    if function.has_trees:
        operator, attributes = _doubles(function.trees) if double else _floats(function.trees)
        nodes.append(helper.make_node(operator, ["features"], ["trees"], domain="ai.onnx.ml", **attributes))
        parts.append("trees")
    add("Sum", parts, "score")
    graph = helper.make_graph(
        nodes, "directrank", [helper.make_tensor_value_info("features", number, [None, len(function.names)])],
        [helper.make_tensor_value_info("score", number, [None, 1])], constants,
    )  # fmt: skip
    sets = [
        helper.make_opsetid("", MAIN),
        helper.make_opsetid("ai.onnx.ml", TREES_DOUBLE if double else TREES),
    ]
    model = helper.make_model(
        graph, opset_imports=sets, ir_version=10 if double else 8, producer_name="directrank"
    )
    helper.set_model_props(model, {f"feature {at}": name for at, name in enumerate(function.names)})
    checker.check_model(model)
    needs = (
        f"An input `features` of {np.dtype(kind).name}, in the order of the model; a missing value is NaN.",
    )
    changes = () if double else ("Weights, leaf values and sums are float32.",)
    return Written(model.SerializeToString(), needs, changes)


def _floats(trees: Trees) -> tuple[str, dict]:
    """Return the operator of set 3 and its attributes."""
    sizes = np.diff(np.append(trees.root, len(trees.feature)))
    tree, at = (
        np.repeat(np.arange(len(sizes)), sizes),
        np.arange(len(trees.feature)) - np.repeat(trees.root, sizes),
    )
    leaf = trees.left == LEAF
    return "TreeEnsembleRegressor", {
        "nodes_treeids": tree.tolist(), "nodes_nodeids": at.tolist(),
        "nodes_featureids": trees.feature.tolist(),
        "nodes_modes": np.where(leaf, "LEAF", "BRANCH_LEQ").tolist(),
        "nodes_values": trees.threshold.tolist(),
        "nodes_truenodeids": np.maximum(trees.left, 0).tolist(),
        "nodes_falsenodeids": np.maximum(trees.right, 0).tolist(),
        "nodes_missing_value_tracks_true": (trees.missing & TO_THE_LEFT).tolist(),
        "target_treeids": tree[leaf].tolist(), "target_nodeids": at[leaf].tolist(),
        "target_ids": [0] * int(leaf.sum()), "target_weights": trees.value[leaf].tolist(), "n_targets": 1,
        "aggregate_function": "SUM", "post_transform": "NONE",
    }  # fmt: skip


def _doubles(trees: Trees) -> tuple[str, dict]:
    """Return the operator of set 5 and its attributes; splits and leaves are counted apart."""
    from onnx import numpy_helper

    start = np.repeat(trees.root, np.diff(np.append(trees.root, len(trees.feature))))
    leaf = trees.left == LEAF
    place, inner = np.where(leaf, np.cumsum(leaf) - 1, np.cumsum(~leaf) - 1), ~leaf
    left, right = (start + trees.left)[inner], (start + trees.right)[inner]
    return "TreeEnsemble", {
        "nodes_featureids": trees.feature[inner].tolist(),
        "nodes_modes": numpy_helper.from_array(np.zeros(int(inner.sum()), np.uint8), "modes"),
        "nodes_splits": numpy_helper.from_array(trees.threshold[inner].astype(np.float64), "splits"),
        "nodes_missing_value_tracks_true": (trees.missing[inner] & TO_THE_LEFT).tolist(),
        "nodes_truenodeids": place[left].tolist(), "nodes_trueleafs": leaf[left].astype(int).tolist(),
        "nodes_falsenodeids": place[right].tolist(), "nodes_falseleafs": leaf[right].astype(int).tolist(),
        "leaf_targetids": [0] * int(leaf.sum()),
        "leaf_weights": numpy_helper.from_array(trees.value[leaf].astype(np.float64), "leaves"),
        "tree_roots": place[trees.root].tolist(), "n_targets": 1, "aggregate_function": 1,
        "post_transform": 0,
    }  # fmt: skip


def scores(content: bytes, documents: Documents) -> np.ndarray:
    """Return the scores of ONNX Runtime."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = 1, 1, 3
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    metadata = session.get_modelmeta().custom_metadata_map
    features = documents.features([metadata[f"feature {at}"] for at in range(len(metadata))])
    rows = features.astype(np.float64 if "double" in session.get_inputs()[0].type else np.float32)
    return np.asarray(session.run(["score"], {"features": rows})[0]).reshape(-1)


TARGET = Target(
    "onnx",
    "ONNX in float32, trees of `ai.onnx.ml` 3 (extra `onnx`)",
    write,
    scores,
    "onnxruntime",
    float32=True,
    library="onnx",
)
DOUBLE = Target(
    "onnx-double",
    "ONNX in float64, trees of `ai.onnx.ml` 5",
    partial(write, double=True),
    scores,
    "onnxruntime",
    library="onnx",
)
