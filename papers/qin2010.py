"""Qin, Liu, Li, Information Retrieval 13, 2010: Figures 1 and 2, Tables 1 to 6.

    python papers/qin2010.py --data OHSUMED [--baselines letor3_baselines.csv] [--quick] [--sweep]
        [--starts 100] [--out papers/out/…]

The paper draws Figure 1 from TD2004, and Figure 2, Tables 5 and 6 from the first fold of OHSUMED; Table 4
is OHSUMED, Table 3 is TD2003 and TD2004. ApproxNDCG is trained as the paper says, by stochastic gradient
ascent (step 0.01, until an epoch changes the objective by less than 0.001) from K = 10 random starts, with
α chosen out of six by NDCG@n on validation; and as directrank does, by L-BFGS with a penalty. The published
rows of the other methods of Table 4 are those of LETOR. Figures 1 and 2 show the mean error of the
approximation over training queries. `--quick` has 20 starts instead of 100 (50 for L-BFGS) in Table 5, and
two values of α and one of SoftRank's noise in Table 4. `--sweep` is Table 5 alone, of ApproxNDCG and of
ApproxAP, into the folder `sweep`. `--starts 100` is section 3.5 alone, into the folder `starts`: the start
at zeros, at RankSVM's solution, simulated annealing and the best of up to 100 random starts on each fold,
half an hour of one processor; an interrupted run is resumed.
"""

import math
from argparse import ArgumentParser
from pathlib import Path

import numpy as np
from baselines import Published, beside, mean_of, read_baselines
from comparing import parser_of, run, say
from paper_tables import ERRORS, LARGE, Row, Table, agreement, publish, write_rows
from qin2010_results import fold1, optima
from qin2010_results.table4 import COLLECTION, NOTE, PRINTED_FORM, Table4

from directrank import find_folds
from directrank.surrogates.positions.smoothed_kernels import soft_positions

#: The scores of the example in Table 1.
EXAMPLE = np.array([4.20074, 3.12378, 4.40918, 1.55258, 4.13330])


def table1_rows() -> list[Row]:
    """The example of Table 1: the error of the approximated positions, and the bound on NDCG from it."""
    positions = soft_positions(EXAMPLE, np.array([0, 5]), np.array([5]), 100.0)[0]
    exact = 1 + (EXAMPLE[None, :] > EXAMPLE[:, None]).sum(axis=1)
    off = float(np.abs(positions - exact).max())
    rows = [
        Row("(example)", "α = 100", "ε / (2 ln 2)", 0.00085, off / (2 * math.log(2)), reason=EXAMPLE_SCORES)
    ]
    rows += [
        Row("(example)", "α = 100", f"approximate position of the document at {place}", None, float(each))
        for place, each in sorted(zip(exact.tolist(), positions, strict=True))
    ]
    return rows


EXAMPLE_SCORES = "the scores of the table are quoted from memory; they reproduce the number in the text"


def table3_rows(published: Published) -> list[Row]:
    """The statements about TD2003 and TD2004, checked against LETOR's rows where possible."""
    rows = []
    for baseline, gain in (("SVMMAP", 0.15), ("AdaRank-MAP", 0.20)):
        known = mean_of(published, "TD2003", baseline, "AP")
        told = "collection not available here"
        told += "" if known is None else f"; the statement means above {(1 + gain) * known:.4f}"
        rows.append(Row("TD2003", f"ApproxAP / {baseline} - 1", "AP", f"> {gain:.2f}", reason=told))
    for dataset in ("TD2003", "TD2004"):
        names = ("SVMMAP", "AdaRank-MAP", "RankSVM", "ListNet")
        known = [mean_of(published, dataset, name, "AP") for name in names]
        if None not in known:
            said = "below RankSVM and ListNet"
            ours = said if max(known[:2]) < min(known[2:]) else "not below both"
            rows.append(Row(dataset, "SVMMAP, AdaRank-MAP", "AP", said, ours, reason="ours is LETOR's table"))
    return rows


def table2_rows(folds) -> list[Row]:
    """The statistics of the data: the printed table is not in the text at hand, and has no number here."""
    parts = [test for _, _, test in (fold.load() for fold in folds)]
    grades, counts = np.unique(np.concatenate([part.relevance for part in parts]), return_counts=True)
    queries, documents = sum(part.n_queries for part in parts), sum(part.n_docs for part in parts)
    sizes = {"queries": queries, "documents": documents, "features": parts[0].n_features}
    means = {"documents a query": documents / queries}
    means |= {f"documents a query of grade {g:g}": n / queries for g, n in zip(grades, counts, strict=True)}
    return [Row(COLLECTION, "(data)", name, None, value) for name, value in (sizes | means).items()]


def sweep(train, quick: bool, measure: str) -> tuple[Table, dict[str, str], float]:
    """Return Table 5 for the approximation of a measure, its figures, and the best training value."""
    starts = {
        "SGD": fold1.restarts(train, 20 if quick else 100, "sgd", measure),
        "L-BFGS": fold1.restarts(train, 20 if quick else 50, "lbfgs", measure),
    }
    ending = "" if measure == "nDCG" else f"-{measure.lower()}"
    title = f"Table 5: Approx{measure.upper()}, starts against α"
    table = Table(f"table5{ending}", title, fold1.table5(COLLECTION, starts, measure), TABLE5)
    figures = {
        f"table5-{name.lower()}{ending}": fold1.table5_picture(found, name, measure)
        for name, found in starts.items()
    }
    return table, figures, max(max(each) for found in starts.values() for each in found.values())


def make_sweep(options) -> str:
    """Write Table 5 for both measures."""
    train = find_folds(options.data)[0].load()[0]
    tables, figures = [], {}
    for measure in fold1.REPORTED:
        table, pictures, _ = sweep(train, options.quick, measure)
        tables.append(table)
        figures |= pictures
    compared = [row for table in tables for row in table.rows if row.standard_error is not None]
    large = [row for row in compared if abs(float(row.ours)) > LARGE * row.standard_error]
    named = "; ".join(f"{row.method}, {row.measure}: {row.reason}" for row in large)
    return publish(
        options.out / "sweep", "Qin, Liu, Li, Information Retrieval 2010: starts, α", tables, figures,
        command=f"python papers/qin2010.py --data OHSUMED --sweep{' --quick' if options.quick else ''}",
        short=f"Training values from random starts: {len(large)} of {len(compared)} differences between "
        f"values of α exceed two standard errors: {named}.",
    )  # fmt: skip


def make_starts(options) -> str:
    """Write the ways out of local optima of section 3.5."""
    out = options.out / "starts"
    found = optima.ends(options.data, out, options.starts, options.jobs)
    rows = optima.rows(COLLECTION, found, options.starts)
    return publish(
        out, "Qin, Liu, Li, Information Retrieval 2010, section 3.5: local optima",
        [Table("starts", "Section 3.5: starts", rows, optima.NOTE)], {},
        command=f"python papers/qin2010.py --data OHSUMED --starts {options.starts}",
        short=optima.short(rows, options.starts), shown=optima.pivot(rows, options.starts),
    )  # fmt: skip


def on_first_fold(train, quick: bool) -> tuple[list[Table], dict[str, str]]:
    """Return Tables 5 and 6, and their figures."""
    table5, figures, best = sweep(train, quick, "nDCG")
    training, times = fold1.table6(COLLECTION, train, best)
    tables = [
        table5,
        Table("training", "Section 5.5.2: training accuracy", training),
        Table("table6", "Table 6: time", times),
    ]
    return tables, figures


def make(options) -> str:
    if options.sweep:
        return make_sweep(options)
    if options.starts:
        return make_starts(options)
    path = options.baselines or beside(options.data)
    if path is None:
        say("no letor3_baselines.csv next to the data: skipping LETOR's rows (--baselines names the file)")
    published = read_baselines(path)
    train = find_folds(options.data)[0].load()[0]
    drawn = {name: fold1.ErrorFigure(name, train) for name in fold1.FIGURES}
    table4 = Table4(options, train.n_features)
    tables, figures = on_first_fold(train, options.quick)
    before = [
        Table("table1", "Table 1: approximated positions, of scores quoted from memory", table1_rows()),
        *(Table(name, each.title, each.rows(COLLECTION)) for name, each in drawn.items()),
        Table("table2", "Table 2: the data", table2_rows(find_folds(options.data))),
        Table("table3", "Table 3: ApproxAP", table3_rows(published)),
        Table("table4", "Table 4: NDCG on OHSUMED", table4.rows(published), NOTE + ERRORS),
    ]
    pictures = {name: each.picture() for name, each in drawn.items()}
    pictures["table4"] = table4.picture(published)
    text = publish(
        options.out, "Qin, Liu, Li, Information Retrieval 2010", [*before, *tables], pictures | figures,
        command="python papers/qin2010.py --data OHSUMED", short=short([*before, *tables]),
    )  # fmt: skip
    for name, each in drawn.items():
        write_rows(
            options.out / f"{name}-epochs.csv", ("setting", "epoch", "error", "certified"), each.points()
        )
    return text


def short(tables: list[Table]) -> str:
    """Return the findings in a few sentences, from the rows of the tables."""
    rows = {table.name: table.rows for table in tables}
    accuracies = [float(row.ours) for name in fold1.FIGURES for row in rows[name]]
    whole = [row for row in rows["table4"] if row.measure == "nDCG" and row.method != PRINTED_FORM]
    far = [f"{row.method} ({row.difference:+.4f})" for row in whole if row.is_large]
    return (
        f"The approximation has an accuracy of {min(accuracies):.4f} to {max(accuracies):.4f} at the last "
        f"epoch. NDCG over the whole list: {agreement(whole)}"
        + (f"; the others are {', '.join(far)}" if far else "")
        + "."
    )


TABLE5 = (
    "Training NDCG@5 or AP (letor3) on the first fold: the expected best of K starts, over all choices of K "
    "of the starts that were run. The text has the comparisons only; its largest K is 100. Standard "
    "errors are bootstrapped over the starts; they are rough where K is the number of starts."
)


def parser() -> ArgumentParser:
    parser = parser_of(__doc__, "qin2010", "the folder of OHSUMED (LETOR 3.0), with Fold1 to Fold5")
    parser.add_argument("--baselines", type=Path, help="LETOR 3.0's published values, csv or csv.xz")
    parser.add_argument("--quick", action="store_true", help="fewer starts and smaller grids")
    parser.add_argument("--sweep", action="store_true", help="Table 5 alone, for ApproxNDCG and ApproxAP")
    parser.add_argument("--starts", type=int, default=0, help="section 3.5 alone, with so many random starts")
    return parser


if __name__ == "__main__":
    run(lambda: make(parser().parse_args()))
