"""Rankers in the forms of other engines: one file a target, and one line in `TARGETS`."""

import os
import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from directrank.data import QueryGroups
from directrank.data.encoding import OTHER
from directrank.errors import ExportError, check_choice, install_line
from directrank.estimators.inputs import features_of, names_of_features
from directrank.estimators.ranker import Ranker
from directrank.measures import evaluate
from directrank.models.export import (
    c_source,
    elasticsearch_native,
    java_source,
    javascript_source,
    lightgbm_text,
    onnx_model,
    python_source,
    ranklib_text,
    search_plugin,
    solr_model,
    sql_source,
    treelite_model,
    vespa_expression,
    xgboost_json,
)
from directrank.models.export.function import Target, Version, function_of
from directrank.storage.atomic import write_atomically

#: Every target, in the order of the table in the documentation.
TARGETS: tuple[Target, ...] = (
    python_source.TARGET,
    c_source.TARGET,
    java_source.TARGET,
    javascript_source.TARGET,
    sql_source.TARGET,
    lightgbm_text.TARGET,
    xgboost_json.TARGET,
    treelite_model.TARGET,
    onnx_model.TARGET,
    onnx_model.DOUBLE,
    ranklib_text.TARGET,
    solr_model.TARGET,
    search_plugin.TARGET,
    search_plugin.OPENSEARCH,
    elasticsearch_native.TARGET,
    vespa_expression.TARGET,
)


#: Scores closer than this share of the largest one are equal to a float32 engine that adds many terms.
FLOAT32_TIE = 2.0**-19


@dataclass(frozen=True)
class Check:
    """How the scores of a target agree with those of the ranker.

    Attributes
    ----------
    by : str
        What computed the scores: a runtime, or our transcript of a file of the server's code.
    documents : int
    difference : float
        The largest difference of scores, after the mean of all differences: a constant changes no ranking.
    inversions : int
        Pairs of documents of one query in opposite orders.
    beyond_float32 : int
        Those of them whose scores float32 tells apart.
    measure : str
    ranker, target : float
        The measure of the ranker's scores, and of the target's.
    """

    by: str
    documents: int
    difference: float
    inversions: int
    beyond_float32: int
    measure: str
    ranker: float
    target: float

    def __str__(self) -> str:
        return (
            f"checked by {self.by} on {self.documents} documents: largest difference of scores "
            f"{self.difference:.2g}, {self.inversions} inverted pairs ({self.beyond_float32} beyond float32 "
            f"ties), {self.measure} {self.target:.4f} (ranker {self.ranker:.4f})"
        )


def checked(
    ranker: Ranker,
    target: Target,
    content: bytes,
    names: tuple[str, ...],
    groups: QueryGroups,
    measure: str | None,
) -> Check:
    """Run a target's file on documents, and compare.

    Raises
    ------
    ExportError
        If the runtime is not installed.
    """
    ours = ranker.predict(groups)
    try:
        features, in_caller_order = features_of(ranker, groups)
        rows = np.ascontiguousarray(in_caller_order(features.rows))
        theirs = np.asarray(target.scores(content, names, rows), np.float64)
    except (ImportError, FileNotFoundError) as error:
        raise ExportError(
            f"--check runs {target.by}, which is not installed ({error}); install it, or omit --check"
        ) from None
    change = theirs - ours
    change = change - np.median(change) if np.isfinite(change).all() else change
    name = measure or ranker.selected_by_
    queries = np.unique(groups.qid, return_inverse=True)[1]
    counts = inversions(queries, ours, theirs)
    values = [evaluate(groups, scores, measures=name)[name] for scores in (ours, theirs)]
    return Check(
        target.by, len(ours), float(np.max(np.abs(change), initial=0.0)), *counts, name, *map(float, values)
    )


def inversions(queries: np.ndarray, ours: np.ndarray, theirs: np.ndarray) -> tuple[int, int]:
    """Return the number of pairs of one query in opposite orders, and of those that float32 tells apart."""
    tie = FLOAT32_TIE * max(np.max(np.abs(ours), initial=0.0), np.max(np.abs(theirs), initial=0.0))
    order, total, apart = np.argsort(queries, kind="stable"), 0, 0
    ends = np.searchsorted(queries[order], np.arange(queries.max(initial=-1) + 2))
    for first, last in pairwise(ends.tolist()):
        rows = order[first:last]
        for at, row in enumerate(rows):
            rest = rows[at + 1 :]
            gap = ours[rest] - ours[row]
            inverted = gap * (theirs[rest] - theirs[row]) < 0
            total += int(inverted.sum())
            apart += int((inverted & (np.abs(gap) > tie)).sum())
    return total, apart


@dataclass(frozen=True)
class Export:
    """A ranker in the form of another engine.

    Attributes
    ----------
    target : str
    content : bytes
        Of the file.
    needs : tuple of str
        What the engine needs besides the file, a sentence each.
    changes : tuple of str
        What is not as in the ranker, a sentence each.
    check : Check, optional
        How the target's scores agree with those of the ranker, where data were given.
    """

    target: str
    content: bytes
    needs: tuple[str, ...]
    changes: tuple[str, ...]
    check: Check | None = None


def export(
    ranker: Ranker,
    target: str | Target,
    path: str | os.PathLike | None = None,
    *,
    target_version: str | None = None,
    check: QueryGroups | None = None,
    measure: str | None = None,
) -> Export:
    """Write a ranker in the form of another engine.

    Parameters
    ----------
    ranker : Ranker
        A fitted ranker, or a model of LightGBM or XGBoost that `load` has read.
    target : str or Target
        The name of a target, such as ``"onnx"`` or ``"solr"``; see `docs/export.md`. Or one of your own.
    path : path, optional
        The file to write.
    target_version : str, optional
        Version of the engine, such as ``"3.8"``, for targets whose files differ by it.
    check : QueryGroups, optional
        Documents on which the target's own rule is compared with the ranker.
    measure : str, optional
        The measure of the comparison; by default the ranker's own.

    Returns
    -------
    Export
        The bytes of the file, what the engine needs besides it, and what is not as in the ranker.

    Raises
    ------
    ExportError
        If the target cannot express the ranker; the message says what, and the remedy.
    ValueError
        If there is no such target, or its files do not differ by the version of the engine.
    OSError
        If the file cannot be written.
    """
    from sklearn.utils.validation import check_is_fitted

    if not isinstance(target, Target):
        check_choice("target", target, [known.name for known in TARGETS])
        target = next(known for known in TARGETS if known.name == target)
    check_is_fitted(ranker, "scorer_")
    version = None if target_version is None else _version(target, target_version)
    names = names_of_features(ranker)
    try:
        function = function_of(ranker.scorer_, names)
        function.check_kind(target.name, target.kinds)
        written = target.write(function, version)
    except ImportError as error:
        library = error.name or "onnx"
        raise ExportError(f"{target.name} needs the library {library}: {install_line(library)}") from None
    found = None if check is None else checked(ranker, target, written.content, names, check, measure)
    if path is not None:
        write_atomically(Path(path), written.content)
    needs = written.needs
    if ranker.encoding_ is not None:
        columns = ", ".join(ranker.encoding_.values)
        needs = (
            f"Of the categories {columns} the features 'COLUMN=VALUE' are 1 where the column has the "
            f"value, else 0; 'COLUMN={OTHER}' is 1 where it has none of the values with a feature, else 0.",
            *needs,
        )
    return Export(target.name, written.content, needs, written.changes, found)


def _version(target: Target, text: str) -> Version:
    if not target.takes_version:
        raise ValueError(
            f"target_version={text}: files for {target.name} are the same for all versions; omit it"
        )
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)*", text):
        raise ValueError(f"target_version={text}: expected numbers with points, such as 3.8")
    return tuple(map(int, text.split(".")))
