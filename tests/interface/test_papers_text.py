"""papers/xu2008_text.py runs on a small collection, and counts all relevant documents."""

import csv
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from directrank import evaluate
from directrank.apps.text import CollectionOptions, make_features
from text_examples import texts

pytestmark = pytest.mark.heavy

PAPERS = Path(__file__).parents[2] / "papers"
QUERIES = (
    "wing flutter",
    "heat transfer",
    "shock waves",
    "boundary layer flow",
    "supersonic plate",
    "pressure",
)


@pytest.fixture(scope="module")
def script():
    before = set(sys.modules)
    sys.path.insert(0, str(PAPERS))
    import xu2008_text

    yield xu2008_text
    sys.path.remove(str(PAPERS))
    for name in set(sys.modules) - before:
        if PAPERS in Path(getattr(sys.modules[name], "__file__", None) or "").parents:
            del sys.modules[name]


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    """NPL's files with other texts; document 3 is relevant for all queries and no candidate of any."""
    folder = tmp_path_factory.mktemp("data") / "NPL"
    folder.mkdir()
    documents = [
        f"<DOC>\n<DOCNO>{docid}</DOCNO>\n{title}  {body}\n</DOC>\n"
        for docid, (title, body) in texts(80).items()
    ]
    topics = [f"<top>\n<num>{n}</num><title>\n{each}\n</title>\n</top>\n" for n, each in enumerate(QUERIES)]
    qrels = [f"{n} 0 d{at} {int(at == 3 or at % 7 == n)}\n" for n in range(len(QUERIES)) for at in range(80)]
    for name, lines in (("doc-text.trec", documents), ("query-text.trec", topics), ("qrels", qrels)):
        (folder / name).write_text("".join(lines), encoding="utf-8")
    return folder


def test_the_script_runs_and_counts_all_relevant_documents(script, collection, tmp_path, capsys):
    few = script.methods(quick=True)
    script.methods = lambda quick: {"raw": [each for each in few["raw"] if each.label in ("RankSVM", "auto")]}
    script.METHODS, script.SHOWN = ("RankSVM",), ("RankSVM", "auto", "BM25", "BM25, tuned")
    script.TESTS = (("auto", "BM25", None),)
    asked = ["--data", str(collection.parent), "--out", str(tmp_path), "--collections", "NPL", "--quick"]
    asked += ["--methods", "ranksvm,rankcosine", "--features", "letor,xu2008-printed"]
    script.make(script.checked(script.parser().parse_args(asked)))
    with (tmp_path / "figures7and8.csv").open(newline="", encoding="utf-8") as file:
        every = list(csv.DictReader(file))
    assert {row["collection"] for row in every} == {"NPL, letor", "NPL, xu2008-printed"}
    rows = {(row["method"], row["measure"]): float(row["ours"]) for row in every[: len(every) // 2]}
    assert {method for method, _ in rows} == {*script.SHOWN, "rankcosine"}
    assert len(rows) == 5 * len(script.MEASURES)
    made = make_features(
        tmp_path / "NPL" / "index", collection / "query-text.trec", collection / "qrels",
        features="whole.bm25", options=CollectionOptions(),
    )  # fmt: skip
    # Documents that are no candidates: a value over candidates is too high by the share that they lack.
    values = evaluate(made.groups, made.groups.X[:, 0], measures=["AP"], per_query=True)
    qids = made.groups.qid
    held = [(made.groups.relevance[qids == qid] > 0).sum() / len(made.relevant[qid]) for qid in values.qid]
    assert max(held) < 1
    assert rows["BM25", "AP"] == pytest.approx(float(np.mean(values.per_query["AP"] * held)), abs=1e-4)
    assert "and of the best of the five. NPL, letor: 0." in capsys.readouterr().out
    with (tmp_path / "features.csv").open(newline="", encoding="utf-8") as file:
        tested = list(csv.DictReader(file))
    assert [row["method"] for row in tested] == [
        f"{name}: xu2008-printed - letor" for name in ("RankSVM", "auto")
    ]
    own = [float(row["ours"]) for row in every if (row["method"], row["measure"]) == ("RankSVM", "AP")]
    assert float(tested[0]["ours"].partition(",")[0]) == pytest.approx(own[1] - own[0], abs=2e-4)
    for kind in ("accuracy", "curves"):
        ElementTree.fromstring((tmp_path / f"{kind}-NPL-letor.svg").read_text(encoding="utf-8"))
    with pytest.raises(ValueError, match="expected some of CRAN"):
        script.checked(script.parser().parse_args([*asked, "--collections", "X"]))
