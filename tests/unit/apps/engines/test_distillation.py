"""Rankers as trees alone: steps of weighted features by hand, trees that learn scores, and what is lost."""

import json

import numpy as np
import pytest

import directrank
from directrank.apps.cli import main
from directrank.apps.engines import TARGETS, distillation
from directrank.apps.engines.documents import Documents
from directrank.apps.engines.function import function_of
from directrank.data.groups import QueryGroups
from directrank.errors import ChangedOrderError, DataError, ExportError
from directrank.scorers import Linear, LogLinear, QueryLinear, Sum
from unit.apps.engines.rankers_of_every_kind import FILL, forest, ranker

pytestmark = pytest.mark.filterwarnings("ignore")
ELASTICSEARCH = next(target for target in TARGETS if target.name == "elasticsearch")


def documents(n_queries=40, distinct=None, seed=0):
    """Ten documents per query; features of few values, if `distinct` says how many."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(10 * n_queries, 4)).astype(np.float32)
    if distinct is not None:
        X = rng.integers(0, distinct, X.shape).astype(np.float32)
    return QueryGroups(X, rng.integers(0, 3, len(X)), np.arange(len(X)) // 10)


def test_steps_of_a_feature_with_three_values_by_hand():
    """2·x of 0, 1 and 3: thresholds at ½ and 2, and a missing value, which is read as 1, adds 2."""
    model = ranker(Linear(np.array([2.0, 0, 0, 0]), np.array([1, 0, 0, 0], np.float32)))
    X = np.zeros((4, 4), np.float32)
    X[:, 0] = 0, 1, 1, 3
    function, note = distillation.stepped(function_of(model.scorer_, ("a", "b", "c", "d")), X)
    trees = function.trees
    assert sorted(trees.threshold[trees.left >= 0].tolist()) == [0.5, 2.0]
    asked = np.zeros((6, 4), np.float32)
    asked[:, 0] = -5, 0.5, 0.75, 2, 2.5, np.nan
    assert trees.scores(asked).tolist() == [0, 0, 2, 2, 6, 2]
    assert note == "1 weighted features, such as 'a', became 3 steps."


def test_the_loss_is_measured_on_queries_that_trees_have_not_seen():
    """A fifth of 40 queries is held out, and no query is on both sides."""
    groups = documents(40)
    seen, rest = distillation.held_out(groups)
    assert (seen.n_queries, rest.n_queries) == (32, 8)
    assert not set(seen.qid) & set(rest.qid)


@pytest.mark.parametrize(
    "target", ["elasticsearch", "solr", "opensearch-ltr", "lightgbm", "xgboost", "ranklib"]
)
def test_a_sum_over_few_values_ranks_as_the_ranker_does(target):
    """Features with eight values each: every step is one value, and nothing is lost."""
    logs = LogLinear(np.array([2.0, -1, 0.3, 1]), np.array([0, 1, 0, 1], bool), FILL)
    model = ranker(Sum([logs, forest(5)], [0.5, 2.0]))
    groups = documents(distinct=8)
    with pytest.raises(ExportError, match=r"approximate it by trees \(--distil DATA, in Python distil=\)"):
        directrank.export(model, target)
    made = directrank.export(model, target, distil=groups)
    assert made.check is not None
    assert made.check.verdict == "ranks as the ranker does"
    assert made.check.documents == 80  # a fifth of the queries
    assert made.changes[0] == (
        "4 weighted features, such as 'f1', became 32 steps. What is lost was measured on 8 queries that "
        "were held out."
    )


def test_the_loss_is_that_of_the_file_on_other_documents(tmp_path, capsys):
    """Ten steps for numbers without ties: the order changes, and nothing is written without --accept."""
    model, train, test = (
        ranker(Sum([Linear(np.ones(4), FILL), forest(3)], [1, 0.1])),
        documents(),
        documents(seed=1),
    )
    for name, groups in (("train", train), ("test", test)):
        directrank.write_letor(groups, tmp_path / f"{name}.txt")
    directrank.save(model, tmp_path / "m.dr")
    out = tmp_path / "model.json"
    command = ["export", str(tmp_path / "m.dr"), "--to", "elasticsearch", "-o", str(out)]
    distil = ["--distil", str(tmp_path / "train.txt")]
    check = ["--check", str(tmp_path / "test.txt")]
    assert main([*command, *distil, *check]) == 4
    words = capsys.readouterr().err
    assert "% of pairs in order)" in words
    assert not out.exists()
    assert main([*command, *distil, *check, "--accept"]) == 0
    words = capsys.readouterr().out
    rows = directrank.load_letor(tmp_path / "test.txt").X
    theirs = ELASTICSEARCH.scores(out.read_bytes(), Documents.of_features(("f1", "f2", "f3", "f4"), rows))
    values = [
        directrank.evaluate(test, scores, measures="nDCG@10", per_query=True)
        for scores in (model.predict(test), theirs)
    ]
    lost = directrank.paired_test(*values)
    assert f"95 % interval of the loss {lost.low:.4f} to {lost.high:.4f}" in words
    assert f"nDCG@10 {values[1]['nDCG@10']:.4f} (ranker {values[0]['nDCG@10']:.4f};" in words
    assert main([*command, *distil, "--accept", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["check"]["documents"] == 80
    # What cannot be distilled, or need not be, is refused in a line each.
    assert main([*command, *distil, "--check", str(tmp_path / "train.txt")]) == 2
    assert "--check: these are the documents of --distil" in capsys.readouterr().err
    assert main(["export", str(tmp_path / "m.dr"), "--to", "vespa", "-o", str(out), *distil]) == 2
    assert "--to vespa: vespa takes the ranker as it is: omit distil (--distil)" in capsys.readouterr().err
    with pytest.raises(DataError, match=r"^9 queries to distil on, too few to hold some out"):
        directrank.export(model, "solr", distil=documents(9))


@pytest.mark.heavy
def test_trees_learn_the_scores_of_a_ranker_that_reads_whole_queries(monkeypatch):
    pytest.importorskip("lightgbm")
    model = ranker(QueryLinear(np.array([3.0, 1, 0, 0]), np.ones(4, np.float32)))
    train, test = documents(), documents(seed=1)
    with pytest.raises(ExportError, match="by the other documents of its query"):
        directrank.export(model, "solr", check=test)
    with monkeypatch.context() as few:
        few.setattr(distillation, "ROUNDS", 20)
        with pytest.raises(ChangedOrderError):
            directrank.export(model, "solr", distil=train, check=test)
    made = directrank.export(model, "solr", distil=train, check=test, accept=True)
    assert made.changes[0] == "500 trees learned the scores of the ranker."
    assert made.check is not None
    assert made.check.inversions / made.check.pairs < 0.15
