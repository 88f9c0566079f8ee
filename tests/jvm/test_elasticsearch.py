"""From a log of Elasticsearch's to the order of its own inference code, which is that of `rank`."""

import json
import os

import numpy as np
import pytest

from directrank.apps.cli import main
from jvm.engines import NotHereError, scores, serving
from jvm.shop import FEATURES, Shop, check_as_ranked, ranked, trained, words

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    try:
        with serving("elasticsearch_node", tmp_path_factory.mktemp("home")) as port:
            yield Shop(port)
    except NotHereError as error:
        if os.environ.get("CI"):
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))


def named(text):
    """Return the user's query, and the features beside it as queries with names."""
    features = json.loads(json.dumps(FEATURES).replace("{{keywords}}", text))
    should = [{"bool": {"must": [query], "_name": name}} for name, query in features.items()]
    return {"bool": {"must": [words(text)], "should": should}}


def test_from_the_log_to_the_order_of_the_inference_code_of_elasticsearch(shop, tmp_path, capsys):
    params = {"include_named_queries_score": "true"}
    pages = {name: shop.search(named(text), params, _source=False) for name, text in shop.queries.items()}
    answers = [{"qid": name, **answer} for name, answer in pages.items()]
    shop.write(tmp_path, answers)
    store, model = trained(tmp_path, "trees-lambdarank")
    capsys.readouterr()
    file = tmp_path / "model.json"
    code = main(["export", model, "--to", "elasticsearch", "--check", store, "-o", str(file)])
    captured = capsys.readouterr()
    assert code == 0, captured.err
    run = ranked(tmp_path, model, store)
    names = tuple(FEATURES)
    for answer in answers[:5]:
        hits = answer["hits"]["hits"]
        rows = np.array([[hit["matched_queries"].get(name, np.nan) for name in names] for hit in hits])
        assert np.isnan(rows).any()
        theirs = scores("elasticsearch", {"page": (file.read_bytes(), names, rows)})["page"]
        page = [hits[at]["_id"] for at in np.argsort(-theirs, kind="stable")]
        check_as_ranked(page, run, answer["qid"])
