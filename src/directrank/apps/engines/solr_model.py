"""Solr's LinearModel and MultipleAdditiveTreesModel, for its model store."""

import json
from collections.abc import Sequence

import numpy as np

from directrank.apps.engines.documents import Documents
from directrank.apps.engines.function import (
    DEFINED,
    Function,
    Split,
    Target,
    Version,
    Written,
    built,
    features_read,
    leaf_values,
    log_name,
    weighted_sum,
    weights_by_name,
)
from directrank.errors import ExportError

PACKAGE = "org.apache.solr.ltr"
#: Solr adds and multiplies in float32, where ln(sum(1,X)) alone would lose small X (`log1p_form`).
LOG = "{!func}if(gt(sum(1,abs(X)),1),product(X,div(ln(sum(1,abs(X))),sub(sum(1,abs(X)),1))),X)"
#: A function query has no value below 0, where Solr reads 0: the logarithms of X and of −X are two features.
BELOW_ZERO = "_below_0"
BELOW = LOG.replace("X", "product(-1,X)")
#: A split sends x ≤ float32(threshold + SLACK) left.
SLACK = np.float32(1e-6)
HIGHEST = np.float32(np.inf)
#: The first version that tells missing values from 0.
MISSING = (9, 2)


def write(function: Function, version: Version | None = None) -> Written:
    """Return the JSON of a model."""
    function = function.without_special_cases()
    changes = function.constant_note("Solr")
    if not function.has_trees:
        terms = function.weighted
        weights, logs = weights_by_name(terms, function.names), logarithms(function.names)
        for name in [name for name in logs if name in weights]:
            weights[below_zero(name)] = -weights[name]
        needs = [f"Features in the store: {', '.join(map(json.dumps, weights))}."]
        for name in [name for name in logs if name in weights]:
            form = BELOW if name.endswith(BELOW_ZERO) else LOG
            needs.append(f"{json.dumps(name)} is {form}, X as in {json.dumps(logs[name])}.")
        features: list[dict[str, object]] = [{"name": name} for name in weights]
        return _model(
            "LinearModel", features, {"weights": weights}, needs, function.zero_note("Solr"), changes
        )
    return _trees(function, version or MISSING, changes)


def below_zero(name: str) -> str:
    """Return the name of the feature that is ln(1 − x) where x is below 0, else 0."""
    return name + BELOW_ZERO


def logarithms(names: tuple[str, ...]) -> dict[str, str]:
    """Return the feature of each logarithm, of both signs, by the name that the logarithm gets."""
    logs = {log_name(name, names): name for name in names}
    return {**logs, **{below_zero(name): of for name, of in logs.items()}}


def _model(
    kind: str,
    features: list[dict[str, object]],
    params: dict[str, object],
    definitions: Sequence[str],
    needs: Sequence[str],
    changes: tuple[str, ...],
) -> Written:
    model = {"class": f"{PACKAGE}.model.{kind}", "name": "directrank", "features": features, "params": params}
    return Written(json.dumps(model).encode(), (*definitions, *needs), changes, tuple(definitions))


def _trees(function: Function, version: Version, changes: tuple[str, ...]) -> Written:
    trees, takes_missing = function.trees, version >= MISSING
    inner = trees.left >= 0
    scale = {
        at: _scale(trees.threshold[inner & (trees.feature == at)], function.names[at])
        for at in features_read(trees)
    }

    def split(node: Split, left: dict, right: dict) -> dict:
        (threshold,) = _written(_scaled(np.array([node.threshold], np.float32), scale[node.feature])).tolist()
        missing = {"missing": "left" if node.missing_left else "right"} if takes_missing else {}
        return {
            "feature": function.names[node.feature],
            "threshold": repr(threshold).replace("inf", "Infinity"),
            "left": left,
            "right": right,
            **missing,
        }

    # Java rounds a text to float32 once, and by float64 a leaf halfway between two would be rounded twice.
    roots = built(trees, lambda value: {"value": repr(float(np.float32(value)))}, split)
    features: list[dict[str, object]] = [{"name": function.names[at]} for at in scale]
    for feature, factor in zip(features, scale.values(), strict=True):
        if factor != 1:
            feature["norm"] = {
                "class": f"{PACKAGE}.norm.StandardNormalizer",
                "params": {"avg": "0", "std": repr(1 / factor)},
            }
    scaled = [name["name"] for name in features if "norm" in name]
    if scaled:
        changes = (
            *changes,
            f"{len(scaled)} features such as {scaled[0]!r} get a StandardNormalizer, a power of 2: "
            "Solr compares with a slack of 1e-6, which would move their thresholds.",
        )
    store = [f"Features in the store: {', '.join(json.dumps(feature['name']) for feature in features)}."]
    if takes_missing:
        needs = ['Solr 9.2 or later, and each feature with "defaultValue": "NaN" in its params.']
    else:
        needs = function.zero_note("Solr before 9.2")
    params: dict[str, object] = {"trees": [{"weight": "1", "root": tree} for tree in roots]}
    if takes_missing:
        params["isNullSameAsZero"] = False
    return _model("MultipleAdditiveTreesModel", features, params, store, needs, changes)


def _written(thresholds: np.ndarray) -> np.ndarray:
    """Return numbers that with the slack become float32 thresholds; NaN where no float32 does."""
    near = thresholds - SLACK
    out = np.full(len(thresholds), np.nan)
    for one in (near, np.nextafter(near, HIGHEST), np.nextafter(near, -HIGHEST), thresholds):
        out = np.where(np.isnan(out) & (one + SLACK == thresholds), one, out)
    return out


def _scaled(thresholds: np.ndarray, factor: float) -> np.ndarray:
    """Return thresholds times a factor; the largest float32 becomes infinite."""
    with np.errstate(over="ignore"):
        return np.where(thresholds >= np.finfo(np.float32).max, HIGHEST, thresholds * np.float32(factor))


def _scale(thresholds: np.ndarray, name: str) -> float:
    """Return the least power of 2 by which all thresholds of a feature can be written, 1 if possible."""
    for power in range(127):
        scaled = _scaled(thresholds, 2.0**power)
        fits = np.isfinite(scaled) | (thresholds >= np.finfo(np.float32).max)
        if fits.all() and not np.isnan(_written(scaled)).any():
            return 2.0**power
    raise ExportError(
        f"solr: its slack of 1e-6 moves thresholds of the feature {name!r}, from {thresholds.min():.2g} to "
        f"{thresholds.max():.2g}, and no factor of float32 helps; scale the feature and train again"
    )


def scores(content: bytes, documents: Documents) -> np.ndarray:
    """Return the scores by Solr's rule, in float32."""
    model = json.loads(content)
    params, columns = model["params"], {}
    null_is_zero = "weights" in params or params.get("isNullSameAsZero", True)
    for feature in model["features"]:
        column = documents.numbers(feature["name"]).astype(np.float32)
        column = np.nan_to_num(column, nan=0.0) if null_is_zero else column
        norm = feature.get("norm", {"params": {"avg": "0", "std": "1"}})["params"]
        with np.errstate(over="ignore"):
            columns[feature["name"]] = (column - np.float32(norm["avg"])) / np.float32(norm["std"])
    if "weights" in params:
        return weighted_sum(params["weights"], columns)
    total = np.zeros(len(documents), np.float32)

    def step(node: dict, at: np.ndarray) -> "float | tuple":
        if "feature" not in node:
            return float(node["value"])
        x = columns[node["feature"]][at]
        goes_left = x <= np.float32(np.float32(node["threshold"]) + SLACK)
        return np.where(np.isnan(x), node.get("missing") == "left", goes_left), node["left"], node["right"]

    for tree in params["trees"]:
        total += np.float32(tree["weight"]) * leaf_values(tree["root"], len(documents), step)
    return total


TARGET = Target(
    "solr", "`LinearModel` or `MultipleAdditiveTreesModel`; exact in spite of Solr's slack of 1e-6",
    write, scores,
    "a transcript of Solr (LinearModel.java, MultipleAdditiveTreesModel.java), as 8.11.4 scores",
    kinds=("linear", "log", "trees"), zero_for_missing=("linear", "log"), float32=True, takes_version=True,
    categories=DEFINED,
)  # fmt: skip
