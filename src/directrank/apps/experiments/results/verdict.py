"""The verdict of a comparison: the method to take, what it is better than, and where it can be deployed."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from directrank.apps.auto import AutoRanker
from directrank.apps.experiments.options import AUTO
from directrank.apps.experiments.results.comparison import Comparison
from directrank.apps.experiments.store.records import (
    BEST_FEATURE,
    FIRST_STAGE,
    PRIOR,
    Pair,
    Power,
    Significance,
)

#: Rows that are no methods, in a sentence.
SIMPLE = {BEST_FEATURE: "the best single feature", PRIOR: "a simple weighted sum"}
#: Libraries whose saved models `export` reads; a comparison stores the scores of their rows, and no model.
READABLE = {"lightgbm": "LightGBM", "xgboost": "XGBoost"}
#: The method whose members may be rows, too.
AUTO_METHOD = "auto"


class Verdict(NamedTuple):
    """The method to take, the method that it is compared with, or "", and the sentences about it."""

    method: str
    other: str
    sentences: tuple[str, ...]


def with_verdict(result: Comparison, exports: Mapping[str, str]) -> Comparison:
    """Return a comparison with its verdict; `exports` are the winner's, as `refusals` gives them."""
    result = type(result)(replace(result.content, exports=dict(exports)))
    given = verdict(result)
    return type(result)(replace(result.content, verdict=list(given.sentences) if given else []))


def verdict(result: Comparison) -> Verdict | None:
    """Return the verdict on the main measure, under the convention requested.

    The method is the one with the best mean validation value, or, without validation, the best on the test
    queries. It is compared with the best of the others, or with the baseline of the tests.

    Parameters
    ----------
    result : Comparison

    Returns
    -------
    Verdict or None
        None where no method was tested on every fold.
    """
    measure, convention = result.main, result.conventions[0]
    means = result.means(measure, convention)
    ranked = [method for method in means if method != result.choice]
    if not ranked:
        return None
    error, tests = result.is_error(measure), result.content.tests(convention)
    chosen = result.best_on_validation()
    method = chosen if chosen in ranked else ranked[0]
    head = f"Take {method}, the best on validation (test {measure} {short(means[method])})."
    if method != chosen:
        head = f"{method} has the {'lowest' if error else 'highest'} test {measure} ({short(means[method])})."
    rivals = [label for label in ranked if label != method]
    against = tests.baseline in rivals
    other = str(tests.baseline) if against else next(iter(rivals), "")
    lead = ""
    if other:
        name = f"the baseline {other}" if against else other
        lead = _lead(result, tests, (method, other), f"{name} ({short(means[other])}")
    ensembles = [
        row.label for row in result.content.methods if row.name == AUTO_METHOD and row.label in means
    ]
    sentences = [f"{head} {lead}".rstrip(), _beside(result, tests, method)]
    sentences += [_beside_member(result, tests, label, {method, other}) for label in ensembles]
    return Verdict(method, other, tuple(filter(None, [*sentences, _deployment(result, method)])))


def _lead(result: Comparison, tests: Significance, methods: tuple[str, str], other: str) -> str:
    """Return a sentence about the difference of two methods; `other` is the second, and a bracket's start."""
    measure, error = result.main, result.is_error(result.main)
    pair = tests.pair(measure, *methods)
    if pair is not None:
        ahead = (pair.difference > 0) != error or not pair.difference
        certain = "significantly" if tests.significant(pair) else "not clearly"
        tail = f"; {_enough(power, pair)}" if (power := tests.power(measure, pair)) else ""
        return (
            f"It is {certain} {'better' if ahead else 'worse'} than {other}; interval of the difference, at "
            f"the level of its test, {_interval(pair)}){tail}."
        )
    if len(result.folds) < 2:
        return ""
    first, second = (
        [result.value(method, fold, measure, result.conventions[0]) or 0.0 for fold in result.folds]
        for method in methods
    )
    wins = sum((one > two) != error for one, two in zip(first, second, strict=True) if one != two)
    return (
        f"It is ahead of {other}) on {wins} of {len(result.folds)} folds: near half of them, the difference "
        "may be chance."
    )


def _enough(power: Power, pair: Pair) -> str:
    if power.needed is not None and power.needed > pair.queries:
        return f"{power.needed:,} queries would tell"
    return f"these {pair.queries:,} queries can show a difference of {short(power.detectable)}"


def _beside(result: Comparison, tests: Significance, method: str) -> str:
    """Return whether a method is better than the first stage and simple rankings, if that was tested."""
    error = result.is_error(result.main)
    summaries = {row.label: row.summary for row in result.content.reference_methods}
    had = "the first stage" if result.content.first_stage == AUTO else "the ranking you had"
    claims: dict[str, list[str]] = {}
    for pair in tests.references.get(result.main, ()):
        if pair.method != method:
            continue
        name = SIMPLE.get(pair.baseline, f"{had}, {summaries.get(FIRST_STAGE, '')}")
        better = "better" if (pair.difference > 0) != error else "worse"
        claim, interval = f"{better} than", ""
        if not tests.significant(pair):
            claim, interval = "not clearly better than", f"; interval {_interval(pair)}"
        claims.setdefault(claim, []).append(f"{name} ({short(pair.difference, '+')}{interval})")
    text = "; ".join(f"{claim} {_listed(names, 'and')}" for claim, names in claims.items())
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _beside_member(result: Comparison, tests: Significance, ensemble: str, compared: set[str]) -> str:
    """Return what `auto` wins or loses against its member that is best on validation; both are rows.

    Nothing of members outside the table, and of the pair that was `compared`.
    """
    content = result.content
    trained_for = next(row.measure for row in content.methods if row.label == ensemble) or content.select_by
    members = AutoRanker().members
    for key in ("members", f"{AUTO_METHOD}.members"):
        members = content.settings.get(key, members)
    ranker = AutoRanker(trained_for or result.main, members=str(members))
    member = result.best_on_validation({method.label for method, _ in ranker.candidates()})
    pair = tests.pair(result.main, ensemble, member) if member else None
    if pair is None or {*pair.methods} == compared:
        return ""
    ahead = (pair.difference > 0) != result.is_error(result.main) or not pair.difference
    gain = f"{short(abs(pair.difference))} {'better' if ahead else 'worse'}"
    of_difference = f"interval of the difference {_interval(pair)}"
    return f"{ensemble} is {gain} than its best member on validation, {member} ({of_difference})."


def _deployment(result: Comparison, method: str) -> str:
    """Return where the winner can be deployed, and where not and why; empty where that is not known."""
    exports = result.content.exports if method == result.best_on_validation() else {}
    if not exports:
        name = next(row.name for row in result.content.methods if row.label == method)
        library = READABLE.get(name.partition(":")[0], "")
        return f"`directrank show` lists the exports of a model that {library} has saved." if library else ""
    reasons: dict[tuple[str, bool], list[str]] = {}
    for target, reason in sorted(exports.items()):  # as results.json has them
        # "lightgbm takes trees alone, …; train with …": the clause before the remedy, and whether its subject
        # is the target.
        clause = reason.partition(";")[0].removeprefix(f"{target}: ")
        predicate = clause.removeprefix(f"{target} ")
        reasons.setdefault((predicate, predicate != clause), []).append(target)
    possible = reasons.pop(("", False), [])
    sentence = f"It exports to {_listed(possible, 'and')}" if possible else ""
    for place, ((clause, of_target), targets) in enumerate(reasons.items()):
        start = "; nor to" if place else "; not to" if possible else "It does not export to"
        subject = ("each " if len(targets) > 1 else "it ") if of_target else ""
        sentence += f"{start} {_listed(targets, 'or')}, because {subject}{clause}"
    return f"{sentence}."


def short(value: float, sign: str = "") -> str:
    """Return a number with three decimals, a small one with one digit that is not 0."""
    value = 0.0 if abs(value) < 1e-9 else value  # Ends of intervals have errors of rounding.
    return f"{value:{sign}.1g}" if 0 < abs(value) < 0.0005 else f"{value:{sign}.3f}"


def _interval(pair: Pair) -> str:
    return f"{short(pair.low, '+')} to {short(pair.high, '+')}"


def _listed(names: Iterable[str], word: str) -> str:
    """Return names as words: with commas, and a word before the last."""
    *first, last = names
    return f"{', '.join(first)} {word} {last}" if first else last
