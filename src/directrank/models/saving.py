"""Saving a fitted ranker, and loading it bit for bit."""

import os
from copy import copy
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from directrank import estimators
from directrank.contracts import Solver, Surrogate
from directrank.errors import ModelFormatError
from directrank.estimators.parameters import parameters_of
from directrank.estimators.ranker import Ranker
from directrank.estimators.sklearn_interface import check_fitted, is_classifier
from directrank.models.container import damaged, read_container, write_container
from directrank.models.state import plain, set_state, state_of
from directrank.models.weights import LARGEST, SignalWeights
from directrank.registries import BUNDLED, bundled
from directrank.scorers import LINEAR, SCORERS, Linear, QueryLinear
from directrank.storage.strict_json import JSONObject

#: Parameters of earlier releases that nothing reads: which library grew the trees.
FORMER = ("engine",)
#: Scaled units from 0 at which float32 leaves three digits of a raw feature's deviation.
FARTHEST = 2.0**14
#: Classes of scikit-learn that scale features by a straight line.
SCALERS = ("MaxAbsScaler", "MinMaxScaler", "RobustScaler", "StandardScaler")


def save(ranker: Any, path: str | os.PathLike) -> None:
    """Write a fitted ranker to one file; a failure leaves no partial file.

    The file is a safetensors file whose header says the class, the parameters, the names of features, how
    training ended and a checksum. It holds data only: loading it runs no code. Of a composed `Ranker` the
    file holds the scorer, not the surrogate and the solver: the loaded ranker predicts and scores, and needs
    these two to be fitted again. A ranker of a class of your own is saved as a `Ranker` with its scorer, and
    its message says so: whoever loads it does not need the class.

    Parameters
    ----------
    ranker : Ranker
        A fitted estimator of this library; or a scikit-learn `Pipeline` of scalers and a linear ranker, of
        which one ranker of raw features is saved (`folded`). Of a search, save its ``best_estimator_``.
    path : path
        The file; an existing one is replaced, and keeps its permissions.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If it has not been fitted.
    TypeError
        If the class, a parameter or the scorer is not one that a file can hold, or a step of a pipeline
        cannot be folded into its ranker.
    ValueError
        If the model is larger than `load` reads: 1 GiB, or 16 MiB of names and history.
    OSError
        If the file cannot be written.
    """
    ranker = folded(ranker) if hasattr(ranker, "steps") else ranker
    _check_class(ranker)
    check_fitted(ranker)
    state, tensors = state_of(ranker)
    description = {
        "class": "Ranker" if saved_as_ranker(ranker) else type(ranker).__name__,
        "parameters": _parameters(ranker),
        **state,
    }
    note = saved_as_ranker(ranker)
    if note:
        message = description["fitted"].get("message_", "")
        description["fitted"]["message_"] = "; ".join(filter(None, (message, note)))
    write_container(path, description, tensors)


def load(path: str | os.PathLike, *, rounds: int | None = None) -> Ranker:
    """Read a ranker that `save` wrote, weights of signals, or a model of LightGBM, XGBoost or RankLib.

    The models of these libraries are read and scored by directrank alone; the ranker can be saved again.

    Parameters
    ----------
    path : path
        A model of `save`, JSON of `SignalWeights`, LightGBM's model text, XGBoost's JSON or UBJSON, or
        RankLib's text.
    rounds : int, optional
        Use only the first rounds of a library's model. By default those up to the best round, if XGBoost
        stopped early, as `XGBRanker.predict` does; or all.

    Returns
    -------
    Ranker
        It predicts bit for bit as the one that was saved. The scores of a library's model are those of its
        ``predict`` before any transformation, such as to probabilities; ``message_`` says of which rounds.

    Raises
    ------
    ModelFormatError
        If the file is not a model, was damaged, or comes from a later release; the message says what to do.
    ValueError
        If the model has not so many rounds, or is one of `save`.
    OSError
        If the file cannot be read.
    """
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise TypeError(_saved_first(path))
    if (weights := _weights(Path(path))) is not None:
        return weights.ranker()
    for read in bundled("models"):
        if (model := read(path, rounds)) is not None:
            return model
    if rounds is not None:
        raise ValueError(
            f"rounds={rounds}: {path} is no model of another library; directrank's have no rounds"
        )
    description, tensors = read_container(path)
    if description.get("class") == "Fusion":
        raise ModelFormatError(
            f"{path}: a fusion of runs, not a ranker; `directrank fuse RUN… --model {path}` applies it, in "
            "Python Fusion.load"
        )
    try:
        kind, saved = _class_of(description["class"]), description["parameters"].items()
        parameters = {name: value for name, value in saved if name not in FORMER}
        return set_state(kind(**parameters), description, tensors)
    except ModelFormatError as error:
        raise ModelFormatError(damaged(path, str(error))) from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelFormatError(damaged(path, f"its description is not complete ({error!r})")) from None


def _saved_first(thing: object) -> str:
    """Return how a file is made of what `load` was given in place of a path."""
    kind, library = type(thing).__name__, type(thing).__module__.partition(".")[0]
    booster = ".booster_" if library == "lightgbm" and hasattr(thing, "booster_") else ""
    ending = {"lightgbm": "model.txt", "xgboost": "model.json"}.get(library)
    how = "" if ending is None else f": write one by {booster}.save_model({ending!r})".replace("..", ".")
    if isinstance(thing, Ranker):
        how = ": it is a ranker already"
    return f"load takes the path of a file, not {kind}{how}"


def _modules() -> dict[str, str]:
    """Return the modules of the public estimators by name, which a file may have."""
    plugins = {name: module for module, names in BUNDLED["methods"].items() for name in names.split()}
    return dict.fromkeys(estimators.__all__, "directrank.estimators") | plugins


def _class_of(name: str) -> type:
    """Return the estimator of that name: public, or of a method in the tables; no other is imported."""
    modules = _modules()
    if name in modules:
        return getattr(import_module(modules[name]), name)
    from directrank.estimators import methods  # It imports every method.

    classes = {method.estimator.__name__: method.estimator for method in methods.METHODS}
    if name not in classes:
        raise ModelFormatError(f"class {name!r} is not one of {', '.join({**modules, **classes})}")
    return classes[name]


def saved_as_ranker(ranker) -> str:
    """Return what to say of a ranker of a custom class, which is saved as a `Ranker`; "" of others."""
    try:
        if _class_of(type(ranker).__name__) is type(ranker):
            return ""
    except ModelFormatError:  # It has no public name.
        pass
    return (
        f"saved as Ranker: {type(ranker).__name__} is not a class of directrank; the model predicts "
        "without it, and cannot be fitted again"
    )


def folded(pipeline) -> Ranker:
    """Return one ranker of raw features that ranks as a fitted pipeline of scalers and a linear ranker does.

    Its scores differ from the pipeline's by a constant, and by the rounding of raw features to float32.

    Raises
    ------
    TypeError
        If a step is not StandardScaler, MinMaxScaler, MaxAbsScaler or RobustScaler; if the ranker has
        no linear scorer, or takes logarithms of what is scaled.
    ValueError
        If a feature is so far from 0, in its scaled unit, that float32 would lose the digits that matter.
    """
    *steps, (_, last) = pipeline.steps
    steps = [step for _, step in steps if step not in (None, "passthrough")]
    _check_class(last)
    check_fitted(last)
    if not steps:
        return last
    scorer, name = last.scorer_, type(last).__name__
    if not isinstance(scorer, LINEAR):
        raise TypeError(
            f"a pipeline with {scorer!r} cannot be saved: only linear scorers take up a scaling, and {name} "
            "ranks alike without one: fit and save it alone"
        )
    if getattr(scorer, "logarithm", np.zeros(1)).any():
        raise TypeError(
            f"{name} takes logarithms of scaled features, which cannot be folded: set scaling='standard' in "
            "it, or leave the scaling to it alone (scaling='auto')"
        )
    factor, offset = np.ones(last.n_features_in_), np.zeros(last.n_features_in_)
    for step in steps:
        a, b = _straight(step)
        factor, offset = a * factor, a * offset + b
    farthest = int(np.argmax(np.abs(offset)))
    if abs(offset[farthest]) > FARTHEST:
        raise ValueError(
            f"feature {farthest} is {abs(offset[farthest]):.3g} scaled units from 0: raw features are read "
            "in float32, whose rounding would show; subtract a constant from it before the pipeline"
        )
    ranker = copy(last)
    # Ranges inside queries are the same before and after a scaling.
    if type(scorer) is not QueryLinear:
        fill = None if scorer.fill is None else ((scorer.fill - offset) / factor).astype(np.float32)
        ranker.scorer_ = Linear(np.asarray(scorer.coefficients) * factor, fill)
        ranker.feature_deviations_ = last.feature_deviations_ / factor
    folded_in = ", ".join(type(step).__name__ for step in steps)
    ranker.message_ = f"{last.message_}; {folded_in} folded into the coefficients"
    if hasattr(steps[0], "feature_names_in_"):
        ranker.feature_names_in_ = steps[0].feature_names_in_
    return ranker


def _straight(step) -> tuple[np.ndarray, np.ndarray | float]:
    """Return a and b of a fitted scaler x → a x + b."""
    kind, clip = type(step).__name__, getattr(step, "clip", False)
    if clip or kind not in SCALERS or not type(step).__module__.startswith("sklearn."):
        raise TypeError(
            f"a pipeline with {kind}{'(clip=True)' * clip} cannot be saved: of its steps "
            "StandardScaler, MinMaxScaler, MaxAbsScaler and RobustScaler are folded into the ranker; "
            "or apply the steps yourself, and save(pipeline[-1], path)"
        )
    if kind == "MinMaxScaler":
        return step.scale_, step.min_
    scaled = step.with_std if kind == "StandardScaler" else getattr(step, "with_scaling", True)
    centred = step.with_mean if kind == "StandardScaler" else getattr(step, "with_centering", False)
    a = 1.0 / step.scale_ if scaled else np.ones(step.n_features_in_)
    return a, -a * (step.mean_ if kind == "StandardScaler" else step.center_) if centred else 0.0


def _check_class(ranker) -> None:
    name = type(ranker).__name__
    if hasattr(ranker, "best_estimator_"):
        raise TypeError(f"a {name} cannot be saved, the ranker in it can: save(search.best_estimator_, path)")
    if not isinstance(ranker, Ranker):
        class_names = ", ".join(_modules())
        other_save = "; it has its own save(path)" * hasattr(ranker, "save")
        raise TypeError(f"a {name} cannot be saved here{other_save}; classes that can: {class_names}")


def _parameters(ranker) -> JSONObject:
    parameters = ranker.get_params(deep=False)
    if saved_as_ranker(ranker):
        shared = {*parameters_of(Ranker), "scaling"} & parameters.keys()
        parameters = {**Ranker().get_params(deep=False), **{name: parameters[name] for name in shared}}
    return {
        name: None if _is_of_training(value) else plain(value, name) for name, value in parameters.items()
    }


def _is_of_training(value: object) -> bool:
    """Whether the value of a parameter is an object that only training reads, which data cannot stand for."""
    if isinstance(value, (list, tuple)):
        return bool(value) and all(isinstance(item, Ranker) for item in value)
    # The trees of a weak ranker that is a classifier are in the scorer.
    return isinstance(value, (Surrogate, Solver, *SCORERS)) or is_classifier(value)


def _weights(path: Path) -> SignalWeights | None:
    if not path.is_file():
        return None
    with path.open("rb") as file:
        start = file.read(LARGEST)
    try:
        return SignalWeights.of_json(start) if start.lstrip().startswith(b"{") else None
    except ModelFormatError as error:
        raise ModelFormatError(f"{path}: {error}") from None
