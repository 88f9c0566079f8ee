"""The page as text: numbers are those of the files, text is text whatever it holds, it asks for nothing."""

import base64
import csv
import hashlib
import io
import json
import re
from html.parser import HTMLParser

import pytest

import pages
from directrank import compare, make_ranking
from directrank.apps.cli.demos.shop import write_folds
from directrank.apps.experiments import Comparison, read_results
from directrank.apps.report import render
from directrank.apps.report.page import UNIT
from directrank.estimators import AdaRank, Regression, methods
from directrank.estimators.methods import Method

MEASURES = ("AP", "nDCG@1", "nDCG@3", "nDCG@10", "WPD")
LARGEST = 1_600_000


class Broken(Regression):
    def fit(self, X, y=None, qid=None, **options):
        raise ZeroDivisionError("</script><b>")


class Page(HTMLParser):
    """The texts and tags of a page; tables by what they are called, a cell being its value or its text."""

    def __init__(self, text: str):
        super().__init__()
        self.tags: list[tuple[str, dict]] = []
        self.texts: list[str] = []
        self.tables: dict[str, list[list[str]]] = {}
        self.data = ""
        self._table, self._cell, self._script = "", False, ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.tags.append((tag, given))
        if tag == "table":
            self._table = given["aria-label"]
            self.tables[self._table] = []
        if tag == "tr":
            self.tables[self._table].append([])
        if tag in ("td", "th"):
            self._cell = "data-value" not in given
            self.tables[self._table][-1].append(given.get("data-value", ""))
        if tag == "small":
            self._cell = False
        if tag in ("script", "style"):
            self._script = given.get("id", tag)

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self._cell = False
        if tag in ("script", "style"):
            self._script = ""

    def handle_data(self, data):
        if self._script:
            self.data += data if self._script == "page-data" else ""
            return
        self.texts.append(data)
        if self._cell:
            self.tables[self._table][-1][-1] += data

    @property
    def text(self) -> str:
        return " ".join("".join(self.texts).split())


@pytest.fixture(scope="module")
def result(tmp_path_factory) -> Comparison:
    folder = tmp_path_factory.mktemp("page")
    write_folds(make_ranking(36, 7, 4, random_state=3), folder / "data")
    fakes = (
        Method("regression", Regression, "works", "no paper", grid={"ridge": (0.0, 1.0)}),
        Method("adarank", AdaRank, "works too", "no paper", measure="AP", fixed={"rounds": 3}),
        Method("broken", Broken, "fails", "no paper"),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(methods, "METHODS", fakes)
        compare(
            folder / "data", "regression,adarank,broken", select_by="AP", measures=MEASURES,
            convention="letor3", out=folder / "run",
            command=["directrank", "compare", "my data", "--out", "x"],
        )  # fmt: skip
    return read_results(folder / "run")


@pytest.fixture(scope="module")
def page(result) -> Page:
    return Page(render(result))


def test_numbers_are_those_of_the_files(result, page):
    for convention in ("letor3", "standard"):
        rows = list(csv.DictReader(io.StringIO(result.to_csv(convention))))
        table = page.tables[f"Test, mean of 3 folds, convention {convention}"]
        assert table[0] == ["method", *MEASURES, "what it does"]
        assert [row[0] for row in table[1:]][-1] == "broken"
        for method, *values in table[1:3]:
            for measure, value in zip(MEASURES, values, strict=False):
                folds = [
                    float(row["value"])
                    for row in rows
                    if (row["method"], row["measure"], row["split"]) == (method, measure, "test")
                ]
                assert float(value) == pytest.approx(sum(folds) / 3, abs=1e-15)
        for measure in MEASURES:
            by_fold = page.tables[f"Test {measure} by fold, convention {convention}"]
            for method, *values in by_fold[1:3]:
                for fold, value in zip(result.folds, values, strict=False):
                    assert float(value) == result.value(method, fold, measure, convention)


def test_it_asks_for_nothing(result, page):
    text = render(result)
    tags = {tag for tag, _ in page.tags}
    assert not tags & {"img", "link", "iframe", "object", "embed", "base", "form", "video", "audio"}
    for tag, given in page.tags:
        assert not [name for name in given if name.startswith("on") or name in ("src", "style", "srcset")]
        assert given.get("href", "#").startswith("#"), tag
    assert "url(" not in text
    assert "@import" not in text


def test_policy_allows_its_own_style_and_script_alone(result, page):
    text = render(result)
    policy = next(given["content"] for tag, given in page.tags if given.get("http-equiv"))
    assert policy.startswith("default-src 'none'")
    for tag in ("style", "script"):
        found = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.S)
        assert len(found) == 1
        digest = base64.b64encode(hashlib.sha256(found[0].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_script_makes_text_and_never_markup(result):
    script = re.findall(r"<script>(.*?)</script>", render(result), re.S)[0]
    forbidden = (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "Function(",
        "fetch(",
    )
    assert not [word for word in forbidden if word in script]


def test_values_of_queries_are_those_of_the_results(result, page):
    data = json.loads(page.data)
    queries = data["queries"]
    assert (data["methods"], queries["of"], len(queries["qid"])) == (result.methods, 36, 36)
    assert queries["methods"] == [0, 1, 3]  # the third failed
    for at, method in enumerate(("regression", "adarank")):
        cells = [result.cell(method, fold) for fold in result.folds]
        exact = [value for cell in cells for value in cell["per_query"]["letor3"]["nDCG@3"]]
        kept = queries["values"]["letor3"]["nDCG@3"][at]
        assert kept == pytest.approx([UNIT * value for value in exact], abs=1.5)
        assert [f"{value / UNIT:.4f}" for value in kept] == [f"{value:.4f}" for value in exact]
        assert queries["ranked"][at] == [each for cell in cells for each in cell["ranked"]]
        whys = [each or {"rank": None} for cell in cells for each in cell["above"]]
        for why, shown in zip(whys, queries["above"][at], strict=True):
            adds = ", ".join(f"{name} {value:+.3g}" for name, value in why.get("adds", []))
            assert shown == ([why["rank"], adds] if why["rank"] else [])


@pytest.fixture(scope="module")
def harmless_tags():
    return [tag for tag, _ in Page(render(pages.poisoned(("harmless", "harmless"))[0])).tags]


@pytest.mark.share(8)
@pytest.mark.parametrize("payload", pages.PAYLOADS)
def test_hostile_text_stays_text(payload, harmless_tags):
    poisoned, places = pages.poisoned((payload, "harmless"))
    text = render(poisoned)
    shown = Page(text)
    assert [tag for tag, _ in shown.tags] == harmless_tags
    together = "".join(shown.texts)
    for place, texts in places.items():
        for each in texts:
            assert each in together or place in ("path", "qid"), (place, each)
    assert json.loads(shown.data)["queries"]["qid"][0] == f"q0 {payload}"
    assert len(re.findall(r"</script", text, re.I)) == 2


@pytest.mark.heavy
def test_largest_page_is_small_enough():
    measures = ("AP", *(f"nDCG@{k}" for k in (1, 2, 3, 4, 5, 10)), "P@5", "P@10", "RR")
    result = pages.invented(
        20, 5, measures, n_queries=22, n_points=24, n_rounds=200, n_features=46, tested=False
    )
    assert len(render(result).encode()) <= LARGEST


def test_results_of_an_earlier_release_still_make_a_page():
    def change(content):
        for cell in content["cells"]:
            cell |= {"curve": {}, "ties": None, "bounds": None}
        for tested in content["significance"].values():
            tested["intervals"] = {}

    result = pages.changed(pages.invented(), change)
    ids = {given.get("id") for tag, given in Page(render(result)).tags if tag == "section"}
    assert {"results", "folds", "settings"} <= ids
    assert not {"curves", "ties", "bounds"} & ids
