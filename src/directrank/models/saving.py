"""Saving a fitted ranker and getting it back, bit for bit."""

import os
from typing import Any

import numpy as np

from directrank.contracts import Measure
from directrank.errors import ModelFormatError
from directrank.models.container import damaged, read_container, write_container
from directrank.models.scorer_kinds import SCORER_KINDS, kind_of
from directrank.storage.strict_json import as_plain

FORMAT = 1
#: What a fit leaves behind beside the scorer; kept as JSON.
FITTED = ("status_", "certificate_", "history_", "message_", "selected_by_")
#: What a composed `Ranker` was made of; objects, which a data-only file cannot hold.
COMPOSED = ("surrogate", "solver", "scorer")


def save(ranker, path: str | os.PathLike) -> None:
    """Write a fitted ranker to one file, whole or not at all.

    The file is a safetensors file whose header says the class, the parameters, the names of features, how
    training ended and a checksum. It holds data only: loading it runs nothing. Of a composed `Ranker` it
    keeps the scorer and the selection measure, not the surrogate and the solver: what comes back predicts
    and scores, and needs those two to be fitted again.

    Parameters
    ----------
    ranker : Ranker
        A fitted estimator of this library.
    path : path
        The file; an existing one is replaced.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If it has not been fitted.
    TypeError
        If the class, a parameter or the scorer is not one that a file can hold.
    OSError
        If the file cannot be written.
    """
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(ranker, "scorer_")
    _known_class(type(ranker))
    kind = kind_of(ranker.scorer_)
    names = getattr(ranker, "feature_names_in_", None)
    description = {
        "format": FORMAT,
        "library": _library_version(),
        "class": type(ranker).__name__,
        "parameters": _parameters(ranker),
        "scorer": kind.name,
        "n_features": int(ranker.n_features_in_),
        "feature_names": None if names is None else [str(name) for name in names],
        "fitted": {name: _plain(getattr(ranker, name), name) for name in FITTED if hasattr(ranker, name)},
    }
    write_container(path, description, kind.take_apart(ranker.scorer_))


def load(path: str | os.PathLike):
    """Read a ranker that `save` wrote.

    Parameters
    ----------
    path : path

    Returns
    -------
    Ranker
        It predicts bit for bit as the one that was saved.

    Raises
    ------
    ModelFormatError
        If the file is not a model, was damaged, or comes from a later release; the message says what to do.
    OSError
        If the file cannot be read.
    """
    description, tensors = read_container(path)
    version = description.get("format")
    if version != FORMAT:
        raise ModelFormatError(
            f"{path}: the model has format {version}, this release of directrank reads format {FORMAT}; "
            f"it was written by directrank {description.get('library')}: install that release or a later one"
        )
    try:
        return _rebuild(description, tensors)
    except ModelFormatError as error:
        raise ModelFormatError(damaged(path, str(error))) from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelFormatError(damaged(path, f"its description is not complete ({error!r})")) from None


def _rebuild(description: dict[str, Any], tensors: dict[str, np.ndarray]):
    known = {each.__name__: each for each in _classes()}
    kinds = {kind.name: kind for kind in SCORER_KINDS}
    if description["class"] not in known:
        raise ModelFormatError(f"class {description['class']!r} is not one of {', '.join(known)}")
    kind = kinds.get(description["scorer"])
    if kind is None or sorted(tensors) != sorted(kind.tensors):
        raise ModelFormatError(
            f"scorer {description['scorer']!r} with tensors {sorted(tensors)} is not known"
        )
    n_features, names = description["n_features"], description["feature_names"]
    if not kind.fits(tensors, n_features) or (names is not None and len(names) != n_features):
        raise ModelFormatError(f"its tensors do not fit {n_features} features")
    if not all(np.isfinite(tensor).all() for tensor in tensors.values()):
        raise ModelFormatError("it holds a number that is not finite")
    ranker = known[description["class"]](**description["parameters"])
    ranker.scorer_ = kind.put_together(tensors)
    ranker.n_features_in_ = n_features
    if names is not None:
        ranker.feature_names_in_ = np.array(names, dtype=object)
    for name in FITTED:
        if name in description["fitted"]:
            setattr(ranker, name, description["fitted"][name])
    return ranker


def _classes() -> tuple[type, ...]:
    """Return the estimators that a file may name: the composed one and those of the registered methods."""
    from directrank.estimators import Ranker
    from directrank.estimators.methods import METHODS

    return tuple(dict.fromkeys([*(method.estimator for method in METHODS), Ranker]))


def _parameters(ranker) -> dict[str, Any]:
    parameters = ranker.get_params(deep=False)
    if all(name in parameters for name in COMPOSED):
        parameters.update(dict.fromkeys(COMPOSED), select_by=ranker.selected_by_)
    if not isinstance(parameters.get("weak_ranker", ""), str):
        # The scorer has the trees of the classifier; to be fitted again the ranker needs it anew.
        parameters["weak_ranker"] = None
    return {name: _plain(value, name) for name, value in parameters.items()}


def _known_class(ranker: type) -> None:
    if ranker not in _classes():
        known = ", ".join(each.__name__ for each in _classes())
        raise TypeError(f"a {ranker.__name__} cannot be saved; classes that can: {known}")


def _plain(value: Any, name: str) -> Any:
    """Return a value of parameters or history as JSON has it.

    Raises
    ------
    TypeError
        If it is an object that a data-only file cannot hold.
    """
    value = as_plain(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, list):
        return [_plain(each, name) for each in value]
    if isinstance(value, dict):
        return {key: _plain(each, name) for key, each in value.items()}
    # A generator of random numbers has done its work once the ranker is fitted.
    if isinstance(value, (np.random.Generator, np.random.RandomState)):
        return None
    # A ranker from which training started stands for its coefficients.
    if hasattr(value, "scorer_"):
        return _plain(value.scorer_.coefficients, name)
    # A measure is saved by its name, which the estimator reads as well.
    if isinstance(value, Measure):
        return value.name
    raise TypeError(f"{name}={value!r} cannot be saved: use a number, a text or the name of a measure")


def _library_version() -> str:
    from directrank import __version__

    return __version__
