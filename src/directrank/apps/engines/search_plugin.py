"""The learning-to-rank plugins of Elasticsearch and OpenSearch: the body of `_createmodel`."""

import json
from dataclasses import replace
from functools import partial

import numpy as np

from directrank.apps.engines.documents import Column, Documents
from directrank.apps.engines.expressions import Grammar, value_of
from directrank.apps.engines.function import (
    DEFINED,
    Function,
    Split,
    Target,
    Version,
    Written,
    built,
    check_names,
    features_read,
    leaf_values,
    log_name,
    strict,
    weighted_sum,
    weights_by_name,
)
from directrank.apps.engines.queries import query_scores
from directrank.scorers.trees import LEAF, TO_THE_LEFT
from directrank.storage.strict_json import JSONObject

#: A variable of Lucene's expressions.
VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*"
#: The first versions of OpenSearch's plugin that tell missing values from 0, and that read their direction.
NO_ZEROS, DIRECTIONS = (3, 2), (3, 8)
#: The logarithm of 1 + |x|, with the sign of x, as an expression (`log1p_form`).
LOG = "(1 + abs({x})) > 1 ? {x} * (ln(1 + abs({x})) / ((1 + abs({x})) - 1)) : {x}"
#: A feature that is 1 for all documents, which packages add to keep scores at 0 and above.
CONSTANT = "constant"
NEGATIVE = "Lucene refuses scores below 0: where they occur, add a constant to the score of the query."


def write(function: Function, version: Version | None = None, *, opensearch: bool) -> Written:
    """Return the JSON of a model for a feature set."""
    engine = "opensearch-ltr" if opensearch else "elasticsearch-ltr"
    function = function.without_special_cases()
    if function.has_trees:
        return _trees(function, version or DIRECTIONS)
    terms = function.weighted
    logs = {term.feature for term in terms if term.logarithm}
    check_names(function.names, logs, VARIABLE, engine, "its logarithm is an expression: rename the feature")
    weights = weights_by_name(terms, function.names)
    needs = [_feature_set([name for name in function.names if name in weights])]
    for name in (function.names[at] for at in sorted(logs)):
        derived = {
            "name": log_name(name, function.names), "params": [], "template_language": "derived_expression",
            "template": LOG.format(x=name),
        }  # fmt: skip
        needs.append(f"In the feature set, after {json.dumps(name)}: {json.dumps(derived)}")
    notes = (*function.zero_note("the plugin"), NEGATIVE)
    changes = function.constant_note("the plugin")
    return Written(_body("model/linear", weights), (*needs, *notes), changes, tuple(needs))


def _feature_set(names: list[str]) -> str:
    return f"Features in the feature set: {', '.join(map(json.dumps, names))}."


def _body(kind: str, definition: object) -> bytes:
    model = {"type": kind, "definition": json.dumps(definition)}
    return json.dumps({"model": {"name": "directrank", "model": model}}).encode()


def _trees(function: Function, version: Version) -> Written:
    """Write trees; `missing` of a node says what the version does, which the versions before 3.8 ignore."""
    trees = strict(function.trees)
    least = sum(built(trees, lambda value: value, lambda _, left, right: min(left, right)))
    as_learned = trees.missing & TO_THE_LEFT
    missing = as_learned if version >= DIRECTIONS else (version < NO_ZEROS) & (trees.threshold > 0)
    wrong = int(np.sum((trees.left != LEAF) & (missing != as_learned)))
    trees = replace(trees, missing=missing.astype(np.int32))
    splits = built(trees, lambda value: {"leaf": value}, partial(_split, function.names))
    changes = function.constant_note("the plugin")
    if least < 0:
        splits.append({"leaf": -least})
        changes = (*changes, f"{-least:g} was added to all scores, because Lucene refuses scores below 0.")
    needs = [_feature_set([function.names[at] for at in features_read(trees)])]
    if wrong:
        rule = (
            "3.2 reads missing values as 0"
            if version < NO_ZEROS
            else "3.8 sends missing values right at all splits"
        )
        needs.append(
            f"Every document has every feature: OpenSearch before {rule}, which is not the direction of "
            f"{wrong} splits of the ranker."
        )
    for tree in splits:
        _number(tree)
    return Written(
        _body("model/xgboost+json", {"objective": "reg:linear", "splits": splits}),
        tuple(needs), changes, tuple(needs[:1]),
    )  # fmt: skip


def _split(names: tuple[str, ...], node: Split, left: dict, right: dict) -> dict:
    children = {"missing_left": node.missing_left, "children": [left, right]}
    return {"split": names[node.feature], "split_condition": node.threshold, **children}


def _number(tree: dict) -> None:
    """Number the nodes of a tree from its root down; both parsers want these numbers."""
    tree["nodeid"], waiting, count = 0, [(tree, 0)], 1
    while waiting:
        node, depth = waiting.pop()
        if "children" in node:
            for child in node["children"]:
                child["nodeid"], count = count, count + 1
                waiting.append((child, depth + 1))
            yes, no = (child["nodeid"] for child in node["children"])
            node |= {"depth": depth, "yes": yes, "no": no, "missing": yes if node.pop("missing_left") else no}


def scores(content: bytes, documents: Documents) -> np.ndarray:
    """Return the scores by the plugins' rule, in float32."""
    model = json.loads(content)["model"]["model"]
    definition = json.loads(model["definition"])
    if model["type"] == "model/linear":
        columns = {
            name: np.nan_to_num(documents.numbers(name).astype(np.float32), nan=0.0) for name in definition
        }
        return weighted_sum(definition, columns)
    total = np.zeros(len(documents), np.float32)

    def step(node: dict, at: np.ndarray) -> "float | tuple":
        if "leaf" in node:
            return float(np.float32(node["leaf"]))
        x = documents.numbers(node["split"])[at].astype(np.float32)
        yes = np.where(np.isnan(x), node["missing"] == node["yes"], np.float32(node["split_condition"]) > x)
        return (yes, *node["children"])

    for tree in definition["splits"]:
        total += leaf_values(tree, len(documents), step)
    return total


def computed(definitions: list[JSONObject], documents: Documents) -> dict[str, Column]:
    """Return the features of documents; those that depend on the user's words are columns of their names."""
    found: dict[str, Column] = {}
    for one in definitions:
        name, template = one["name"], one["template"]
        if one.get("template_language") == "derived_expression":
            found[name] = _derived(template, documents.having(found))
        else:
            scores = query_scores(template, documents) if isinstance(template, dict) else None
            found[name] = documents.numbers(name) if scores is None else scores
    return found


def _derived(template: str, documents: Documents) -> np.ndarray:
    def reference(name: str) -> np.ndarray:
        return np.nan_to_num(documents.numbers(name).astype(np.float64), nan=0.0)

    grammar = Grammar({"abs": np.abs, "ln": np.log}, reference, json.loads)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.broadcast_to(value_of(template, grammar), len(documents)).astype(np.float32)


SUMMARY = (
    "body of `_createmodel`; logarithms are derived features; scores of trees are shifted to 0 and above"
)
RULE = "LinearRanker.java, NaiveAdditiveDecisionTree.java"
TARGET = Target(
    "elasticsearch-ltr", SUMMARY, partial(write, opensearch=False), scores,
    f"a transcript of the rule in elasticsearch-learning-to-rank 1dfed57 ({RULE})",
    kinds=("linear", "log", "trees"), zero_for_missing=("linear", "log"), float32=True, categories=DEFINED,
)  # fmt: skip
OPENSEARCH = Target(
    "opensearch-ltr", SUMMARY, partial(write, opensearch=True), scores,
    f"a transcript of the rule in opensearch-learning-to-rank-base af2d983 ({RULE})",
    kinds=("linear", "log", "trees"), zero_for_missing=("linear", "log"), float32=True, takes_version=True,
    categories=DEFINED,
)  # fmt: skip
