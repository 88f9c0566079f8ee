"""The scorers that a model file can hold, as named tensors."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from directrank.errors import ModelFormatError
from directrank.scorers import Additive, Linear, LogLinear, QueryLinear, StandardisedMean, Sum, Trees
from directrank.scorers.set_trees import SETS, SetTrees, are_set_trees
from directrank.scorers.trees import NODES, WEAK_NODES, are_trees, are_weak_rankers

Tensors = dict[str, np.ndarray]


def _linear_fits(tensors: Tensors, n_features: int) -> bool:
    coefficients = tensors["coefficients"]
    fill = tensors.get("fill", np.zeros(n_features, np.float32))
    filling = fill.dtype == np.float32 and fill.shape == (n_features,) and bool(np.isfinite(fill).all())
    return filling and coefficients.dtype == np.float64 and coefficients.shape == (n_features,)


def _log_linear_fits(tensors: Tensors, n_features: int) -> bool:
    logarithm = tensors["logarithm"]
    flags = logarithm.dtype == np.bool_ and logarithm.shape == (n_features,)
    return flags and _linear_fits(tensors, n_features)


#: What stands for missing values, and the training documents of nodes: files of early releases have neither.
OPTIONAL = FILL, COVER = "fill", "cover"

#: Every kind of scorer that can be saved, by its name in the file, which never changes: the class, the
#: attributes that hold its arrays, and the check whether loaded arrays are a scorer of so many features.
SCORER_KINDS = {
    "linear": (Linear, ("coefficients",), _linear_fits),
    "log-linear": (LogLinear, ("coefficients", "logarithm"), _log_linear_fits),
    "query-linear": (QueryLinear, ("coefficients",), _linear_fits),
    "additive": (Additive, ("coefficients", "root", *WEAK_NODES), are_weak_rankers),
    "trees": (Trees, ("root", *NODES), are_trees),
    "set-trees": (SetTrees, ("root", *NODES, *SETS), are_set_trees),
}


#: The kinds of which a scorer is made of others; their tensors are called ``0.linear.coefficients`` and so
#: on. A sum also has its weights.
# Files say "committee", the name of `StandardisedMean` in earlier builds.
STANDARDISED, SUM, WEIGHTS = "committee", "sum", "weights"
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
    for weak in getattr(scorer, "others", {}).values():
        name = type(getattr(weak, "classifier", weak)).__name__
        raise TypeError(
            f"a ranker over {name} weak rankers cannot be saved: a model holds trees and single features. "
            "Use stumps or a DecisionTreeClassifier."
        )
    for name, (kind, tensors, _) in SCORER_KINDS.items():
        if type(scorer) is kind:
            names = dict.fromkeys((*tensors, *(o for o in OPTIONAL if getattr(scorer, o, None) is not None)))
            return name, {attribute: np.ascontiguousarray(getattr(scorer, attribute)) for attribute in names}
    kinds = ", ".join(kind.__name__ for kind, *_ in SCORER_KINDS.values())
    raise TypeError(f"a {type(scorer).__name__} scorer cannot be saved; those that can: {kinds}")


def put_together(name: str, tensors: Tensors, n_features: int) -> Any:
    """Return the scorer of a kind and its tensors.

    Raises
    ------
    ModelFormatError
        If there is no such kind, or the tensors are not a scorer of that many features.
    """
    if name == STANDARDISED:
        return StandardisedMean(_members_of(tensors, n_features))
    if name == SUM:
        weights = tensors.pop(WEIGHTS)
        terms = _members_of(tensors, n_features)
        if weights.dtype != np.float64 or weights.shape != (len(terms),) or not np.isfinite(weights).all():
            raise ModelFormatError(f"its weights do not fit {len(terms)} terms")
        return Sum(terms, weights)
    if name not in SCORER_KINDS or {*tensors, *OPTIONAL} != {*SCORER_KINDS[name][1], *OPTIONAL}:
        raise ModelFormatError(f"scorer {name!r} with tensors {sorted(tensors)} is not known")
    kind, _, fits = SCORER_KINDS[name]
    if not fits(tensors, n_features):
        raise ModelFormatError(f"its tensors do not fit {n_features} features")
    if not all(np.isfinite(tensor).all() for tensor_name, tensor in tensors.items() if tensor_name != FILL):
        raise ModelFormatError("it holds a number that is not finite")
    return kind(**tensors)


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
        if kind not in (*SCORER_KINDS, STANDARDISED, SUM) or name.count(".") > DEEPEST:
            raise ModelFormatError(f"tensor {name!r} belongs to no member")
        members.setdefault((number, kind), {})[inner] = tensor
    numbers = [number for number, _ in members]
    if not members or sorted(numbers) != sorted(str(at) for at in range(len(members))):
        raise ModelFormatError(f"its members are numbered {sorted(numbers)}")
    ordered = sorted(members, key=lambda member: int(member[0]))
    return [put_together(member[1], members[member], n_features) for member in ordered]
