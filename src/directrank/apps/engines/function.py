"""What every target writes: a sum of weighted features and of trees, made from a scorer."""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count, pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np

from directrank.apps.engines.documents import Documents
from directrank.contracts import Scorer
from directrank.data.encoding import Encoding, Places
from directrank.errors import ExportError
from directrank.scorers import Additive, Linear, LogLinear, Sum, Trees, reads_queries
from directrank.scorers.set_trees import SetTrees
from directrank.scorers.trees import LEAF, TO_THE_LEFT, ZERO, ZERO_TOO

Built = TypeVar("Built")
#: The arrays of trees.
NODES = ("root", "feature", "threshold", "missing", "left", "right", "value", "gain")
Version = tuple[int, ...]
#: Who says which documents have a category: the caller, who computes the features; definitions of features,
#: which the file has or needs; or the file, which reads the columns of the documents as they are.
COMPUTED, DEFINED, READ = "computed", "defined", "read"
SETS_REMEDY = (
    "export to sql, source code, vespa, solr, elasticsearch or a plug-in of it, train with "
    "categories='single' (--set categories=single, or in members of auto: trees-xendcg(categories=single)), "
    "or approximate it by trees (--distil DATA, in Python distil=)"
)
#: Rankers: weighted features, those with logarithms, trees, and sums of trees and weighted features.
KINDS = ("linear", "log", "trees", "sum")


@dataclass(frozen=True)
class Term:
    """A weighted feature: weight · x, or weight · sign(x) · log1p |x|; NaN stays where `fill` is None."""

    feature: int
    weight: float
    logarithm: bool = False
    fill: float | None = None

    def times(self, factor: float) -> "Term":
        """Return the term with its weight multiplied."""
        return replace(self, weight=factor * self.weight)


class Category(NamedTuple):
    """A feature that is 1 where a column has one of some texts, else 0; `outside`, 1 where it has none."""

    column: str
    values: tuple[str, ...]
    outside: bool = False


Categories = Mapping[int, Category]


class Split(NamedTuple):
    """An inner node of a tree: rows with x ≤ threshold go left; `missing_left` says where NaN goes."""

    feature: int
    threshold: float
    missing_left: bool


@dataclass(frozen=True)
class Function:
    """f(x) = intercept + Σ terms + Σ trees.

    Attributes
    ----------
    names : tuple of str
        Of the features x.
    terms : tuple of Term
    trees : Trees
    intercept : float
    categories : mapping of int to Category
        The features that are 1 or 0; all others are columns of numbers with the name of the feature.
    sets : tuple of tuple of int
        The last features: each is 0 where one of these features is 1, else 1.
    """

    names: tuple[str, ...]
    terms: tuple[Term, ...]
    trees: Trees
    intercept: float = 0.0
    categories: Categories = field(default_factory=dict)
    sets: tuple[tuple[int, ...], ...] = ()

    @property
    def features(self) -> list[int]:
        """The features that it reads, in order."""
        return sorted({*features_read(self.trees), *(term.feature for term in self.weighted)})

    def rows(self, features: np.ndarray) -> np.ndarray:
        """Return rows of the ranker's features with those of sets."""
        if not self.sets:
            return features
        outside = [1 - features[:, list(members)].max(axis=1) for members in self.sets]
        return np.column_stack((features, *outside)).astype(features.dtype)

    @property
    def has_trees(self) -> bool:
        """Whether it has trees with splits."""
        return bool((self.trees.left != LEAF).any())

    @property
    def weighted(self) -> tuple[Term, ...]:
        """The terms whose weight is not 0."""
        return tuple(term for term in self.terms if term.weight)

    @property
    def kind(self) -> str:
        """Its kind, of `KINDS`."""
        if self.has_trees:
            return "sum" if self.weighted else "trees"
        return "log" if any(term.logarithm for term in self.weighted) else "linear"

    def zero_note(self, engine: str) -> tuple[str, ...]:
        """Return what to say where an engine reads missing values as 0, and the ranker does not."""
        trees = self.trees
        differ = (trees.left != LEAF) & ((trees.missing & TO_THE_LEFT != 0) != (trees.threshold >= 0))
        filled = [self.names[term.feature] for term in self.weighted if term.fill]
        names = dict.fromkeys([*filled, *(self.names[at] for at in trees.feature[differ].tolist())])
        if not names:
            return ()
        rule = "their median" if filled else "a missing value"
        return (
            f"Every document has every feature: {engine} reads a missing value as 0, the ranker as {rule}, "
            f"for {len(names)} features such as {next(iter(names))!r}.",
        )

    def constant_note(self, engine: str) -> tuple[str, ...]:
        """Return what to say where an engine has no constant."""
        if not self.intercept:
            return ()
        return (
            f"The constant {self.intercept:g} was omitted: {engine} has none, and rankings are the same.",
        )

    def without_special_cases(self, *, float32: bool = True) -> "Function":
        """Return the function with splits of which NaN alone is a missing value, and no trees of one leaf.

        With `float32` thresholds are float32, for engines whose features are.

        Raises
        ------
        ExportError
            If a split treats zeros as missing values, and sends them elsewhere than their comparison does.
        """
        trees = self.trees.in_float32 if float32 else self.trees
        threshold, missing_left = trees.threshold.copy(), trees.missing & TO_THE_LEFT != 0
        zero, inner = threshold.dtype.type(ZERO), trees.left != LEAF
        # A float32 x ≤ −ZERO is a zero only at −ZERO itself.
        edge = (trees.missing & ZERO_TOO != 0) & ~missing_left & (threshold == -zero)
        threshold[edge] = np.nextafter(threshold[edge], -np.inf, dtype=threshold.dtype)
        agrees = np.where(missing_left, threshold >= zero, threshold < -zero)
        odd = inner & (trees.missing & ZERO_TOO != 0) & ~agrees
        if odd.any():
            name = self.names[trees.feature[np.flatnonzero(odd)[0]]]
            raise ExportError(
                f"feature {name!r}: zeros count as missing values (zero_as_missing), which this target "
                "cannot express; train without zero_as_missing, or export to lightgbm, python or c"
            )
        sizes = np.diff(np.append(trees.root, len(inner)))
        splits = np.repeat(sizes > 1, sizes)
        nodes = (trees.feature, threshold, trees.missing & TO_THE_LEFT, trees.left, trees.right, trees.value)
        root = np.concatenate(([0], np.cumsum(sizes[sizes > 1])))[:-1].astype(np.int64)
        inner_trees = Trees(root, *(array[splits] for array in (*nodes, trees.gain)))
        return replace(self, trees=inner_trees, intercept=self.intercept + float(trees.value[~splits].sum()))

    def with_missing(self, value: float) -> "Function":
        """Return the function that reads a missing number as a value."""
        numbers = np.isin(np.arange(len(self.names)), list(self.categories), invert=True)
        terms = tuple(replace(term, fill=value) if numbers[term.feature] else term for term in self.terms)
        values = np.full(len(numbers), value, np.float32)
        return replace(self, terms=terms, trees=self.trees.with_missing_like(values, numbers))

    def check_kind(self, target: str, kinds: tuple[str, ...]) -> None:
        """Raise an `ExportError` if a target does not express the kind of the function."""
        if self.has_trees and "trees" not in kinds:
            raise ExportError(
                f"{target} takes no trees; export to source code, onnx or vespa, or train a linear method"
            )
        if self.kind in kinds or not self.weighted:
            return
        if self.kind == "log" and "linear" in kinds:
            name = next(self.names[term.feature] for term in self.weighted if term.logarithm)
            raise ExportError(
                f"{target} has no logarithm, and the ranker takes that of {name!r}; "
                "train with scaling='standard', approximate it by trees (--distil DATA, in Python distil=), "
                "or export to source code, onnx or vespa"
            )
        name = self.names[self.weighted[0].feature]
        raise ExportError(
            f"{target} takes trees alone, and the ranker weights features (such as {name!r}); "
            "approximate it by trees (--distil DATA, in Python distil=), or export to source code, onnx or "
            "vespa"
        )

    def as_trees(self, *, float32: bool = True) -> Trees:
        """Return the trees of the plain function, its intercept in a tree of one leaf."""
        simple = self.without_special_cases(float32=float32)
        without = simple.has_trees and not simple.intercept
        return Trees.concatenate([simple.trees, *([] if without else [Trees.constant(simple.intercept)])])

    def sizes(self, features: np.ndarray) -> np.ndarray:
        """Return the sum of the sizes of what is added for each row, to which rounding is in proportion."""
        sizes = np.full(len(features), abs(self.intercept))
        if self.has_trees:
            sizes += replace(self.trees, value=np.abs(self.trees.value)).scores(features)
        for term in self.weighted:
            column = np.abs(features[:, term.feature].astype(float))
            column = np.nan_to_num(column, nan=abs(term.fill or 0.0))
            sizes += abs(term.weight) * (np.log1p(column) if term.logarithm else column)
        return sizes

    def check_names(self, target: "Target") -> None:
        """Raise an `ExportError` if the file cannot hold the name of a feature, or the text of a category."""
        texts = (text for each in self.categories.values() for text in (each.column, *each.values))
        for name in (*self.names, *texts):
            if "\0" in name or any("\ud800" <= letter <= "\udfff" for letter in name):
                raise ExportError(
                    f"{target.name} cannot name the feature {name!r}, which holds a NUL or half of a letter "
                    "of UTF-16; rename the feature"
                )
        if self.sets and target.categories == COMPUTED:
            raise ExportError(
                f"{target.name} takes no splits on sets of categories, which the trees of the ranker have; "
                f"{SETS_REMEDY}"
            )

    def check_columns(self, target: "Target") -> None:
        """Raise an `ExportError` if the engine takes no column with the name of a feature."""
        if target.names is not None:
            numbers = [at for at in self.features if at not in self.categories]
            check_names(self.names, numbers, target.names[0], target.name, target.names[1])
        if not target.ignores_case:
            return
        numbers = [name for at, name in enumerate(self.names) if at not in self.categories]
        columns = [*numbers, *dict.fromkeys(each.column for each in self.categories.values())]
        names: dict[str, str] = {}
        for name in columns:
            if not name:
                raise ExportError(f"{target.name} cannot name a column without a name; rename the column")
            if name.lower() in names:
                raise ExportError(
                    f"in {target.name.upper()} {names[name.lower()]!r} and {name!r} are one column: "
                    "rename one of them"
                )
            names[name.lower()] = name

    def check_range(self, target: str) -> None:
        """Raise an `ExportError` if a weight or the value of a leaf is no number of float32."""
        sizes = {f"the weight of {self.names[term.feature]!r}": abs(term.weight) for term in self.weighted}
        sizes["the value of a leaf"] = float(np.abs(self.trees.value).max(initial=abs(self.intercept)))
        what = max(sizes, key=lambda name: sizes[name])
        if sizes[what] > np.finfo(np.float32).max or 0 < sizes[what] < np.finfo(np.float32).tiny:
            raise ExportError(
                f"{target} holds numbers in float32, and {what}, {sizes[what]:.3g} in size, is beyond it; "
                "scale the features and train again, or export to onnx-double or source code"
            )


class Target(NamedTuple):
    """An engine that rankers are exported to.

    Attributes
    ----------
    name : str
        As ``--to`` names it.
    summary : str
        What is written, and what to know of it, for the table of the documentation.
    write : callable
        From a function, and the version of the engine or None, to what is written.
    scores : callable
        From the written bytes and `Documents`, whose columns are found by the names that were written, to
        scores by the target's rule.
    by : str
        What computes `scores`: a runtime, or the file of the server that our transcript follows.
    kinds : tuple of str
        The kinds of rankers that it expresses, of `KINDS`.
    zero_for_missing : tuple of str
        The kinds of rankers for which the engine reads a missing value as 0.
    float32 : bool
        Whether the engine adds in float32.
    takes_version : bool
        Whether files differ by the version of the engine.
    zero : float
        The engine reads values of at most this magnitude as 0.
    names : tuple of str, optional
        The pattern of the names of columns, and the remedy for others.
    ignores_case : bool
        Whether columns have names, and those that differ in case alone are one.
    library : str
        What `write` imports. Of weighted sums of numbers it refuses nothing that the fields above allow.
    writes_all : bool
        Whether it refuses nothing of any other function either.
    categories : str
        Who says which documents have a category: ``"computed"`` if the caller computes the features,
        ``"defined"`` if definitions of features do, ``"read"`` if the file does, by the columns of texts.
    """

    name: str
    summary: str
    write: "Callable[[Function, Version | None], Written]"
    scores: Callable[[bytes, Documents], np.ndarray]
    by: str
    kinds: tuple[str, ...] = KINDS
    zero_for_missing: tuple[str, ...] = ()
    float32: bool = False
    takes_version: bool = False
    zero: float = 0.0
    names: tuple[str, str] | None = None
    ignores_case: bool = False
    library: str = ""
    writes_all: bool = False
    categories: str = COMPUTED


class Written(NamedTuple):
    """A ranker in the form of a target.

    Attributes
    ----------
    content : bytes
        Of the file.
    needs : tuple of str
        What the engine needs besides the file, a sentence each.
    changes : tuple of str
        What is not as in the ranker, a sentence each.
    features : tuple of str
        Those of the needs that a package with the definitions of the features meets.
    """

    content: bytes
    needs: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    features: tuple[str, ...] = ()


def categories_of(encoding: Encoding | None) -> Categories:
    """Return the features that are 1 where a column has a value, or none of those that have a feature."""
    if encoding is None or isinstance(encoding, Places):
        return {}
    found: dict[int, Category] = {}
    at = 0
    for column in encoding.columns:
        values = encoding.values.get(column)
        if values is not None:
            features = [Category(column, (value,)) for value in values]
            found.update(enumerate([*features, Category(column, values, True)], at))
        at += 1 if values is None else len(values) + 1
    return found


def function_of(scorer: Scorer, names: tuple[str, ...], categories: Categories | None = None) -> Function:
    """Return the function that a scorer computes of features, some of which are categories.

    Raises
    ------
    ExportError
        If its score depends on the other documents of the query, or it is of an unknown kind.
    """
    categories = {} if categories is None else categories
    sets: dict[tuple[int, ...], int] = {}
    function = _function_of(scorer, names, sets)
    if sets:
        function = replace(function, **_with_sets(names, categories, sets))
    else:
        function = replace(function, categories=categories)
    # The logarithm of 1 + 1 is a weight, and no category is missing.
    terms = tuple(
        Term(term.feature, term.weight * (math.log(2) if term.logarithm else 1.0))
        if term.feature in categories
        else term
        for term in function.terms
    )
    function = replace(function, terms=terms)
    # A search engine may read a category that a document does not have as missing: it goes where 0 goes.
    of = np.isin(np.arange(len(function.names)), list(function.categories))
    zeros = np.zeros(len(of), np.float32)
    return replace(function, trees=function.trees.with_missing_like(zeros, of)) if of.any() else function


def _function_of(scorer: Scorer, names: tuple[str, ...], sets: dict[tuple[int, ...], int]) -> Function:
    if reads_queries(scorer):
        raise ExportError(
            f"{type(scorer).__name__} scores a document by the other documents of its query, which no engine "
            "computes; approximate it by trees (--distil DATA, in Python distil=), or train with "
            "scaling='standard' or 'log', and no ensemble that standardises scores"
        )
    if isinstance(scorer, Sum):
        parts = [_function_of(term, names, sets) for term in scorer.terms]
        weighted = list(zip(map(float, scorer.weights), parts, strict=True))
        return Function(
            names,
            tuple(term.times(weight) for weight, part in weighted for term in part.terms),
            Trees.concatenate([part.trees.times(weight) for weight, part in weighted]),
            sum(weight * part.intercept for weight, part in weighted),
        )
    if isinstance(scorer, Linear | LogLinear) and scorer.coefficients is not None:
        logarithm = scorer.logarithm if isinstance(scorer, LogLinear) else np.zeros(len(names), bool)
        fill = [None] * len(names) if scorer.fill is None else scorer.fill.tolist()
        rows = zip(np.asarray(scorer.coefficients, float).tolist(), logarithm.tolist(), fill, strict=True)
        return Function(names, tuple(Term(i, *row) for i, row in enumerate(rows)), Trees.concatenate([]))
    if type(scorer) is Trees and scorer.root is not None:
        return Function(names, (), scorer)
    if isinstance(scorer, Additive) and scorer.coefficients is not None:
        return _additive(scorer, names)
    if isinstance(scorer, SetTrees) and scorer.root is not None:
        return Function(names, (), _plain(scorer, len(names), sets))
    raise ExportError(f"{scorer!r} cannot be exported: it is not trained, or of a kind that is not known")


def _plain(trees: SetTrees, n_features: int, sets: dict[tuple[int, ...], int]) -> Trees:
    """Return trees whose splits on sets read one more feature each, which `sets` counts by its members."""
    if not trees.width.all():
        raise ExportError(
            "the model of a library has trees with splits on sets of categories, which the engines' formats "
            "cannot represent; approximate it by trees (--distil DATA, in Python distil=)"
        )
    ends, place = np.append(trees.start, len(trees.words))[1:], np.arange(n_features)
    for source, width, start, end in zip(trees.source, trees.width, trees.start, ends, strict=True):
        bits = np.unpackbits(trees.words[start:end].view(np.uint8), bitorder="little")
        members = tuple((source + np.flatnonzero(bits[:width])).tolist())
        place = np.append(place, sets.setdefault(members, n_features + len(sets)))
    nodes = {name: getattr(trees, name) for name in NODES}
    return Trees(**{**nodes, "feature": place[trees.feature].astype(np.int32)})


def _with_sets(
    names: tuple[str, ...], categories: Categories, sets: dict[tuple[int, ...], int]
) -> dict[str, Any]:
    """Return names and categories with those of sets, each 0 where a category is in the set."""
    found = dict(categories)
    for members, at in sets.items():
        column = categories[members[0]].column
        inside = [value for one in members if not categories[one].outside for value in categories[one].values]
        rest = next(one.values for one in categories.values() if one.column == column and one.outside)
        if any(categories[one].outside for one in members):
            found[at] = Category(column, tuple(value for value in rest if value not in inside), False)
        else:
            found[at] = Category(column, tuple(inside), True)
        name = next(name for name in map(f"{column} set {{}}".format, count(1)) if name not in names)
        names = (*names, name)
    return {"names": names, "categories": found, "sets": tuple(sets)}


def _additive(scorer: Additive, names: tuple[str, ...]) -> Function:
    if scorer.others:
        raise ExportError("the ranker has weak rankers of another library; export needs stumps or features")
    terms, trees, intercept = [], [], []
    for tree in scorer.as_trees.each():
        if len(tree.left) == 1:
            intercept.append(tree.value[0])
            if tree.slope is not None and tree.slope[0]:
                terms.append(Term(int(tree.feature[0]), float(tree.slope[0]), fill=float(tree.fill[0])))
        elif tree.slope is None or not tree.slope.any():
            trees.append(replace(tree, slope=None, fill=None))
        else:
            raise ExportError(
                "the ranker has lines in the leaves of its trees, which engines do not know; use stumps"
            )
    return Function(names, tuple(terms), Trees.concatenate(trees), float(np.sum(intercept)))


def built(
    trees: Trees, leaf: Callable[[float], Built], split: Callable[[Split, Built, Built], Built]
) -> list[Built]:
    """Return each tree in another form, made from its leaves up."""
    ends = np.append(trees.root, len(trees.feature)).tolist()
    feature, threshold, value = trees.feature.tolist(), trees.threshold.tolist(), trees.value.tolist()
    left, right, missing = trees.left.tolist(), trees.right.tolist(), trees.missing.tolist()
    forms: list[Built] = []
    for start, end in pairwise(ends):
        nodes: dict[int, Built] = {}
        for at in range(end - 1, start - 1, -1):  # Children come after their parent.
            if left[at] == LEAF:
                nodes[at] = leaf(value[at])
            else:
                here = Split(feature[at], threshold[at], bool(missing[at] & TO_THE_LEFT))
                nodes[at] = split(here, nodes.pop(start + left[at]), nodes.pop(start + right[at]))
        forms.append(nodes[start])
    return forms


def strict(trees: Trees) -> Trees:
    """Return float32 trees whose rows with x < threshold go left, instead of those with x ≤ threshold.

    Below the largest float32 are all numbers but one: such a split tells only missing values from others. It
    becomes one at the other end of float32, with its children exchanged.
    """
    end = (trees.threshold >= np.finfo(np.float32).max) & (trees.left != LEAF)
    below = np.where(end, np.float32(-np.inf), trees.threshold)
    return Trees(
        trees.root, trees.feature, np.nextafter(below, np.float32(np.inf)), trees.missing ^ end,
        np.where(end, trees.right, trees.left), np.where(end, trees.left, trees.right), trees.value,
        trees.gain,
    )  # fmt: skip


def features_read(trees: Trees) -> list[int]:
    """Return the features that the splits of trees read, in order."""
    return np.unique(trees.feature[trees.left != LEAF]).tolist()


def log_name(name: str, names: tuple[str, ...]) -> str:
    """Return a name for the logarithm of a feature that no feature has."""
    prefix = "ln_"
    while any(feature.startswith(prefix) for feature in names):
        prefix = f"ln_{prefix}"
    return prefix + name


def weights_by_name(terms: tuple[Term, ...], names: tuple[str, ...]) -> dict[str, float]:
    """Return the weight of each feature, and of each logarithm under the name that it gets.

    Engines want a feature at least: without terms the first one has the weight 0.
    """
    sums: dict[str, float] = {} if terms else {names[0]: 0.0}
    for term in terms:
        name = log_name(names[term.feature], names) if term.logarithm else names[term.feature]
        sums[name] = sums.get(name, 0.0) + term.weight
    return sums


def log1p_form(x: np.ndarray) -> np.ndarray:
    """Return sign(x) · log1p |x| by the form without cancellation that engines can say, in the type of x.

    x · (log u / (u − 1)) where u = 1 + |x| is above 1, or else x: what u loses of x, u − 1 loses, too.
    """
    above, one = 1 + np.abs(x), x.dtype.type(1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(above > one, x * (np.log(above.astype(float)).astype(x.dtype) / (above - one)), x)


def weighted_sum(weights: dict[str, float], columns: dict[str, np.ndarray]) -> np.ndarray:
    """Return the float32 sum of weighted features, in the order of the weights."""
    total = np.zeros(len(next(iter(columns.values()))), np.float32)
    for name, weight in weights.items():
        total += np.float32(weight) * columns[name]
    return total


Node = TypeVar("Node")


def leaf_values(
    root: Node,
    n_rows: int,
    step: "Callable[[Node, np.ndarray], float | tuple[np.ndarray, Node, Node]]",
    kind: type = np.float32,
) -> np.ndarray:
    """Return the value of the leaf of a tree that each row reaches, in the type `kind`.

    `step` returns the value of a leaf; or for a split, which of the rows with these numbers go to the first
    of two children, and these.
    """
    out, waiting = np.zeros(n_rows, kind), [(root, np.arange(n_rows))]
    while waiting:
        node, rows = waiting.pop()
        reached = step(node, rows)
        if isinstance(reached, tuple):
            first, one, other = reached
            waiting += [(one, rows[first]), (other, rows[~first])]
        else:
            out[rows] = reached
    return out


def check_names(names: tuple[str, ...], used: Iterable[int], pattern: str, target: str, remedy: str) -> None:
    """Raise an `ExportError` if the name of a used feature does not match a pattern as a whole."""
    for at in sorted(used):
        if not re.fullmatch(pattern, names[at]):
            raise ExportError(f"{target} cannot name the feature {names[at]!r}; {remedy}")
