"""Fusion of retrieval runs: normalised scores with weights learned for a measure, beside the usual rules."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np

from directrank.apps.engines.function import Written
from directrank.apps.engines.fusions import engine_form
from directrank.apps.evaluation import Judged, Submission, is_text, named_runs, run_from
from directrank.apps.experiments.evaluated import evaluated
from directrank.apps.experiments.options import STANDARD
from directrank.apps.experiments.results import Comparison
from directrank.apps.experiments.significance import power_line, with_significance
from directrank.apps.experiments.tables import p_value
from directrank.apps.fusion.rules import FIXED, MIN_MAX, NORMALISATIONS, RANK, STANDARDISED, K, weighted
from directrank.contracts import Measure
from directrank.data import QueryGroups
from directrank.data.queries import Queries
from directrank.errors import DataError, ModelFormatError, check_choice
from directrank.estimators.ranker import MeanMonitor
from directrank.features.shards import make_shards
from directrank.files import ReadOptions
from directrank.files.trec import Union, united
from directrank.measures import DEFAULT_MEASURE, parse_measure
from directrank.measures.evaluation import ranked_last, values_of
from directrank.models.container import damaged, read_container, write_container
from directrank.models.saving import FORMAT, FUSION
from directrank.scorers import Linear
from directrank.solvers import CoordinateAscent
from directrank.storage.strict_json import OddValueError, Record, encode
from directrank.surrogates import MeasureItself, Objective

#: Cross-validation chooses the share of learned weights, n / (n + these), n being the judged queries.
AMOUNTS = (10, 40, 160)
#: With so many judged queries an estimated gain over RRF of 0 suffices. With half as many it has to be one
#: standard error, with twice as many or more a loss of one is allowed: on Cranfield, weights that are learned
#: from fewer queries lose more often than they gain.
ENOUGH = 40
INNER_FOLDS, HALF_WIDTH, RUNS = 5, 0.3, 2
GRID = np.linspace(0.0, 1.0, 11)


def query_values(measure: Measure, union: Union, scores: np.ndarray) -> np.ndarray:
    """Return a measure of each query; documents without a score or in no run add nothing, as in trec_eval."""
    held = union.retrieved & ~np.isnan(scores)
    return values_of([measure], union.queries, ranked_last(union.queries, scores, held), retrieved=held)[0]


@dataclass(frozen=True, eq=False)
class Legs:
    """Runs to be fused, which a fusion calls its legs, with judgments of some queries.

    `notes` say how many queries are not judged, or not in a run.
    """

    names: tuple[str, ...]
    union: Union
    notes: list[str]
    judgments: Judged | None = None

    @classmethod
    def read(
        cls, runs: Any, judgments: Any = None, *, how: ReadOptions | None = None, without_self: bool = False
    ) -> "Legs":
        """Read runs, and judgments where there are some.

        Parameters
        ----------
        runs : sequence of rankings, or mapping of str to ranking
            TREC runs, tables of qid, docid and score, data frames with these columns, and mappings of qid to
            a mapping of docid to score; two or more.
        judgments : path, QueryGroups, data frame, or mapping of qid to mapping of docid to grade, optional
        how : ReadOptions, optional
            The columns of a table of judgments; guessed by their names by default.
        without_self : bool, default=False
            Leave out documents that are called like their query.

        Raises
        ------
        DataError
            If a file is malformed, or nothing of the runs is judged.
        ValueError
            If there are fewer than two runs, or one is given twice.
        """
        named = named_runs(runs)
        if len(named) < 2:
            raise ValueError(f"a fusion needs two runs or more, not {len(named)}")
        read = [run_from(*each, how) for each in named.items()]
        read = [each.without_self() for each in read] if without_self else read
        notes = [note for each in read for note in each.notes]
        if judgments is None:
            return cls(tuple(named), united(read), notes)
        source = Judged(judgments, how, without_self=without_self)
        judged = source.judgments(words=any(map(is_text, named.values())))
        union = united(read, judged)
        if not (union.judged & union.retrieved).any():
            docid: Any = union.queries.docid
            raise DataError(
                f"{source.source}: no document of the runs is judged; name queries and documents as the runs "
                f"do, such as {union.queries.qid[0]} and {docid[union.retrieved][0]}"
            )
        has_judged, has_held = (union.any_document(each) for each in (union.judged, union.retrieved))
        counted = (
            (~has_judged, "have no judgment: they are fused, and nothing is learned from them"),
            (~has_held, "are judged, but in no run: they count 0"),
        )
        notes += [
            f"{which.sum()} of {len(which)} queries {text}, such as {union.queries.qid[which][0]}"
            for which, text in counted
            if which.any()
        ]
        return cls(tuple(named), union, [*source.notes, *notes], source)

    @property
    def judged(self) -> Union:
        """The queries that have a judgment."""
        return self.union.chosen(self.union.any_document(self.union.judged))


@dataclass(frozen=True, eq=False)
class Rule:
    """A normalisation and weights, ≥ 0 with the sum 1; `share` of them is learned, the rest equal."""

    normalisation: str
    weights: np.ndarray
    share: float = 0.0

    def scores(self, union: Union) -> np.ndarray:
        """Return the fused scores, (n_docs,)."""
        return weighted(NORMALISATIONS[self.normalisation](union), self.weights)


def random_folds(queries: Queries, k: int, rng: np.random.Generator) -> np.ndarray:
    """Return the number of each query's fold, which depends on its name and not on its place in files."""
    folds = np.empty(queries.n_queries, np.int64)
    folds[np.argsort(queries.qid.astype(str))] = rng.permutation(queries.n_queries) % k
    return folds


class _Sample(NamedTuple):
    """Queries with their features, for the monitor."""

    queries: Queries
    features: np.ndarray


def ascended(measure: Measure, union: Union, normalisation: str, rng: np.random.Generator) -> np.ndarray:
    """Return weights ≥ 0 with the sum 1 by coordinate ascent; equal ones if nothing can be learned."""
    queries, features = union.queries, NORMALISATIONS[normalisation](union).astype(np.float32)
    n_legs = features.shape[1]
    surrogate, shards = MeasureItself(measure, half_width=HALF_WIDTH), make_shards(queries.indptr, n_legs)
    sample: Any = _Sample(queries, features)
    try:
        objective: Any = Objective(surrogate, queries, shards)
    except DataError:
        return np.full(n_legs, 1.0 / n_legs)
    solver, monitor = CoordinateAscent(runs=RUNS, non_negative=True), MeanMonitor(measure, sample)
    found = solver.solve(objective, Linear(), features, monitor, rng).scorer.coefficients
    return found / found.sum() if found.sum() > 0 else np.full(n_legs, 1.0 / n_legs)


def learned(measure: Measure, union: Union, normalisations: Sequence[str], seed: int) -> Rule:
    """Learn weights from judged queries, shrunk towards equal ones, or return RRF.

    Every normalisation and every share of `AMOUNTS` is judged by cross-validation, and the best one is
    learned on all queries if its gain over RRF is convincing; see `ENOUGH`.
    """
    n, n_legs = union.queries.n_queries, union.scores.shape[1]
    equal, rng = np.full(n_legs, 1.0 / n_legs), np.random.default_rng(seed)
    rrf = Rule(RANK, equal)
    if n < 2:
        return rrf
    base = query_values(measure, union, rrf.scores(union))
    folds = random_folds(union.queries, min(INNER_FOLDS, n), rng)
    gains = {(name, n / (n + amount)): np.zeros(n) for name in normalisations for amount in AMOUNTS}
    for fold in range(folds.max() + 1):
        rest, part = union.chosen(folds != fold), union.chosen(folds == fold)
        for name in normalisations:
            found = ascended(measure, rest, name, rng)
            for share in [share for key, share in gains if key == name]:
                scores = Rule(name, share * found + (1.0 - share) * equal).scores(part)
                gains[name, share][folds == fold] = query_values(measure, part, scores)
    (name, share), values = max(gains.items(), key=lambda each: each[1].mean())
    gain = values - base
    if gain.mean() <= max(np.log2(ENOUGH / n), -1.0) * gain.std(ddof=1) / np.sqrt(n):
        return rrf
    return Rule(name, share * ascended(measure, union, name, rng) + (1.0 - share) * equal, share)


LEARNED, BEST_OF_GRID, SINGLE = "learned", f"best of {len(GRID)} weights", "best single run"
#: What the rows of the table are; the others are runs.
MEANINGS = {
    LEARNED: "weights learned on the other folds",
    BEST_OF_GRID: "best weights of min-max scores on the other folds",
    SINGLE: "best run on the other folds",
    f"RRF (k = {K})": f"sum of 1 / ({K} + rank)",
    "CombSUM": "sum of min-max scores",
    "CombMNZ": "CombSUM × runs with the document",
}
#: From a union to fused scores, (n_docs,); NaN of documents that are left out.
Scores = Callable[[Union], np.ndarray]


def _fitted(measure: Measure, union: Union, normalisations: Sequence[str], seed: int) -> dict[str, Scores]:
    """Return the rules that are learned or chosen on judged queries, by name."""

    def best(rules: Sequence[Scores]) -> Scores:
        return max(rules, key=lambda rule: query_values(measure, union, rule(union)).mean())

    rules: dict[str, Scores] = {LEARNED: learned(measure, union, normalisations, seed).scores}
    n_legs = union.scores.shape[1]
    if n_legs == 2:
        points = [Rule(MIN_MAX, np.array([weight, 1.0 - weight])) for weight in GRID]
        rules[BEST_OF_GRID] = best([point.scores for point in points])
    return rules | {SINGLE: best([lambda some, leg=leg: some.scores[:, leg] for leg in range(n_legs)])}


def _worth(result: Comparison, kfold: int) -> str:
    """Return whether learned weights are better than RRF, and how many queries would tell."""
    (measure,), tests = result.measures, result.content.significance[STANDARD]
    pair = next(each for each in tests.pairs[measure] if each.method in FIXED).turned
    verdict = "significant" if tests.significant(pair) else "may be chance" if pair.effect else "the same"
    return (
        f"Is it worth it? On {kfold} folds of queries, each with weights learned from the others, the "
        f"learned weights less {pair.baseline}: {pair.difference:+.4f} {measure}, {tests.level:.0%} interval "
        f"{pair.low:+.4f} to {pair.high:+.4f}, p {p_value(tests.p(pair))} by Holm's rule: {verdict}. "
        f"{power_line(tests, measure, pair)}"
    ).rstrip()


class FusionFile(Record):
    """The description of a fusion in its file."""

    legs: list[str]
    normalisation: str
    share: float
    measure: str
    n_judged: int


class Fusion:
    """Weights of retrieval runs, learned for the measure itself and shrunk towards reciprocal rank fusion.

    Scores are normalised in each query and added with weights ≥ 0, found by coordinate ascent on the measure
    and shrunk towards equal weights by an amount that cross-validation inside the judged queries chooses.
    Without judged queries, or where these show no convincing gain, it is RRF. Documents that one run alone
    found take part: in the other runs they are below all documents, and have the reciprocal rank 0.

    Parameters
    ----------
    measure : str or Measure, default="nDCG@10"
    normalise : sequence of str, default=("standardised",)
        The normalisations to choose from by cross-validation, of ``"rank"``, ``"min-max"``,
        ``"standardised"`` and ``"log-odds"``.
    random_state : int, default=0

    Attributes
    ----------
    legs_ : tuple of str
        The names of the runs.
    normalisation_ : str
    weights_ : ndarray of shape (n_legs,)
        Not negative, with the sum 1.
    share_ : float
        How much of the weights is learned; the rest is equal weights.
    n_judged_ : int
        How many judged queries it was learned from.

    Examples
    --------
    >>> from directrank import Fusion
    >>> runs = {"words": {"q": {"a": 9.0, "b": 5.0}}, "vectors": {"q": {"b": 0.8, "c": 0.7}}}
    >>> fused = Fusion().fit(runs).fuse(runs)
    >>> list(fused["q"])
    ['b', 'a', 'c']
    """

    def __init__(
        self,
        measure: str | Measure = DEFAULT_MEASURE,
        *,
        normalise: Sequence[str] = (STANDARDISED,),
        random_state: int = 0,
    ):
        self.measure, self.normalise, self.random_state = measure, normalise, random_state

    def _settings(self, union: Union) -> tuple[Measure, list[str]]:
        """Return the measure, with the largest grade of the data, and the normalisations."""
        measure = parse_measure(self.measure).with_largest_grade(union.queries.max_relevance)
        if measure.is_error:
            raise ValueError(f"{measure.name} is an error, of which less is better; fuse for nDCG@10, AP, …")
        names = [*dict.fromkeys(self.normalise)]
        if not names:
            raise ValueError(f"normalise is empty; give one or more of {', '.join(NORMALISATIONS)}")
        for name in names:
            check_choice("normalisation", name, NORMALISATIONS)
        return measure, names

    def fit(self, runs: Any, judgments: Any = None) -> "Fusion":
        """Learn the weights of runs from judged queries.

        Parameters
        ----------
        runs : Legs, sequence of rankings, or mapping of str to ranking
            See `Legs.read`. Names of a mapping are those of the legs.
        judgments : path, QueryGroups, data frame or mapping, optional
            Without them the fusion is RRF.

        Raises
        ------
        DataError
            If a file is malformed, or nothing of the runs is judged.
        ValueError
            If the measure or a normalisation is unknown, or there are fewer than two runs.
        """
        legs = _legs(runs, judgments)
        judged = legs.judged
        measure, names = self._settings(judged)
        found = learned(measure, judged, names, self.random_state)
        self.legs_, self.n_judged_ = legs.names, judged.queries.n_queries
        self.normalisation_, self.weights_, self.share_ = found.normalisation, found.weights, found.share
        return self

    def cross_validate(self, runs: Any, judgments: Any = None, *, kfold: int = 5) -> Comparison:
        """Compare learned weights with the usual rules, on queries that they were not learned from.

        Parameters
        ----------
        runs, judgments
            As in `fit`.
        kfold : int, default=5
            The number of random folds of the judged queries.

        Returns
        -------
        Comparison
            Each rule and each run is a method, tested against ``"learned"``. `directrank.write_report` makes
            its page.

        Raises
        ------
        ValueError
            If there are fewer judged queries than folds, or fewer than two folds.
        """
        legs = _legs(runs, judgments)
        union, source = legs.judged, legs.judgments
        measure, names = self._settings(union)
        n = union.queries.n_queries
        if source is None or not 2 <= kfold <= n:
            raise ValueError(f"kfold={kfold}: expected 2 or more, and at most the {n} judged queries")
        folds = random_folds(union.queries, kfold, np.random.default_rng(self.random_state))
        fold_of = np.repeat(folds, union.queries.sizes)
        rows: dict[str, np.ndarray] = {}
        for fold in range(kfold):
            rest, part = union.chosen(folds != fold), union.chosen(folds == fold)
            for name, rule in _fitted(measure, rest, names, self.random_state).items():
                rows.setdefault(name, np.empty(len(fold_of)))[fold_of == fold] = rule(part)
        rows = {
            name: np.where(union.retrieved, scores, np.nan)
            for name, scores in (rows | {name: rule(union) for name, rule in FIXED.items()}).items()
        }
        for label, scores in zip(legs.names, union.scores.T, strict=True):
            name = label
            while name in rows:  # A leg may have the name of a rule.
                name += " (run)"
            rows[name] = scores
        queries = replace(union.queries, row=np.arange(len(fold_of)), _cache={})
        submissions = [
            Submission(
                name, MEANINGS.get(name, "a run alone"), queries, scores, ~np.isnan(scores), legs.notes
            )
            for name, scores in rows.items()
        ]
        values = evaluated(source, submissions, [measure], [STANDARD])
        result = with_significance(Comparison(values), LEARNED, "holm")
        whole = Fusion(self.measure, normalise=names, random_state=self.random_state).fit(legs)
        return Comparison(replace(result.content, conclusions=[_worth(result, kfold), whole.summary()]))

    def summary(self) -> str:
        """Return the weights and where they come from, in one sentence."""
        if not self.share_:
            why = "judged queries show no convincing gain over it" if self.n_judged_ else "no query is judged"
            return f"Weights: equal, of reciprocal ranks: RRF (k = {K}), as {why}"
        weights = [f"{leg} {each:.4f}" for leg, each in zip(self.legs_, self.weights_, strict=True)]
        return (
            f"Weights of scores, {self.normalisation_}: {', '.join(weights)}; {self.share_:.0%} learned from "
            f"{self.n_judged_} judged queries, the rest equal"
        )

    def fuse(self, runs: Any) -> dict[Any, dict[str, float]]:
        """Return the fused score of each document of the runs, by qid and docid, the best document first.

        Names of queries are integers if all are plain ones, and texts otherwise.

        Parameters
        ----------
        runs : Legs, sequence of rankings, or mapping of str to ranking
            One for each leg: by the names of the legs, or else, of files, in their order.

        Raises
        ------
        DataError
            If a file is malformed.
        ValueError
            If the runs do not fit the legs.
        """
        groups, scores = self.ranked(_legs(runs))
        docids: Any = groups.docid
        fused: dict[Any, dict[str, float]] = {}
        for qid, docid, score in zip(groups.qid.tolist(), docids.tolist(), scores.tolist(), strict=True):
            fused.setdefault(qid, {})[docid] = score
        return fused

    def ranked(self, legs: Legs) -> tuple[QueryGroups, np.ndarray]:
        """Return the documents of the runs without features, query by query, best first, and their scores."""
        union = self._in_order(legs)
        rows = np.flatnonzero(union.retrieved)
        query = union.queries.query[rows]
        scores = Rule(self.normalisation_, self.weights_).scores(union)[rows]
        # Documents with equal scores are in the order of the runs' lines.
        order = np.lexsort((union.queries.row[rows], -scores, query))
        docid: Any = union.queries.docid
        X = np.empty((len(rows), 0), np.float32)
        groups = QueryGroups(X, None, union.queries.qid[query[order]], docid=docid[rows[order]], name="fused")
        return groups, scores[order]

    def _in_order(self, legs: Legs) -> Union:
        """Return the union with its columns in the order of the legs that were learned."""
        if len(legs.names) != len(self.legs_):
            raise ValueError(
                f"the fusion has {len(self.legs_)} legs ({', '.join(self.legs_)}), but there are "
                f"{len(legs.names)} runs; give one run for each leg"
            )
        if {*legs.names} != {*self.legs_}:
            for run, leg in zip(legs.names, self.legs_, strict=True):
                if run != leg and run in self.legs_:
                    raise ValueError(
                        f"{run} stands where the fusion has {leg}; give the runs in the order of its legs: "
                        f"{', '.join(self.legs_)}"
                    )
            return legs.union
        places = [legs.names.index(name) for name in self.legs_]
        return Union(legs.union.queries, legs.union.scores[:, places], legs.union.judged)

    def engine(self, name: str) -> Written:
        """Return the weights in the form of a search engine.

        Parameters
        ----------
        name : {"opensearch", "elasticsearch", "solr", "vespa"}

        Raises
        ------
        ExportError
            If the engine has not the normalisation, or not such weights.
        """
        return engine_form(name, self.legs_, self.weights_.tolist(), self.normalisation_, K)

    def save(self, path: str | os.PathLike) -> None:
        """Write the fusion to a file, which holds data only.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        record = FusionFile(
            legs=[*self.legs_],
            normalisation=self.normalisation_,
            share=self.share_,
            measure=parse_measure(self.measure).name,
            n_judged=self.n_judged_,
        )
        description = {
            "format": FORMAT,
            "library": version("directrank"),
            "class": FUSION,
            "fusion": encode(record),
        }
        write_container(path, description, {"weights": self.weights_})

    @classmethod
    def load(cls, path: str | os.PathLike) -> "Fusion":
        """Read a fusion that `save` wrote.

        Raises
        ------
        ModelFormatError
            If the file is no fusion, was damaged, or comes from a later release.
        OSError
            If the file cannot be read.
        """
        description, tensors = read_container(path)
        if description.get("class") != FUSION:
            raise ModelFormatError(f"{path}: a ranker, not a fusion of runs; use `directrank rank`")
        if description.get("format") != FORMAT:
            raise ModelFormatError(
                f"{path}: the fusion has format {description.get('format')}, this release reads format "
                f"{FORMAT}; install directrank {description.get('library')} or a later one"
            )
        try:
            record = FusionFile.read(description.get("fusion"))
        except OddValueError as error:
            raise ModelFormatError(damaged(path, str(error))) from None
        weights = tensors.get("weights", np.empty(0))
        if record.normalisation not in NORMALISATIONS or weights.shape != (len(record.legs),):
            raise ModelFormatError(
                damaged(path, "its weights do not fit its legs, or its normalisation is unknown")
            )
        if weights.dtype != np.float64 or not (weights >= 0).all() or abs(weights.sum() - 1.0) > 1e-6:
            raise ModelFormatError(damaged(path, "its weights are not shares of 1"))
        fusion = cls(record.measure)
        fusion.legs_, fusion.n_judged_, fusion.weights_ = tuple(record.legs), record.n_judged, weights
        fusion.normalisation_, fusion.share_ = record.normalisation, record.share
        return fusion


def _legs(runs: Any, judgments: Any = None) -> Legs:
    return runs if isinstance(runs, Legs) else Legs.read(runs, judgments)
