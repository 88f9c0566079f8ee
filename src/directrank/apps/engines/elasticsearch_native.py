"""Elasticsearch's own learning to rank (8.13 and later): the body of `PUT _ml/trained_models/ID`."""

import json

import numpy as np

from directrank.apps.engines.documents import Documents
from directrank.apps.engines.function import (
    DEFINED,
    Function,
    Target,
    Version,
    Written,
    features_read,
    leaf_values,
)
from directrank.apps.engines.queries import category_query, query_scores
from directrank.scorers.trees import LEAF, TO_THE_LEFT


def write(function: Function, version: Version | None = None) -> Written:
    """Return the JSON of a trained model."""
    trees, models, extractors = function.as_trees(float32=False), [], []
    for at in (at for at in features_read(trees) if at in function.categories):
        query = category_query(function.categories[at], "elasticsearch", None)
        extractors.append(
            {"query_extractor": {"feature_name": function.names[at], "query": query, "default_score": 0}}
        )
    for tree in trees.each():
        nodes = []
        for at, left_child in enumerate(tree.left.tolist()):
            if left_child == LEAF:
                nodes.append({"node_index": at, "leaf_value": float(tree.value[at])})
            else:
                nodes.append({
                    "node_index": at, "decision_type": "lte", "left_child": left_child,
                    "right_child": int(tree.right[at]), "split_feature": int(tree.feature[at]),
                    "threshold": float(tree.threshold[at]) + 0.0,  # Not −0: see `scores`.
                    "default_left": bool(tree.missing[at] & TO_THE_LEFT),
                })  # fmt: skip
        models.append({"tree": {
            "target_type": "regression", "feature_names": list(function.names), "tree_structure": nodes,
        }})  # fmt: skip
    ensemble = {
        "target_type": "regression", "feature_names": list(function.names), "trained_models": models,
        "aggregate_output": {"weighted_sum": {}},
    }  # fmt: skip
    body = {
        "inference_config": {"learning_to_rank": {"feature_extractors": extractors}},
        "definition": {"trained_model": {"ensemble": ensemble}},
    }
    used = [function.names[at] for at in features_read(trees) if at not in function.categories]
    needs = (
        f"In feature_extractors a query_extractor for each of: {', '.join(map(json.dumps, used))}.",
        "A licence that includes learning to rank (Enterprise); 8.19, 9.1 or later where scores are below 0.",
    )
    return Written(json.dumps(body).encode(), needs)


def scores(content: bytes, documents: Documents) -> np.ndarray:
    """Return the scores by Elasticsearch's rule: compared and added in float64, then float32.

    Comparisons are those of Java's `Double.compareTo`, by which −0 is less than 0.
    """
    body = json.loads(content)
    ensemble = body["definition"]["trained_model"]["ensemble"]
    computed = {}
    for one in body["inference_config"]["learning_to_rank"]["feature_extractors"]:
        extractor = one["query_extractor"]
        values = query_scores(extractor["query"], documents)
        if values is not None:
            values = np.nan_to_num(values, nan=extractor["default_score"])
            computed[extractor["feature_name"]] = values
    columns, total = documents.having(computed), np.zeros(len(documents))
    names = ensemble["feature_names"]
    splits = {node["split_feature"] for model in ensemble["trained_models"]
              for node in model["tree"]["tree_structure"] if "split_feature" in node}  # fmt: skip
    rows = {at: columns.numbers(names[at]).astype(np.float32).astype(np.float64) for at in splits}
    for model in ensemble["trained_models"]:
        nodes = {node["node_index"]: node for node in model["tree"]["tree_structure"]}

        def step(number: int, at: np.ndarray, nodes: dict = nodes) -> "float | tuple":
            node = nodes[number]
            if "leaf_value" in node:
                return node["leaf_value"]
            x, threshold = rows[node["split_feature"]][at], np.float64(node["threshold"])
            above = np.signbit(threshold) & (threshold == 0) & (x == 0) & ~np.signbit(x)
            goes_left = np.where(np.isfinite(x), (x <= threshold) & ~above, node["default_left"])
            return goes_left, node["left_child"], node["right_child"]

        total += leaf_values(0, len(documents), step, np.float64)
    return total.astype(np.float32)


TARGET = Target(
    "elasticsearch", "body of `PUT _ml/trained_models/ID`; trees alone, compared in float64", write, scores,
    "a transcript of Elasticsearch (TreeInferenceModel.java, WeightedSum.java), as 8.19.21 scores",
    kinds=("trees",), float32=True, categories=DEFINED,
)  # fmt: skip
