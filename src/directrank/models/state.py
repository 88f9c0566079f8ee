"""What a fit set, as data: a description, and arrays by name. Model files and comparisons keep it so."""

from typing import Any

import numpy as np

from directrank.contracts import Measure
from directrank.data.encoding import Encoding, Places
from directrank.data.reading_record import ReadingRecord
from directrank.errors import ModelFormatError
from directrank.estimators.fitted import names_in_form
from directrank.models.scorer_kinds import Tensors, put_together, take_apart
from directrank.storage.strict_json import JSONObject, Plain, as_plain

#: The key of categorical columns in a description, by the class of their encoding.
CATEGORIES = {"categories": Encoding, "places": Places}
#: Fitted attributes that are values, and those that are arrays, beside the tensors of the scorer.
VALUES, ARRAYS = names_in_form("value"), names_in_form("array")


def state_of(ranker: Any) -> tuple[JSONObject, Tensors]:
    """Return what the fit of a ranker set: a description as JSON has it, and arrays by name.

    Raises
    ------
    TypeError
        If the scorer or a value is not one that a file can hold.
    """
    kind, tensors = take_apart(ranker.scorer_)
    tensors |= {name.rstrip("_"): getattr(ranker, name) for name in ARRAYS if hasattr(ranker, name)}
    names = getattr(ranker, "feature_names_in_", None)
    encoding, reading = getattr(ranker, "encoding_", None), getattr(ranker, "reading_", None)
    recorded = reading.to_dict() if reading else {}
    key = "places" if isinstance(encoding, Places) else "categories"
    return {
        "scorer": kind,
        "n_features": int(ranker.n_features_in_),
        "feature_names": None if names is None else [str(name) for name in names],
        **({} if encoding is None else {key: {k: list(v) for k, v in encoding.values.items()}}),
        **({} if not recorded else {"reading": recorded}),
        "fitted": {name: plain(getattr(ranker, name), name) for name in VALUES if hasattr(ranker, name)},
    }, tensors


def set_state(ranker: Any, description: JSONObject, tensors: Tensors) -> Any:
    """Set what the fit of a ranker set, of which `state_of` made this description and arrays; return it.

    Raises
    ------
    ModelFormatError, KeyError, TypeError, ValueError, AttributeError
        If the description or the arrays are not those of a fit.
    """
    n_features, names = description["n_features"], description["feature_names"]
    if type(n_features) is not int or not (names is None or _are_names(names, n_features)):
        raise ModelFormatError(f"its names of features do not fit {n_features} features")
    ranker.n_features_in_ = n_features
    for key, kind in CATEGORIES.items():
        if key in description:
            ranker.encoding_ = kind.read(names or (), description[key])
            n_features = len(ranker.encoding_.feature_names)
    if "reading" in description:
        ranker.reading_ = ReadingRecord.read(description["reading"])
    for name in ARRAYS:
        array = tensors.pop(name.rstrip("_"), None)
        if array is not None:
            if array.dtype != np.float64 or array.shape != (n_features,) or not (array >= 0).all():
                raise ModelFormatError(f"its deviations do not fit {n_features} features")
            setattr(ranker, name, array)
    ranker.scorer_ = put_together(description["scorer"], tensors, n_features)
    if names is not None:
        ranker.feature_names_in_ = np.array(names, dtype=object)
    for name in description["fitted"].keys() & VALUES:
        setattr(ranker, name, description["fitted"][name])
    return ranker


def _are_names(names: Any, n_features: int) -> bool:
    texts = isinstance(names, list) and all(isinstance(name, str) for name in names)
    return texts and len(names) == len(set(names)) == n_features


def plain(value: Any, name: str) -> Plain:
    """Return a value of parameters or history as JSON has it; raise `TypeError` for what is not data."""

    def convert(item: Any) -> Plain:
        if item is None or isinstance(item, (bool, int, float, str)):
            return item
        # A fitted ranker no longer needs its generator of random numbers.
        if isinstance(item, (np.random.Generator, np.random.RandomState)):
            return None
        # A ranker from which training started is replaced by its coefficients; its trees are in the model.
        if hasattr(item, "scorer_"):
            return as_plain(getattr(item.scorer_, "coefficients", None))
        # Estimators also accept the name of a measure.
        if isinstance(item, Measure):
            return item.name
        raise TypeError(f"{name}={item!r} cannot be saved: use a number, a text or the name of a measure")

    return as_plain(value, convert)
