"""From a log of Solr's to a page that Solr rescores as `rank` ranks it, by the commands of a user."""

import json
import os
import shutil
import subprocess
import warnings

import numpy as np
import pandas as pd
import pytest

import directrank
from directrank.apps.cli import main
from jvm.engines import NotHereError
from jvm.shop import check_as_ranked, judged, ranked, shop, trained
from jvm.solr_server import PACKAGE, solr

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]
#: The features that are logged; the last one is a query that no name tells.
LOGGED = [
    {"name": "title.bm25", "class": "SolrFeature", "params": {"q": "{!dismax qf=title}${text}"}},
    {"name": "body.bm25", "class": "SolrFeature", "params": {"q": "{!dismax qf=body}${text}"}},
    {"name": "price", "class": "FieldValueFeature", "params": {"field": "price"}},
    {"name": "both", "class": "SolrFeature", "params": {"q": "{!dismax qf='title body'}${text}"}},
]
LOGGED = [{**one, "class": f"{PACKAGE}.feature.{one['class']}", "store": "log"} for one in LOGGED]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    if shutil.which("curl") is None:
        pytest.fail("Solr's package was not tried: curl is not installed", pytrace=False)
    try:
        with solr(tmp_path_factory.mktemp("home")) as running:
            yield running
    except NotHereError as error:
        if os.environ.get("CI"):
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))


def logged(server, queries):
    """Return the answers of Solr with the features of the documents, a line of JSON each."""
    answers = []
    for name, text in queries.items():
        fl = f"id,[features store=log format=dense efi.text='{text}']"
        asked = {"q": f"{{!dismax qf='title body' v='{text}'}}", "fl": fl, "rows": 100, "qid": name}
        answers.append(json.dumps(server.send("/select", **asked)))
    return "\n".join(answers) + "\n"


@pytest.mark.parametrize("method", ["ranksvm", "ranksvm --set scaling=log", "trees-lambdarank"])
def test_from_the_log_to_the_page_that_solr_rescores_as_rank_does(server, method, tmp_path, capsys):
    rng = np.random.default_rng(4)
    documents, queries = shop(rng)
    server.index(documents)
    if method == "ranksvm":
        server.send("/schema/feature-store", LOGGED, "PUT")
    (tmp_path / "log.jsonl").write_text(logged(server, queries))
    answers = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    pages = {
        one["responseHeader"]["params"]["qid"]: [hit["id"] for hit in one["response"]["docs"]]
        for one in answers
    }  # fmt: skip
    (tmp_path / "qrels.txt").write_text(judged(documents, queries, pages))
    features = tmp_path / "features.json"
    features.write_text(json.dumps(server.send("/schema/feature-store/log")))
    store, model = trained(tmp_path, method, "--missing", "0")
    package = tmp_path / "package"
    capsys.readouterr()
    command = ["export", model, "--to", "solr", "--package", str(package), "--check", store]
    code = main([*command, "--feature-set", str(features), "--target-version", "8.11"])
    words = capsys.readouterr()
    assert code == 0, words.err
    assert words.out.splitlines()[-1] == "ranks as the ranker does"
    query = package / "query.json"
    if method != "ranksvm":
        # The name is taken: a model of it is there.
        server.send("/schema/model-store/directrank", method="DELETE")
        server.send("/schema/feature-store/directrank", method="DELETE")
    capsys.readouterr()
    run = ranked(tmp_path, model, store)
    template = json.loads(query.read_text())
    for at, (qid, text) in enumerate(list(queries.items())[:5]):
        params = {key: str(value).replace("QUERY", text) for key, value in template["params"].items()}
        params["q"] = f"{{!dismax qf='title body' v='{text}'}}"
        query.write_text(json.dumps({"params": {**params, "rows": 100}}))
        script = (package / "upload.sh").read_text()
        if at:
            # The features and the model are there.
            script = "\n".join(line for line in script.splitlines() if "PUT" not in line)
        done = subprocess.run(
            ["sh", "-c", script, str(package / "upload.sh"), server.url],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr + done.stdout
        page = json.loads(done.stdout[done.stdout.rindex("\n{") if at == 0 else 0 :])
        check_as_ranked([one["id"] for one in page["response"]["docs"]], run, qid)


RANKERS = {
    "weights": directrank.RankSVM(scaling="standard"), "logarithms": directrank.RankSVM(scaling="log"),
    "sets of categories": directrank.TreeRanker(rounds=20, leaf_share=0.01),
}  # fmt: skip


@pytest.mark.parametrize("kind", RANKERS)
def test_categories_of_any_text_are_features_that_solr_computes(server, kind, tmp_path):
    """Names with quotes, signs of the query language, letters of others, and values without a feature."""
    rng = np.random.default_rng(5)
    brands = ['A "quoted" \\ one', "two words", "ünï+(x:y)*", "tab\tand\nline", "rare", None]
    n = 400
    chosen = [brands[at] for at in rng.choice(6, n, p=[0.24, 0.24, 0.24, 0.24, 0.02, 0.02])]
    price, brand = "price (usd)", "brand name_s"
    frame = pd.DataFrame({price: rng.lognormal(3, size=n).astype(np.float32), brand: chosen})
    relevance = (frame[price] < 20) + 0.0 + frame[brand].isin(brands[1:3])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranker = RANKERS[kind].fit(frame, relevance, qid=np.arange(n) // 20)
    names = [str(at) for at in range(n)]
    rows = frame.to_dict("records")
    server.index([
        {"id": name, **{key: value for key, value in row.items() if value is not None}}
        for name, row in zip(names, rows, strict=True)
    ])  # fmt: skip
    package = tmp_path / "package"
    made = directrank.export(ranker, "solr", package=package, target_version="8.11")
    assert made.fields == (price,)
    for store, content in (("model", "models"), ("feature", "features")):
        if server.send(f"/schema/{store}-store/directrank").get(content):
            server.send(f"/schema/{store}-store/directrank", method="DELETE")
    for path, name in (("/schema/feature-store", "features"), ("/schema/model-store", "model")):
        server.send(path, json.loads((package / f"{name}.json").read_text()), "PUT")
    theirs = {one["id"]: one["score"] for one in server.rescored("directrank")}
    ours = ranker.predict(frame, qid=np.arange(n) // 20)
    shift = np.median(ours - [theirs[name] for name in names])
    np.testing.assert_allclose([theirs[name] + shift for name in names], ours, atol=1e-5)
