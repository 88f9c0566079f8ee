"""Methods compared by one log: what each saw, what stands beside it, and what is kept."""

import json

import numpy as np
import pytest

import directrank
from directrank import QueryGroups, RankSVM, Regression, evaluate, make_ranking
from directrank.apps.clicks import (
    ClickLog,
    Propensities,
    compare_clicks,
    estimate_propensities,
    evaluate_clicks,
    label_clicks,
    make_clicks,
    plan_clicks,
    training,
)
from directrank.apps.experiments import read_results
from directrank.apps.experiments.plan import plan
from directrank.apps.experiments.run import scored
from directrank.errors import DataError, MeasureNameError
from directrank.storage.strict_json import take_signature

GROUPS = make_ranking(40, 8, uneven=0, random_state=3)
SHOWN = {"a": -GROUPS.X[:, 0], "b": GROUPS.X[:, 1]}
LOG = make_clicks(GROUPS, SHOWN, sessions=8000, random_state=0)
LEARN = scored._Method.learn


def test_each_query_is_ranked_by_a_model_of_the_other_folds():
    result = compare_clicks(GROUPS, LOG, "regression", folds=4, seed=5)
    assert [row.name for row in result.content.rows] == [
        "the order shown", "regression", "regression, clicks as labels",
        "regression, position as a feature",
    ]  # fmt: skip
    fold = np.random.default_rng(5).permutation(40) % 4
    scores, qid = np.zeros(GROUPS.n_docs), GROUPS.qid.astype(str)
    for k in range(4):
        part = LOG.of_queries(fold != k)
        labelled, pages = label_clicks(GROUPS, part, estimate_propensities(part))
        tested = np.isin(qid, LOG.qid[fold == k])
        assert not set(labelled.qid.astype(str)) & set(qid[tested])
        scores[tested] = Regression().fit(labelled, sample_weight=pages).predict(GROUPS)[tested]
    (expected,) = evaluate_clicks(LOG, estimate_propensities(LOG), {"regression": (GROUPS, scores)})
    row = result.content.rows[1]
    for name in ("value", "difference", "by_sessions", "by_queries", "naive", "effective"):
        assert getattr(row, name) == pytest.approx(getattr(expected, name))
    assert row.better
    assert any(line.startswith("Better than the order shown") for line in result.content.lines)
    # On grades: the row less the order shown, which is that of mean ranks.
    mean = LOG.sums(LOG.impressions * LOG.rank) / LOG.sums(LOG.impressions)
    names = zip(LOG.qid[LOG.query].tolist(), LOG.docid.tolist(), strict=True)
    at = dict(zip(names, mean.tolist(), strict=True))
    order = np.array([-at[q, str(row)] for row, q in enumerate(qid.tolist(), 1)])
    value, base = (
        np.asarray(evaluate(GROUPS, s, measures="nDCG@10", per_query=True).per_query["nDCG@10"])
        for s in (scores, order)
    )
    assert row.grades == pytest.approx(value.mean())
    assert row.grades_difference == pytest.approx((value - base).mean())
    half = 2.0227 * (value - base).std(ddof=1) / 40**0.5  # t of 39
    assert row.grades_interval[1] - row.grades_difference == pytest.approx(half, rel=1e-4)


def test_the_order_shown_by_hand():
    rows = [
        ("q", "a", 1, 6, 3), ("q", "a", 2, 4, 1), ("q", "b", 1, 4, 1), ("q", "b", 2, 6, 3),
        ("r", "a", 1, 5, 2), ("r", "a", 2, 5, 1), ("r", "b", 1, 5, 1), ("r", "b", 2, 5, 1),
    ]  # fmt: skip
    log = ClickLog.of_counts(*map(list, zip(*rows, strict=True)))
    groups = QueryGroups([[1.0], [0.0], [0.2], [0.9]], None, ["q", "q", "r", "r"], docid=["a", "b", "a", "b"])
    p = Propensities("given", np.array([1, 2]), np.array([1.0, 0.5]), ((1, 2),))
    result = compare_clicks(groups, log, "regression", folds=2, propensities=p)
    shown = result.content.rows[0]
    h = 1 / np.log2(3)
    # Clicks over examined: q a 4/8, b 4/7; r a 3/7.5, b 2/7.5. Each query was answered 10 times.
    q = (0.6 + 0.4 * h) * 4 / 8 + (0.4 + 0.6 * h) * 4 / 7
    r = (0.5 + 0.5 * h) * (3 / 7.5 + 2 / 7.5)
    assert shown.value == pytest.approx((q + r) / 2)
    assert shown.difference == 0
    assert shown.flags == ["queries are too few for an interval for new ones"]
    assert shown.grades is None  # documents without grades
    assert not result.content.grades_measure
    assert any("Annotators and clicks may disagree" in line for line in result.content.lines)


def test_a_folder_keeps_rankings_and_results(tmp_path, monkeypatch):
    first = compare_clicks(GROUPS, LOG, "regression", folds=3, out=tmp_path / "run")
    content = json.loads((tmp_path / "run" / "results.json").read_text())
    assert content["rows"][1]["by_queries"] == pytest.approx(first.content.rows[1].by_queries)
    assert len((tmp_path / "run" / "results.csv").read_text().splitlines()) == 5
    assert "Annotators" in (tmp_path / "run" / "table.txt").read_text()
    assert take_signature(content)
    assert (content["seed"], content["environment"]["directrank"]) == (0, directrank.__version__)
    back = read_results(tmp_path / "run")
    assert back.content == first.content
    assert repr(back).splitlines()[1].startswith("the order shown")
    learned = []

    def learn(row, task):
        learned.append(task.fold)
        return LEARN(row, task)

    monkeypatch.setattr(scored._Method, "learn", learn)

    def trained_again(**options) -> int:
        learned.clear()
        again = compare_clicks(GROUPS, LOG, "regression", **{"folds": 3, "out": tmp_path / "run"} | options)
        assert options or again.content.table() == first.content.table()
        return len(learned)

    assert trained_again() == 0
    assert trained_again(seed=1) == 9
    # Other code, and damage, make a ranking anew.
    digest = plan.code_digest
    monkeypatch.setattr(plan, "code_digest", lambda: "other")
    assert trained_again() == 9
    monkeypatch.setattr(plan, "code_digest", digest)
    for path in (tmp_path / "run" / "store").iterdir():
        path.write_bytes(path.read_bytes().replace(b"A", b"B", 1))
    assert trained_again() == 9


@pytest.mark.heavy
def test_processes_learn_the_same(tmp_path):
    alone = compare_clicks(GROUPS, LOG, "regression", folds=3, safe=Regression().fit(GROUPS))
    both = compare_clicks(GROUPS, LOG, "regression", folds=3, safe=Regression().fit(GROUPS), jobs=2)
    assert both.content.rows == alone.content.rows
    assert both.content.lines == alone.content.lines


def test_by_time_the_first_days_train_and_the_last_are_tested(monkeypatch):
    days = ("2025-01-01", "2025-01-02", "2025-01-03")
    columns = {name: np.tile(values, 3) for name, values in LOG.columns().items()}
    log = ClickLog.of_counts(
        *(columns[name] for name in ("qid", "docid", "position", "impressions", "clicked")),
        context=np.repeat(days, len(LOG.item)),
    )
    seen = []

    def spy(groups, part, *arguments, **options):
        seen.append(part)
        return label_clicks(groups, part, *arguments, **options)

    monkeypatch.setattr(training, "label_clicks", spy)
    result = compare_clicks(GROUPS, log, "regression", split="time", folds=3)
    assert {days[k] for part in seen for k in part.context} == set(days[:2])
    assert result.content.lines[0].startswith(
        "trained before 2025-01-03, and tested from this day on; 8,000 answers"
    )
    seen.clear()
    options = {"split": "time", "folds": 3, "grids": {"penalty": (0.1, 1.0)}}
    compare_clicks(GROUPS, log, "ranksvm", **options)
    # One day trains each point, the next one chooses, and both train what is tested.
    assert sorted({tuple(sorted({days[k] for k in part.context})) for part in seen}) == [days[:1], days[:2]]
    with pytest.raises(DataError, match="a split by time needs two days or more"):
        compare_clicks(GROUPS, LOG, "regression", split="time")


def test_faults_are_named():
    with pytest.raises(MeasureNameError, match="affine"):
        compare_clicks(GROUPS, LOG, "regression", measure="AP")
    with pytest.raises(DataError, match="99 folds of 40 queries"):
        compare_clicks(GROUPS, LOG, "regression", folds=99)
    with pytest.raises(DataError, match="never compared"):
        compare_clicks(GROUPS, make_clicks(GROUPS, SHOWN["a"], random_state=0), "regression")
    with pytest.raises(DataError, match="no ranking is called 'x'; there are the order shown, regression, "):
        plan_clicks(GROUPS, LOG, "regression", baseline="x")
    with pytest.raises(DataError, match="2 folds of 40 queries; expected 3 folds or more"):
        compare_clicks(GROUPS, LOG, "ranksvm", folds=2, grids={"penalty": (0.1, 1.0)})
    with pytest.raises(DataError, match="no impression is left"):
        compare_clicks(
            QueryGroups(GROUPS.X, GROUPS.relevance, [f"other {q}" for q in GROUPS.qid.tolist()]), LOG
        )


PENALTIES = (30.0, 0.3, 0.003)


def test_a_part_of_each_training_log_chooses_a_point_and_then_trains():
    options = {"folds": 3, "seed": 5, "grids": {"penalty": PENALTIES}}
    result = compare_clicks(GROUPS, LOG, "ranksvm", **options)
    fold, qid = np.random.default_rng(5).permutation(40) % 3, GROUPS.qid.astype(str)
    scores = np.zeros(GROUPS.n_docs)

    def trained(part, penalty, p):
        labelled, pages = label_clicks(GROUPS, part, p)
        ranker = RankSVM(penalty=penalty, weight="difference")
        return ranker.fit(labelled, sample_weight=pages).predict(GROUPS)

    for k in range(3):
        after = (k + 1) % 3
        vali, p = LOG.of_queries(fold == after), estimate_propensities(LOG.of_queries(fold != k))
        values = {}
        for penalty in PENALTIES:
            ranking = trained(LOG.of_queries((fold != k) & (fold != after)), penalty, p)
            values[penalty] = evaluate_clicks(vali, p, {"": (GROUPS, ranking)})[0].value
        cell = result.record("ranksvm", f"Fold{k + 1}")
        assert [one.validation for one in cell.tried] == pytest.approx([*values.values()])
        best = max(values, key=values.get)
        assert cell.chosen == {"penalty": best}
        tested = np.isin(qid, LOG.qid[fold == k])
        scores[tested] = trained(LOG.of_queries(fold != k), best, p)[tested]
    assert len({cell.chosen["penalty"] for cell in result.of("ranksvm")}) > 1
    (expected,) = evaluate_clicks(LOG, estimate_propensities(LOG), {"": (GROUPS, scores)})
    assert result.content.rows[1].value == pytest.approx(expected.value)
    assert result.content.rows[1].by_queries == pytest.approx(expected.by_queries)


def test_clicks_of_tested_queries_choose_nothing():
    options = {"folds": 3, "grids": {"penalty": PENALTIES}}
    chosen = [
        [(run.parameters, run.validation) for run in result.record("ranksvm", "Fold2").tried]
        for log in (LOG, _without_clicks(LOG, np.random.default_rng(0).permutation(40) % 3 == 1))
        for result in [compare_clicks(GROUPS, log, "ranksvm", **options)]
    ]
    assert chosen[0] == chosen[1]


def _without_clicks(log, queries):
    """Return a log whose tested queries have half of their clicks at rank 1 alone."""
    columns = log.columns()
    tested = np.isin(columns["qid"], log.qid[queries])
    columns["clicked"] = np.where(tested & (columns["position"] > 2), 0, columns["clicked"])
    names = ("qid", "docid", "position", "impressions", "clicked", "ranker")
    return ClickLog.of_counts(*(columns[name] for name in names[:5]), ranker=columns["ranker"])


def test_a_row_of_several_seeds_is_the_mean_of_their_rankings():
    one, two, both = (
        compare_clicks(
            GROUPS, LOG, "plrank", folds=2, seeds=seeds, settings={"rounds": 3, "samples": 4}
        ).content.rows[1]
        for seeds in ((3,), (4,), (3, 4))
    )
    assert one.value != two.value
    for name in ("value", "difference", "naive", "grades", "grades_difference"):
        mean = (getattr(one, name) + getattr(two, name)) / 2
        assert getattr(both, name) == pytest.approx(mean), name
    # Both rankings are tested on the same clicks: errors do not shrink as those of independent samples do.
    width, first, second = (row.by_sessions[1] - row.by_sessions[0] for row in (both, one, two))
    assert max(first, second) * 0.9 < width <= max(first, second) * 1.0001


@pytest.mark.share(2)
@pytest.mark.parametrize("name", ["lightgbm:position", "xgboost:unbiased"])
def test_rules_of_other_libraries_read_positions(name):
    pytest.importorskip(name.partition(":")[0])
    result = compare_clicks(GROUPS, LOG, f"regression,{name}", folds=3)
    rows = {row.name: row for row in result.content.rows}
    assert np.isfinite(rows[name].by_queries).all()
    assert rows[name].grades > rows["the order shown"].grades
