"""What a comparison knows: records of fits, of cells, of tests of differences, and of all results.

They are what the store and results.json hold; fields that a ranking made elsewhere has not have defaults.
"""

import math
from collections.abc import Sequence
from dataclasses import field, replace
from operator import attrgetter
from typing import Annotated, ClassVar, NamedTuple, Self

from directrank.apps.evaluation.significance import (
    ALPHA,
    LEVEL,
    POWER,
    interval_text,
    queries_needed,
    smallest_effect,
)
from directrank.apps.experiments.options import AUTO, GRID, STANDARD
from directrank.contracts import Measure
from directrank.files import MISSING
from directrank.measures import parse_measure
from directrank.storage.strict_json import Number, Plain, Record, not_empty

#: The status of a fit of which nothing says whether it has converged.
UNKNOWN = "not known"
#: nDCG is recorded at the cutoffs 1 … CUTOFFS.
CUTOFFS = 10
Parameters = dict[str, Plain]
Scalar = str | bool | float | None
#: By convention, set and measure.
Values = dict[str, dict[str, dict[str, Number]]]


class Training(Record):
    """How the training of a model ended, with its certificate and history."""

    status: str = UNKNOWN
    message: str = ""
    remedy: str = ""
    certificate: dict[str, float] = field(default_factory=dict)
    iterations: int = 0
    notes: list[str] = field(default_factory=list)
    history: list[dict[str, Scalar]] = field(default_factory=list)
    optional = ()


class Scaling(Record):
    """The scaling of a model's features, and the reason for it."""

    kind: str = "none"
    reason: str = ""
    optional = ()


class FitRecord(Training):
    """What a method made of a fit: `validated_by` is the measure of its validation value.

    `state` and `tensors` are the fitted ranker, as `directrank.models.state_of` describes it; of an external
    estimator there are only the scores of sets. The tensors are base64 of safetensors. What tables and the
    page say, such as some rows of the history, stands beside it.
    """

    parameters: Parameters
    seed: int
    validation: Number | None
    validated_by: str | None
    seconds: Number
    peak_memory: int | None
    scaling: Scaling
    state: Parameters | None
    tensors: str
    warnings: dict[str, int] = field(default_factory=dict)

    @property
    def training(self) -> Training:
        """How it ended, alone."""
        return Training.like(self)


class Problem(Record):
    """An error; where a fit raised it, with the point of the grid."""

    type: str
    message: str
    traceback: str
    parameters: Parameters | None = None


class Failure(Record):
    """A fit, or the last step of a cell, that failed; it is not stored."""

    error: Problem
    warnings: dict[str, int]


class Tried(Record):
    """What is kept of each fit of a cell."""

    parameters: Parameters
    seed: int
    validation: Number | None
    seconds: Number
    status: str


class SeedRun(Record):
    """The point that one seed chose, and the values of its model."""

    seed: int
    chosen: Parameters
    validation: Number | None
    values: Values


class Ties(Record):
    """Documents and queries that ties affect, and values with ties in the order of rows."""

    documents: int
    queries: int
    input: dict[str, Number]


class Bound(Record):
    """A bound or an approximation of the loss, summarised over queries."""

    name: str
    kind: str
    mean: float
    distance: float
    largest: float
    loosest: Scalar
    holds: bool | None


class Bounds(Record):
    """The audit of a tested model."""

    measure: str
    queries: int
    loss: Number
    rows: list[Bound]


class Weights(Record):
    """The weights of features: coefficients, or importances."""

    features: list[str]
    importances: list[Number] | None = None
    coefficients: list[float] | None = None

    @property
    def values(self) -> list[float]:
        """Those of the two that there are."""
        return self.coefficients or self.importances or []


class Above(Record):
    """Why a document of a query is above the next one: its rank from 1, and what features add the most."""

    rank: int
    adds: list[tuple[str, float]]


class Part(Record):
    """The size of a set, and how many of its documents have each grade."""

    queries: int
    documents: int
    relevance: dict[str, int]
    features: int | None = None


class Measured(Record):
    """The values of one ranking of a test set: by convention, of each query, and as curves over cutoffs.

    `ranked` are the grades of the first documents of each query, `depth` or all of fewer.
    """

    depth: ClassVar[int] = 10

    values: Values
    per_query: dict[str, dict[str, list[Number | None]]]
    computed: dict[str, dict[str, str]]
    curve: dict[str, list[Number]] = field(default_factory=dict)
    qid: Annotated[list[str | bool | float | list[str | bool | float]], not_empty]
    ranked: list[list[Number]]
    ties: Ties | None = None
    bounds: Bounds | None = None
    above: list[Above | None] = field(default_factory=list)


class OfFold(Record):
    """Result of a method on a fold, or of a run."""

    fold: str
    method: str
    measure: str | None
    parts: dict[str, Part]
    warnings: list[str]


class Ranking(Measured, OfFold):
    """A ranking of the test set of a fold: of a run, or of a method that was trained."""

    tried: Annotated[list[Tried], not_empty] = field(default_factory=list)
    chosen: Parameters = field(default_factory=dict)
    validation: Number | None = None
    fit_seconds: Number = 0.0
    peak_memory: int | None = None
    training: Training = Training()
    scaling: Scaling = Scaling()
    weights: Weights | None = None
    seeds: Annotated[list[SeedRun], not_empty] = field(default_factory=list)


class Cell(Ranking):
    """A method on a fold: chosen on validation, and tested once."""

    seconds: Number
    # Absent where a model cannot be explained, and from early releases.
    optional = ("above",)


class FailedCell(OfFold):
    """A method that failed on a fold."""

    seconds: Number
    error: Problem


class Finding(Record):
    """A finding of the data check."""

    code: str
    message: str
    count: int
    examples: list[Scalar]
    values: dict[str, float]


class DataCheck(Record):
    """The sentences of a check of data, what was checked, and its size."""

    lines: list[str]
    of: str
    n_queries: int
    n_docs: int
    n_features: int | None = None


class CollectionCheck(DataCheck):
    """The data check of a collection."""

    name: str
    findings: list[Finding]
    optional = ()


class Described(Record):
    """What tables and the page say of a method."""

    label: str
    name: str
    measure: str | None
    summary: str
    paper: str
    grid: dict[str, list[Plain]]

    @classmethod
    def untrained(cls, label: str, summary: str) -> Self:
        """Return the description of a row that is no method."""
        return cls(label=label, name=label, measure=None, summary=summary, paper="", grid={})


class DescribedMeasure(Record):
    """Description of a measure that is defined outside directrank, for the page."""

    name: str
    meaning: str
    is_error: bool

    @classmethod
    def of(cls, measure: Measure) -> Self:
        """Return the description of a measure."""
        return cls(name=measure.bare_name, meaning=measure.meaning, is_error=measure.is_error)


class FoldFiles(Record):
    """A fold with the files of its sets, if it has any, and the digests of the data."""

    name: str
    sha256: dict[str, str]
    files: dict[str, list[str]]


class Pair(Record):
    """The test of a method against another; `difference` is its mean minus the other's."""

    method: str
    baseline: str
    queries: int
    difference: Number
    low: Number
    high: Number
    effect: float
    wins: int
    ties: int
    losses: int
    p_t: Number
    p_randomisation: Number
    p_holm: Number
    p_bh: Number
    #: That of its interval: it decides the pair as the correction does. 95 % in results of 0.1.0.
    level: Number = 0.95

    @property
    def methods(self) -> tuple[str, str]:
        """Both methods."""
        return self.method, self.baseline

    @property
    def percent(self) -> str:
        """The level of its interval, such as 98.33%."""
        return f"{100 * self.level:.4g}%"

    @property
    def turned(self) -> "Pair":
        """The same test with the methods exchanged; a difference of 0 stays 0, not -0."""
        difference, low, high, effect = (0.0 - x for x in (self.difference, self.high, self.low, self.effect))
        return replace(
            self, method=self.baseline, baseline=self.method, difference=difference, low=low, high=high,
            effect=effect, wins=self.losses, losses=self.wins,
        )  # fmt: skip


#: Above this p-value, uncorrected, queries show no difference, so that none is counted on.
NO_DIFFERENCE = 0.5


class Power(NamedTuple):
    """The difference that queries can detect with 80 % power, and how many the observed one needs.

    `needed` is None where the queries hint at no difference. `level` describes the level of the t-test.
    """

    detectable: float
    needed: int | None
    level: str


class Significance(Record):
    """The tests of differences between methods under a convention, by measure.

    `letters` are those of the methods, `better_than` by method those of the methods that it is significantly
    better than, and `intervals` by method the bootstrap interval of its mean.
    """

    alpha: Number
    correction: str
    baseline: str | None
    level: Number
    flips: int
    resamples: int
    letters: dict[str, str]
    better_than: dict[str, dict[str, str]]
    pairs: dict[str, list[Pair]]
    intervals: dict[str, dict[str, tuple[Number, Number]]]
    #: Of the winner against what there was before; another family of tests.
    references: dict[str, list[Pair]] = field(default_factory=dict)
    #: Over what p-values are corrected: the pairs of one measure, or those of all.
    family: str = "measure"

    def p(self, pair: Pair) -> float:
        """Return the p-value of a pair after the correction."""
        return pair.p_holm if self.correction == "holm" else pair.p_bh

    def significant(self, pair: Pair) -> bool:
        """Whether a difference is significant after the correction."""
        return self.p(pair) < self.alpha

    def levels(self, pairs: Sequence[Pair]) -> str:
        """Return the levels of the intervals of some pairs, in percent: one, or the least and the largest."""
        ends = [pick(pairs, key=attrgetter("level")).percent for pick in (min, max)]
        return " to ".join(dict.fromkeys(ends))

    def pair(self, measure: str, first: str, second: str) -> Pair | None:
        """Return the test of one method against another, the difference being first minus second."""
        for pair in self.pairs.get(measure, ()):
            if {*pair.methods} == {first, second}:
                return pair if pair.method == first else pair.turned
        return None

    def power(self, measure: str, pair: Pair) -> Power | None:
        """Return what the queries of a pair can detect; None where it is significant or has no difference.

        With several pairs, the level of each is divided by their number, as Holm's first step does.
        """
        families = [self.pairs[measure]] if self.family == "measure" else self.pairs.values()
        n_pairs = sum(map(len, families))
        if self.significant(pair) or math.isinf(pair.effect):
            return None
        needed = queries_needed(pair.effect, self.alpha / n_pairs)
        if needed is None:
            return None
        return Power(
            smallest_effect(pair.queries, self.alpha / n_pairs) * abs(pair.difference / pair.effect),
            needed if pair.p_randomisation <= NO_DIFFERENCE else None,
            f"{self.alpha:g}" + (f"/{n_pairs}, for {n_pairs} pairs" if n_pairs > 1 else ""),
        )

    def power_line(self, measure: str, pair: Pair) -> str:
        """Return the `power` of a pair as a sentence; empty where that is None."""
        power = self.power(measure, pair)
        if power is None:
            return ""
        observed = ""
        if power.needed is not None:
            observed = f"; the observed difference of {abs(pair.difference):.4f} needs {power.needed:,}"
        return (
            f"{pair.queries:,} queries can detect a difference of {power.detectable:.4f} with {POWER:.0%} "
            f"power{observed} (paired t-test, two-sided, level {power.level})."
        )

    def within(self) -> str:
        """Return what p-values are corrected for, and what that leaves where there are several measures."""
        if self.family != "measure" or sum(map(bool, self.pairs.values())) < 2:
            return ""
        return (
            f"p-values are corrected within each of the {len(self.pairs)} measures: with all of them the "
            f"chance of a false mark is above {self.alpha:.0%}; --family all (in Python, family='all') "
            "corrects over all"
        )


#: Where differences were not tested.
NOT_TESTED = Significance(
    alpha=ALPHA, correction="holm", baseline=None, level=LEVEL, flips=0, resamples=0, letters={},
    better_than={}, pairs={}, intervals={},
)  # fmt: skip


class JudgedDifference(Record):
    """The mean difference of a method to the baseline over queries, without and with a machine's judgments.

    Both have a 95 % interval: value, low and high. `weight` is that of the machine's values, 0 where they do
    not help.
    """

    method: str
    baseline: str
    queries: int
    more: int
    correlation: float
    weight: float
    alone: tuple[float, float, float]
    assisted: tuple[float, float, float]


class Results(Record):
    """Everything that results.json holds; of rankings made elsewhere, without what only a comparison has.

    `conclusions` are sentences above the results.
    """

    format: str
    dataset: str
    select_by: str | None
    measures: Annotated[list[str], not_empty]
    convention: str
    methods: Annotated[list[Described], not_empty]
    folds: Annotated[list[FoldFiles], not_empty]
    data_check: DataCheck
    environment: dict[str, str]
    command: list[str]
    written: str
    cells: Sequence[Ranking | FailedCell]
    own_measures: dict[str, DescribedMeasure] = field(default_factory=dict)
    conclusions: list[str] = field(default_factory=list)
    significance: dict[str, Significance] = field(default_factory=dict)
    seed: int = 0
    seeds: Annotated[list[int], not_empty] = field(default_factory=lambda: [0])
    missing: str | float = MISSING
    search: str = GRID
    refit: bool = False
    audit: bool = True
    restarts: int = 0
    columns: Parameters = field(default_factory=dict)
    settings: Parameters = field(default_factory=dict)
    grids: dict[str, list[Plain]] = field(default_factory=dict)
    reading: list[str] = field(default_factory=list)
    first_stage: str = AUTO
    references: list[Ranking] = field(default_factory=list)
    reference_methods: list[Described] = field(default_factory=list)
    #: For each target of `export` why the chosen method cannot be exported to it, or ""; and the verdict.
    exports: dict[str, str] = field(default_factory=dict)
    verdict: list[str] = field(default_factory=list)
    #: By measure, in the standard convention.
    judged: dict[str, list[JudgedDifference]] = field(default_factory=dict)

    @property
    def conventions(self) -> list[str]:
        """The conventions of the report: the requested one first, then the standard one if it differs."""
        return list(dict.fromkeys((self.convention, STANDARD)))

    def tests(self, convention: str) -> Significance:
        """Return the tests of differences under a convention, without pairs where there are none."""
        return self.significance.get(convention, NOT_TESTED)

    def is_error(self, measure: str) -> bool:
        """Whether a measure is printed as an error, so that smaller is better."""
        return self._measure(measure).is_error

    def smallest_is_best(self, measure: str) -> bool | None:
        """Whether the smallest value of a measure is the best; None where no value is."""
        neutral = measure not in self.own_measures and parse_measure(measure).neutral
        return None if neutral else self.is_error(measure)

    def meaning(self, measure: str) -> tuple[str, str]:
        """Return the name of a measure without parameters, and its sentence for newcomers."""
        description = self._measure(measure)
        return description.name, description.meaning

    def _measure(self, measure: str) -> DescribedMeasure:
        return self.own_measures.get(measure) or DescribedMeasure.of(parse_measure(measure))


class Compared(Results):
    """The results of a comparison."""

    select_by: str
    data_check: CollectionCheck
    cells: list[FailedCell | Cell]
    optional = (
        "own_measures", "conclusions", "first_stage", "references", "reference_methods", "exports", "verdict",
        "judged",
    )  # fmt: skip


class Earned(Record):
    """A row of a comparison by clicks: `directrank.apps.clicks.Difference`, and the measure on grades.

    The difference on grades is to the order shown, with a 95 % interval over queries.
    """

    name: str
    value: Number
    difference: Number
    by_sessions: tuple[Number, Number] | None
    by_queries: tuple[Number, Number] | None
    naive: Number
    effective: Number
    largest: Number
    unseen: Number
    clipped: Number
    absent: Number
    doubts: list[str]
    effective_queries: Number
    better: bool
    flags: list[str]
    skewness: Number = 0.0
    grades: Number | None = None
    grades_difference: Number | None = None
    grades_interval: tuple[Number, Number] | None = None


class ComparedByClicks(Compared):
    """The results of a comparison by a log of clicks.

    `rows` have the rankings beside the `baseline`, tested by the `propensities` of the tested log; `lines`
    say what was compared, and what makes figures doubtful. `grades_measure` is "" without grades.
    """

    measure: str
    grades_measure: str
    baseline: str
    rows: Annotated[list[Earned], not_empty]
    propensities: Parameters
    lines: list[str]

    @property
    def headings(self) -> list[str]:
        """The headings of `table`."""
        by_grades = [self.grades_measure, "difference", "interval"] if self.grades_measure else []
        return [
            "method", self.measure, "difference", "for these queries", "for new queries", "clicks as labels",
            "gate", *by_grades,
        ]  # fmt: skip

    def table(self) -> list[list[str]]:
        """Return a row of text for each ranking."""
        return [
            [
                row.name,
                f"{row.value:.4f}",
                f"{row.difference:+.4f}",
                interval_text(row.by_sessions),
                interval_text(row.by_queries),
                f"{row.naive:+.4f}",
                "better" if row.better else "",
                *(
                    []
                    if row.grades is None or row.grades_difference is None
                    else [
                        f"{row.grades:.4f}",
                        f"{row.grades_difference:+.4f}",
                        interval_text(row.grades_interval),
                    ]
                ),
            ]
            for row in self.rows
        ]


#: The label of the row of the methods that validation chose, fold by fold.
CHOSEN = "chosen on validation"
#: The labels of rows that are no methods.
FIRST_STAGE, BEST_FEATURE, PRIOR = "first stage", "best single feature", "prior"
