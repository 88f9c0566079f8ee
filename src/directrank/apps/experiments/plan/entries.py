"""The methods of a comparison: what names and objects stand for, with the settings that replace theirs."""

import re
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from directrank.apps.experiments.plan.entry import Entry, MethodEntry
from directrank.apps.experiments.plan.external_estimators import (
    ROUNDS,
    CatBoost,
    External,
    ExternalEstimator,
    LightGBM,
    XGBoost,
    has_methods,
    is_estimator,
)
from directrank.apps.experiments.plan.run_files import RunFiles
from directrank.apps.experiments.store.identity import is_installed
from directrank.errors import of_option
from directrank.estimators.methods import Configured, configured
from directrank.estimators.parameters import Grid, Parameters, unknown_parameter
from directrank.estimators.ranker import Ranker
from directrank.estimators.synonyms import near_name
from directrank.measures import DEFAULT_MEASURE
from directrank.measures.names import split_specs
from directrank.storage.names import printable

# One step size each, small enough for early stopping to find a good number of rounds; columns are drawn at
# random, as these libraries are mostly used. What limits the size of a tree is chosen.
_STEPS = {"n_estimators": ROUNDS, "learning_rate": 0.05, "colsample_bytree": 0.8}
_LEAVES = {"num_leaves": (7, 15, 31), "min_child_samples": (20, 100)}
_DEPTHS = {"max_depth": (3, 5, 7), "min_child_weight": (0.1, 1.0)}
_LEVELS = {"depth": (4, 6), "l2_leaf_reg": (3.0, 30.0)}
_BURGES, _CATBOOST = "Burges, MSR-TR-2010-82", "Gulin, Kuralenok, Pavlov, ICML 2011 workshop"

#: Every library of trees with a name, in the order of printing; its library is imported when it is used.
EXTERNAL = (
    LightGBM(
        "lightgbm:lambdarank", "lambdarank", grid=_LEAVES, fixed=_STEPS,
        summary="LightGBM's LambdaMART, stopped early", paper=_BURGES,
    ),
    LightGBM(
        "lightgbm:rank_xendcg", "rank_xendcg", grid=_LEAVES, fixed=_STEPS,
        summary="LightGBM's trees on the cross entropy of Bruch, stopped early", paper="Bruch, WWW 2021",
    ),
    XGBoost(
        "xgboost:rank:ndcg", "rank:ndcg", grid=_DEPTHS, fixed=_STEPS,
        summary="XGBoost's LambdaMART for nDCG, stopped early", paper=_BURGES,
    ),
    XGBoost(
        "xgboost:rank:map", "rank:map", grid=_DEPTHS, fixed=_STEPS,
        summary="XGBoost's LambdaMART for AP, relevant from grade 1, stopped early", paper=_BURGES,
    ),
    CatBoost(
        "catboost:YetiRank", "YetiRank", grid=_LEVELS, fixed={"iterations": 300, "learning_rate": 0.1},
        summary="CatBoost's trees on noisy rankings, stopped early", paper=_CATBOOST,
    ),
)  # fmt: skip
#: Forms of names that stand for any class, or any folder.
FORMS = {
    "sklearn:MODULE.CLASS": "an estimator with fit and predict of an installed package",
    "runs:NAME=FOLDER": "rankings made elsewhere: a file of scores or a TREC run for each fold",
}
_SOURCE = re.compile(r"\s*(lightgbm|xgboost|catboost|sklearn|runs):", re.I)


def methods_of(spec: Any, select_by: Any = DEFAULT_MEASURE) -> list[Entry]:
    """Return the methods that a list stands for: names with commas, or a sequence of names and objects.

    ``all`` stands for directrank's own methods. An object with `fit` and `predict` is an external
    estimator called as its class. What is unknown or no method, or whose library is not installed, is a
    `ValueError`.
    """
    if isinstance(spec, str):
        pieces = split_specs(spec)
    else:
        pieces = [spec] if isinstance(spec, Entry | Configured) or is_estimator(spec) else list(spec)
    if not pieces:
        configured([], select_by)  # raises the error about an empty list
    typed = {piece.strip().lower() for piece in pieces if isinstance(piece, str)}
    missing = [external for external in EXTERNAL if external.name.lower() in typed and external.install]
    if len(missing) > 1:
        commands = dict.fromkeys(f"{external.name} ({external.install})" for external in missing)
        raise ValueError(f"not installed: {', '.join(commands)}")
    return [method for piece in pieces for method in _methods(piece, select_by)]


def external_of(piece: str) -> External:
    """Return that of a name, such as ``lightgbm:lambdarank``, ``sklearn:…`` or ``runs:NAME=FOLDER``.

    A name that stands for none, or for one that cannot be imported, is a `ValueError`.
    """
    source, _, rest = piece.strip().partition(":")
    if source.lower() == "runs":
        label, equals, folder = (word.strip() for word in rest.partition("="))
        folder = folder[1:-1] if folder[:1] in ("'", '"') and folder[-1:] == folder[:1] else folder
        if not (label and equals and folder):
            raise ValueError(f"{piece}: expected runs:NAME=FOLDER, such as runs:bm25=runs/bm25")
        path, printed = Path(folder), printable(folder)
        if not path.exists():
            raise ValueError(f"{piece}: there is no folder {printed}")
        return RunFiles(label, path, name=piece, summary=f"rankings made elsewhere: {printed}")
    if source.lower() == "sklearn":
        return _installed(piece.strip(), rest.strip())
    matches = [external for external in EXTERNAL if external.name.lower() == piece.strip().lower()]
    if not matches:
        names = ", ".join(external.name for external in EXTERNAL)
        raise ValueError(f"no method is called {piece!r}; there are {names}")
    if matches[0].install:
        raise ValueError(f"{matches[0].name} needs {matches[0].library}: {matches[0].install}")
    return matches[0]


def _methods(piece: Any, select_by: Any) -> Sequence[Entry]:
    if isinstance(piece, External):
        return [piece]
    if isinstance(piece, str) and _SOURCE.match(piece):
        return [external_of(piece)]
    if not isinstance(piece, str | Ranker) and is_estimator(piece):
        return [ExternalEstimator(type(piece).__name__, piece)]
    try:
        chosen = configured("all" if isinstance(piece, str) and piece == "all" else [piece], select_by)
    except TypeError:
        text = f"the class {piece.__name__}" if isinstance(piece, type) else repr(piece)[:60]
        expected = "expected a name, or an object with fit and predict"
        raise ValueError(f"{text} is no method of a comparison: {expected}") from None
    return list(map(MethodEntry.of, chosen))


def _installed(piece: str, dotted: str) -> ExternalEstimator:
    """Return an estimator of an installed package; nothing but its module is imported."""
    module, _, name = dotted.rpartition(".")
    if not module or not all(word.isidentifier() for word in dotted.split(".")):
        raise ValueError(f"{piece}: expected sklearn:MODULE.CLASS, such as sklearn:sklearn.svm.LinearSVR")
    if not is_installed(module):
        raise ValueError(f"{piece}: {module} is not of an installed package; from Python, pass an object")
    try:
        cls = getattr(import_module(module), name, None)
    except ImportError as error:
        raise ValueError(f"{piece}: {error}") from None
    if not isinstance(cls, type) or not has_methods(cls):
        raise ValueError(f"{piece}: {dotted} is no class with methods fit and predict")
    try:
        estimator = cls()
    except TypeError as error:
        raise ValueError(f"{piece}: {error}; from Python, pass an object") from None
    return ExternalEstimator(name, estimator, name=piece)


AnyEntry = TypeVar("AnyEntry", bound=Entry)

#: Constructor parameters that a comparison sets itself, and the remedy.
SET_ELSEWHERE = {
    "measure": "write the measure in brackets after the name of the method, as in adarank(AP)",
    "select_by": "use --select-by (select_by= in Python)",
    "random_state": "use --seed (seed= in Python)",
}


def overridden(methods: Sequence[AnyEntry], settings: Parameters, grids: Grid) -> list[AnyEntry]:
    """Return methods with some of their parameters fixed, and with other grids.

    A key is a parameter, such as ``penalty``, for all methods that have it; or a method and its parameter,
    such as ``ranksvm.penalty``, which takes precedence. A parameter that is set leaves the grid. One that no
    method has, or that does not take a value, is a `ValueError`.
    """
    changed = list(methods)
    for option, changes in (("settings", settings), ("grids", grids)):
        for key in sorted(changes, key=lambda key: "." in key):
            with of_option(option, key):
                changed = _changed(changed, key, changes[key], in_grid=option == "grids")
    return changed


def _changed(methods: Sequence[AnyEntry], key: str, value: object, *, in_grid: bool) -> list[AnyEntry]:
    prefix, _, parameter = key.rpartition(".")
    chosen = methods_by_name(methods, prefix) if prefix else methods
    ours = {method.label: method.parameter_called(parameter) for method in chosen}
    for name in (parameter, *ours.values()):
        if name in SET_ELSEWHERE:
            raise ValueError(f"{parameter} cannot be set here; {SET_ELSEWHERE[name]}")
    if not any(ours.values()):
        raise ValueError(_unknown(parameter, chosen))
    return [
        _with(method, name, value, in_grid) if (name := ours.get(method.label)) else method
        for method in methods
    ]


def _with(chosen: AnyEntry, parameter: str, value: Any, in_grid: bool) -> AnyEntry:
    values = tuple(value) if in_grid else (value,)
    if not values:
        raise ValueError("a grid needs one value or more")
    for candidate in values:
        chosen.check_value(parameter, candidate)
    fixed, grid = dict(chosen.method.fixed), dict(chosen.method.grid)
    if in_grid:
        fixed.pop(parameter, None)
        grid[parameter] = values
    else:
        grid.pop(parameter, None)
        fixed[parameter] = value
    return chosen.changed(fixed, grid)


def methods_by_name(methods: Sequence[Entry], name: str) -> list[Entry]:
    """Return those of some methods that a label, or a name, stands for; a `ValueError` if none is."""
    chosen = [method for method in methods if name in method.names]
    if not chosen:
        (wanted,) = methods_of([name], getattr(methods[0], "select_by", DEFAULT_MEASURE))
        chosen = [method for method in methods if method.label == wanted.label] or [
            method for method in methods if "(" not in name and method.method.name == wanted.method.name
        ]
    if not chosen:
        raise ValueError(f"{name} is not one of the methods: {', '.join(method.label for method in methods)}")
    return chosen


def _unknown(parameter: str, methods: Sequence[Entry]) -> str:
    if len(methods) == 1 and isinstance(methods[0], MethodEntry):
        (method,) = methods
        names = [name for name in method.parameters() if name not in SET_ELSEWHERE]
        return unknown_parameter(parameter, names, method.method.estimator, method.method.name)
    parameters = dict.fromkeys(
        name for method in methods for name in method.parameters() if name not in SET_ELSEWHERE
    )
    near = near_name(parameter, parameters) or next(iter(get_close_matches(parameter, parameters, 1)), None)
    advice = f"did you mean {near}? " if near else ""
    who = f"{methods[0].method.name} has no" if len(methods) == 1 else "no method has a"
    return f"{who} parameter {parameter!r}; {advice}known: {', '.join(parameters)}"
