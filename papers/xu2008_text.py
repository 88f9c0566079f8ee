"""Xu, Liu, Lu, Li, Ma, SIGIR 2008, section 5.2: from texts to Figures 7 and 8, and the tests between methods.

    python papers/xu2008_text.py --data FOLDER [--collections CRAN,CISI,NPL] [--features xu2008-printed,all]
        [--out papers/out/xu2008_text]

The paper used WSJ and AP, news articles that TREC licenses. `FOLDER/WSJ` and `FOLDER/AP` may hold them:
`documents`, a folder of TREC's files, and the files `topics` (101-300) and `qrels`. Cranfield, CISI and NPL
are free: `FOLDER/CRAN` with `cran.all.1400`, `cran.qry` and `cranqrel`, and so on. Candidates are the first
200 documents of BM25; all values count relevant documents that are no candidates, too. Features are the four
that the paper lists (tf, idf, document length and BM25, of title and body) and all of directrank's, one
table of results for each, with tests between the two. Four random folds;
parameters are chosen by AP on the validation set. BM25 alone is tuned (k1, b) on the training and validation
sets. `--methods all` also trains all other methods of directrank, on the raw features.
"""

from argparse import ArgumentParser
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from comparing import called, compared, error_of, min_max, own, parser_of, run, say
from paper_tables import ERRORS, Row, Table, publish
from pictures import Dot, dot_picture, line_picture
from scipy.stats import ttest_rel
from xu2008_results.printed import COLLECTIONS, METHODS, printed

from directrank import AdaRank, PermuRank, RankBoost, RankSVM, evaluate, find_folds
from directrank.apps.experiments import Comparison
from directrank.apps.report.charts import Line
from directrank.apps.text import (
    CandidateFeatures,
    CollectionOptions,
    build_index,
    make_features,
    open_index,
    write_features,
)
from directrank.errors import DataError
from directrank.estimators.methods import Configured, configured

MEASURES = ("AP", "nDCG@1", "nDCG@3", "nDCG@5", "nDCG@10")
AUTO, DEFAULT, TUNED = "auto", "BM25", "BM25, tuned"
SHOWN = (*METHODS, AUTO, DEFAULT, TUNED)
FOLDS, SEED = 4, 0
#: BM25's parameters: the first are the default.
GRID = [(1.2, 0.75), *((k1, b) for k1 in (0.6, 0.9, 1.2, 1.5, 2.0, 3.0) for b in (0.2, 0.4, 0.6, 0.75, 0.9))]
BM25 = [f"whole.bm25(k1={k1:g},b={b:g})" for k1, b in dict.fromkeys(GRID)]


@dataclass(frozen=True)
class Source:
    """The files of a collection, and how they are read."""

    documents: str
    queries: str
    judgements: str
    options: CollectionOptions = field(default_factory=CollectionOptions)


#: Cranfield's codes run from 1, a complete answer, to 4; the undocumented code -1 counts as not relevant.
CRANFIELD = CollectionOptions(grades={1.0: 4.0, 2.0: 3.0, 3.0: 2.0, 4.0: 1.0})
TREC = Source("documents", "topics", "qrels")
SOURCES = {
    "CRAN": Source("cran.all.1400", "cran.qry", "cranqrel", CRANFIELD),
    "CISI": Source("CISI.ALL", "CISI.QRY", "CISI.REL"),
    "NPL": Source("doc-text.trec", "query-text.trec", "qrels", CollectionOptions(title_ends="  ")),
    "WSJ": TREC,
    "AP": TREC,
}

#: The files of raw features, and of those scaled to [0, 1] within each query.
FORMS = {"raw": "parquet", "scaled": "letor"}


def methods(quick: bool):
    """The five methods of the paper and an ensemble, by the features that they train on.

    AdaRank multiplies the features themselves, so they must be comparable. Linear methods scale raw features.
    """
    permurank = {"rounds": 20 if quick else 100}
    raw = [
        called("SVM^map", "svmmap"),
        own("PermuRank", PermuRank, measure="AP", fixed=permurank, grid={"C": (0.03, 0.1, 0.3, 1.0)}),
        own("RankSVM", RankSVM, grid={"penalty": (1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4)}),
        own("RankBoost", RankBoost, fixed={"rounds": 50 if quick else 300}),
        called(AUTO, "regression" if quick else "auto"),
    ]
    return {"raw": raw, "scaled": [own("AdaRank", AdaRank, measure="AP", fixed={"variant": "paper"})]}


def others(spec: str) -> list[Configured]:
    """Return the methods of a list without those that are in every table."""
    always = ("svmmap", "adarank", "permurank", "ranksvm", "rankboost", AUTO)
    return [each for each in configured(spec, "AP") if each.method.name not in always] if spec else []


class Collection:
    """Values of all methods on the test queries of all folds of a collection, trained on some features."""

    def __init__(self, source_name: str, features: str, options):
        source, out = SOURCES[source_name], options.out / source_name
        folder = options.data / source_name
        say(f"{source_name}: index and features ({features})")
        build_index(folder / source.documents, out / "index", options=source.options)
        index = open_index(out / "index")
        files = [folder / each for each in (source.queries, source.judgements)]
        made = make_features(index, *files, features=features, options=source.options)
        self.source_name, self.features, self.name = source_name, features, f"{source_name}, {features}"
        self.n_docs, self.made = index.n_docs, made
        self.shares = {measure: shares(made, measure) for measure in MEASURES}
        cells, self.curves = [], {}
        asked = others(options.methods)
        self.shown = [*SHOWN, *(each.label for each in asked)]
        for kind, always in methods(options.quick).items():
            chosen = always + asked if kind == "raw" else always
            data = out / features / kind
            groups = made.groups if kind == "raw" else min_max(made.groups)
            write_features(made._replace(groups=groups), data, kfold=FOLDS, seed=SEED, form=FORMS[kind])
            runs = out / features / f"runs-{kind}"
            result = compared(data, chosen, MEASURES, runs, options.jobs, convention="standard")
            cells += result.cells
            self.curves |= training_curves(result, [each for each in always if each.label in METHODS], data)
        alone = make_features(index, *files, features=BM25, options=source.options)
        self.values = bm25_values(alone, out / features / "raw")
        for cell in cells:
            for measure in MEASURES:
                found = cell["per_query"]["standard"][measure]
                own_values = self.values[measure].setdefault(cell["method"], {})
                own_values.update(zip(map(str, cell["qid"]), found, strict=True))

    def of(self, method: str, measure: str) -> np.ndarray:
        """Return the values of all queries, with all relevant documents as the ideal."""
        values, share = self.values[measure][method], self.shares[measure]
        return np.array([values[qid] * share[qid] for qid in sorted(share)])


def training_curves(result: Comparison, methods: list[Configured], data: Path) -> dict[str, list[float]]:
    """Return the training AP of each method over its rounds, a mean over folds; one value without rounds."""
    curves = {}
    for method in methods:
        histories = [
            method.build(result.cell(method.label, fold.name)["chosen"]).fit(fold.load()[0]).history_
            for fold in find_folds(data)
        ]
        each = [[row["monitor"] for row in history if "monitor" in row] for history in histories]
        most = max(map(len, each))
        # A fold that ended before the others keeps its last value.
        longest = [values + values[-1:] * (most - len(values)) for values in each]
        curves[method.label] = np.mean(longest, axis=0).tolist()
    return curves


def curves_picture(found: Collection) -> str:
    most = max(map(len, found.curves.values()))
    lines = []
    for name in METHODS:
        values = found.curves[name]
        alone = len(values) == 1
        points = [(1.0, values[0]), (most, values[0])] if alone else list(enumerate(values, 1))
        lines.append(Line(name, points, "dashed" if alone else ""))
    marks = [each for each in (1, 3, 10, 30, 100, 300) if each < most] + [most]
    title = f"Training AP over rounds on {found.name}, mean of the folds; dashed: at the optimum"
    return line_picture(title, "round", "training AP", lines, from_zero=False, logarithmic=marks)


def shares(made: CandidateFeatures, measure: str) -> dict[str, float]:
    """Return what the candidates' ideal is of the ideal of all relevant documents, for each query."""
    grades, qids = made.groups.relevance, made.groups.qid
    held = {qid: np.sort(grades[(qids == qid) & (grades > 0)])[::-1] for qid in made.relevant}
    return {
        qid: ideal(held[qid], measure) / max(ideal(np.array(every), measure), 1e-300)
        for qid, every in made.relevant.items()
    }


def ideal(grades: np.ndarray, measure: str) -> float:
    """Return the number of relevant documents for AP, the ideal DCG for nDCG; grades descend."""
    if measure == "AP":
        return float(len(grades))
    top = grades[: int(measure.partition("@")[2])]
    return float(((2.0**top - 1.0) / np.log2(np.arange(2, len(top) + 2))).sum())


def bm25_values(made: CandidateFeatures, folds: Path) -> dict[str, dict[str, dict[str, float]]]:
    """Return measure, then BM25 by default and tuned, then the value of each test query."""
    groups = made.groups
    found = [evaluate(groups, column, measures=MEASURES, per_query=True) for column in groups.X.T]
    qids = [str(qid) for qid in found[0].qid.tolist()]
    tables = {
        measure: np.array([each.per_query[measure] for each in found]).reshape(len(found), -1)
        for measure in MEASURES
    }
    values: dict = {measure: {DEFAULT: {}, TUNED: {}} for measure in MEASURES}
    for fold in find_folds(folds):
        train, vali, test = (set(map(str, part.queries.qid.tolist())) for part in fold.load())
        seen = [place for place, qid in enumerate(qids) if qid in train | vali]
        best = int(np.argmax(tables["AP"][:, seen].mean(axis=1)))
        for place, qid in enumerate(qids):
            if qid in test:
                for measure in MEASURES:
                    values[measure][DEFAULT][qid] = tables[measure][0, place]
                    values[measure][TUNED][qid] = tables[measure][best, place]
    return values


def published(found: Collection, method: str, measure: str) -> float | None:
    """Return the printed value of a method, which Tables 2 and 3 have for WSJ and AP."""
    known = method in METHODS and found.source_name in COLLECTIONS
    return printed(method, measure, found.source_name) if known else None


def accuracy_rows(found: Collection) -> list[Row]:
    """Figures 7 and 8: every measure of every method."""
    rows = []
    for measure in MEASURES:
        for method in found.shown:
            values = found.of(method, measure)
            others = [error_of(values - found.of(each, measure)) for each in found.shown if each != method]
            value = published(found, method, measure)
            rows.append(
                Row(found.name, method, measure, value, float(values.mean()), error_of(values),
                    float(np.median(others)), reason="other texts and other candidates" if value else "")
            )  # fmt: skip
    return rows


#: What the paper says of WSJ and AP (section 5.2), and the comparisons that a user asks for.
TESTS = (
    *(
        (one, other, "p < 0.05")
        for one in ("SVM^map", "PermuRank")
        for other in ("RankSVM", "RankBoost", "AdaRank")
    ),
    ("SVM^map", "PermuRank", "not significant"),
    *(("AdaRank", other, "not significant") for other in ("RankSVM", "RankBoost")),
    *((one, DEFAULT, None) for one in (*METHODS, AUTO, TUNED)),
    (AUTO, TUNED, None),
)


def test_rows(found: Collection) -> list[Row]:
    """Paired t-tests of AP between two methods."""
    pairs = (*TESTS, *((each, DEFAULT, None) for each in found.shown[len(SHOWN) :]))
    return [
        test_row(found.name, f"{one} - {other}", found.of(one, "AP"), found.of(other, "AP"), said)
        for one, other, said in pairs
    ]


def test_row(collection: str, pair: str, one: np.ndarray, other: np.ndarray, said: str | None) -> Row:
    """Return the paired t-test of the AP of two methods."""
    difference = one - other
    p = float(ttest_rel(one, other).pvalue) if difference.any() else 1.0
    better = p < 0.05 and difference.mean() > 0
    same = {None: True, "p < 0.05": better, "not significant": p >= 0.05}[said]
    reason = "" if same else "WSJ and AP in the paper: 200 queries of news articles"
    told = f"{difference.mean():+.4f}, " + (f"p = {p:.4f}" if p >= 0.0001 else "p < 0.0001")
    return Row(collection, pair, "AP, paired t-test", said, told, error_of(difference), reason=reason)


def feature_rows(every: list[Collection]) -> list[Row]:
    """Paired t-tests of AP of each method between its training on other features and on the first ones."""
    first = {found.source_name: found for found in reversed(every)}
    return [
        test_row(found.source_name, f"{method}: {found.features} - {base.features}",
                 found.of(method, "AP"), base.of(method, "AP"), None)
        for found in every
        if (base := first[found.source_name]) is not found
        for method in (*METHODS, AUTO)
    ]  # fmt: skip


def data_rows(found: Collection) -> list[Row]:
    """Section 5.2: the size of the data."""
    groups = found.made.groups
    relevant = sum(map(len, found.made.relevant.values()))
    sizes = {
        "documents": found.n_docs, "queries": groups.n_queries, "candidates": groups.n_docs,
        "features": groups.n_features, "relevant documents": relevant,
        "relevant candidates": int((groups.relevance > 0).sum()),
    }  # fmt: skip
    return [Row(found.name, "(data)", name, None, size) for name, size in sizes.items()]


def picture(found: Collection) -> str:
    blocks = {
        "MAP" if measure == "AP" else measure.replace("n", "N", 1): [
            Dot(method, float(found.of(method, measure).mean()), error_of(found.of(method, measure)),
                published(found, method, measure))
            for method in found.shown
        ]
        for measure in MEASURES
    }  # fmt: skip
    return dot_picture(f"Figures 7 and 8, on {found.name}", "test value, convention standard", blocks)


def short(every: list[Collection]) -> str:
    """Return the findings in a few sentences."""
    parts = []
    for found in every:
        default, auto = found.of(DEFAULT, "AP"), found.of(AUTO, "AP")
        p = float(ttest_rel(auto, default).pvalue)  # pyright: ignore[reportAttributeAccessIssue]
        best = max(METHODS, key=lambda each: found.of(each, "AP").mean())
        parts.append(
            f"{found.name}: {default.mean():.4f}, {found.of(TUNED, 'AP').mean():.4f}, {auto.mean():.4f} "
            f"({p:.4f}), {best} {found.of(best, 'AP').mean():.4f}"
        )
    told = f"AP of BM25, of BM25 tuned, of {AUTO} with p against BM25, and of the best of the five. "
    told += "; ".join(parts) + "."
    for features in dict.fromkeys(found.features for found in every):
        names = [found.source_name for found in every if found.features == features]
        if not any(above_bm25(found) for found in every if found.features == features):
            told += f" With the features {features} no learned method beats BM25 on {', '.join(names)}: none "
            told += "is above it with p < 0.05 (paired t-test, not corrected)."
    return told


def above_bm25(found: Collection) -> list[str]:
    """Return the learned methods that are above BM25 in AP with p < 0.05 by a paired t-test."""
    learned = [each for each in found.shown if each not in (DEFAULT, TUNED)]
    default = found.of(DEFAULT, "AP")
    tests = [test_row(found.name, each, found.of(each, "AP"), default, "p < 0.05") for each in learned]
    return [row.method for row in tests if not row.reason]


NOTE = (
    "Candidates are BM25's first 200 documents, unjudged ones are not relevant, and every ideal counts all "
    "relevant documents. The figures of the paper are bars; only MAP and NDCG@3 of WSJ and AP are printed, "
    "in Tables 2 and 3. "
)


def make(options) -> str:
    every = [
        Collection(name, features, options)
        for name in options.collections.split(",")
        for features in options.features.split(",")
    ]
    sizes, accuracy, tests = (
        [row for found in every for row in rows(found)] for rows in (data_rows, accuracy_rows, test_rows)
    )
    tables = [
        Table("data", "Section 5.2: the data", sizes),
        Table("figures7and8", "Figures 7 and 8: accuracy", accuracy, NOTE + ERRORS),
        Table("tests", "Section 5.2: t-tests", tests, "`published` is what the paper says of WSJ and AP."),
        Table("features", "Section 5.2: all features against the four of the paper", feature_rows(every)),
    ]
    figures = {
        f"{kind}-{found.source_name}-{found.features}": drawn(found)
        for kind, drawn in (("accuracy", picture), ("curves", curves_picture))
        for found in every
    }
    return publish(
        options.out, "Xu, Liu, Lu, Li, Ma, SIGIR 2008, section 5.2: texts", tables,
        figures,
        command="python papers/xu2008_text.py --data TEXTS", short=short(every),
    )  # fmt: skip


def parser() -> ArgumentParser:
    parser = parser_of(__doc__, "xu2008_text", "a folder with the folders of the collections")
    parser.add_argument("--collections", default="CRAN,CISI,NPL", help=f"of {','.join(SOURCES)}")
    parser.add_argument("--features", default="xu2008-printed,all", help="presets of features")
    parser.add_argument("--methods", default="", help="more methods of directrank, or all")
    parser.add_argument("--quick", action="store_true", help="few rounds, and regression in place of auto")
    return parser


def checked(options):
    if unknown := set(options.collections.split(",")) - SOURCES.keys():
        raise DataError(f"--collections {min(unknown)}: expected some of {', '.join(SOURCES)}")
    return options


if __name__ == "__main__":
    run(lambda: make(checked(parser().parse_args())))
