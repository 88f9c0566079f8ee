"""Packages for engines: definitions of features by hand, verdicts, and what is refused."""

import json

import numpy as np
import pandas as pd
import pytest

import directrank
from directrank.apps.cli import main
from directrank.apps.engines import packages
from directrank.data.encoding import Encoding
from directrank.data.groups import QueryGroups
from directrank.errors import ChangedOrderError, ExportError
from directrank.scorers import Linear, LogLinear
from unit.apps.engines.rankers_of_every_kind import ranker

pytestmark = pytest.mark.filterwarnings("ignore")
#: The features of a column of numbers, of a text and of categories.
NAMES = ("price", "title.bm25", 'brand=A"b', "brand=other")
FORM = "if(gt(sum(1,abs(X)),1),product(X,div(ln(sum(1,abs(X))),sub(sum(1,abs(X)),1))),X)"


def shop(scorer):
    model = ranker(scorer, NAMES)
    model.encoding_ = Encoding(("price", "title.bm25", "brand"), {"brand": ('A"b',)})
    return model


def files(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_a_package_for_solr_by_hand(tmp_path):
    logarithm = np.array([1, 0, 0, 0], bool)
    made = directrank.export(shop(LogLinear(np.arange(1.0, 5), logarithm)), "solr", package=tmp_path / "p")
    found = files(tmp_path / "p")
    assert set(found) == {"features.json", "model.json", "query.json", "upload.sh", "README.md"}
    features = {one["name"]: one for one in json.loads(found["features.json"])}
    params = {name: one["params"] for name, one in features.items()}
    assert params == {
        "title.bm25": {"q": "{!dismax qf=title}${text}"},
        'brand=A"b': {"fq": ['brand:"A\\"b"']},
        "brand=other": {"fq": ['*:* -brand:"A\\"b"']},
        "price": {"field": "price"},
        "ln_price": {"q": "{!func}" + FORM.replace("X", "field(price)")},
        "ln_price_below_0": {"q": "{!func}" + FORM.replace("X", "product(-1,field(price))")},
    }
    assert {one["store"] for one in features.values()} == {"directrank"}
    model = json.loads(found["model.json"])
    # Every feature of the model is in the store.
    assert {one["name"] for one in model["features"]} <= set(features)
    assert model["store"] == "directrank"
    assert made.fields == ("price",)
    assert (made.asked, made.nodes) == (4, 0)
    assert "Assumed to be document fields: price." in found["README.md"]


def test_a_package_for_a_plugin_by_hand_with_a_constant_that_keeps_scores_above_0(tmp_path):
    """−price of 0 … 3 is −3 … 0: the constant is 3, and 3 more for documents that are as much lower."""
    X = np.zeros((4, 4), np.float32)
    X[:, 0] = np.arange(4)
    model = shop(Linear(np.array([-1.0, 0, 2, 0])))
    groups = QueryGroups(X, [3, 2, 1, 0], [1, 1, 1, 1], feature_names=NAMES)
    model.encoding_ = None
    plain = directrank.export(model, "opensearch-ltr", package=tmp_path / "p")
    assert "constant" not in packages.weights_of(plain.content)
    made = directrank.export(model, "opensearch-ltr", package=tmp_path / "q", check=groups)
    assert packages.weights_of(made.content)["constant"] == 6
    assert made.check is not None
    assert made.check.verdict == "ranks as the ranker does"
    made = directrank.export(
        shop(Linear(np.array([-1.0, 1, 2, 3]))), "opensearch-ltr", package=tmp_path / "r"
    )
    features = json.loads(files(tmp_path / "r")["features.json"])["featureset"]["features"]
    templates = {one["name"]: one["template"] for one in features}
    assert templates['brand=A"b'] == {"constant_score": {"filter": {"term": {"brand": 'A"b'}}, "boost": 1.0}}
    assert templates["brand=other"]["constant_score"]["filter"] == {
        "bool": {"must_not": [{"terms": {"brand": ['A"b']}}]}
    }
    assert templates["title.bm25"] == {"match": {"title": "{{keywords}}"}}
    assert templates["price"]["function_score"]["field_value_factor"] == {"field": "price"}


def test_a_package_for_vespa_names_categories_that_vespa_cannot(tmp_path):
    made = directrank.export(shop(Linear(np.arange(1.0, 5))), "vespa", package=tmp_path)
    profile = files(tmp_path)["directrank.profile"]
    for line in (
        "function price() {\n        expression: attribute(price)",
        'function category_2() {\n        expression: if (attribute(brand) == "A\\"b", 1, 0)',
        'function category_3() {\n        expression: if (attribute(brand) in ["A\\"b"], 0, 1)',
        "(2.0) * bm25(title)",
        "(4.0) * category_3",
    ):
        assert line in profile
    assert made.fields == ("price",)


def test_definitions_of_the_engine_are_taken(tmp_path):
    """A logarithm of a query is a function of it."""
    model = ranker(LogLinear(np.ones(4), np.array([1, 0, 0, 0], bool)), ("a", "b", "c", "d"))
    query = {
        "name": "a",
        "class": "x.SolrFeature",
        "params": {"q": "{!dismax qf=title}${text}"},
        "store": "log",
    }
    directrank.export(model, "solr", package=tmp_path, feature_set={"features": [query]})
    features = {one["name"]: one for one in json.loads(files(tmp_path)["features.json"])}
    assert features["a"] == {**query, "store": "directrank"}
    value = 'query({!dismax qf=title v="${text}"},0)'
    assert features["ln_a"]["params"]["q"] == "{!func}" + FORM.replace("X", value)
    other = [{**query, "params": {"fq": ["x:y"]}}]
    with pytest.raises(ExportError, match=r"no logarithm of the feature 'a', .* train with scaling"):
        directrank.export(model, "solr", package=tmp_path, feature_set=other)
    with pytest.raises(ExportError, match="feature set is not in the JSON of solr"):
        directrank.export(model, "solr", package=tmp_path, feature_set=[1])


def test_a_verdict_names_gaps_where_they_alone_change_the_order(tmp_path, capsys):
    """The median is 2, the engine reads 0: the document with a gap falls behind that with 1."""
    X = np.array([[1, 0, 0, 0], [np.nan, 0, 0, 0], [3, 0, 0, 0]], np.float32)
    groups = QueryGroups(X, [0, 1, 2], [1, 1, 1])
    model = ranker(Linear(np.array([1.0, 0, 0, 0]), np.array([2.0, 0, 0, 0], np.float32)))
    words = "the engine reads gaps as 0: train with --missing 0"
    with pytest.raises(ChangedOrderError, match=words):
        directrank.export(model, "opensearch-ltr", check=groups)
    check = directrank.export(model, "opensearch-ltr", check=groups, accept=True).check
    assert check is not None
    assert check.gaps
    # nDCG of the grades 2, 0, 1 in place of 2, 1, 0 with gains 3, 1, 0.
    lost = 1 - (3 + 1 / 2) / (3 + 1 / np.log2(3))
    assert check.verdict == f"loses {lost:.4f} nDCG@10 because {words}"
    directrank.write_letor(groups, tmp_path / "t.txt")
    directrank.save(model, tmp_path / "m.dr")
    command = ["export", str(tmp_path / "m.dr"), "--to", "solr", "--package", str(tmp_path / "p")]
    check = ["--check", str(tmp_path / "t.txt")]
    assert main([*command, *check]) == 4
    assert words in capsys.readouterr().err
    assert not (tmp_path / "p").exists()
    assert main([*command, *check, "--accept"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"loses {lost:.4f} nDCG@10 because {words}"
    assert "loses" in (tmp_path / "p" / "README.md").read_text()


def test_a_table_with_categories_is_trained_and_packaged(tmp_path):
    frame = pd.DataFrame({"price": np.arange(200.0), "brand": ["x", "y"] * 100})
    model = directrank.RankSVM().fit(frame, np.arange(200) % 3, qid=np.arange(200) // 10)
    made = directrank.export(model, "solr", package=tmp_path)
    assert not any("place of the value" in need or "'COLUMN=VALUE'" in need for need in made.needs)
    names = [one["name"] for one in json.loads(files(tmp_path)["features.json"])]
    assert {"brand=x", "brand=y"} <= set(names)


@pytest.mark.parametrize(("target", "value"), [("opensearch-ltr", "{{keywords}}"), ("solr", "${text}")])
@pytest.mark.parametrize("column", ["brand", "{{b}} ${b}"])
def test_a_value_or_column_that_holds_a_variable_of_the_engine_is_refused(tmp_path, target, value, column):
    """Mustache puts a parameter in the place of {{keywords}}: the term would be another for each request."""
    model = ranker(Linear(np.ones(4)), ("price", "stock", f"{column}={value}", f"{column}=other"))
    model.encoding_ = Encoding(("price", "stock", column), {column: (value,)})
    with pytest.raises(ExportError, match="as a variable: rename value or column"):
        directrank.export(model, target, package=tmp_path / "p")
    assert not (tmp_path / "p").exists()
