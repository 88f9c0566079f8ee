"""One fit of a comparison: a method at a point of its grid, from training and validation set alone."""

import base64
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from directrank.contracts import Measure
from directrank.data import QueryGroups
from directrank.estimators.methods import Configured
from directrank.estimators.outcome import remedy
from directrank.experiments.identity import shown
from directrank.experiments.records import DIED, FAILED_FIT, FIT, TRAINED, either, fields, fits
from directrank.experiments.rivals import AnyMethod, Learned, Rival, Task
from directrank.experiments.sources import FoldReader, joined
from directrank.features.shards import processors
from directrank.measures import evaluate, mean_value, parse_measure
from directrank.measures.evaluation.arguments import checked_scores
from directrank.measures.naming.names import name_of
from directrank.models.scorer_kinds import put_together, take_apart
from directrank.storage.names import printable
from directrank.storage.strict_json import as_plain
from directrank.timing import seconds_of_work

if TYPE_CHECKING:
    from directrank.experiments.plan import Fit

#: The record has at most this many rows of a training history.
MOST_ROWS = 200
#: The kind of scorer of a record that has scores of documents instead: of a rival no model is stored.
SCORES = "scores"


def fit_point(
    train: QueryGroups, vali: QueryGroups, test: QueryGroups | None, fit: "Fit", select_by: Measure,
    n_threads: int | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Train a method at a point of its grid, and measure it on the validation set.

    The relevance of the test set is not an argument, so no fit can depend on it.

    Parameters
    ----------
    train, vali : QueryGroups
        A last fit is on both together, and has no validation value.
    test : QueryGroups, optional
        Without relevance; only rivals need it, whose scores are stored.
    fit : Fit
        The method, its point and the seed.
    select_by : Measure
        That of the validation value, in the standard convention.
    n_threads : int, optional
        All processors by default.

    Returns
    -------
    dict
        Plain values: ``validation`` and its measure ``validated_by``, ``seconds``, the end and the history of
        training, ``scorer``, ``warnings`` with their counts; or ``error``.
    """
    if isinstance(fit.method, Rival):
        found = attempted(lambda: _rival_fitted(train, vali, test, fit, select_by, n_threads))
    elif fit.is_last:
        found = attempted(lambda: _fitted(joined((train, vali)), None, fit, select_by, n_threads))
    else:
        found = attempted(lambda: _fitted(train, vali, fit, select_by, n_threads))
    return {"parameters": shown(fit.point), "seed": fit.seed, **found}


def judged(record: dict[str, Any], fit: "Fit", reader: FoldReader, select_by: Measure) -> dict[str, Any]:
    """Return the record of a fit with the validation value of this measure, if it holds that of another."""
    if "error" in record or record["validated_by"] in (None, fit.validated_by):
        return record
    train, vali, _ = reader(fit.fold)
    partial, scores = _is_partial(fit.method), lambda: scores_of(record, fit.method, "vali", vali)
    found = attempted(lambda: {"validation": _validation(scores(), train, vali, select_by, partial=partial)})
    return {**record, **found, "warnings": {**found["warnings"], **record["warnings"]}}


def attempted(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the record that work makes, or the error that it raises, and how often it gave each warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            record = work()
        except Exception as error:  # Whatever a method raises, the comparison records it and goes on.
            text = {"type": type(error).__name__, "message": printable(" ".join(str(error).split()))}
            record = {"error": {**text, "traceback": traceback.format_exc()}}
    texts = (printable(f"{each.category.__name__}: {' '.join(str(each.message).split())}") for each in caught)
    return {**record, "warnings": dict(Counter(texts))}


def scores_of(fit: Mapping[str, Any], method: AnyMethod, name: str, part: QueryGroups) -> np.ndarray | None:
    """Return the scores that a record of `fit_point` gives the validation or the test set, in row order.

    None if a rival has none of the validation set; NaN for documents that a run does not hold.
    """
    if fit["scorer"]["kind"] != SCORES:
        return restored(fit, method).predict(part)
    scores = _tensors(fit).get(name)
    held = None if scores is None else ~np.isnan(scores)
    return None if scores is None else checked_scores(scores, part.n_docs, retrieved=held)


def _is_partial(method: AnyMethod) -> bool:
    return isinstance(method, Rival) and method.learner.partial


def restored(fit: Mapping[str, Any], method: Any):
    """Return the ranker of a record of `fit_point`; its predictions equal the trained ranker's bitwise."""
    ranker = method.build(fit["parameters"], random_state=fit["seed"])
    ranker.scorer_ = scorer_of(fit)
    ranker.n_features_in_ = fit["n_features"]
    return ranker


def fitted_ranker(fit: Mapping[str, Any], method: Any, feature_names: Sequence[str] | None) -> Any:
    """Return the ranker of a record of `fit_point` as it was after training, to be saved."""
    ranker = restored(fit, method)
    if feature_names is not None:
        ranker.feature_names_in_ = np.array(feature_names, dtype=object)
    for name in ("status", "certificate", "history", "message"):
        setattr(ranker, f"{name}_", fit[name])
    ranker.scaling_, ranker.scaling_reason_ = fit["scaling"]["kind"], fit["scaling"]["reason"]
    ranker.selected_by_ = name_of(method.measure or method.select_by)
    return ranker


def scorer_of(fit: Mapping[str, Any]) -> Any:
    """Return the scorer of a record of `fit_point`."""
    return put_together(fit["scorer"]["kind"], _tensors(fit), fit["n_features"])


def _tensors(fit: Mapping[str, Any]) -> dict[str, np.ndarray]:
    return load(base64.b64decode(fit["scorer"]["safetensors"], validate=True))


def is_record_of(fit: "Fit", record: Mapping[str, Any]) -> bool:
    """Whether a record is that of a fit, as far as can be told; a fit whose processes died has a bare one."""
    if fits(DIED, record):
        return True
    if not fits(either(FIT, FAILED_FIT), record):
        return False
    if (record["parameters"], record["seed"]) != (shown(fit.point), fit.seed):
        return False
    return "error" in record or _has_scorer(fit, record)


def _has_scorer(fit: "Fit", record: Mapping[str, Any]) -> bool:
    """Whether a record has a scorer or scores, and a validation value where there has to be one."""
    try:
        if isinstance(fit.method, Rival):
            tensors, kind = _tensors(record), record["scorer"]["kind"]
            agrees = ("vali" in tensors) == (record["validation"] is not None)
            return kind == SCORES and "test" in tensors and agrees
        scorer_of(record)
    except (ValueError, KeyError, SafetensorError):
        return False
    return fit.is_last == (record["validation"] is None)


def _fitted(train, vali, fit: "Fit", select_by: Measure, n_threads: int | None) -> dict[str, Any]:
    assert isinstance(fit.method, Configured)
    started = seconds_of_work()
    # The largest grade of these two sets: a fit must not depend on the grades of the test set.
    max_grade = max(part.queries.max_relevance for part in (train, vali) if part is not None)
    ranker = fit.method.build(fit.point, random_state=fit.seed)
    if fit.select_by is None:
        ranker.set_params(select_by=None)
    for name, measure in ranker.get_params(deep=False).items():
        if name in ("measure", "select_by") and measure is not None:
            ranker.set_params(**{name: parse_measure(measure).with_largest_grade(max_grade)})
    if n_threads is not None and "n_jobs" not in fit.point:
        ranker.set_params(n_jobs=n_threads)
    ranker.fit(train, eval_set=vali)
    kind, tensors = take_apart(ranker.scorer_)
    record = {
        "validation": None if vali is None else _validation(ranker.predict(vali), train, vali, select_by),
        "validated_by": None if vali is None else fit.validated_by,
        "seconds": seconds_of_work() - started,
        "status": ranker.status_,
        "message": getattr(ranker, "message_", ""),
        "remedy": remedy(ranker),
        "certificate": {name: float(each) for name, each in ranker.certificate_.items()},
        "iterations": len(ranker.history_),
        "notes": list(ranker.notes_),
        "history": thinned(ranker.history_),
        "peak_memory": peak_memory(),
        "n_features": int(ranker.n_features_in_),
        "scaling": {"kind": ranker.scaling_, "reason": ranker.scaling_reason_},
        "scorer": {"kind": kind, "safetensors": base64.b64encode(save(tensors)).decode()},
    }
    return _readable(as_plain(record))


def _rival_fitted(
    train: QueryGroups, vali: QueryGroups, test: QueryGroups | None, fit: "Fit", select_by: Measure,
    n_threads: int | None,
) -> dict[str, Any]:  # fmt: skip
    """Return the record of a rival: its scores, and what is known of the end of its training."""
    assert isinstance(fit.method, Rival)
    assert test is not None
    started = seconds_of_work()
    # As many threads as our kernels can use on these data: a small set is slower with more.
    n_threads = min(n_threads or processors(), len(train.shards))
    parameters = {**fit.method.fixed, **fit.point}
    task = Task(
        fit.fold.name, train, vali, test, parameters, fit.seed, n_threads,
        lambda scores: _validation(scores, train, vali, select_by),
    )  # fmt: skip
    found = None
    if not fit.is_last or fit.select_by is not None:  # the validation set chooses the rounds of a last fit
        found = fit.method.learn(task)
    if fit.is_last:
        rounds = None if found is None else found.rounds
        both = joined((train, vali))
        found = fit.method.learn(replace(task, train=both, vali=None, monitor=None, rounds=rounds))
    assert found is not None
    partial, value = _is_partial(fit.method), None
    if found.vali is not None:
        value = _validation(found.vali, train, vali, select_by, partial=partial)
    return _readable(as_plain(_record_of(found, value, fit.validated_by, train.n_features, started)))


def _record_of(found: Learned, value: float | None, by: str, n_features: int, started: float) -> dict:
    tensors = {"test": found.test} | ({} if found.vali is None else {"vali": found.vali})
    return {
        "validation": value,
        "validated_by": None if value is None else by,
        "seconds": seconds_of_work() - started,
        "status": found.status,
        "message": found.message,
        "remedy": "",
        "certificate": {},
        "iterations": len(found.trace) or found.rounds or 0,
        "notes": [],
        "history": thinned([{"monitor": each} for each in found.trace]),
        "peak_memory": peak_memory(),
        "n_features": n_features,
        "scaling": {"kind": "none", "reason": ""},
        "scorer": {"kind": SCORES, "safetensors": base64.b64encode(save(tensors)).decode()},
    }


def _readable(record: dict[str, Any]) -> dict[str, Any]:
    # A record that is refused when it is read back would be made again for ever.
    fields(**TRAINED)(record, "")
    if record["scorer"]["kind"] != SCORES:
        scorer_of(record)
    return record


def _validation(
    scores: Any, train: QueryGroups, vali: QueryGroups, select_by: Measure, *, partial: bool = False
) -> float:
    """Return the validation value of scores; `partial` if they may be NaN where a run holds no document."""
    max_grade = max(part.queries.max_relevance for part in (train, vali))
    chooser = select_by.with_largest_grade(max_grade)
    held = ~np.isnan(scores) if partial else None
    scores = checked_scores(scores, vali.n_docs, retrieved=held)
    if held is not None:
        return evaluate(vali, scores, measures=[chooser], retrieved=held)[chooser.name]
    return mean_value(chooser, vali.queries, vali.to_inner(scores))


def thinned(history) -> list[dict[str, Any]]:
    """Return at most `MOST_ROWS` rows of a history, evenly, the first and the last among them."""
    rows = [
        {name: each for name, each in as_plain(row).items() if isinstance(each, (int, float, str))}
        for row in history
    ]
    if len(rows) <= MOST_ROWS:
        return rows
    return [rows[place] for place in np.unique(np.linspace(0, len(rows) - 1, MOST_ROWS).round().astype(int))]


def peak_memory() -> int | None:
    """Return the peak memory of this process in bytes; None where the platform does not report it."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
