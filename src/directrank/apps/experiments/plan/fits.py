"""One fit of a comparison: a method at a point of its grid, from training and validation set alone."""

import base64
import math
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from safetensors.numpy import load, save

from directrank.apps.evaluation import checked_scores, evaluate
from directrank.apps.experiments.plan.entry import Entry, Task
from directrank.apps.experiments.plan.sources import FoldReader, FoldSource, concatenated
from directrank.apps.experiments.store.identity import names_of_objects
from directrank.apps.experiments.store.records import Failure, FitRecord, Parameters, Problem
from directrank.contracts import Measure
from directrank.data import QueryGroups
from directrank.measures import mean_value
from directrank.models import set_state, state_of
from directrank.storage.names import printable
from directrank.storage.strict_json import encode
from directrank.timing import seconds_of_work

#: What last fits are trained on.
TOGETHER = "train and vali"
Made = TypeVar("Made")


@dataclass(frozen=True)
class Fit:
    """A method at a point of its grid, on a fold, with a seed; and the key of its record in the store.

    `select_by` is the measure that chooses inside the fit, or None where nothing does; `validated_by` says
    which measure the validation value is of, and `identity` tells all objects of the fit apart. `candidates`
    are the fits among which an ensemble chooses its members, as far as they are made before it.
    """

    fold: FoldSource
    method: Entry
    point: Parameters
    seed: int
    trained_on: str
    select_by: Measure | None
    validated_by: str
    identity: str
    key: str
    candidates: Sequence["Fit"] = ()

    @property
    def is_last(self) -> bool:
        """Whether it is on training and validation set together."""
        return self.trained_on == TOGETHER

    @property
    def label(self) -> str:
        """Fold, method and point, for people."""
        point = ", ".join(f"{name}={value}" for name, value in sorted(names_of_objects(self.point).items()))
        text = f"{self.fold.name} {self.method.label} [{point}] seed {self.seed}, on {self.trained_on}"
        return printable(text)


def fit_point(
    train: QueryGroups, vali: QueryGroups, test: QueryGroups | None, fit: Fit, select_by: Measure,
    n_threads: int | None = None, candidates: Sequence[FitRecord] = (),
) -> FitRecord | Failure:  # fmt: skip
    """Train a method at a point of its grid, and measure it on the validation set by `select_by`.

    No fit can depend on the relevance of the test set, which has none here; only external estimators need
    it, whose scores are stored. A last fit is on training and validation set together, and has no validation
    value. Of an ensemble, the candidates are taken from their records, if there are any, with their seconds.
    """
    entry = fit.method

    def validation(scores: np.ndarray) -> float:
        if entry.measuring is not None:
            return entry.measuring.validation(fit.fold.name, scores)
        return _validation(scores, train, vali, select_by, partial=entry.partial)

    def fitted() -> FitRecord:
        started = seconds_of_work()
        task = Task(
            fit.fold.name, train, vali, test, fit.point, fit.seed, n_threads, validation,
            together=concatenated((train, vali)) if fit.is_last else None, chooses=fit.select_by is not None,
            fitted=[
                (candidate.method, candidate.point, restored(record, candidate.method))
                for record, candidate in zip(candidates, fit.candidates if candidates else (), strict=True)
            ],
        )  # fmt: skip
        result = entry.learn(task)
        state, tensors = None, {"test": result.test, "vali": result.vali}
        if result.ranker is not None:
            state, tensors = state_of(result.ranker)
        value = None if result.vali is None else validation(result.vali)
        tensors = {name: tensor for name, tensor in tensors.items() if tensor is not None}
        record_of_fit = FitRecord(
            **vars(result.training),
            parameters=names_of_objects(fit.point),
            seed=fit.seed,
            validation=value,
            validated_by=None if value is None else fit.validated_by,
            seconds=seconds_of_work() - started + math.fsum(record.seconds for record in candidates),
            peak_memory=peak_memory(),
            scaling=result.scaling,
            state=state,
            tensors=base64.b64encode(save(tensors)).decode(),
        )
        # A record that is refused when it is read back would be made again for ever.
        record = FitRecord.read(encode(record_of_fit))
        if record.state is not None:
            restored(record, entry)
        return record

    record, counts = attempted(fitted, names_of_objects(fit.point))
    return record if isinstance(record, Failure) else replace(record, warnings=counts)


def judged(record: FitRecord, fit: Fit, reader: FoldReader, select_by: Measure) -> FitRecord | Failure:
    """Return the record of a fit with the validation value of this measure, if it holds that of another."""
    if record.validated_by in (None, fit.validated_by):
        return record

    def validation() -> float:
        train, vali, _ = reader(fit.fold)
        return _validation(
            scores_of(record, fit.method, "vali", vali), train, vali, select_by, partial=fit.method.partial
        )

    value, counts = attempted(validation, record.parameters)
    if isinstance(value, Failure):
        return value
    return replace(record, validation=value, warnings={**counts, **record.warnings})


def attempted(
    work: Callable[[], Made], parameters: Parameters | None = None
) -> tuple[Made | Failure, dict[str, int]]:
    """Return what work makes, or how it failed, and how often it gave each warning."""
    counts: dict[str, int] = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            outcome = work()
        except Exception as error:  # Whatever a method raises, the comparison records it and goes on.
            problem = Problem(
                type=type(error).__name__,
                message=printable(" ".join(str(error).split())),
                traceback=traceback.format_exc(),
                parameters=parameters,
            )
            outcome = Failure(error=problem, warnings=counts)
    texts = (
        printable(f"{warning.category.__name__}: {' '.join(str(warning.message).split())}")
        for warning in caught
    )
    counts.update(Counter(texts))
    return outcome, counts


def scores_of(fit: FitRecord, method: Entry, name: str, part: QueryGroups) -> np.ndarray | None:
    """Return the scores that a record of `fit_point` gives the validation or the test set, in row order.

    None if an external estimator has none of the validation set; NaN for documents that a run does not hold.
    """
    if fit.state is not None:
        return restored(fit, method).predict(part)
    scores = _tensors(fit).get(name)
    if scores is None:
        return None
    return checked_scores(scores, part.n_docs, retrieved=~np.isnan(scores))


def restored(fit: FitRecord, method: Any) -> Any:
    """Return the ranker of a record of `fit_point`, as it was after training."""
    return set_state(method.build(fit.parameters, random_state=fit.seed), fit.state or {}, _tensors(fit))


def of_columns(ranker: Any, train: QueryGroups) -> Any:
    """Return a ranker of a comparison as one that reads the columns of the data.

    Where columns are categorical, all fits of a fold are on their features, which are made once.
    """
    if train.encoding is not None:
        ranker.encoding_, names = train.encoding, train.encoding.columns
        ranker.feature_names_in_, ranker.n_features_in_ = np.array(names, dtype=object), len(names)
    return ranker


def _tensors(fit: FitRecord) -> dict[str, np.ndarray]:
    return load(base64.b64decode(fit.tensors, validate=True))


def _validation(
    scores: Any, train: QueryGroups, vali: QueryGroups, select_by: Measure, *, partial: bool = False
) -> float:
    """Return the validation value of scores; `partial` if they may be NaN where a run holds no document."""
    max_grade = max(part.queries.max_relevance for part in (train, vali))
    measure = select_by.with_largest_grade(max_grade)
    retrieved = ~np.isnan(scores) if partial else None
    scores = checked_scores(scores, vali.n_docs, retrieved=retrieved)
    if retrieved is not None:
        return evaluate(vali, scores, measures=[measure], retrieved=retrieved)[measure.name]
    return mean_value(measure, vali.queries, vali.to_inner(scores))


def peak_memory() -> int | None:
    """Return the peak memory of this process in bytes; None where the platform does not report it."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
