"""The guide From Solr's log to its result page: the package's own features and weights, by arithmetic."""

import json
from collections import defaultdict
from pathlib import Path

import numpy as np

RAW = ("title.bm25", "body.bm25", "price")


def write_log(folder: Path) -> dict[str, dict[str, list[float]]]:
    """Write what Solr answers to 40 queries, their judgments and the feature store; return the features."""
    rng, logged = np.random.default_rng(8), defaultdict(dict)
    with (folder / "log.jsonl").open("w") as log, (folder / "qrels.txt").open("w") as qrels:
        for query in range(40):
            docs = []
            for doc in range(20):
                values = [*np.round(rng.gamma(2.0, 3.0, 2), 3).tolist(), round(float(rng.lognormal(3, 2)), 2)]
                values[2] = 0.0 if rng.random() < 0.1 else values[2]
                logged[f"q{query}"][f"d{doc}"] = values
                shown = ",".join(f"{name}={value}" for name, value in zip(RAW, values, strict=True))
                docs.append({"id": f"d{doc}", "[features]": shown})
                utility = values[0] + values[1] - np.log1p(values[2]) + rng.normal()
                qrels.write(f"q{query} 0 d{doc} {int(utility > 8) + int(utility > 12)}\n")
            header = {"params": {"qid": f"q{query}"}}
            log.write(json.dumps({"responseHeader": header, "response": {"docs": docs}}) + "\n")
    solr = "org.apache.solr.ltr.feature."
    store = [
        {
            "store": "log",
            "name": name,
            "class": f"{solr}SolrFeature",
            "params": {"q": f"{{!dismax qf={name}}}${{text}}"},
        }
        for name in RAW[:2]
    ] + [{"store": "log", "name": "price", "class": f"{solr}FieldValueFeature", "params": {"field": "price"}}]
    (folder / "features.json").write_text(json.dumps(store))
    return logged


def test_a_package_for_solr_made_of_its_log_ranks_as_the_ranker_does(folder, directrank):
    logged = write_log(folder)
    directrank("convert log.jsonl --qrels qrels.txt --missing 0 -o train.store")
    directrank("fit ranksvm train.store --set scaling=log -o model.dr -q")
    printed = directrank(
        "export model.dr --to solr --target-version 8.11 --package for-solr --feature-set features.json "
        "--check train.store"
    )
    assert "ranks as the ranker does" in printed + directrank.said
    weights = json.loads(Path("for-solr/model.json").read_text("utf-8"))["params"]["weights"]
    directrank("rank model.dr train.store --format trec -o run.txt -q")
    lines = [line.split() for line in Path("run.txt").read_text("utf-8").splitlines()]
    assert len(lines) == 40 * 20
    ranked = defaultdict(list)
    for query, _, doc, _, score, _ in lines:
        values = dict(zip(RAW, logged[query][doc], strict=True))
        values |= {f"ln_{name}": np.log1p(value) for name, value in values.items()}
        values |= {f"ln_{name}_below_0": 0.0 for name in RAW}
        of_package = sum(weight * values[name] for name, weight in weights.items())
        ranked[query].append((of_package, float(score)))
    # A constant, the intercept, changes no order.
    for pairs in ranked.values():
        of_package, of_ranker = np.array(pairs).T
        np.testing.assert_allclose(np.diff(of_package), np.diff(of_ranker), atol=1e-5)
        assert (np.diff(of_package) <= 1e-6).all()
