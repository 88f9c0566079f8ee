"""Measures of subtopics against their definitions, over every tie order."""

from collections import Counter

import numpy as np
import pytest

import oracles
from directrank import evaluate, evaluate_runs, parse_measure
from directrank.files.trec import read_qrels


def discounted(ranked, k, alpha, discount):
    """The sum over ranks and subtopics; `ranked` has a row of subtopics for each document."""
    total, seen = 0.0, np.zeros(ranked.shape[1])
    for p, relevant in enumerate(ranked[:k], start=1):
        total += discount(p) * float(((1 - alpha) ** seen)[relevant].sum())
        seen[relevant] += 1
    return total


def alpha_ndcg(k, alpha=0.5):
    def of(judged):
        rest, greedy = list(range(len(judged))), []
        while rest:
            # Documents have no names here: the greedy choice is the first of those that gain most.
            seen = judged[greedy].sum(axis=0)
            gains = [float(((1 - alpha) ** seen)[judged[i]].sum()) for i in rest]
            greedy.append(rest.pop(int(np.argmax(np.round(gains, 12)))))
        best = discounted(judged[greedy], k, alpha, lambda p: 1 / np.log2(1 + p))
        return lambda ranked: discounted(ranked, k, alpha, lambda p: 1 / np.log2(1 + p)) / (best or np.inf)

    return of


def err_ia(k, alpha=0.5):
    def of(judged):
        best = judged.any(axis=0).sum() * sum((1 - alpha) ** (p - 1) / p for p in range(1, k + 1))
        return lambda ranked: discounted(ranked, k, alpha, lambda p: 1 / p) / (best or np.inf)

    return of


def subtopic_recall(k):
    return lambda judged: lambda ranked: ranked[:k].any(axis=0).sum() / max(judged.any(axis=0).sum(), 1)


#: Of each measure a function of the judged documents to a function of the ranked ones.
DEFINITIONS = {
    "alpha_nDCG@1": alpha_ndcg(1),
    "alpha_nDCG@3": alpha_ndcg(3),
    "alpha_nDCG(alpha=0.2)@20": alpha_ndcg(20, 0.2),
    "ERR_IA@1": err_ia(1),
    "ERR_IA@3": err_ia(3),
    "ERR_IA(alpha=0.9)@20": err_ia(20, 0.9),
    "StRecall@1": subtopic_recall(1),
    "StRecall@4": subtopic_recall(4),
}


@pytest.fixture(scope="module")
def lists():
    """Grades for three subtopics of up to six documents of 200 queries, and tied scores."""
    rng = np.random.default_rng(4)
    sizes = rng.integers(1, 7, 200)
    grades = [np.maximum(rng.integers(-2, 3, (n, 3)), 0) for n in sizes]
    return grades, [rng.integers(0, rng.integers(1, 5), n) for n in sizes]


@pytest.fixture(scope="module")
def rankings(lists):
    """By the least relevant grade, judgments in each tie order of each list, and how many orders have them.

    Documents of equal judgments are one to a definition.
    """
    return {rel: [ranked_judgments(y >= rel, s) for y, s in zip(*lists, strict=True)] for rel in (1, 2)}


def ranked_judgments(judged, scores):
    rows = [*map(tuple, judged.tolist())]
    return Counter(tuple(rows[i] for i in order) for order in oracles.tie_orders(scores))


@pytest.mark.share(4)
@pytest.mark.parametrize("rel", [1, 2])
@pytest.mark.parametrize("name", DEFINITIONS)
def test_equals_enumeration_of_tie_orders(name, rel, lists, rankings):
    measure = parse_measure(
        name if rel == 1 else name.replace("(", "(rel=2,").replace("@", "(rel=2)@", "(" not in name)
    )
    # Equal gains are resolved by the order of the documents inside: descending grade, then descending name.
    by_definition = []
    for y, ranked in zip(lists[0], rankings[rel], strict=True):
        value = DEFINITIONS[name]((y >= rel)[np.argsort(-y.max(axis=1), kind="stable")])
        by_definition.append(sum(times * value(np.array(r)) for r, times in ranked.items()) / ranked.total())
    sizes = [len(s) for s in lists[1]]
    qid = np.repeat(np.arange(len(sizes)), sizes)
    found = evaluate(
        np.concatenate(lists[0]), np.concatenate(lists[1]), qid, measures=[measure], per_query=True
    )  # fmt: skip
    np.testing.assert_allclose(found.per_query[measure.name], by_definition, rtol=0, atol=1e-12)


def test_among_documents_of_equal_gain_the_ideal_takes_that_with_the_last_name():
    """Each document gains 2 at first; c, the last name, leaves 1.5 for the second rank, a would leave 2."""
    subtopics = {"a": [1, 0, 1, 0], "b": [0, 1, 0, 1], "c": [1, 1, 0, 0]}
    for names in (["a", "b", "c"], ["c", "a", "b"]):
        found = evaluate(
            [subtopics[name] for name in names], [{"a": 3.0, "b": 2.0, "c": 1.0}[name] for name in names],
            ["q"] * 3, measures=["alpha_nDCG@2"], docid=names,
        )  # fmt: skip
        ideal = 2 + 1.5 / np.log2(3)
        assert found["alpha_nDCG@2"] == pytest.approx((2 + 2 / np.log2(3)) / ideal, rel=1e-14)


def test_without_subtopics_relevance_is_the_only_one_and_a_warning_says_so():
    with pytest.warns(UserWarning, match=r"alpha_nDCG@3: the judgments have no subtopics"):
        found = evaluate([1, 0, 1], [3.0, 2.0, 1.0], ["q"] * 3, measures=["alpha_nDCG@3", "StRecall@1"])
    assert found["StRecall@1"] == 1.0
    assert found["alpha_nDCG@3"] == pytest.approx((1 + 0.5 / 2) / (1 + 0.5 / np.log2(3)), rel=1e-14)


QRELS = "7 1 a 1\n7 2 a 2\n7 2 b 0\n7 1 b -1\n8 3 a 1\n8 3 c 1\n"


def test_qrels_of_subtopics_are_read(tmp_path):
    path = tmp_path / "qrels"
    path.write_text(QRELS)
    judgments = read_qrels(path)
    assert judgments.grades.tolist() == [2, 0, 1, 1]
    assert judgments.subtopics is not None
    assert judgments.subtopics.tolist() == [[1, 2], [0, 0], [1, 0], [1, 0]]
    assert "largest over its subtopics" in judgments.notes[0]
    found = evaluate_runs(
        path, {"7": {"b": 2.0, "a": 1.0}, "8": {"x": 1.0}}, measures=["StRecall@2", "P@2"], diagnostics=False
    )
    assert found.cells[0]["per_query"]["standard"] == {"StRecall@2": [1.0, 0.0], "P@2": [0.5, 0.0]}


def test_parts_and_chosen_queries_keep_subtopics(lists):
    from directrank.apps.evaluation.evaluation import queries_of

    sizes = [len(s) for s in lists[1]]
    queries = queries_of(np.concatenate(lists[0]), np.repeat(np.arange(len(sizes)), sizes), None)
    chosen, _ = queries.chosen(np.arange(200) >= 150)
    for one in (queries.part(150, 200), chosen, queries.part(150, 200).repeated(1)):
        np.testing.assert_array_equal(one.subtopics, queries.subtopics[queries.indptr[150] :])
    np.testing.assert_array_equal(
        queries.repeated(2).subtopics, np.concatenate([queries.subtopics, queries.subtopics])
    )
