"""Fusion of retrieval runs: normalised scores with weights learned for a measure, beside the usual rules."""

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from directrank.apps.evaluation import Submission
from directrank.apps.evaluation.significance import p_value
from directrank.apps.experiments import Comparison, evaluate_submissions
from directrank.apps.experiments.store.records import Pair
from directrank.apps.fusion.learning import Rule, learned_rule, random_folds
from directrank.apps.fusion.rules import (
    COMB_MNZ,
    COMB_SUM,
    EQUAL_WEIGHTS,
    MIN_MAX,
    NORMALISATIONS,
    RANK,
    RRF,
    K,
)
from directrank.apps.fusion.runs import Runs
from directrank.contracts import Measure
from directrank.data import QueryGroups, descending_order
from directrank.errors import DataError, ModelFormatError, check_choice
from directrank.files import Union
from directrank.measures import DEFAULT_MEASURE, parse_measure
from directrank.models.container import damaged, read_container, write_container
from directrank.storage.strict_json import OddValueError, Record, encode

if TYPE_CHECKING:
    from directrank.apps.engines.function import Written

GRID = np.linspace(0.0, 1.0, 11)
LEARNED, BEST_OF_GRID, SINGLE = "learned", f"best of {len(GRID)} weights", "best single run"
#: What the rows of the table are; the others are runs.
MEANINGS = {
    LEARNED: "weights learned on the other folds",
    BEST_OF_GRID: "best weights of min-max scores on the other folds",
    SINGLE: "best run on the other folds",
    RRF: f"sum of 1 / ({K} + rank)",
    COMB_SUM: "sum of min-max scores",
    COMB_MNZ: "CombSUM × runs with the document",
}
#: The words by which rules are asked for; a run is asked for by its name.
WORDS = {
    "learned": LEARNED,
    "grid": BEST_OF_GRID,
    "single": SINGLE,
    "rrf": RRF,
    "combsum": COMB_SUM,
    "combmnz": COMB_MNZ,
}


def rows_of(runs: Sequence[str]) -> list[str]:
    """Return the names of the rules of a table, those of the runs at the end."""
    rows = [row for row in MEANINGS if row != BEST_OF_GRID or len(runs) == 2]
    for run in runs:
        name = run
        while name in rows:  # A run may have the name of a rule.
            name += " (run)"
        rows.append(name)
    return rows


def rule_of(
    row: str, runs: Sequence[str], measure: Measure, judged: Union, normalisations: Sequence[str], seed: int
) -> Rule:
    """Return the rule of a row of the table, learned or chosen on judged queries where it is."""
    n_runs = len(runs)
    if row == LEARNED:
        return learned_rule(measure, judged, normalisations, seed)
    if row in EQUAL_WEIGHTS:
        return Rule.equal(EQUAL_WEIGHTS[row], n_runs)
    singles = [Rule.single(run, n_runs) for run in range(n_runs)]
    if row not in MEANINGS:
        return singles[rows_of(runs)[-n_runs:].index(row)]
    if not judged.queries.n_queries:
        raise ValueError(f"{row}: judged queries choose it, and there are none; give judgments (--qrels)")
    points = [Rule(MIN_MAX, np.array([weight, 1.0 - weight])) for weight in GRID]
    candidates = singles if row == SINGLE else points
    return max(candidates, key=lambda rule: rule.query_values(measure, judged).mean())


def _worth(result: Comparison, rule: str, kfold: int) -> list[str]:
    """Return whether the rule taken is better than RRF, how many queries would tell, and the best rule."""
    (measure,), tests = result.measures, result.content.significance["standard"]
    pairs = {pair.method: pair.turned for pair in tests.pairs[measure]}

    def told(pair: Pair, minus: str) -> str:
        verdict = (
            "significant" if tests.significant(pair) else "not significant" if pair.effect else "the same"
        )
        return (
            f"{minus}: {pair.difference:+.4f} {measure}, {pair.percent} interval {pair.low:+.4f} to "
            f"{pair.high:+.4f}, p {p_value(tests.p(pair))} by Holm's rule: {verdict}."
        )

    lines = []
    if rule != RRF:
        name = "the learned weights" if rule == LEARNED else rule
        text = told(pairs[RRF], f"difference of {name} to {RRF}")
        lines.append(
            f"Is it worth it? On {kfold} folds of queries, each with weights learned from the others, {text} "
            f"{tests.power_line(measure, pairs[RRF])}".rstrip()
        )
    best = max(result.methods, key=lambda row: (result.mean(row, measure, "standard"), row == rule))
    if best == rule:
        return [*lines, f"No rule of the table is above {rule}."]
    word = next((word for word, row in WORDS.items() if row == best), best.removesuffix(" (run)"))
    text = told(
        next(pair for pair in tests.pairs[measure] if pair.method == best), f"difference of {best} to {rule}"
    )
    return [*lines, f"Best of the table: {text} --rule {word} takes it (in Python, rule={word!r})."]


class FusedDocument(NamedTuple):
    """A document of a fusion.

    Attributes
    ----------
    docid : str
    score : float
    scores : dict of str to float
        Its score in each run; NaN where the run lacks it.
    adds : dict of str to float
        What each run adds to the score.
    """

    docid: str
    score: float
    scores: dict[str, float]
    adds: dict[str, float]


class FusionFile(Record):
    """The description of a fusion in its file."""

    legs: list[str]  # The names of the runs: files say legs, as in earlier builds.
    normalisation: str
    share: float
    measure: str
    n_judged: int
    rule: str = LEARNED


class Fusion:
    """Weights of retrieval runs, learned for the measure itself and shrunk towards the usual rules.

    Scores are normalised in each query and added with weights ≥ 0, found by coordinate ascent on the measure
    and shrunk towards equal weights, which are RRF, CombSUM or CombMNZ by the normalisation. Cross-validation
    inside the judged queries chooses both. Without judged queries, or where these show no convincing gain, it
    is RRF. Documents that one run alone found take part: in the other runs they are below all documents, and
    have the reciprocal rank 0.

    Parameters
    ----------
    measure : str or Measure, default="nDCG@10"
    normalise : sequence of str, default=("rank", "min-max", "mnz", "standardised", "log-odds")
        The normalisations to choose from by cross-validation.
    rule : str, default="learned"
        What is taken: ``"learned"``; ``"rrf"``, ``"combsum"`` and ``"combmnz"``; ``"grid"``, the best of 11
        weights of two runs; ``"single"``, the best run; or the name of a run.
    random_state : int, default=0

    Attributes
    ----------
    runs_ : tuple of str
        The names of the runs.
    normalisation_ : str
    weights_ : ndarray of shape (n_runs,)
        Not negative, with the sum 1. Where one run alone has a weight, its documents are ranked alone.
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
        normalise: Sequence[str] = (*NORMALISATIONS,),
        rule: str = LEARNED,
        random_state: int = 0,
    ):
        self.measure, self.normalise, self.random_state = measure, normalise, random_state
        self.rule = rule

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

    def _row(self, runs: Sequence[str]) -> str:
        """Return the row of the table that is the rule taken."""
        rows = rows_of(runs)
        row = WORDS.get(self.rule, self.rule)
        if row not in rows and self.rule not in WORDS:
            check_choice("rule", self.rule, [*WORDS, *runs])
        if row not in rows:
            raise ValueError(f"rule={self.rule!r} is of two runs, not {len(runs)}")
        return row

    def fit(self, runs: object, judgments: object = None) -> "Fusion":
        """Learn the weights of runs from judged queries.

        Parameters
        ----------
        runs : Runs, sequence of rankings, or mapping of str to ranking
            See `Runs.read`. The keys of a mapping are the names of the runs.
        judgments : path, QueryGroups, data frame or mapping, optional
            Without them the fusion is RRF.

        Raises
        ------
        DataError
            If a file is malformed, or nothing of the runs is judged.
        ValueError
            If the measure or a normalisation is unknown, or there are fewer than two runs.
        """
        runs = _runs(runs, judgments)
        judged = runs.judged
        measure, names = self._settings(judged)
        rule = rule_of(self._row(runs.names), runs.names, measure, judged, names, self.random_state)
        self.runs_, self.n_judged_ = runs.names, judged.queries.n_queries
        self.normalisation_, self.weights_, self.share_ = rule.normalisation, rule.weights, rule.share
        return self

    def cross_validate(self, runs: object, judgments: object = None, *, kfold: int = 5) -> Comparison:
        """Compare the rule with all others, on queries that none of them was learned from.

        Parameters
        ----------
        runs, judgments
            As in `fit`.
        kfold : int, default=5
            The number of random folds of the judged queries.

        Returns
        -------
        Comparison
            Each rule and each run is a method, tested against the rule taken. `directrank.write_report` makes
            its page.

        Raises
        ------
        ValueError
            If there are fewer judged queries than folds, or fewer than two folds.
        """
        runs = _runs(runs, judgments)
        union, source = runs.judged, runs.judgments
        measure, names = self._settings(union)
        n = union.queries.n_queries
        if source is None or not 2 <= kfold <= n:
            raise ValueError(f"kfold={kfold}: expected 2 or more, and at most the {n} judged queries")
        folds = random_folds(union.queries, kfold, np.random.default_rng(self.random_state))
        fold_of = np.repeat(folds, union.queries.sizes)
        own_row = self._row(runs.names)
        rows = {row: np.empty(len(fold_of)) for row in rows_of(runs.names)}
        for fold in range(kfold):
            rest, part = union.chosen(folds != fold), union.chosen(folds == fold)
            for row, scores in rows.items():
                rule = rule_of(row, runs.names, measure, rest, names, self.random_state)
                scores[fold_of == fold] = rule.scores(part)
        queries = replace(union.queries, row=np.arange(len(fold_of)), _cache={})
        submissions = [
            Submission(row, MEANINGS.get(row, "a run alone"), queries, scores, ~np.isnan(scores), runs.notes)
            for row, scores in rows.items()
        ]
        result = evaluate_submissions(source, submissions, measure, own_row)
        on_all_queries = Fusion(self.measure, normalise=names, rule=self.rule, random_state=self.random_state)
        conclusions = [*_worth(result, own_row, kfold), on_all_queries.fit(runs).summary()]
        return Comparison(replace(result.content, conclusions=conclusions))

    def summary(self) -> str:
        """Return the weights and where they come from, in one sentence."""
        row = self._row(self.runs_)
        if row not in MEANINGS or row == SINGLE:
            best = f", the best single run on {self.n_judged_} judged queries" if row == SINGLE else ""
            return f"{self.runs_[int(self.weights_.argmax())]} alone{best}"
        if row == BEST_OF_GRID or self.share_:
            weights = [f"{run} {weight:.4f}" for run, weight in zip(self.runs_, self.weights_, strict=True)]
            learned_from = f"{self.share_:.0%} learned from {self.n_judged_} judged queries, the rest equal"
            chosen_on = f"the best of {len(GRID)} on {self.n_judged_} judged queries"
            return (
                f"Weights of scores, {self.normalisation_}: {', '.join(weights)}; "
                f"{chosen_on if row == BEST_OF_GRID else learned_from}"
            )
        scores = "reciprocal ranks" if self.normalisation_ == RANK else f"scores, {self.normalisation_}"
        rules = [
            name for name, normalisation in EQUAL_WEIGHTS.items() if normalisation == self.normalisation_
        ]
        if row != LEARNED:
            why = "asked for"
        elif self.normalisation_ != RANK:
            why = (
                f"they beat {RRF} on the {self.n_judged_} judged queries that chose them, and learned "
                "weights gain too little"
            )
        else:
            why = "judged queries show no convincing gain over it" if self.n_judged_ else "no query is judged"
        return f"Weights: equal, of {scores}{': ' if rules else ''}{''.join(rules)}, as {why}"

    def fuse(self, runs: object) -> dict[Any, dict[str, float]]:
        """Return the fused score of each document of the runs, by qid and docid, the best document first.

        Names of queries are as the runs have them: those of mappings and data frames as they are, those of
        files texts.

        Parameters
        ----------
        runs : Runs, sequence of rankings, or mapping of str to ranking
            One for each run that `fit` had: by the same names, or else, of files, in the same order.

        Raises
        ------
        DataError
            If a file is malformed.
        ValueError
            If the runs are not those of `fit`.
        """
        groups, scores = self.ranked(_runs(runs))
        docids: Any = groups.docid
        fused: dict[Any, dict[str, float]] = {}
        for qid, docid, score in zip(groups.qid.tolist(), docids.tolist(), scores.tolist(), strict=True):
            fused.setdefault(qid, {})[docid] = score
        return fused

    def explain(self, runs: object, qid: object) -> "list[FusedDocument]":
        """Return the documents of a query, best first, with what each run adds to their scores.

        What a run adds to the difference of two documents is the difference of what it adds to each.

        Parameters
        ----------
        runs : Runs, sequence of rankings, or mapping of str to ranking
            As in `fuse`.
        qid : object
            The query, as the runs have it.

        Raises
        ------
        DataError
            If a file is malformed, or no run has the query.
        ValueError
            If the runs are not those of `fit`.
        """
        union = self._in_order(_runs(runs))
        of_query = union.queries.qid.astype(str) == str(qid)
        if not of_query.any():
            some = ", ".join(map(str, union.queries.qid[:3].tolist()))
            raise DataError(f"no run has the query {qid}; the first queries are {some}")
        union = union.chosen(of_query)
        scores = Rule(self.normalisation_, self.weights_).scores(union)
        parts, docids = (
            NORMALISATIONS[self.normalisation_](union) * self.weights_,
            np.asarray(union.queries.docid),
        )
        rows = union.queries.inner[~np.isnan(scores[union.queries.inner])]
        return [
            FusedDocument(
                str(docids[row]),
                float(scores[row]),
                dict(zip(self.runs_, union.scores[row].tolist(), strict=True)),
                dict(zip(self.runs_, parts[row].tolist(), strict=True)),
            )
            for row in rows[np.argsort(-scores[rows], kind="stable")]
        ]

    def ranked(self, runs: Runs) -> tuple[QueryGroups, np.ndarray]:
        """Return the documents of the runs without features, query by query, best first, and their scores."""
        union = self._in_order(runs)
        fused = Rule(self.normalisation_, self.weights_).scores(union)
        # Documents with equal scores are in the order of the runs' lines.
        rows = union.queries.inner
        rows = rows[~np.isnan(fused[rows])]
        query = union.queries.query[rows].astype(np.min_scalar_type(union.queries.n_queries))
        rows = rows[np.argsort(query, kind="stable")]
        counts = union.queries.count(~np.isnan(fused))
        rows = rows[descending_order(fused[rows], np.append(0, np.cumsum(counts)))]
        query = union.queries.query[rows]
        qids = [runs.qids.get(str(name), str(name)) for name in union.queries.qid.tolist()]
        texts = all(isinstance(qid, str) for qid in qids)
        names = np.array(qids) if texts else np.fromiter(qids, object, len(qids))
        docid: Any = union.queries.docid
        X = np.empty((len(rows), 0), np.float32)
        return QueryGroups(X, None, names[query], docid=docid[rows], name="fused"), fused[rows]

    def _in_order(self, runs: Runs) -> Union:
        """Return the union with its columns in the order of the runs in `fit`."""
        if len(runs.names) != len(self.runs_):
            raise ValueError(
                f"the fusion has weights of {len(self.runs_)} runs ({', '.join(self.runs_)}), but "
                f"{len(runs.names)} are given; give one run for each weight"
            )
        if runs.names == self.runs_:
            return runs.union
        if {*runs.names} != {*self.runs_}:
            for name, expected in zip(runs.names, self.runs_, strict=True):
                if name != expected and name in self.runs_:
                    raise ValueError(
                        f"{name} stands where the fusion has {expected}; give the runs in this order: "
                        f"{', '.join(self.runs_)}"
                    )
            return runs.union
        places = [runs.names.index(name) for name in self.runs_]
        return Union(runs.union.queries, runs.union.scores[:, places], runs.union.judged)

    def engine(self, name: str) -> "Written":
        """Return the weights in the form of a search engine.

        Parameters
        ----------
        name : {"opensearch", "elasticsearch", "solr", "vespa"}

        Raises
        ------
        ExportError
            If the engine has not the normalisation, or not such weights.
        """
        from directrank.apps.fusion.engines import engine_form  # imports exports of rankers, too

        return engine_form(name, self.runs_, self.weights_.tolist(), self.normalisation_)

    def save(self, path: str | os.PathLike) -> None:
        """Write the fusion to a file, which holds data only.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        record = FusionFile(
            legs=[*self.runs_],
            normalisation=self.normalisation_,
            share=self.share_,
            measure=parse_measure(self.measure).name,
            n_judged=self.n_judged_,
            rule=self.rule,
        )
        description = {"class": type(self).__name__, "fusion": encode(record)}
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
        if description.get("class") != cls.__name__:
            raise ModelFormatError(f"{path}: a ranker, not a fusion of runs; use `directrank rank`")
        try:
            record = FusionFile.read(description.get("fusion"))
        except OddValueError as error:
            raise ModelFormatError(damaged(path, str(error))) from None
        weights = tensors.get("weights", np.empty(0))
        if record.normalisation not in NORMALISATIONS or weights.shape != (len(record.legs),):
            raise ModelFormatError(
                damaged(path, "its weights do not fit its runs, or its normalisation is unknown")
            )
        if weights.dtype != np.float64 or not (weights >= 0).all() or abs(weights.sum() - 1.0) > 1e-6:
            raise ModelFormatError(damaged(path, "its weights are not shares of 1"))
        fusion = cls(record.measure, rule=record.rule)
        fusion.runs_, fusion.n_judged_, fusion.weights_ = tuple(record.legs), record.n_judged, weights
        fusion.normalisation_, fusion.share_ = record.normalisation, record.share
        return fusion


def _runs(runs: object, judgments: object = None) -> Runs:
    return runs if isinstance(runs, Runs) else Runs.read(runs, judgments)
