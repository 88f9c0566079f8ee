"""Fusion of runs: the usual rules by hand, learned weights against brute force, and awkward runs."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from directrank import (
    Fusion,
    ModelFormatError,
    evaluate_runs,
    load,
    paired_test,
    parse_measure,
    save,
)
from directrank.apps.fusion import learning
from directrank.apps.fusion.learning import Rule, ascended, learned_rule, query_values
from directrank.apps.fusion.rules import (
    FIXED,
    NORMALISATIONS,
    counted,
    log_odds,
    min_max,
    reciprocal_ranks,
    standardised,
)
from directrank.apps.fusion.runs import Runs
from directrank.errors import DataError
from groups import first_group

WORDS = {"q": {"a": 9.0, "b": 5.0, "c": 1.0}}
VECTORS = {"q": {"b": 0.8, "d": 0.7, "a": 0.4}}
RUNS = {"words": WORDS, "vectors": VECTORS}


def columns(normalise, runs=RUNS, judgments=None):
    """Normalised scores by docid of the only query."""
    union = Runs.read(runs, judgments).union
    return dict(zip(union.queries.docid.tolist(), normalise(union).tolist(), strict=True))


def many(n_queries, n_runs=3, seed=0, n_docs=12):
    """Runs of two thirds of the documents: the first run is good, the second fair, the others are noise."""
    rng = np.random.default_rng(seed)
    grades = {f"{q:03}": {f"d{d}": int(rng.integers(0, 3)) for d in range(n_docs)} for q in range(n_queries)}
    noise = [0.7, 1.5, *[9.0] * (n_runs - 2)]
    runs = {f"run{run}": {qid: {} for qid in grades} for run in range(n_runs)}
    for run, qid in itertools.product(range(n_runs), grades):
        for docid in rng.permutation([*grades[qid]])[: 2 * n_docs // 3].tolist():
            runs[f"run{run}"][qid][docid] = float(grades[qid][docid] + noise[run] * rng.normal())
    return runs, grades


def perfect(grades):
    """The run whose scores are the grades."""
    return {qid: {docid: float(grade) for docid, grade in docs.items()} for qid, docs in grades.items()}


def test_documents_that_tie_share_the_mean_of_their_ranks():
    runs = {"one": {"q": {"a": 2, "b": 1, "c": 1}}, "two": {"q": {"c": 1}}}
    found = columns(reciprocal_ranks, runs)
    assert [found[docid][0] for docid in "abc"] == pytest.approx([1 / 61, *[(1 / 62 + 1 / 63) / 2] * 2])
    odds = columns(log_odds, runs)
    assert [odds[docid][0] for docid in "abc"] == pytest.approx(
        [np.log(2.5 / 0.5), *[(np.log(1.5 / 1.5) + np.log(0.5 / 2.5)) / 2] * 2]
    )


def test_min_max_and_standardised_by_hand():
    assert columns(min_max) == {
        "a": [1.0, 0.0], "b": [0.5, pytest.approx(1.0)], "c": [0.0, 0.0], "d": [0.0, pytest.approx(0.75)],
    }  # fmt: skip
    deviation = np.sqrt((4**2 + 0 + 4**2) / 3)
    found = columns(standardised)
    # d, which the words miss, is below c by the mean step from a to c.
    assert [found[docid][0] for docid in "abcd"] == pytest.approx(np.array([4, 0, -4, -8]) / deviation)
    # Of three documents; a fourth is where ln((n − rank + ½) / (rank − ½)) has the last rank of four.
    odds = columns(log_odds)
    assert [odds[docid][0] for docid in "abcd"] == pytest.approx(np.log([5, 1, 1 / 5, 1 / 7]))


#: A run of one document, and one of equal scores, beside a run of three scores.
FLAT = {
    "words": {"q": {"a": 9.0, "b": 5.0, "c": 1.0}},
    "single": {"q": {"b": 0.7}},
    "equal": {"q": {"b": 3.0, "d": 3.0}},
}


@pytest.mark.parametrize(
    ("normalise", "present", "missing"),
    [(min_max, 1.0, 0.0), (standardised, 0.0, -1.0), (log_odds, 0.0, None)],
)
def test_of_one_document_or_equal_scores_the_missing_ones_are_below(normalise, present, missing):
    found = columns(normalise, FLAT)
    below = {run: -np.log(2 * n + 1) if missing is None else missing for run, n in ((1, 1), (2, 2))}
    for run, documents in ((1, "b"), (2, "bd")):
        for docid in "abcd":
            expected = present if docid in documents else below[run]
            assert found[docid][run] == pytest.approx(expected, abs=1e-12), (docid, run)


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_standardised_scores_do_not_depend_on_their_unit(size):
    """Of 1, 2 and 4 the mean is 7/3 and the variance 14/9, whose squares a double may not hold."""
    runs = {"a": {"q": {"x": size, "y": 2 * size, "z": 4 * size}}, "b": {"q": {"x": 1.0, "w": 0.5}}}
    scores = columns(standardised, runs)
    expected = [(value - 7 / 3) / (14 / 9) ** 0.5 for value in (1, 2, 4)]
    assert [scores[docid][0] for docid in "xyz"] == pytest.approx(expected)
    assert scores["w"][0] == pytest.approx(expected[0] - (expected[2] - expected[0]) / 2)


def test_comb_sum_and_comb_mnz_of_one_document_or_equal_scores_by_hand():
    # Min-max: words a 1, b 1/2, c 0; single b 1; equal b 1, d 1; 0 elsewhere.
    for name, expected in (
        ("CombSUM", {"a": 1.0, "b": 2.5, "c": 0.0, "d": 1.0}),
        ("CombMNZ", {"a": 1.0, "b": 7.5, "c": 0.0, "d": 1.0}),
    ):
        assert columns(lambda union, name=name: FIXED[name](union), FLAT) == expected
    # The example of docs/fusion.md: d3 is the first of one run, d1 the last of it and alone in the other.
    runs = {"bm25": {"q2": {"d3": 4.2, "d1": 4.0}}, "dense": {"q2": {"d1": 0.66}}}
    assert columns(FIXED["CombSUM"], runs) == {"d3": 1.0, "d1": 1.0}
    assert columns(FIXED["CombMNZ"], runs) == {"d3": 1.0, "d1": 2.0}


@pytest.mark.parametrize("normalise", NORMALISATIONS.values())
def test_missing_documents_are_never_above_those_of_the_run(normalise):
    runs, grades = many(20, seed=4)
    rng = np.random.default_rng(5)
    for run in runs.values():
        for qid, docs in run.items():
            run[qid] = dict([*docs.items()][: rng.integers(1, 4)]) if rng.random() < 0.5 else docs
            if rng.random() < 0.3:
                run[qid] = dict.fromkeys(run[qid], 1.5)
    union = Runs.read(runs, grades).union
    found, present = normalise(union), union.held
    for first, last in itertools.pairwise(union.queries.indptr):
        for run in range(3):
            inside = present[first:last, run]
            values, least = found[first:last, run], found[first:last, run][inside].min()
            if not inside.all():
                assert len(set(values[~inside])) == 1
                # In min-max the last document of a run has 0 as well.
                assert values[~inside][0] < least or (normalise in (min_max, counted) and least == 0)


def values(table):
    return {row.method: np.array(*row.per_query["standard"].values()) for row in table.finished}


@pytest.mark.share(3)
@pytest.mark.parametrize("name", NORMALISATIONS)
def test_learned_weights_are_as_good_as_a_fine_grid(name):
    runs, grades = many(12, seed=3)
    union, measure = Runs.read(runs, grades).judged, parse_measure("nDCG@5")
    learned_rule = ascended(measure, union, name, np.random.default_rng(0))
    weights = learned_rule.weights
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1.0)
    steps = [np.array(each) / 20 for each in itertools.product(range(21), repeat=3) if sum(each) == 20]
    grid = [query_values(measure, union, Rule(name, each).scores(union)).mean() for each in steps]
    mine = learned_rule.query_values(measure, union).mean()
    # The search averages over a window, so that it does not end in the highest spike.
    assert mine >= np.quantile(grid, 0.9)


def test_many_queries_are_learned_from_and_few_give_rrf():
    runs, grades = many(80)
    found = Fusion(normalise=["min-max"]).fit(runs, grades)
    assert found.share_ > 0
    assert found.weights_[0] == max(found.weights_)
    few = {qid: grades[qid] for qid in [*grades][:3]}
    for judged in (None, few, {"000": grades["000"]}):
        rrf = Fusion().fit(runs, judged)
        assert (rrf.normalisation_, rrf.share_, rrf.n_judged_) == ("rank", 0.0, len(judged or ()))
        assert rrf.weights_.tolist() == [1 / 3] * 3


def test_the_learned_share_is_of_the_learned_weights(monkeypatch):
    """The first run ranks perfectly and ascent says so: as little shrinkage as there is, to equal weights."""
    runs, grades = many(40)
    runs["run0"] = perfect(grades)
    monkeypatch.setattr(learning, "ascended", lambda *_: Rule("min-max", np.array([1.0, 0.0, 0.0])))
    found = learned_rule(parse_measure("nDCG@10"), Runs.read(runs, grades).judged, ["min-max"], 0)
    assert found.share == 40 / (40 + min(learning.AMOUNTS))
    assert found.weights == pytest.approx([0.8 + 0.2 / 3, 0.2 / 3, 0.2 / 3])


def test_rows_of_the_table_are_not_fitted_on_what_they_are_judged_on():
    rng = np.random.default_rng(0)
    grades = {f"q{q}": {"a": int(rng.integers(2)), "b": 1} for q in range(30)}
    # Each run is right by chance: on its own queries the better one looks good, on others it is no better.
    runs = {run: {qid: {"a": rng.normal(), "b": rng.normal()} for qid in grades} for run in ("one", "two")}
    table = Fusion("RR").cross_validate(runs, grades)
    means = {name: each.mean() for name, each in values(table).items()}
    assert means["best single run"] <= max(means["one"], means["two"])
    tests = table.content.significance["standard"]
    assert {(pair.baseline, pair.queries) for pair in tests.pairs["RR"]} == {("learned", 30)}
    assert table.methods[:3] == ["learned", "best of 11 weights", "best single run"]


@pytest.mark.parametrize(
    "measure",
    first_group(
        ["nDCG@5", "AP", "bpref", "infAP", "Judged@5", "RBP", "ERR@5"],
        lambda name: name in ("nDCG@5", "infAP", "RBP"),
    ),
)
def test_values_of_the_table_are_those_of_evaluate(measure):
    runs, grades = many(6)
    runs["run0"].pop("003")
    for docs in grades.values():
        docs.pop("d1")
    table = Fusion(measure, normalise=["min-max"]).cross_validate(runs, grades, kfold=3)
    rrf = {"RRF (k = 60)": Fusion().fit(runs).fuse(runs)}
    alone = evaluate_runs(grades, runs | rrf, measures=table.measures)
    order = [table.finished[0].qid.index(qid) for qid in alone.finished[0].qid]
    for name, expected in values(alone).items():
        np.testing.assert_allclose(values(table)[name][order], expected, rtol=1e-12, err_msg=name)
    for pair in table.content.significance["standard"].pairs[table.measures[0]]:
        test = paired_test(*(values(table)[each] for each in pair.methods))
        found, expected = (
            (pair.difference, pair.low, pair.p_randomisation),
            (test.difference, test.low, test.p),
        )
        assert found == pytest.approx(expected, abs=1e-12)


def test_constant_and_empty_runs_change_no_ranking():
    flat = {"words": WORDS, "flat": {"q": dict.fromkeys("abcd", 3.0)}, "empty": {"r": {"z": 1.0}}}
    for normalise in (min_max, standardised, log_odds, reciprocal_ranks):
        found = columns(normalise, {"words": flat["words"], "flat": flat["flat"]})
        assert np.isfinite([*found.values()]).all()
        assert len({row[1] for row in found.values()}) == 1
    with pytest.warns(
        UserWarning, match="^empty: no query is in another run too.* called r and q, for example"
    ):
        union = Runs.read(flat).union
    assert min_max(union)[:4, 2].tolist() == [0.0] * 4


def test_the_order_of_runs_lines_and_queries_decides_nothing():
    runs, grades = many(40)
    found = Fusion(normalise=["rank", "min-max"]).fit(runs, grades)
    turned = {name: dict(reversed(run.items())) for name, run in reversed(runs.items())}
    fused, other = (found.fuse(each) for each in (runs, turned))
    assert {qid: dict(docs) for qid, docs in fused.items()} == {
        qid: dict(docs) for qid, docs in other.items()
    }


def test_a_file_of_weights_is_read_bit_for_bit(tmp_path):
    runs, grades = many(80)
    found = Fusion(normalise=["min-max"]).fit(runs, grades)
    found.save(tmp_path / "fusion.dr")
    again = Fusion.load(tmp_path / "fusion.dr")
    assert again.fuse(runs) == found.fuse(runs)
    assert vars(again).keys() == vars(found).keys()
    with pytest.raises(ModelFormatError, match="a fusion of runs, not a ranker"):
        load(tmp_path / "fusion.dr")
    # Of files the names may differ, and the order counts.
    assert again.fuse(dict(zip("xyz", runs.values(), strict=True))) == found.fuse(runs)
    with pytest.raises(
        ValueError, match="run0 stands where the fusion has run1; give the runs in this order"
    ):
        again.fuse({"x": runs["run1"], "run0": runs["run0"], "run2": runs["run2"]})
    with pytest.raises(TypeError, match=r"a Fusion cannot be saved here; it has its own save\(path\)"):
        save(found, tmp_path / "other.dr")
    with pytest.raises(ValueError, match="the fusion has weights of 3 runs"):
        again.fuse({"run0": runs["run0"], "run1": runs["run1"]})


#: Two queries by hand: CombSUM ranks c first of q by 1.0 to a's 0.9, RRF a.
TWO = {
    "words": {"q": {"a": 10.0, "b": 9.0, "c": 0.0}, "r": {"a": 2.0, "b": 1.0}},
    "vectors": {"q": {"c": 5.0, "a": 0.5, "d": 0.0}, "r": {"b": 3.0, "c": 1.0}},
}


def test_every_rule_of_the_table_can_be_taken_saved_and_applied(tmp_path):
    judged = {"q": {"a": 1}, "r": {"a": 1}}
    expected = {
        # Halves of 1/61 + 1/62, 1/62, 1/63 + 1/61, 1/63.
        "rrf": {"a": 1 / 122 + 1 / 124, "b": 1 / 124, "c": 1 / 126 + 1 / 122, "d": 1 / 126},
        # Min-max: words a 1, b .9, c 0; vectors c 1, a .1, d 0.
        "combsum": {"a": 0.55, "b": 0.45, "c": 0.5, "d": 0.0},
        "combmnz": {"a": 1.1, "b": 0.45, "c": 1.0, "d": 0.0},
        "vectors": {"c": 1 / 61, "a": 1 / 62, "d": 1 / 63},
        # The reciprocal rank of a is 1 in both queries by words, and ½ and 0 by vectors.
        "single": {"a": 1 / 61, "b": 1 / 62, "c": 1 / 63},
    }
    for rule, scores in expected.items():
        fusion = Fusion("RR", rule=rule).fit(TWO, judged)
        fusion.save(tmp_path / "fusion.dr")
        for each in (fusion, Fusion.load(tmp_path / "fusion.dr")):
            assert each.fuse(TWO)["q"] == pytest.approx(scores), rule
            assert each.summary() == fusion.summary()
    grid = Fusion("RR", rule="grid").fit(TWO, judged)
    assert grid.fuse(TWO)["q"]["a"] == max(grid.fuse(TWO)["q"].values())
    with pytest.raises(ValueError, match="rule='grid' is of two runs, not 3"):
        Fusion(rule="grid").fit(TWO | {"third": TWO["words"]}, judged)
    with pytest.raises(ValueError, match="judged queries choose it, and there are none"):
        Fusion(rule="single").fit(TWO)
    with pytest.raises(ValueError, match=r"rule must be one of 'learned'.*'words', 'vectors', not 'other'"):
        Fusion(rule="other").fit(TWO)


def test_the_best_rule_of_the_table_is_named_with_its_test():
    runs, grades = many(30, n_runs=2)
    runs["run0"] = {
        qid: {docid: 1.0 * grade for docid, grade in docs.items()} for qid, docs in grades.items()
    }
    few = {"normalise": ["min-max"]}
    table = Fusion("AP", rule="combsum", **few).cross_validate(runs, grades)
    _, best, summary = table.content.conclusions
    pair = next(each for each in table.content.significance["standard"].pairs["AP"] if each.method == "run0")
    assert (pair.baseline, pair.difference > 0) == ("CombSUM", True)
    assert best.startswith(f"Best of the table: difference of learned to CombSUM: {pair.difference:+.4f} AP")
    assert best.endswith("significant. --rule learned takes it (in Python, rule='learned').")
    assert summary == "Weights: equal, of scores, min-max: CombSUM, as asked for"
    alone = Fusion("AP", rule="run0", **few).cross_validate(runs, grades, kfold=2).content.conclusions
    assert alone[1:] == ["No rule of the table is above run0.", "run0 alone"]


def test_a_difference_of_zero_is_not_minus_zero():
    runs = {
        "bm25": {"q1": {"d1": 9.1, "d2": 8.7}, "q2": {"d3": 4.2, "d1": 4.0}},
        "dense": {"q1": {"d2": 0.81, "d4": 0.77}, "q2": {"d1": 0.66}},
    }
    grades = {"q1": {"d2": 1}, "q2": {"d1": 2}}  # the first document is relevant by both rules
    worth, *_ = Fusion("nDCG@10").cross_validate(runs, grades, kfold=2).content.conclusions
    assert "to RRF (k = 60): +0.0000 nDCG@10" in worth
    assert "interval +0.0000 to +0.0000" in worth


def test_a_gain_has_to_be_so_many_standard_errors():
    # Of 10 queries log₂(40/10) = 2 errors, of 20 one, of 40 and more none.
    for n, errors in ((10, 2.0), (20, 1.0), (40, 0.0), (160, 0.0)):
        gain = np.resize([1.0, -1.0], n)
        error = gain.std(ddof=1) / np.sqrt(n)
        assert not learning.convincing(gain + (errors - 0.01) * error)
        assert learning.convincing(gain + (errors + 0.01) * error)


@pytest.mark.parametrize("judged", [False, True])
def test_fused_lines_of_files_are_those_of_the_definition(tmp_path, judged):
    """Runs with ties, one of them all, queries in any order: by fused score, then by the runs' lines."""
    rng = np.random.default_rng(0)
    paths, sums, first_seen = [], {}, {}
    for run in range(3):
        rows = [
            (f"q{query}", f"d{docid}", int(rng.integers(0, 4 if run else 1)))
            for query in rng.permutation(4)[: 3 + run % 2]
            for docid in rng.permutation(9)[: rng.integers(1, 9)]
        ]
        rows = [rows[row] for row in rng.permutation(len(rows))]
        paths.append(tmp_path / f"run{run}")
        paths[-1].write_text("".join(f"{qid} Q0 {docid} 1 {score} t\n" for qid, docid, score in rows))
        for qid, docid, score in rows:
            scores = sorted((other[2] for other in rows if other[0] == qid), reverse=True)
            ranks = [rank for rank, other in enumerate(scores, 1) if other == score]
            value = sum(Fraction(1, 60 + rank) for rank in ranks) / len(ranks)
            sums[qid, docid] = sums.get((qid, docid), 0) + value
            first_seen.setdefault((qid, docid), len(first_seen))
    qids = [*dict.fromkeys(qid for qid, _ in first_seen)]
    expected = sorted(sums, key=lambda pair: (qids.index(pair[0]), -sums[pair], first_seen[pair]))
    judgments = {"q1": {"d8": 2, "d3": 1}, "q2": {"d0": 1}} if judged else None
    groups, scores = Fusion(rule="rrf").fit(paths, judgments).ranked(Runs.read(paths, judgments))
    assert list(zip(groups.qid.tolist(), groups.docid.tolist(), strict=True)) == expected
    np.testing.assert_allclose(scores, [float(sums[pair] / 3) for pair in expected], rtol=1e-14)


def test_what_runs_add_is_arithmetic():
    """CombSUM of two runs by hand: min-max scores, halved; a run that lacks a document adds 0."""
    fusion = Fusion(rule="combsum").fit(RUNS)
    found = {document.docid: document for document in fusion.explain(RUNS, "q")}
    assert [*found] == ["b", "a", "d", "c"]
    expected = {"a": (1 / 2, 0), "b": (1 / 4, 1 / 2), "d": (0, 3 / 8), "c": (0, 0)}
    scores = fusion.fuse(RUNS)["q"]
    assert scores == pytest.approx({docid: document.score for docid, document in found.items()})
    for docid, parts in expected.items():
        assert [*found[docid].adds.values()] == pytest.approx(parts)
        assert sum(parts) == pytest.approx(scores[docid])
    assert found["d"].scores["vectors"] == 0.7
    assert np.isnan(found["d"].scores["words"])
    with pytest.raises(DataError, match="no run has the query p"):
        fusion.explain(RUNS, "p")


def test_equal_weights_are_no_proof_of_a_gain_on_other_queries():
    """The judged queries chose these weights, so that the sentence claims nothing for others."""
    rng, runs, judged = np.random.default_rng(1), {"a": {}, "b": {}}, {}
    for query in map(str, range(60)):
        grades = (rng.random(40) < 0.12) * rng.integers(1, 4, 40)
        judged[query] = {f"d{at}": int(grade) for at, grade in enumerate(grades)}
        for run in runs.values():
            scores = grades + 1.5 * rng.normal(size=40)
            run[query] = {f"d{at}": float(scores[at]) for at in np.argsort(-scores)[:20]}
    fusion = Fusion("nDCG@10", random_state=0).fit(runs, judged)
    assert (fusion.normalisation_, fusion.share_) == ("min-max", 0)
    assert "beat RRF (k = 60) on the 60 judged queries that chose them" in fusion.summary()
