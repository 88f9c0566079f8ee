"""Files read the columns of documents by their names, texts of categories included."""

import json
import re
import sqlite3
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import directrank
from directrank.apps.cli import main
from directrank.apps.engines import TARGETS, packages
from directrank.apps.engines.documents import Documents
from directrank.apps.engines.expressions import Grammar, value_of
from directrank.apps.engines.function import COMPUTED, Category, categories_of, function_of
from directrank.apps.engines.solr_model import BELOW, LOG
from directrank.apps.engines.solr_queries import computed, solr_feature
from directrank.apps.engines.sql_source import _last_below
from directrank.data.encoding import Encoding
from directrank.data.groups import QueryGroups
from directrank.data.reading_record import ReadingRecord
from directrank.errors import ChangedOrderError, ExportError
from directrank.estimators.documents import names_of_columns, names_of_features
from directrank.scorers import Additive, Linear, stump
from directrank.scorers.set_trees import SetTrees
from unit.apps.engines.rankers_of_every_kind import N_FEATURES, exported, forest, learned, of_targets, ranker

pytestmark = pytest.mark.filterwarnings("ignore")
#: Names of columns and values from outside.
HOSTILE = (
    "two words", "it's", 'say "x"', "back\\slash", "tab\tand\nline", "é😀", ") or (1 = 1", "select", "*",
    "a:b", "{}", "--", "AND", "_query_", "brand 2", "$x",
    "%s", "a,b", "trail\\", " ", "\\u0041", "</script>", "*/",
)  # fmt: skip


def said(target, model, groups, package):
    """Return an export and None, or None and why it is refused."""
    try:
        return exported(target, model, check=groups, package=package), None
    except ExportError as error:
        return None, str(error)


def shop(column, values, scorer=None, number="price"):
    """A ranker of a column of numbers and one of texts, and documents of every value and of others."""
    texts = (*values, "of no feature", None)
    codes, numbers = np.meshgrid(np.arange(len(texts)), np.arange(3))
    codes = np.where(codes.ravel() == len(texts) - 1, -1, codes.ravel())
    X = np.column_stack((numbers.ravel() / 7, codes)).astype(np.float32)
    groups = QueryGroups(
        X,
        np.arange(len(X)) % 3,
        np.ones(len(X)),
        feature_names=(number, column),
        categories={column: texts[:-1]},
    )
    scorer = scorer or Linear(np.array([1.0, *(2.0 ** np.arange(len(values) + 1))]))
    model = ranker(scorer, (number, column))
    model.n_features_in_ = 2
    model.encoding_ = Encoding((number, column), {column: tuple(values)})
    model.reading_ = None
    return model, groups


def by_sqlite(content, groups):
    """The scores of a query on a table of the columns of documents, for which unknown names are no texts."""
    database = sqlite3.connect(":memory:")
    quoted = ['"' + name.replace('"', '""') + '"' for name in groups.feature_names]
    database.execute(f"create table documents ({', '.join(quoted)})")
    for row in groups.to_caller(groups.source.rows).tolist():
        cells = []
        for name, cell in zip(groups.feature_names, row, strict=True):
            texts = groups.categories.get(name)
            cells.append(cell if texts is None else None if cell < 0 else texts[int(cell)])
        database.execute("insert into documents values (?, ?)", cells)
    return np.array([row[-1] for row in database.execute(content.decode())], float)


@pytest.mark.parametrize(("library", "form"), [("xgboost", "f{}"), ("lightgbm", "Column_{}")])
def test_a_model_without_names_has_those_of_its_library_everywhere(library, form, tmp_path, capsys):
    model = learned(tmp_path, library)
    names = tuple(form.format(at) for at in range(N_FEATURES))
    assert names_of_columns(model) == names_of_features(model) == names
    X = np.random.default_rng(0).normal(size=(60, N_FEATURES)).round(2)
    rows = [",".join(map(str, [at // 10, at % 3, *row])) for at, row in enumerate(X.tolist())]
    (tmp_path / "d.csv").write_text("\n".join([",".join(["qid", "label", *names]), *rows]) + "\n")
    path = next(each for each in tmp_path.iterdir() if each.suffix in (".txt", ".json"))
    groups = directrank.load_data(tmp_path / "d.csv")
    made = directrank.export(model, "sql", check=groups)
    assert set(re.findall(r'"([^"]+)"', made.content.decode())) <= set(names)
    assert made.check.inversions == 0
    for command in ("explain", "importance"):
        options = ["--query", "0"] if command == "explain" else []
        assert main([command, str(path), str(tmp_path / "d.csv"), *options]) == 0
        assert set(re.findall(r"^(f\d|Column_\d)", capsys.readouterr().out, re.MULTILINE)) <= set(names)


@of_targets([each for each in TARGETS if each.name not in ("treelite", "ranklib")])  # have no names
def test_a_check_finds_a_file_that_names_other_columns(target):
    """The names of two features are swapped in the file, or one is a column that the documents have not."""
    names = ("a", "b", "c", "d")
    model = ranker(forest(5, seed=3), names)
    X = np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32)
    groups = QueryGroups(X, np.arange(40) % 3, np.arange(40) // 10, feature_names=names)
    assert exported(target, model, check=groups).check.inversions == 0

    def writing(*other):
        return target._replace(
            write=lambda function, version: target.write(replace(function, names=other), version)
        )

    with pytest.raises(ChangedOrderError):
        directrank.export(model, writing("b", "a", "c", "d"), check=groups)
    if target.categories != COMPUTED:
        with pytest.raises(ExportError, match="asks for the column 'x', which the documents have not"):
            directrank.export(model, writing("a", "x", "c", "d"), check=groups)


def test_sql_reads_categories_from_the_columns_of_the_table():
    model, groups = shop("brand", ("brand 1", "it's"))
    made = directrank.export(model, "sql", check=groups)
    text = made.content.decode()
    assert "\"brand\" = 'it''s'" in text
    assert "\"brand\" IN ('brand 1', 'it''s')" in text
    assert "brand=" not in text
    assert by_sqlite(made.content, groups).tolist() == model.predict(groups).tolist()
    # 1 for the first brand, 2 for the second, 4 for others and for a missing one.
    assert by_sqlite(made.content, groups)[:4].tolist() == [1, 2, 4, 4]


@pytest.mark.share(4)
@of_targets()
@pytest.mark.parametrize("name", HOSTILE)
def test_columns_and_values_from_outside_are_said_or_refused(target, name, tmp_path):
    """The check reads what was written; where a target cannot say a name, its message has the name."""
    for column, values, number in (
        (name, ("x", "y"), "price"),
        ("brand", ("x", name), "price"),
        ("brand", ("x", "y"), name),
    ):
        scorer = Linear(np.array([1.0, 2.0, 4.0, 8.0]))
        if "linear" not in target.kinds:
            scorer = Additive.of([1.0, 2.0], [stump(0, 0.1), stump(2, 0.5)])
        model, groups = shop(column, values, scorer, number)
        for package in (None, tmp_path / "p")[: 1 + (target.name in packages.PACKAGE_TARGETS)]:
            made, refusal = said(target, model, groups, package)
            if made is None:
                assert name in refusal or repr(name)[1:-1] in refusal
                assert "\n" not in refusal
                assert re.search("rename|replace", refusal)
            else:
                assert made.check.inversions == 0
                if target.name == "sql":
                    theirs = by_sqlite(made.content, groups).tolist()
                    assert theirs == pytest.approx(model.predict(groups).tolist())


def test_an_engine_that_knows_no_such_field_is_not_written_to(tmp_path):
    for target, column, words in (
        ("vespa", "brand name", "no field with the name 'brand name': rename the column"),
        ("vespa", "b) { } function x() {", "no field with the name"),
        ("opensearch-ltr", "brand*", "no field with the name"),
        ("solr", "_query_", "reads a query of the field '_query_' as a call"),
    ):
        model, _ = shop(column, ("x",))
        with pytest.raises(ExportError, match=re.escape(words)):
            directrank.export(model, target, package=tmp_path / "p")
    model, _ = shop("brand", ("a\tb",))
    with pytest.raises(ExportError, match=r"vespa cannot say the value 'a\\tb' of the column 'brand'"):
        directrank.export(model, "vespa", package=tmp_path / "p")
    assert not (tmp_path / "p").exists()


def test_solr_has_no_escapes_of_json_in_queries_and_quotes_names_in_functions(tmp_path):
    """In Lucene's language a backslash takes the next letter as it is: \\t is a t."""
    model, groups = shop("two words", ("tab\tand\nline", 'q"\\'))
    directrank.export(model, "solr", package=tmp_path / "p", check=groups)
    features = {
        one["name"]: one["params"] for one in json.loads((tmp_path / "p" / "features.json").read_text())
    }
    assert features["two words=tab\tand\nline"]["fq"] == ['two\\ words:"tab\tand\nline"']
    assert features['two words=q"\\']["fq"] == ['two\\ words:"q\\"\\\\"']
    log = directrank.scorers.LogLinear(np.ones(4), np.array([1, 0, 0, 0], bool))
    model, groups = shop("brand", ("x", "y"), log, "price usd")
    directrank.export(model, "solr", package=tmp_path / "q", check=groups)
    assert 'ln(sum(1,abs(field("price usd"))))' in (tmp_path / "q" / "features.json").read_text().replace(
        '\\"', '"'
    )
    one = solr_feature("ln", "SolrFeature", q=LOG.replace("X", "field(price usd)"))
    with pytest.raises(ExportError, match="solr cannot read the field 'price usd'"):
        computed([one], Documents.of_features(("price usd",), np.zeros((1, 1), np.float32)))
    # A definition with an escape of JSON finds no document.
    wrong = solr_feature("b", "SolrFeature", fq=['brand:"a\\tb"'])
    documents = Documents({"brand": np.array(["a\tb", "atb"], object)}, np.zeros((2, 0)))
    assert computed([wrong], documents)["b"].tolist() == [0, 1]


def test_solrs_logarithms_are_never_below_0():
    """ln 2 of 1 by one feature and of −1 by the other, each 0 for the other number."""
    documents = Documents.of_features(("x",), np.array([[-1.0], [1.0], [np.nan]], np.float32))
    forms = {"above": LOG.replace("X", "field(x)"), "below": BELOW.replace("X", "field(x)")}
    features = computed(
        [solr_feature(name, "SolrFeature", q=form) for name, form in forms.items()], documents
    )
    assert features["above"].tolist() == pytest.approx([0, np.log(2), 0])
    assert features["below"].tolist() == pytest.approx([np.log(2), 0, 0])


#: Trees by hand: 1 where brand is y or of no feature; and where it is x, 3 if the price is above 0.1, else 2.
SETS = SetTrees(
    root=np.array([0], np.int64), feature=np.array([4, 0, 0, 0, 0], np.int32),
    threshold=np.array([0.5, 0, 0.1, 0, 0], np.float32), missing=np.array([1, 0, 0, 0, 0], np.int32),
    left=np.array([1, -1, 3, -1, -1], np.int32), right=np.array([2, -1, 4, -1, -1], np.int32),
    value=np.array([0, 1.0, 0, 2, 3]), gain=np.zeros(5), source=np.array([1], np.int32),
    width=np.array([3], np.int32), start=np.array([0], np.int64), words=np.array([0b110], np.uint32),
)  # fmt: skip


@of_targets()
@pytest.mark.parametrize("members", [0b110, 0b010, 0b011, 0b100])
def test_splits_on_sets_are_said_by_texts_where_the_target_can(target, members, tmp_path):
    scorer = replace(SETS, words=np.array([members], np.uint32))
    model, groups = shop("brand", ("x", "y"), scorer)
    if members == 0b110:
        expected = [2, 1, 1, 1, 3, 1, 1, 1, 3, 1, 1, 1]
        assert model.predict(groups).tolist() == expected
    if target.categories == COMPUTED:
        with pytest.raises(ExportError, match=f"^{target.name} takes no splits on sets of categories"):
            exported(target, model)
        return
    for package in (None, tmp_path / "p")[: 1 + (target.name in packages.PACKAGE_TARGETS)]:
        made = exported(target, model, check=groups, package=package)
        assert made.check.inversions == 0
        assert made.check.difference < 1e-6
    if target.name == "sql":
        assert by_sqlite(made.content, groups).tolist() == model.predict(groups).tolist()


def test_sets_are_features_that_are_0_for_their_members():
    function = function_of(SETS, ("price", "brand=x", "brand=y", "brand=other"), categories_of(
        Encoding(("price", "brand"), {"brand": ("x", "y")})
    ))  # fmt: skip
    assert function.names[4:] == ("brand set 1",)
    # y and others are in the set: 1 where the brand is x.
    assert function.categories[4] == Category("brand", ("x",), False)
    rows = np.array([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], np.float32)
    assert function.rows(rows)[:, 4].tolist() == [1, 0, 0]


def test_a_document_without_a_category_goes_where_0_goes_also_where_it_is_missing():
    """A query that does not match gives the plug-ins no number."""
    scorer = Additive.of([1.0], [stump(1, 0.5, fill=np.inf)])
    model, groups = shop("brand", ("x", "y"), scorer)
    for target in ("elasticsearch-ltr", "opensearch-ltr"):
        made = directrank.export(model, target, check=groups)
        assert made.check.difference == 0


@of_targets()
@pytest.mark.parametrize("kind", ["weights", "trees"])
def test_a_gap_is_what_it_was_in_training(target, kind, tmp_path, capsys):
    """Trained with --missing 0, a document without a price has the score of one whose price is 0."""
    price, x = ["" if at % 4 else at % 7 for at in range(80)], np.arange(80) % 11 / 10
    rows = [f"{at // 10},{at % 3},{price[at]},{x[at]}" for at in range(80)]
    (tmp_path / "d.csv").write_text("\n".join(["qid,label,price,x", *rows]) + "\n")
    scorer = Additive.of([-1.0, 0.5], [stump(0, 0.5, fill=np.inf), stump(1, 0.1)])
    if kind == "weights":
        scorer = Linear(np.array([-1.0, 0.5]), np.ones(2, np.float32))
    model = ranker(scorer, ("price", "x"))
    model.n_features_in_, model.reading_ = 2, ReadingRecord(qid="qid", label="label", missing=0.0)
    if function_of(scorer, ("price", "x")).kind not in target.kinds:
        return
    frame = pd.DataFrame({"price": [np.nan, 0.0, 3.0], "x": [0.0, 0.0, 0.0]})
    assert len({*model.predict(frame).tolist()}) == 2
    groups = QueryGroups(frame, [0, 1, 2], [1, 1, 1])
    made = exported(target, model, check=groups)
    assert made.check.inversions == 0
    assert made.check.difference < 1e-6
    if target.name == "sql":
        first, second, third = by_sqlite(made.content, groups)
        assert first == second != third
        directrank.save(model, tmp_path / "m.dr")
        command = ["export", str(tmp_path / "m.dr"), "--to", "sql", "-o", str(tmp_path / "m.sql")]
        assert main([*command, "--check", str(tmp_path / "d.csv")]) == 0
        assert "ranks as the ranker does" in capsys.readouterr().out


def test_the_logarithm_of_a_category_is_a_weight(tmp_path):
    """ln(1 + 1) for documents that have it, and 0 for others: no engine needs a logarithm of a query."""
    logs = directrank.scorers.LogLinear(
        np.array([1.0, 2, 3, 4]), np.array([1, 1, 1, 0], bool), np.ones(4, np.float32)
    )
    model, groups = shop("brand", ("x", "y"), logs)
    function = function_of(logs, tuple("abcd"), categories_of(model.encoding_))
    assert [term.weight for term in function.terms] == [1, 2 * np.log(2), 3 * np.log(2), 4]
    assert [term.logarithm for term in function.terms] == [True, False, False, False]
    for target in ("solr", "opensearch-ltr", "vespa", "sql", "python"):
        made = directrank.export(model, target, check=groups)
        assert made.check.inversions == 0
        assert made.check.difference < 1e-6
    assert "ln_brand" not in str(directrank.export(model, "solr", package=tmp_path / "p").content)


def test_thresholds_of_sql_are_for_columns_of_float64_too():
    """float32 rounds a column of float64 to the nearest, and the ranker compares what is rounded."""
    rng = np.random.default_rng(0)
    thresholds = np.concatenate((rng.normal(size=50), rng.normal(size=50) * 1e-6, [0.0, 1.0, -1.0])).astype(
        np.float32
    )
    for threshold in thresholds:
        above = np.nextafter(threshold, np.float32(np.inf))
        middle = (float(threshold) + float(above)) / 2
        for x in (
            float(threshold),
            np.nextafter(middle, -np.inf),
            middle,
            np.nextafter(middle, np.inf),
            float(above),
        ):
            assert (x <= _last_below(float(threshold))) == (np.float32(x) <= threshold)
    assert _last_below(float(np.finfo(np.float32).max)) == float(np.finfo(np.float32).max)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1 + 2 * 3 - 4 / 2", 5), ("-(2 - 3) * 2", 2), ("x < 2 ? 10 : x > 3 ? 30 : 20", 20),
     ("f(1, x) + a.b", 9), ('t("q\\"") + 0', 2), ("!(x >= 3) + 1", 1), ("x in [1, 3]", True),
     ("g(p, 1).out", 11)],
)  # fmt: skip
def test_expressions_by_hand(text, expected):
    columns = {"x": 3.0, "a.b": 5.0, "g(p, 1).out": 11.0}
    grammar = Grammar({"f": lambda a, b: a + b, "t": len}, columns.__getitem__, json.loads)
    assert value_of(text, grammar) == expected
