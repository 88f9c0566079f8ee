"""Rankers in the forms of other engines: one file per target, and one line in `TARGETS`."""

import math
import os
import re
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import numpy as np

from directrank.apps.engines import (
    c_source,
    distillation,
    elasticsearch_native,
    go_source,
    java_source,
    javascript_source,
    lightgbm_text,
    onnx_model,
    packages,
    python_source,
    ranklib_text,
    rust_source,
    search_plugin,
    solr_model,
    sql_source,
    treelite_model,
    vespa_expression,
    xgboost_json,
)
from directrank.apps.engines.documents import LEAST, Documents, documents_of
from directrank.apps.engines.function import (
    COMPUTED,
    Categories,
    Function,
    Target,
    Term,
    Version,
    Written,
    categories_of,
    function_of,
)
from directrank.apps.evaluation import evaluate, paired_test
from directrank.data import QueryGroups
from directrank.data.encoding import Encoding, Places
from directrank.errors import ChangedOrderError, ExportError, check_choice, install_line
from directrank.estimators.documents import features_of, missing_in_training, names_of_features
from directrank.estimators.ranker import Ranker
from directrank.estimators.sklearn_interface import check_fitted
from directrank.scorers import reads_queries
from directrank.storage.atomic import write_atomically, write_folder

__all__ = [
    "TARGETS",
    "Check",
    "Documents",
    "Export",
    "Function",
    "Target",
    "Term",
    "Written",
    "export",
    "refusals",
]

#: Every target, in the order of the table in the documentation.
TARGETS: tuple[Target, ...] = (
    python_source.TARGET,
    c_source.TARGET,
    java_source.TARGET,
    javascript_source.TARGET,
    javascript_source.TYPESCRIPT,
    go_source.TARGET,
    rust_source.TARGET,
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


#: Scores closer than this share of the larger one are equal to a float32 engine that adds many terms; so are
#: those closer than `ROUNDING` of the sizes of all terms together.
FLOAT32_TIE, ROUNDING = 2.0**-19, 2.0**-22
#: The ranker itself does not tell apart scores closer than this share of the sizes of all terms together.
FLOAT64_TIE = 2.0**-46
#: A check fails if more than this share of pairs changes its order, even if all are ties of float32.
MOST_CHANGED = 0.01


GAPS = "the engine reads gaps as 0: train with --missing 0"


def _fails(pairs: int, inversions: int, beyond_float32: int) -> bool:
    return beyond_float32 > 0 or inversions > MOST_CHANGED * pairs


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
    pairs : int
        Pairs of documents of one query that the ranker tells apart.
    inversions : int
        Those of them that the target orders otherwise or ties; and pairs with a score that is not finite.
    beyond_float32 : int
        Inversions of pairs whose scores float32 tells apart.
    measure : str
    ranker, target : float
        The measure of the ranker's scores, and of the target's.
    gaps : bool
        Whether the order changes because the engine reads missing values as 0, and for no other reason.
    low, high : float
        Where the order changes, the 95 % interval of what the measure loses, over queries.
    """

    by: str
    documents: int
    difference: float
    pairs: int
    inversions: int
    beyond_float32: int
    measure: str
    ranker: float
    target: float
    gaps: bool = False
    low: float = 0.0
    high: float = 0.0

    def __str__(self) -> str:
        return (
            f"checked by {self.by} on {self.documents} documents: largest difference of scores "
            f"{self.difference:.2g}, {self.inversions} inverted pairs of {self.pairs} "
            f"({self.beyond_float32} beyond float32 ties), {self.measure} {self.target:.4f} (ranker "
            f"{self.ranker:.4f}{f'; {self.interval}' if self.fails else ''})"
        )

    @property
    def fails(self) -> bool:
        """Whether the order changes beyond ties of float32, or more than 1 in 100 pairs changes."""
        return _fails(self.pairs, self.inversions, self.beyond_float32)

    @property
    def verdict(self) -> str:
        """What the check says, and the remedy that it knows."""
        if not self.pairs:
            return "shows nothing about the order: no two documents of a query have different scores"
        if not self.fails:
            return "ranks as the ranker does"
        lost = self.ranker - self.target
        what = f"loses {lost:.4f} {self.measure}" if lost > 0 else f"changes {self.inversions} pairs"
        return f"{what}{f' because {GAPS}' if self.gaps else ''}"

    @property
    def interval(self) -> str:
        """How sure the loss is, and the share of pairs whose order stays, in words."""
        same = 1 - self.inversions / self.pairs if self.pairs else 0.0
        return (
            f"95 % interval of the loss {self.low:.4f} to {self.high:.4f}, {100 * same:.2f} % of pairs in "
            "order"
        )


def checked(
    ranker: Ranker,
    target: Target,
    content: bytes,
    function: Function,
    groups: QueryGroups,
    measure: str | None,
    definitions: list[packages.Definition],
) -> Check:
    """Run a target's file on the columns of documents, as its engine would, and compare.

    Raises
    ------
    ExportError
        If the runtime is not installed.
    """
    ours = ranker.predict(groups)
    rows = _rows(ranker, groups)
    documents = documents_of(ranker, groups, rows)
    try:
        columns = packages.with_features(target.name, definitions, documents)
        theirs = np.asarray(target.scores(content, columns), np.float64)
    except (ImportError, FileNotFoundError) as error:
        raise ExportError(
            f"--check runs {target.by}, which is not installed ({error}); install it, or omit --check"
        ) from None
    finite = np.isfinite(theirs)
    with np.errstate(invalid="ignore"):
        change = theirs - ours
        change = np.abs(change - np.median(change[finite])) if finite.any() else change
    name = measure or ranker.selected_by_
    queries = np.unique(groups.qid, return_inverse=True)[1]
    inverted, apart, pairs = inversions(queries, ours, theirs, function.sizes(function.rows(rows)))
    # Documents without a finite score are the last ones.
    last = theirs[finite].min(initial=0.0) - 1.0
    values = [
        evaluate(groups, scores, measures=name, per_query=True)
        for scores in (ours, np.where(finite, theirs, last))
    ]
    largest = float(np.max(change, initial=0.0)) if finite.all() else math.inf
    gaps, low, high = False, 0.0, 0.0
    fails = _fails(pairs, inverted, apart)
    if fails:
        lost = paired_test(*values)
        low, high = lost.low, lost.high
    if fails and np.isnan(rows).any() and ranker.scorer_ is not None and not reads_queries(ranker.scorer_):
        filled = np.nan_to_num(rows, nan=0.0, posinf=None, neginf=None)
        sizes = function.sizes(function.rows(filled))
        again = inversions(queries, ranker.scorer_.scores(filled), theirs, sizes)
        gaps = not _fails(again[2], again[0], again[1])
    best, got = (float(value[name]) for value in values)
    return Check(target.by, len(ours), largest, pairs, inverted, apart, name, best, got, gaps, low, high)


def _rows(ranker: Ranker, groups: QueryGroups) -> np.ndarray:
    features, in_caller_order = features_of(ranker, groups)
    return np.ascontiguousarray(in_caller_order(features.rows))


def inversions(
    queries: np.ndarray, ours: np.ndarray, theirs: np.ndarray, sizes: np.ndarray | None = None
) -> tuple[int, int, int]:
    """Return the number of pairs of one query in another order, of those beyond float32 ties, and of all.

    The pairs are those that the ranker tells apart, and those with a score that is not finite, which always
    counts as another order, as a tie does. `sizes` are the sums of the sizes of what is added for each
    document.
    """
    sizes = np.zeros(len(ours)) if sizes is None else sizes
    order, pairs, total, apart = np.argsort(queries, kind="stable"), 0, 0, 0
    ends = np.searchsorted(queries[order], np.arange(queries.max(initial=-1) + 2))
    finite = np.isfinite(theirs)
    numbers = np.where(finite, theirs, 0.0)
    largest = np.maximum(np.abs(ours), np.abs(numbers))
    for first, last in pairwise(ends.tolist()):
        rows = order[first:last]
        for at, row in enumerate(rows):
            rest = rows[at + 1 :]
            gap, size = ours[rest] - ours[row], sizes[rest] + sizes[row]
            broken = ~(finite[rest] & finite[row])
            differs = broken | (np.abs(gap) > FLOAT64_TIE * size)
            inverted = differs & (broken | (np.sign(gap) != np.sign(numbers[rest] - numbers[row])))
            tie = np.maximum(FLOAT32_TIE * np.maximum(largest[rest], largest[row]), ROUNDING * size)
            pairs += int(differs.sum())
            total += int(inverted.sum())
            apart += int((inverted & (broken | (np.abs(gap) > tie))).sum())
    return total, apart, pairs


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
    asked : int
        Features that the engine computes for each document, of all that the ranker was trained on.
    nodes : int
        Nodes of trees.
    fields : tuple of str
        Features that a package takes for fields of the documents.

    Examples
    --------
    >>> from directrank import RankSVM, export, make_ranking
    >>> written = export(RankSVM().fit(make_ranking(20, 5, 2, random_state=0)), "c")
    >>> written.target, written.asked, b"double" in written.content
    ('c', 2, True)
    >>> written.needs
    ('Pass the features of a document in the order of NAMES; a missing value is NaN.',)
    """

    target: str
    content: bytes = field(repr=False)
    needs: tuple[str, ...]
    changes: tuple[str, ...]
    check: Check | None = None
    asked: int = 0
    nodes: int = 0
    fields: tuple[str, ...] = ()

    @property
    def cost(self) -> str:
        """What the engine computes for each document, in words."""
        return f"{self.asked} features, {self.nodes} nodes of trees, {len(self.content)} bytes"


def export(
    ranker: Ranker,
    target: str | Target,
    path: str | os.PathLike | None = None,
    *,
    target_version: str | None = None,
    check: QueryGroups | None = None,
    measure: str | None = None,
    accept: bool = False,
    package: str | os.PathLike | None = None,
    feature_set: object = None,
    distil: QueryGroups | None = None,
) -> Export:
    """Write a ranker in the form of another engine.

    Parameters
    ----------
    ranker : Ranker
        A fitted ranker, or a model of LightGBM or XGBoost that `load` has read.
    target : str or Target
        The name of a target, such as ``"onnx"`` or ``"solr"``; see the page "export" of the
        documentation. Or one of your own.
    path : path, optional
        The file to write.
    target_version : str, optional
        Version of the engine, such as ``"3.8"``, for targets whose files differ by it.
    check : QueryGroups, optional
        Documents on which the target's own rule is compared with the ranker.
    measure : str, optional
        The measure of the outcome; by default the ranker's own.
    accept : bool, default=False
        Whether to write the file even if the check finds that the order changes.
    package : path, optional
        A folder for all that an engine needs: the feature set, the model, a query that rescores, the commands
        that send them, and a README. For Solr, the plug-ins and Vespa.
    feature_set : list or dict, optional
        The feature set that the engine has, in the JSON of its store: its definitions go into the package.
    distil : QueryGroups, optional
        Documents by which trees take the place of what the engine does not say: weighted features become
        steps between the values here, and a ranker that reads all documents of a query is learned by trees.
        What is lost is measured on `check`, or on a fifth of these queries, which are then held out.

    Returns
    -------
    Export
        The bytes of the file, what the engine needs besides it, and what is not as in the ranker.

    Raises
    ------
    ExportError
        If the target cannot express the ranker; the message says what, and the remedy.
    ChangedOrderError
        If the check finds that the order changes beyond ties of float32; nothing is written.
    ValueError
        If there is no such target, its files do not differ by the version of the engine, or the engine takes
        what is to be distilled as it is.
    OSError
        If the file cannot be written.
    """
    if not isinstance(target, Target):
        check_choice("target", target, [choice.name for choice in TARGETS])
        target = next(choice for choice in TARGETS if choice.name == target)
    check_fitted(ranker)
    version = None if target_version is None else _version(target, target_version)
    if package is not None:
        packages.check_target(target.name)
    elif feature_set is not None:
        raise ValueError("feature_set is part of a package; name its folder by package")
    names, categories = names_of_features(ranker), categories_of(ranker.encoding_)
    defined, rule = target.name in packages.FORMS, missing_in_training(ranker)
    try:
        distilled_by = ()
        if distil is None:
            function = function_of(ranker.scorer_, names, categories)
        else:
            function, note, check = _distilled(ranker, target, names, categories, distil, check)
            distilled_by = (note,)
        function = _checked_function(ranker, target, function)
        functions, fields, definitions = "", (), []
        if package is not None and not defined:
            function, functions, fields = packages.as_vespa_names(function)
        function.check_columns(target)
        written = target.write(function, version)
        written = packages.with_functions(written, functions) if functions else written
        written = written._replace(changes=(*distilled_by, *written.changes))
        if defined:
            definitions, fields = packages.definitions_of(
                target.name, function, written, package=package is not None, feature_set=feature_set
            )
        if package is not None and check is not None and defined and not function.has_trees:
            documents = documents_of(ranker, check, _rows(ranker, check))
            columns = packages.with_features(target.name, definitions, documents)
            written, definitions = packages.with_constant(
                target.name, written, definitions, np.asarray(target.scores(written.content, columns), float)
            )
    except ImportError as error:
        raise _without(target, target.library or str(error.name)) from None
    outcome = None
    if check is not None:
        outcome = checked(ranker, target, written.content, function, check, measure, definitions)
    if outcome is not None and outcome.fails and not accept:
        remedy = "export to onnx-double or source code, " if target.float32 else ""
        remedy = f"{GAPS}, " if outcome.gaps else remedy
        raise ChangedOrderError(
            f"{target.name} does not rank as the ranker does, so nothing was written: {outcome.inversions} "
            f"of {outcome.pairs} pairs change their order ({outcome.beyond_float32} beyond float32 ties); "
            f"{remedy}or take it as it is by --accept (in Python, accept=True); {outcome.measure} "
            f"{outcome.target:.4f} for {outcome.ranker:.4f} ({outcome.interval}), "
            f"{outcome.ranker - outcome.target:.4f} lost"
        )
    needs = written.needs
    if rule == LEAST:
        needs = ("A missing value is the least of its query, as in training: fill it in before.", *needs)
    if ranker.encoding_ is not None and target.categories == COMPUTED:
        needs = (_rule(ranker.encoding_), *needs)
    if package is not None:
        needs = tuple(need for need in needs if need not in written.features)
    elif of_categories := packages.of_categories(definitions, function):
        needs = (f"Definitions of features of categories: {of_categories}.", *needs)
    exported = Export(
        target.name, written.content, needs, written.changes, outcome, len(function.features),
        len(function.trees.feature),
    )  # fmt: skip
    if package is not None:
        parts = (
            packages.files_of(target.name, written, definitions, fields)
            if defined
            else packages.vespa_files(written, fields)
        )
        exported = replace(exported, fields=parts.fields)
        notes = [*exported.changes, *([] if outcome is None else [f"{outcome}: {outcome.verdict}"])]
        text = packages.readme(target.name, parts, [f"{exported.cost} a document.", *needs], notes)
        write_folder(package, {**parts.files, "README.md": text})
    if path is not None:
        write_atomically(Path(path), written.content)
    return exported


def _checked_function(ranker: Ranker, target: Target, function: Function) -> Function:
    """Return what a target writes of a ranker's function, or raise the `ExportError` of what it declares."""
    rule = missing_in_training(ranker)
    if isinstance(rule, float | int):
        function = function.with_missing(float(np.float32(rule)))
    function.check_kind(target.name, target.kinds)
    function.check_names(target)
    if target.float32:
        function.check_range(target.name)
    return function


def _without(target: Target, library: str) -> ExportError:
    return ExportError(f"{target.name} needs the library {library}: {install_line(library)}")


def refusals(ranker: Ranker) -> dict[str, str]:
    """Return, for each target, why a ranker cannot be exported to it; the empty text where it can."""
    reasons = dict.fromkeys([target.name for target in TARGETS], "")
    try:
        function = function_of(ranker.scorer_, names_of_features(ranker), categories_of(ranker.encoding_))
    except ExportError as error:
        return dict.fromkeys(reasons, str(error).partition("\n")[0])
    # What is refused of weighted sums of numbers is declared: files need not be written to know it.
    is_sum = function.kind == "linear" and not function.categories
    for target in TARGETS:
        try:
            if target.writes_all or is_sum:
                _checked_function(ranker, target, function).check_columns(target)
                if target.library and find_spec(target.library) is None:
                    raise _without(target, target.library)
            else:
                export(ranker, target)
        except (ExportError, ValueError) as error:
            reasons[target.name] = str(error).partition("\n")[0]
    return reasons


def _rule(encoding: Encoding) -> str:
    """Return how a caller computes the features of categories."""
    columns = ", ".join(encoding.values)
    if isinstance(encoding, Places):
        return (
            f"Of the categories {columns} the feature is the place of the value in the model's list, from 0; "
            "missing where it has none."
        )
    return (
        f"Of the categories {columns} the features 'COLUMN=VALUE' are 1 where the column has the value, else "
        f"0; 'COLUMN={Encoding.other}' is 1 where it has none of the values with a feature, else 0."
    )


def _distilled(
    ranker: Ranker,
    target: Target,
    names: tuple[str, ...],
    categories: Categories,
    documents: QueryGroups,
    check: QueryGroups | None,
) -> tuple[Function, str, QueryGroups]:
    """Return a function of trees, how it was made, and the documents that its loss is measured on."""
    function = None
    try:
        function = function_of(ranker.scorer_, names, categories)
        function.check_kind(target.name, target.kinds)
        function.check_names(target)
    except ExportError:
        if function is not None and function.sets and target.categories == COMPUTED:
            function = None
    else:
        raise ValueError(f"{target.name} takes the ranker as it is: omit distil (--distil)")
    where = ""
    if check is None:
        documents, check = distillation.held_out(documents)
        where = f" What is lost was measured on {check.n_queries} queries that were held out."
    rows = _rows(ranker, documents)
    if function is None:
        function, note = distillation.learned(ranker, names, categories, documents, rows)
    else:
        function, note = distillation.stepped(function, rows)
    return function, f"{note}{where}", check


def _version(target: Target, text: str) -> Version:
    if not target.takes_version:
        raise ValueError(
            f"target_version={text}: files for {target.name} are the same for all versions; omit it"
        )
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)*", text):
        raise ValueError(f"target_version={text}: expected numbers with points, such as 3.8")
    return tuple(map(int, text.split(".")))
