"""The first screen, and every method by every measure, curves, folds, queries and ties."""

from collections import Counter
from statistics import fmean
from typing import Any

from markupsafe import Markup

from directrank.apps.evaluation import CONVENTIONS
from directrank.apps.evaluation.significance import p_value
from directrank.apps.experiments import Table, Verdict, verdict
from directrank.apps.experiments.store.records import Ranking
from directrank.apps.report.blocks import (
    FEW,
    NOTHING,
    Cell,
    Column,
    DotRow,
    Row,
    details,
    dots,
    enumerated,
    figure,
    grid,
    named,
    note,
    number,
    paragraph,
    plural,
    printed,
    score,
    signed,
    variant,
    warned,
)
from directrank.apps.report.charts import Line, Scale, colour, element, line_chart
from directrank.apps.report.facts import Facts
from directrank.measures import parse_measure


def results(facts: Facts) -> list[Markup]:
    """Return the table of every convention, and the chart of every measure."""
    runs = [method.label for method in facts.content.methods if method.name.startswith("runs:")]
    elsewhere = f"Only tested here, as rankings made elsewhere: {', '.join(runs)}. " if runs else ""
    origin = (
        "Every method was trained on the training queries. Its settings were selected on the validation "
        f"queries by {facts.content.select_by}. It was then tested once, on the test queries. {elsewhere}"
        if facts.trained
        else "Each row is a ranking of the same queries. "
    )
    seeds = "".join(f"{sentence[0].upper()}{sentence[1:]}. " for sentence in facts.result.seeds_notes())
    dagger = (
        f"{Table.dagger} Not every model of the method converged; see Training." if facts.unfinished else ""
    )
    values = (
        "Values lie between 0 and 1; higher is better, except for errors. The best of a column is in bold."
    )
    blocks: list[Markup] = [paragraph(origin + values)]
    for convention in facts.result.conventions:
        sentences = (
            _lowered(facts, convention),
            _tested(facts, convention),
            _choice(facts, convention),
            seeds,
            dagger,
        )
        notes = [note(text) for text in sentences if text]
        tables = [_results_table(facts, convention), *notes, *_before(facts, convention)]
        tables += _judged(facts) if convention == "standard" else []
        blocks.append(variant(*tables, convention=convention))
    if len(facts.result.conventions) > 1:
        blocks.append(
            note(
                f"The same rankings are evaluated under two conventions: {facts.asked}, to compare with "
                "published values, and standard, which does not depend on the order of the rows."
            )
        )
    # Runs have no folds, whose section has these charts.
    return blocks if facts.trained else [*blocks, *_charts_of_folds(facts)]


def _results_table(facts: Facts, convention: str) -> Markup:
    table = facts.result.headline(convention)
    indices = {label: row for row, (label, _) in enumerate(table.rows)}
    summaries = {method.label: method.summary for method in facts.content.methods}
    columns: list[str | Column] = ["method"]
    for name, error in zip(table.columns, table.errors, strict=True):
        order = ("ascending" if error else "descending") if name == facts.main else ""
        columns.append(Column(name, "an error: smaller is better" if error else "", order))
    marks = [[table.mark(row, column) for column in range(len(table.columns))] for row in indices.values()]
    # All marks of a column are as wide as its longest, so that the numbers are aligned.
    widths = [max(map(len, column)) for column in zip(*marks, strict=True)]
    rows = []
    for label in facts.ranked(convention, facts.main):
        at, cells = indices[label], []
        for column, measure in enumerate(table.columns):
            ends = facts.interval(convention, measure, label)
            title = f"interval {number(ends[0])} to {number(ends[1])}" if ends else ""
            cells.append(printed(table, at, column, marks[at][column].ljust(widths[column]), title))
        rows.append(facts.row(label, [*cells, Cell(summaries[label], tone="what")], table.letter(at)))
    n = len(facts.result.folds)
    folds = f"Test, {f'mean of {n} folds' if n > 1 else 'one fold'}" if facts.trained else "All queries"
    return grid(
        f"{folds}, convention {convention}",
        [*columns, "what it does" if facts.trained else "what it is"], rows, name="results", exact=True,
    )  # fmt: skip


def _before(facts: Facts, convention: str) -> list[Markup]:
    """Return the table of what there was before, against which the winner alone is tested."""
    table, tests = facts.result.before(convention), facts.content.tests(convention)
    if not table.rows:
        return []
    summaries = {method.label: method.summary for method in facts.content.reference_methods}
    pairs = {pair.baseline: pair for pair in tests.references.get(facts.main, ())}
    rows = []
    for at, (label, _) in enumerate(table.rows):
        values = [printed(table, at, column) for column in range(len(table.columns))]
        pair = pairs.get(label)
        difference, interval = NOTHING, NOTHING
        if pair is not None:
            difference = Cell(signed(pair.difference), pair.difference)
            interval = Cell(f"{signed(pair.low)} to {signed(pair.high)} ({pair.percent})", pair.low)
        cells = [Cell(label), *values, difference, interval, Cell(summaries[label], tone="what")]
        rows.append(Row(cells))
    winner = next((pair.method for pair in pairs.values()), "the winner")
    columns = ["row", *table.columns, f"lead of {winner}, {facts.main}", "interval"]
    return [grid(f"First stage and simple rankings, convention {convention}", [*columns, "what it is"], rows)]


def _judged(facts: Facts) -> list[Markup]:
    """Return the table of differences to the baseline without and with a machine's judgments."""
    pairs = facts.content.judged.get(facts.main, ())
    if not pairs:
        return []
    rows = []
    for pair in pairs:
        cells = [
            Cell(f"{signed(value)}, {signed(low)} to {signed(high)}", value)
            for value, low, high in (pair.alone, pair.assisted)
        ]
        rows.append(Row([Cell(pair.method), *cells, Cell(f"{pair.weight:.2f}", pair.weight)]))
    one = pairs[0]
    title = (
        f"Test {facts.main} less that of {one.baseline}: {one.queries} queries, {one.more} by the judge alone"
    )
    return [grid(title, ["method", "by people, 95 % interval", "with the judge", "weight"], rows)]


def _tested(facts: Facts, convention: str) -> str:
    """Return what the marks mean."""
    tests = facts.content.tests(convention)
    if not any(tests.pairs.values()):
        return ""
    against = f"the baseline {tests.baseline}" if tests.baseline else "every other method"
    return (
        ">ab: significantly better than the methods (a) and (b). Each method was tested "
        f"against {against} by a two-sided randomisation test on paired queries: p < {tests.alpha:g} "
        f"after {RULES[tests.correction]} {OVER[tests.family]}. "
        "A missing mark does not show that two methods are equal."
    )


def _lowered(facts: Facts, convention: str) -> str:
    """Return why a convention lowers values: it scores queries with too few documents 0."""
    kinds = CONVENTIONS[convention].zero_beyond_list
    if not facts.complete or not kinds:
        return ""
    # The records have the grades of the first `depth` documents, so a shorter list shows a query's size.
    sizes = [len(grades) for cell in facts.result.of(facts.complete[0]) for grades in cell.ranked]
    short = []
    for name in facts.measures:
        if name in facts.content.own_measures:
            continue
        measure: Any = parse_measure(name)
        if isinstance(measure, kinds) and measure.cutoff:
            count = sum(size < min(measure.cutoff, Ranking.depth) for size in sizes)
            least = "at least " if measure.cutoff > Ranking.depth else ""
            short += [f"{name} on {least}{count} of {len(sizes)}"] if count else []
    if not short:
        return ""
    return (
        f"Values are lower here than under the standard convention because {convention} scores a measure at "
        "cutoff k as 0 on a query with fewer than k documents, and keeps the query in the mean. This "
        f"concerns {''.join(enumerated(short))} test queries."
    )


def _folds_of_all(facts: Facts, convention: str, measure: str) -> Markup | None:
    result = facts.result
    ranked = facts.ranked(convention, measure)
    values_of_folds = {
        label: [result.value(label, fold, measure, convention) for fold in result.folds] for label in ranked
    }
    values = {
        label: [value for value in folds if value is not None] for label, folds in values_of_folds.items()
    }
    intervals = {label: facts.interval(convention, measure, label) for label in ranked}
    present = [value for of_method in values.values() for value in of_method]
    if not present:
        return None
    ends = [end for interval in intervals.values() if interval for end in interval]
    scale = Scale([*present, *ends], bounds=(0.0, 1.0))
    rows = []
    for label, folds in values.items():
        mean = result.mean(label, measure, convention)
        rows.append(DotRow(label, facts.index[label], folds, mean, intervals[label], mean))
    return dots(
        f"Test {measure} of every method on every fold; the numbers are in the tables",
        f"Test {measure}, convention {convention}. A dot is a fold, the dark line the mean over folds"
        + (f", the bar its {facts.level(convention)} bootstrap interval over queries." if ends else "."),
        scale,
        rows,
    )


#: This many of the best methods are highlighted at first.
BOLD = 6


def curves(facts: Facts) -> list[Markup]:
    """Return a chart for every convention."""
    charts = [(convention, _curves_of(facts, convention)) for convention in facts.result.conventions]
    variants = [variant(chart, convention=convention) for convention, chart in charts if chart is not None]
    return [paragraph("How good the first k documents are, for every k."), *variants] if variants else []


def _curves_of(facts: Facts, convention: str) -> Markup | None:
    curves: dict[str, list[float]] = {}
    for label in facts.ranked(convention, facts.main):
        cells = facts.result.of(label)
        if label in facts.complete and all(cell.curve for cell in cells):
            by_fold = (cell.curve[convention] for cell in cells)
            curves[label] = [fmean(values) for values in zip(*by_fold, strict=True)]
    if not curves:
        return None
    cutoffs = range(1, len(next(iter(curves.values()))) + 1)
    title = f"Mean test nDCG of the first k documents, convention {convention}"
    best = max(curves, key=lambda label: curves[label][-1])
    lines = [
        Line(
            label,
            [(float(k), value) for k, value in zip(cutoffs, values, strict=True)],
            colour(rank) + (" faint" if rank >= BOLD else ""),
            facts.index[label],
        )
        for rank, (label, values) in enumerate(curves.items())
    ]
    drawing = line_chart(
        title,
        f"A line for each method over k from 1 to {cutoffs[-1]}; at k = {cutoffs[-1]}, {best} is highest. "
        "The numbers are in a table below.",
        lines[::-1],
        height=300,
        ticks=[(float(k), str(k)) for k in cutoffs],
        across_name="k",
    )
    rows = [facts.row(label, [score(value) for value in values]) for label, values in curves.items()]
    numbers = grid(title, ["method", *(f"@{k}" for k in cutoffs)], rows, name="curves")
    return figure(drawing, f"{title}. Select a method in the key to highlight its line.", lines, numbers)


def folds(facts: Facts) -> list[Markup]:
    """Return a chart and a table for every measure and convention; with one fold the tables are folded."""
    if not facts.trained:
        return []
    charts = _charts_of_folds(facts)
    tables = [
        variant(_folds_table(facts, convention, measure), convention=convention, measure=measure)
        for measure in facts.measures
        for convention in facts.result.conventions
    ]
    if len(facts.result.folds) == 1:
        return [
            paragraph("There is one fold, so its values are the means above."),
            *charts,
            details("The table", *tables),
        ]
    return [
        paragraph(
            "The queries are divided into training, validation and test sets in several ways; each division "
            "is a fold. A method that is ahead of another on every fold is probably better. The interval is "
            "where the mean would lie if other queries like these had been drawn."
        ),
        *charts,
        *tables,
    ]


def _charts_of_folds(facts: Facts) -> list[Markup]:
    return [
        variant(chart, convention=convention, measure=measure)
        for measure in facts.measures
        for convention in facts.result.conventions
        if (chart := _folds_of_all(facts, convention, measure)) is not None
    ]


def _folds_table(facts: Facts, convention: str, measure: str) -> Markup:
    table = facts.result.by_fold(convention, measure)
    indices = {label: row for row, (label, _) in enumerate(table.rows)}
    rows = []
    for label in facts.ranked(convention, measure):
        row = indices[label]
        cells = [printed(table, row, column) for column in range(len(table.columns))]
        ends = facts.interval(convention, measure, label)
        cells.append(Cell(f"{number(ends[0])} to {number(ends[1])}", ends[0]) if ends else NOTHING)
        rows.append(facts.row(label, cells))
    columns = ["method", *table.columns, f"{facts.level(convention)} interval of the mean"]
    return grid(f"Test {measure} by fold, convention {convention}", columns, rows, name="folds", exact=True)


def queries(facts: Facts) -> list[Markup]:
    """Return the element in which two methods are compared."""
    if len(facts.complete) < 2:
        return []
    return [
        paragraph(
            "On which queries is one method better than another? Each bar is a query: the difference between "
            "the two methods on it. Below are the queries with the grades of the first ten documents as each "
            "method ranked them. Below the grades are the features that add the most to the difference of "
            "scores of two neighbours: the first with the less relevant document above, or the first two."
        ),
        element(
            "div",
            {"id": "compare", "class": "mount"},
            note(
                "Comparing two methods query by query needs the script of this page. The values are in "
                "results.json."
            ),
        ),
    ]


#: A table without a larger difference is folded.
LITTLE = 0.005


def ties(facts: Facts) -> list[Markup]:
    """Return the number of tied documents and both values for every measure."""
    if not any(cell.ties for cell in facts.result.finished):
        return []
    return [
        paragraph(
            "Documents with equal scores have no order of their own. If they are evaluated in the order of "
            "the rows, a method gains or loses by that order. The expected value over random orders does not "
            "depend on it. Where the two differ, trust the expected value."
        ),
        *(variant(*_ties_blocks(facts, measure), measure=measure) for measure in facts.measures),
    ]


def _ties_blocks(facts: Facts, measure: str) -> list[Markup]:
    """Return the table, folded if ties change no value much."""
    columns = [
        "method", "tied documents", Column("queries affected", "with tied documents of different relevance"),
        "expected", "by row order", "gain by row order",
    ]  # fmt: skip
    rows = []
    for label in facts.result.methods:
        cells = facts.result.of(label)
        counted = [cell.ties for cell in cells if cell.ties]
        if len(counted) < len(facts.result.folds):
            rows.append(facts.row(label, [NOTHING] * 5))
            continue
        documents, queries = sum(ties.documents for ties in counted), sum(ties.queries for ties in counted)
        by_rows = fmean(ties.input[measure] for ties in counted)
        expected = fmean(cell.values["standard"]["test"][measure] for cell in cells)
        gain, same = by_rows - expected, number(by_rows) == number(expected)
        difference = Cell("same" if same else signed(gain), gain, tone="" if same else "failed")
        counts = [Cell(str(documents), documents), Cell(str(queries), queries)]
        rows.append(facts.row(label, [*counts, score(expected), score(by_rows), difference]))
    table = grid(f"Ties on test queries, and test {measure} evaluated both ways", columns, rows)
    most = max(abs(row.cells[-1].value or 0.0) for row in rows)
    if most > LITTLE:
        return [table]
    text = f"Ties matter little here: the row order changes no mean test {measure} by more than {most:.4f}."
    return [paragraph(text), details("Ties of each method", table)]


OVER = {"measure": "within a measure", "all": "over all measures"}
RULES = {"holm": "Holm's correction", "bh": "Benjamini and Hochberg's correction"}


def opening(facts: Facts) -> list[Markup]:
    """Return the blocks above all sections."""
    means = facts.result.means(facts.main, facts.asked)
    blocks = [paragraph(sentence) for sentence in facts.content.conclusions]
    chosen = verdict(facts.result)
    if chosen is not None:
        blocks += [paragraph(sentence, role="lead") for sentence in chosen.sentences]
        blocks += _separated(facts, chosen)
    failed, remarks = facts.result.failures, len(facts.content.data_check.lines)
    if failed:
        runs = f"{len(failed)} of {len(facts.content.cells)} runs failed"
        blocks.append(warned(f"{runs}. The others are complete; the errors are under Settings."))
    if facts.unfinished:
        blocks.append(note(f"{facts.result.unfinished_lines()[0]}; the remedies are under Training."))
    if chosen is not None and len(means) > 1:
        baseline = facts.content.tests(facts.asked).baseline
        blocks.append(_leader_chart(facts, means, baseline if baseline in means else chosen.method))
    if remarks:
        blocks.append(note(f"The data check has {plural(remarks, 'remark')}, under Data."))
    return blocks


def _separated(facts: Facts, chosen: Verdict) -> list[Markup]:
    """Return which methods the chosen one is significantly better than, and how that was tested."""
    rest = [
        label
        for label in facts.ranked(facts.asked, facts.main)
        if label not in (chosen.method, facts.result.choice)
    ]
    kinds: dict[str, list[str]] = {"better": [], "worse": [], "": []}
    for method in rest:
        if pair := facts.pair(facts.main, chosen.method, method):
            ahead = "better" if (pair.difference > 0) != facts.result.is_error(facts.main) else "worse"
            kinds[ahead if facts.content.tests(facts.asked).significant(pair) else ""].append(method)
    if not any(kinds.values()):
        return []
    pieces: list[str] = []
    folded = []
    for start, methods in (
        (f"{chosen.method} is significantly better than ", kinds["better"]),
        (f"{chosen.method} is significantly worse than ", kinds["worse"]),
        (f"{chosen.method} is neither significantly better nor worse than ", kinds[""]),
    ):
        names = enumerated([named(method) for method in methods])
        if len(methods) > FEW:
            pieces.append(f"{start}{len(methods)} of the {len(rest)} other methods. ")
            folded.append(details(f"These {len(methods)} methods", paragraph(*names)))
        elif methods:
            pieces += [start, *names, ". "]
    return [paragraph(*pieces), *folded, _rule(facts, chosen)]


def _rule(facts: Facts, chosen: Verdict) -> Markup:
    tests, pair = facts.content.tests(facts.asked), facts.pair(facts.main, chosen.method, chosen.other)
    pairs = len(tests.pairs[facts.main])
    lead = ""
    if pair is not None:
        lead = (
            f" {chosen.method} − {chosen.other}: {signed(pair.difference)}, {pair.percent} interval "
            f"{signed(pair.low)} to {signed(pair.high)}, p {p_value(tests.p(pair))}, on {pair.queries} test "
            f"queries. {tests.power_line(facts.main, pair)}".rstrip()
        )
    return note(
        f"Fisher's randomisation test on paired queries; significant means p < {tests.alpha:g} after "
        f"{RULES[tests.correction]} for {plural(pairs, 'pair')} of methods.{lead}"
    )


def _choice(facts: Facts, convention: str) -> str:
    """Return what a user who tries all methods and keeps the best on validation can expect."""
    choice = facts.result.choice
    if choice is None or (value := facts.result.mean(choice, facts.main, convention)) is None:
        return ""
    of_folds = Counter(cell.chosen["method"] for cell in facts.result.of(choice))
    names = [f"{label} on {plural(folds, 'fold')}" for label, folds in of_folds.most_common()]
    return (
        f"Choosing the method with the highest validation {facts.content.select_by} on each fold gives a "
        f"mean test {facts.main} of {number(value)} ({''.join(enumerated(names))}). The highest test value "
        "of many methods is partly chance; the test queries take no part in this choice."
    )


def _leader_chart(facts: Facts, means: dict[str, float], leader: str) -> Markup:
    """Return the difference of every method to the leader or the baseline, with its interval."""
    pairs = {label: facts.pair(facts.main, label, leader) for label in means}
    differences = {
        label: value - means[leader] if (pair := pairs[label]) is None else pair.difference
        for label, value in means.items()
    }
    ends = [end for pair in pairs.values() if pair for end in (pair.low, pair.high)]
    scale = Scale([0.0, *differences.values(), *ends])
    rows, tests = [], facts.content.tests(facts.asked)
    for label, pair in pairs.items():
        better = pair is not None and (pair.difference > 0) != facts.result.is_error(facts.main)
        word = "better" if better else "worse"
        style = "" if pair is None else word if tests.significant(pair) else "same"
        interval = None if pair is None else (pair.low, pair.high)
        style, at = "first" if label == leader else style, facts.index[label]
        rows.append(DotRow(label, at, [differences[label]], 0.0, interval, means[label], style))
    title = f"Mean test {facts.main} of every method, and how far each is from {leader}"
    text = f" A dot is the difference between the method and {leader} (the line at 0)"
    if ends:
        text += (
            f", a bar its interval at the level at which the correction tests it. Orange: significantly "
            f"worse than {leader}{', blue: better' * any(row.style == 'better' for row in rows)}. "
            "Grey: not significant"
        )
    return dots(title, f"{title}.{text}.", scale, rows)
