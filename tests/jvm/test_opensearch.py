"""From a log of OpenSearch's to a page that it rescores as `rank` ranks it."""

import json
import subprocess

import pytest

from directrank.apps.cli import main
from jvm.engines import NotHereError, plugin, serving
from jvm.shop import FEATURES, INDEX, Shop, check_as_ranked, page_of, ranked, trained, words

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]
LTR = "com.o19s.es.ltr.LtrQueryParserPlugin"


@pytest.fixture(scope="module")
def learning(tmp_path_factory):
    """Run a node with the learning-to-rank plug-in, which is compiled from a copy of its repository."""
    features = [
        {"name": name, "params": ["keywords"], "template_language": "mustache", "template": template}
        for name, template in FEATURES.items()
    ]
    try:
        with serving("opensearch", tmp_path_factory.mktemp("home"), LTR, classes=plugin()) as port:
            shop = Shop(port)
            shop.server.send("/_ltr", method="PUT")
            body = {"featureset": {"name": "log", "features": features}}
            shop.server.send("/_ltr/_featureset/log", body, "PUT")
            yield shop
    except NotHereError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("method", ["ranksvm", "ranksvm --set scaling=log", "trees-lambdarank"])
def test_from_the_log_to_the_page_that_opensearch_rescores_as_rank_does(learning, method, tmp_path, capsys):
    answers = []
    for name, text in learning.queries.items():
        asked = {"_name": "logged", "featureset": "log", "params": {"keywords": text}}
        spec = {"log_specs": {"name": "log", "named_query": "logged"}}
        query = {"bool": {"must": [words(text)], "filter": [{"sltr": asked}]}}
        answers.append({"qid": name, **learning.search(query, ext={"ltr_log": spec})})
    learning.write(tmp_path, answers)
    store, model = trained(tmp_path, method, "--missing", "0")
    feature_set, package = tmp_path / "features.json", tmp_path / "package"
    feature_set.write_text(json.dumps(learning.server.send("/_ltr/_featureset/log")))
    capsys.readouterr()
    command = ["export", model, "--to", "opensearch-ltr", "--target-version", "2.19", "--check", store]
    code = main([*command, "--package", str(package), "--feature-set", str(feature_set)])
    captured = capsys.readouterr()
    assert code == 0, captured.err
    assert captured.out.splitlines()[-1] == "ranks as the ranker does"
    run, template = ranked(tmp_path, model, store), (package / "query.json").read_text()
    for at, (qid, text) in enumerate([*learning.queries.items()][:5]):
        query = {**json.loads(template.replace("QUERY", text)), "query": words(text), "size": 100}
        (package / "query.json").write_text(json.dumps(query))
        if at:
            page = learning.search(**query)
        else:
            done = subprocess.run(
                ["sh", str(package / "upload.sh"), learning.server.url, INDEX],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr + done.stdout
            page = json.loads(done.stdout[done.stdout.rindex('{"took"') :])
        check_as_ranked(page_of(page), run, qid)
    for kind in ("model", "featureset"):
        learning.server.send(f"/_ltr/_{kind}/directrank", method="DELETE")
