"""Three thousand queries against trec_eval (by pytrec_eval) and ir_measures, at 1e-12.

Queries have ties, one document or nothing relevant. trec_eval breaks ties by descending docid and keeps
scores in single precision; its nDCG has the linear gain. The files that overlap in part have documents that
were not judged.
"""

import functools

import numpy as np
import pytest

from directrank import evaluate, evaluate_runs
from plugin_examples import MEASURE, nothing_loaded  # noqa: F401 - the fixture works for all tests
from strategies import random_case

pytrec_eval = pytest.importorskip("pytrec_eval")
ir_measures = pytest.importorskip("ir_measures")

TOLERANCE = 1e-12

#: Our name under the convention trec_eval, and trec_eval's.
PAIRS = {
    "AP": "map",
    "AP@5": "map_cut_5",
    "P@5": "P_5",
    "P@10": "P_10",
    "RR": "recip_rank",
    "R@5": "recall_5",
    "R@1000": "recall_1000",
    "Success@1": "success_1",
    "Success@5": "success_5",
    "Rprec": "Rprec",
    "Bpref": "bpref",
    "SetP": "set_P",
    "SetR": "set_recall",
    "SetF": "set_F",
    "SetAP": "set_map",
    "NumRet": "num_ret",
    "NumRet(rel=1)": "num_rel_ret",
    "infAP": "infAP",
    "nDCG": "ndcg",
    "nDCG@3": "ndcg_cut_3",
    "nDCG@10": "ndcg_cut_10",
}


@functools.cache
def trec():
    """Documents named at random, and the same as trec_eval's dictionaries."""
    rng = np.random.default_rng(1)
    case = random_case(rng, 3000, 14)
    docid = np.array([f"d{number}" for number in rng.permutation(len(case.qid))])
    judged, run = {}, {}
    for qid, document, grade, score in zip(case.qid, docid, case.relevance, case.scores, strict=True):
        judged.setdefault(str(qid), {})[document] = int(grade)
        run.setdefault(str(qid), {})[document] = float(score)
    return case, docid, judged, run


@functools.cache
def trec_values():
    _, _, judged, run = trec()
    return pytrec_eval.RelevanceEvaluator(judged, set(PAIRS.values())).evaluate(run)


@functools.cache
def ours(convention="trec_eval", measures=tuple(PAIRS)):
    case, docid, _, _ = trec()
    return evaluate(
        case.relevance, case.scores, case.qid,
        docid=docid, measures=measures, convention=convention, per_query=True,
    )  # fmt: skip


def test_the_queries_are_of_every_kind():
    case, *_ = trec()
    sizes = np.bincount(case.qid)
    relevant = np.bincount(case.qid, case.relevance)
    assert (sizes == 1).sum() > 100
    assert (relevant == 0).sum() > 100
    assert len(np.unique(np.stack([case.qid, case.scores]), axis=1).T) < 0.7 * len(case.qid)


@pytest.mark.parametrize("name", PAIRS)
def test_equals_trec_eval(name):
    theirs = np.array([trec_values()[str(qid)][PAIRS[name]] for qid in ours().qid])
    np.testing.assert_allclose(ours().per_query[name], theirs, rtol=0, atol=TOLERANCE)
    assert ours()[name] == pytest.approx(theirs.mean(), abs=TOLERANCE)


def test_our_default_gain_is_ir_measures_with_these_gains():
    _, docid, judged, run = trec()
    case = trec()[0]
    asked = ir_measures.nDCG(gains={1: 1, 2: 3, 3: 7, 4: 15}) @ 10
    theirs = {each.query_id: each.value for each in ir_measures.iter_calc([asked], judged, run)}
    result = evaluate(
        case.relevance, case.scores, case.qid, docid=docid, measures="nDCG@10", ties="docid", per_query=True
    )
    expected = [theirs[str(qid)] for qid in result.qid]
    np.testing.assert_allclose(result.per_query["nDCG@10"], expected, rtol=0, atol=TOLERANCE)


def test_single_precision_ties_scores_in_trec_eval_alone():
    # 1 + 1e-12 is 1 in single precision; then the larger docid comes first.
    theirs = pytrec_eval.RelevanceEvaluator({"q": {"a": 0, "b": 1}}, {"map"}).evaluate(
        {"q": {"a": 1 + 1e-12, "b": 1.0}}
    )
    relevance, scores, qid, docid = [0, 1], [1 + 1e-12, 1.0], ["q", "q"], ["a", "b"]
    trec_like = evaluate(relevance, scores, qid, docid=docid, measures="AP", convention="trec_eval")
    assert trec_like["AP"] == theirs["q"]["map"] == 1.0
    assert evaluate(relevance, scores, qid, measures="AP")["AP"] == 0.5


@pytest.mark.skipif(not ir_measures.gdeval.is_available(), reason="gdeval needs perl")
@pytest.mark.parametrize(
    ("theirs", "name"), [("ERR@20", "ERR(max=4)@20"), ("nDCG(dcg='exp-log2')@10", "nDCG@10")]
)
def test_equals_gdeval_to_its_five_decimals(theirs, name):
    case, docid, judged, run = trec()
    some = [str(q) for q in range(300)]
    measure = ir_measures.parse_measure(theirs)
    found = ir_measures.gdeval.iter_calc([measure], {q: judged[q] for q in some}, {q: run[q] for q in some})
    values = {each.query_id: each.value for each in found}
    ours = evaluate(
        case.relevance, case.scores, case.qid, docid=docid, measures=name, ties="docid", per_query=True
    )
    expected = [values.get(q, 0.0) for q in some]  # it leaves queries without a relevant document out
    np.testing.assert_allclose(ours.per_query[name][:300], expected, rtol=0, atol=5.1e-6)


def partial_files(folder):
    """Unjudged documents, relevant ones that are not retrieved, queries that one of the two does not know."""
    rng = np.random.default_rng(4)
    judged, run = {}, {}
    for q in range(400):
        names = [f"doc-{number}" for number in rng.permutation(60)]
        judged[f"q{q}"] = {each: int(rng.choice([-1, 0, 0, 1, 2, 3])) for each in names[:14]}
        held = rng.permutation(names[5 : 5 + rng.integers(1, 30)])
        run[f"q{q + 7}"] = {each: float(np.round(rng.normal(), 1)) for each in held}
    qrels, path = folder / "qrels", folder / "run"
    qrels.write_text("".join(f"{q} 0 {d} {y}\n" for q, docs in judged.items() for d, y in docs.items()))
    path.write_text("".join(f"{q} Q0 {d} 1 {s!r} tag\n" for q, docs in run.items() for d, s in docs.items()))
    return judged, run, qrels, path


@pytest.fixture(scope="module")
def partly_judged(tmp_path_factory):
    return partial_files(tmp_path_factory.mktemp("partly"))


def test_files_that_overlap_in_part_equal_trec_eval(partly_judged):
    judged, run, qrels, path = partly_judged
    theirs = pytrec_eval.RelevanceEvaluator(judged, set(PAIRS.values())).evaluate(run)
    result = evaluate_runs(qrels, path, measures=list(PAIRS), convention="trec_eval")
    cell = result.cells[0]
    assert set(cell["qid"]) == set(judged)
    for name, trec_name in PAIRS.items():
        # trec_eval leaves a query out that the run does not hold; with its option -c it counts 0, as here.
        expected = [theirs[qid][trec_name] if qid in theirs else 0.0 for qid in cell["qid"]]
        found = cell["per_query"]["trec_eval"][name]
        np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE)


@pytest.mark.share(4)
@pytest.mark.parametrize(
    "name",
    [
        "AP(rel=2)", "AP(rel=2)@5", "P(rel=2)@5", "RR(rel=3)", "nDCG", "R(rel=2)@5", "SetP(rel=2)",
        "SetF(beta=0.5)", "Success(rel=2)@3", "Rprec(rel=2)",
    ],
)  # fmt: skip
def test_files_that_overlap_in_part_equal_ir_measures(partly_judged, name):
    # It counts queries that the run does not hold as 0, too.
    _, _, qrels, path = partly_judged
    asked = ir_measures.parse_measure(name)
    their_qrels = list(ir_measures.read_trec_qrels(str(qrels)))
    theirs = ir_measures.calc_aggregate([asked], their_qrels, ir_measures.read_trec_run(str(path)))[asked]
    result = evaluate_runs(qrels, path, measures=[name], convention="trec_eval", diagnostics=False)
    assert result.mean("run", name, "trec_eval") == pytest.approx(theirs, abs=TOLERANCE)


@pytest.mark.parametrize("name", ["Judged", "Judged@5", "Judged@20"])
def test_the_share_that_is_judged_equals_ir_measures(partly_judged, name):
    # It breaks ties by ascending docid, so that scores have to differ.
    judged, run, *_ = partly_judged
    run = {q: {d: s + 1e-3 * i for i, (d, s) in enumerate(docs.items())} for q, docs in run.items()}
    asked = ir_measures.parse_measure(name)
    theirs = {each.query_id: each.value for each in ir_measures.iter_calc([asked], judged, run)}
    cell = evaluate_runs(judged, run, measures=[name], diagnostics=False).cells[0]
    expected = [theirs.get(qid, 0.0) for qid in cell["qid"]]
    np.testing.assert_allclose(cell["per_query"]["standard"][name], expected, rtol=0, atol=TOLERANCE)


@pytest.mark.share(3)
@pytest.mark.parametrize("name", sorted(PAIRS.values()))
def test_a_name_of_trec_eval_is_its_measure_in_every_convention(name):
    theirs = np.array([trec_values()[str(qid)][name] for qid in ours().qid])
    by_docid = evaluate(
        trec()[0].relevance, trec()[0].scores, trec()[0].qid,
        docid=trec()[1], measures=name, ties="docid", per_query=True,
    )  # fmt: skip
    (values,) = by_docid.per_query.values()
    np.testing.assert_allclose(values, theirs, rtol=0, atol=TOLERANCE)
