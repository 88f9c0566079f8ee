"""The scorers that a model file can hold, as named tensors."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from directrank.errors import ModelFormatError
from directrank.scorers import Additive, Linear, LogLinear, QueryLinear, StandardisedMean, Sum, Trees
from directrank.scorers.set_trees import SetTrees
from directrank.scorers.trees import LEAF, TO_THE_LEFT

Tensors = dict[str, np.ndarray]


def _linear_fits(tensors: Tensors, n_features: int) -> bool:
    coefficients, fill = tensors["coefficients"], tensors.get("fill")
    if coefficients.dtype != np.float64 or coefficients.shape != (n_features,):
        return False
    return fill is None or (
        fill.dtype == np.float32 and fill.shape == (n_features,) and bool(np.isfinite(fill).all())
    )


def _log_linear_fits(tensors: Tensors, n_features: int) -> bool:
    logarithm = tensors["logarithm"]
    flags = logarithm.dtype == np.bool_ and logarithm.shape == (n_features,)
    return flags and _linear_fits(tensors, n_features)


#: Every kind of scorer that can be saved, by its name in the file, which never changes: the class, the
#: attributes that hold its arrays, those that not every one has, and the check whether loaded arrays are a
#: scorer of so many features.
SCORER_KINDS = {
    "linear": (Linear, {"coefficients"}, {"fill"}, _linear_fits),
    "log-linear": (LogLinear, {"coefficients", "logarithm"}, {"fill"}, _log_linear_fits),
    "query-linear": (QueryLinear, {"coefficients"}, {"fill"}, _linear_fits),
    **{kind.kind: (kind, {*kind.types}, {*kind.optional}, kind.fits) for kind in (Trees, SetTrees)},
}
#: The arrays of lines in the leaves of trees.
LINES = {"slope", "fill"}
#: Weak rankers: the tensors of trees, and their coefficients.
ADDITIVE, COEFFICIENTS = "additive", "coefficients"
#: The kinds of which a scorer is made of others; their tensors are called ``0.linear.coefficients`` and so
#: on. A sum also has its weights.
STANDARDISED, SUM, WEIGHTS = StandardisedMean.kind, "sum", "weights"
#: Names of kinds in files of early builds.
EARLY = {"committee": STANDARDISED}
#: The most points in a name.
DEEPEST = 10


def take_apart(scorer: object) -> tuple[str, Tensors]:
    """Return the kind of a scorer and its tensors.

    Raises
    ------
    TypeError
        If it cannot be saved.
    """
    if type(scorer) is StandardisedMean:
        return STANDARDISED, _of_members(scorer.members)
    if type(scorer) is Sum:
        return SUM, {WEIGHTS: scorer.weights, **_of_members(scorer.terms)}
    if type(scorer) is Additive:
        for weak in scorer.others.values():
            name = type(getattr(weak, "classifier", weak)).__name__
            raise TypeError(
                f"a ranker over {name} weak rankers cannot be saved: a model holds trees and single "
                "features. Use stumps or a DecisionTreeClassifier."
            )
        coefficients = np.ascontiguousarray(scorer.coefficients)
        return ADDITIVE, {COEFFICIENTS: coefficients, **take_apart(scorer.trees)[1]}
    for name, (kind, tensors, optional, _) in SCORER_KINDS.items():
        if type(scorer) is kind:
            names = tensors | {array for array in optional if getattr(scorer, array) is not None}
            return name, {array: np.ascontiguousarray(getattr(scorer, array)) for array in sorted(names)}
    kinds = ", ".join(kind.__name__ for kind in (Additive, *(kind for kind, *_ in SCORER_KINDS.values())))
    raise TypeError(f"a {type(scorer).__name__} scorer cannot be saved; those that can: {kinds}")


def put_together(name: str, tensors: Tensors, n_features: int, lines: bool = False) -> Any:
    """Return the scorer of a kind and its tensors; only trees of an additive scorer may have lines in leaves.

    Raises
    ------
    ModelFormatError
        If there is no such kind, or the tensors are not a scorer of that many features.
    """
    if EARLY.get(name, name) == STANDARDISED:
        return StandardisedMean(_members_of(tensors, n_features))
    if name == SUM:
        weights = tensors.pop(WEIGHTS)
        terms = _members_of(tensors, n_features)
        if weights.dtype != np.float64 or weights.shape != (len(terms),) or not np.isfinite(weights).all():
            raise ModelFormatError(f"its weights do not fit {len(terms)} terms")
        return Sum(terms, weights)
    if name == ADDITIVE and COEFFICIENTS in tensors:
        coefficients = tensors.pop(COEFFICIENTS)
        trees = put_together(Trees.kind, of_early_builds(tensors), n_features, lines=True)
        if coefficients.dtype != np.float64 or coefficients.shape != trees.root.shape:
            raise ModelFormatError(f"its coefficients do not fit {trees.n_trees} weak rankers")
        if not np.isfinite(coefficients).all():
            raise ModelFormatError("it holds a number that is not finite")
        return Additive(coefficients, trees)
    kind, required, optional, fits = SCORER_KINDS.get(name, (None, None, set(), None))
    if name == Trees.kind and not lines:
        optional = optional - LINES
    if kind is None or {*tensors, *optional} != required | optional:
        raise ModelFormatError(f"scorer {name!r} with tensors {sorted(tensors)} is not known")
    if not fits(tensors, n_features):
        raise ModelFormatError(f"its tensors do not fit {n_features} features")
    if not all(np.isfinite(tensor).all() for tensor in tensors.values()):
        raise ModelFormatError("it holds a number that is not finite")
    return kind(**tensors)


def of_early_builds(tensors: Tensors) -> Tensors:
    """Return the tensors of weak rankers as those of trees; early files of 0.1.0 name them otherwise.

    There a number stands for a missing value, at splits too; without one missing values go to the left.
    """
    if "offset" not in tensors:
        return tensors
    nodes = {"fill": tensors.get("threshold", np.zeros(0)), **tensors}
    threshold, fill, slope = (nodes.get(name, np.zeros(0)) for name in ("threshold", "fill", "slope"))
    sound = nodes.keys() == {"feature", "threshold", "left", "right", "offset", "slope", "fill", "root"}
    shapes = {array.shape for name, array in nodes.items() if name != "root"}
    if not sound or {threshold.dtype.str, fill.dtype.str} != {"<f4"} or len(shapes) != 1:
        raise ModelFormatError("its tensors are not those of weak rankers")
    if np.isnan(fill).any():
        raise ModelFormatError("it holds a number that is not finite")
    nodes["missing"] = np.where(fill > threshold, 0, TO_THE_LEFT).astype(np.int32)
    nodes |= {"value": nodes.pop("offset"), "gain": np.zeros(len(threshold))}
    if slope.any():
        return nodes | {"fill": np.where(nodes["left"] == LEAF, fill, np.float32(0))}
    return {name: tensor for name, tensor in nodes.items() if name not in LINES}


def _of_members(members: Sequence[object]) -> Tensors:
    """Return the tensors of all members, each under the member's number and kind."""
    return {
        f"{number}.{kind}.{name}": tensor
        for number, (kind, tensors) in enumerate(map(take_apart, members))
        for name, tensor in tensors.items()
    }


def _members_of(tensors: Tensors, n_features: int) -> list[Any]:
    """Return the members in their order; refuse names of another form, and missing numbers."""
    members: dict[tuple[str, str], Tensors] = {}
    for name, tensor in tensors.items():
        number, _, rest = name.partition(".")
        kind, _, inner = rest.partition(".")
        if kind not in (*SCORER_KINDS, ADDITIVE, STANDARDISED, SUM, *EARLY) or name.count(".") > DEEPEST:
            raise ModelFormatError(f"tensor {name!r} belongs to no member")
        members.setdefault((number, kind), {})[inner] = tensor
    numbers = [number for number, _ in members]
    if not members or sorted(numbers) != sorted(str(at) for at in range(len(members))):
        raise ModelFormatError(f"its members are numbered {sorted(numbers)}")
    ordered = sorted(members, key=lambda member: int(member[0]))
    return [put_together(member[1], members[member], n_features) for member in ordered]
