"""The winner of a comparison, chosen on validation, and the command that trains and saves it."""

import shlex
import statistics
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from directrank.data.files.options import MISSING
from directrank.estimators.methods import METHODS
from directrank.measures import DEFAULT_MEASURE
from directrank.storage.strict_json import dump

if TYPE_CHECKING:
    from directrank.experiments.results import Comparison


class Winner(NamedTuple):
    """The method of directrank with the highest mean validation value over folds.

    Attributes
    ----------
    label : str
    parameters : dict
        The point of its grid with the highest mean validation value over folds and seeds, and settings.
    command : str
        The line that trains it at this point on the data of the comparison, and saves it; "" where the data
        are no file.
    """

    label: str
    parameters: dict[str, Any]
    command: str


def winner(result: "Comparison") -> Winner | None:
    """Return the winner; None if no method of directrank has a validation value on every fold."""
    known = {method.name: method for method in METHODS}
    means = {}
    for described in result.summary["methods"]:
        cells = [cell for cell in result.cells if cell["method"] == described["label"]]
        values: list[Any] = [cell.get("validation") for cell in cells]
        if described["name"] in known and None not in values:
            means[described["label"]] = statistics.fmean(values)
    if not means:
        return None
    label = max(means, key=lambda each: means[each])
    name = next(each["name"] for each in result.summary["methods"] if each["label"] == label)
    declared = known[name].estimator().get_params(deep=False)
    settings = sorted(result.summary["settings"].items(), key=lambda each: "." in each[0])
    parameters = {
        key.rpartition(".")[2]: value
        for key, value in settings
        if key.rpartition(".")[0] in ("", label, name) and key.rpartition(".")[2] in declared
    }
    parameters |= _best_point(result, label)
    return Winner(label, parameters, _command(result, label, parameters))


def _best_point(result: "Comparison", label: str) -> dict[str, Any]:
    values, points = defaultdict(list), {}
    for fold in result.folds:
        for fit in result.cell(label, fold)["tried"]:
            key = dump(fit["parameters"])
            points[key] = fit["parameters"]
            values[key].append(fit["validation"])
    return points[max(values, key=lambda key: statistics.fmean(values[key]))]


def _command(result: "Comparison", label: str, parameters: dict[str, Any]) -> str:
    summary = result.summary
    files = summary["folds"][0]["files"]
    if len(files.get("train", ())) != 1 or len(files["vali"]) != 1:
        return ""
    (train,), (vali,) = files["train"], files["vali"]
    words = ["directrank", "fit", label, train]
    # Random folds share one file, and the model is trained on all of it.
    words += [] if vali == train else ["--valid", vali]
    words += [] if summary["select_by"] == DEFAULT_MEASURE else ["--select-by", summary["select_by"]]
    for name, value in parameters.items():
        words += ["--set", f"{name}={_typed(value)}"]
    for role, columns in summary["columns"].items():
        words += [f"--{role}", columns if isinstance(columns, str) else ",".join(columns)]
    words += [] if summary["missing"] == MISSING else ["--missing", str(summary["missing"])]
    words += [] if summary["seed"] == 0 else ["--seed", str(summary["seed"])]
    return shlex.join([*words, "-o", "model.dr"])


def _typed(value: Any) -> str:
    """Return a value as the command line reads it."""
    if isinstance(value, list | tuple):
        return ",".join(map(_typed, value))
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)
