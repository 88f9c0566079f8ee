"""The first screen: the leader, the size of its lead, and whether the lead is significant."""

from collections import Counter
from collections.abc import Sequence

from markupsafe import Markup

from directrank.experiments.results import CHOSEN, unfinished_lines
from directrank.experiments.significance import power_line
from directrank.experiments.tables import p_value
from directrank.report.blocks import (
    FEW,
    DotRow,
    details,
    dots,
    enumerated,
    named,
    note,
    number,
    paragraph,
    plural,
    signed,
    warned,
)
from directrank.report.charts import Scale
from directrank.report.facts import Facts

RULES = {"holm": "Holm's correction", "bh": "Benjamini and Hochberg's correction"}


def opening(facts: Facts) -> list[Markup]:
    """Return the blocks above all sections."""
    ranked = facts.ranked(facts.asked, facts.main)
    means = [(each, facts.result.mean(each, facts.main, facts.asked)) for each in ranked]
    known = {label: value for label, value in means if value is not None}
    # The choice on validation repeats other rows: it can neither lead nor be beaten.
    methods = {label: value for label, value in known.items() if label != CHOSEN}
    blocks: list[Markup] = [_leader(facts, methods), *_separated(facts, [*methods])] if methods else []
    failed, remarks = facts.result.failures, len(facts.content.data_check.lines)
    if failed:
        runs = f"{len(failed)} of {len(facts.content.cells)} runs failed"
        blocks.append(warned(f"{runs}. The others are complete; the errors are under Settings."))
    if CHOSEN in known:
        blocks.append(_choice(facts, known[CHOSEN]))
    if facts.unfinished:
        blocks.append(note(f"{unfinished_lines(facts.result)[0]}; the remedies are under Training."))
    if len(known) > 1:
        blocks.append(_chart(facts, known, next(iter(methods))))
    if remarks:
        blocks.append(note(f"The data check has {plural(remarks, 'remark')}, under Data."))
    return blocks


def _leader(facts: Facts, means: dict[str, float]) -> Markup:
    (first, value), *others = means.items()
    order, than = ("lowest", "less") if facts.result.is_error(facts.main) else ("highest", "more")
    pieces = [named(first, "strong"), f" has the {order} mean test {facts.main}: {number(value)}"]
    if others:
        second, other = others[0]
        pieces += [f", which is {number(abs(value - other))} {than} than ", named(second, "strong")]
        pieces.append(f" ({number(other)}). {_verdict(facts, first, second)}")
    else:
        pieces.append(".")
    return paragraph(*pieces, role="lead")


def _verdict(facts: Facts, first: str, second: str) -> str:
    """Return whether the lead over the second method may be chance."""
    pair = facts.pair(facts.main, first, second)
    if pair is not None:
        tests = facts.tests(facts.asked)
        if tests.significant(pair):
            return "This lead is statistically significant."
        line = power_line(tests, facts.main, pair)
        return f"This lead is not statistically significant: it may well be chance. {line}".rstrip()
    values = [
        [facts.result.value(method, fold, facts.main, facts.asked) or 0.0 for fold in facts.result.folds]
        for method in (first, second)
    ]
    if len(facts.result.folds) < 2:
        return ""
    sign = -1 if facts.result.is_error(facts.main) else 1
    wins = sum(sign * ours > sign * theirs for ours, theirs in zip(*values, strict=True))
    return (
        f"It is ahead on {wins} of {len(facts.result.folds)} folds: the closer this is to half, the more the "
        "lead may be chance."
    )


def _separated(facts: Facts, ranked: Sequence[str]) -> list[Markup]:
    """Return which methods the leader is significantly better than, and how that was tested."""
    leader, *others = ranked
    significant = {
        each: facts.tests(facts.asked).significant(pair)
        for each in others
        if (pair := facts.pair(facts.main, leader, each))
    }
    beaten = [each for each in significant if significant[each]]
    equal = [each for each in significant if not significant[each]]
    if not beaten and not equal:
        return []
    pieces: list[str] = []
    folded = []
    for said, methods in (
        ("It is significantly better than ", beaten),
        ("The test does not separate it from ", equal),
    ):
        names = enumerated([named(each) for each in methods])
        if len(methods) > FEW:
            pieces.append(f"{said}{len(methods)} of the {len(others)} other methods. ")
            folded.append(details(f"These {len(methods)} methods", paragraph(*names)))
        elif methods:
            pieces += [said, *names, ". "]
    return [paragraph(*pieces), *folded, _rule(facts, leader, others[0])]


def _rule(facts: Facts, first: str, second: str) -> Markup:
    tests, pair = facts.tests(facts.asked), facts.pair(facts.main, first, second)
    pairs = len(tests.pairs[facts.main])
    lead = ""
    if pair is not None:
        lead = (
            f" The lead: {facts.level(facts.asked)} interval {signed(pair.low)} to {signed(pair.high)}, "
            f"p {p_value(tests.p(pair))}, on {pair.queries} test queries."
        )
    return note(
        f"Fisher's randomisation test on paired queries; significant means p < {tests.alpha:g} after "
        f"{RULES[tests.correction]} for {plural(pairs, 'pair')} of methods.{lead}"
    )


def _choice(facts: Facts, value: float) -> Markup:
    """Return what a user who tries all methods and keeps the best on validation can expect."""
    of_folds = Counter(cell.chosen["method"] for cell in facts.result.of(CHOSEN))
    names = [f"{label} on {plural(folds, 'fold')}" for label, folds in of_folds.most_common()]
    selecting = f"validation {facts.content.select_by}"
    said = f"To try all methods and keep, on every fold, the one with the highest {selecting}"
    return paragraph(
        f"{said}, gives mean test {facts.main} {number(value)} (",
        *enumerated(names),
        "). The highest test value of many methods is partly chance; the test set has no part in this one.",
    )


def _chart(facts: Facts, means: dict[str, float], leader: str) -> Markup:
    """Return the difference of every method to the leader, with its interval."""
    pairs = {label: facts.pair(facts.main, label, leader) for label in means}
    differences = {
        label: value - means[leader] if (pair := pairs[label]) is None else pair.difference
        for label, value in means.items()
    }
    ends = [end for pair in pairs.values() if pair for end in (pair.low, pair.high)]
    scale = Scale([0.0, *differences.values(), *ends])
    rows = []
    for label, pair in pairs.items():
        tests = facts.tests(facts.asked)
        style = "" if pair is None else "worse" if tests.significant(pair) else "same"
        interval = None if pair is None else (pair.low, pair.high)
        style, at = "first" if label == leader else style, facts.index[label]
        rows.append(DotRow(label, at, [differences[label]], 0.0, interval, means[label], style))
    title = f"Mean test {facts.main} of every method, and how far each is from {leader}"
    said = " A dot is the difference between the method and the leader (the line at 0)"
    if ends:
        said += (
            f", a bar its {facts.level(facts.asked)} bootstrap interval over queries. Orange: significantly "
            "worse than the leader. Grey: the difference may be chance"
        )
    return dots(title, f"{title}.{said}.", scale, rows)
