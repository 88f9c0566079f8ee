"""The page: its numbers are those of the files, its text is text whatever it holds, it asks for nothing."""

import base64
import csv
import hashlib
import io
import re
from html.parser import HTMLParser

import pytest

from directrank import compare, make_ranking, write_report
from directrank.estimators import AdaRank, Regression, methods
from directrank.estimators.methods import Method
from directrank.experiments import Comparison, read_results
from directrank.experiments.demo import write_folds
from directrank.report import render
from directrank.strict_json import dump, parse

MEASURES = ("AP", "nDCG@1", "nDCG@3", "nDCG@10", "WPD")
PAYLOADS = (
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{ 7 * 7 }}{% raw %}",
    "</style><style>*{display:none}",
    "<!-- ",
    "]]>&lt;&amp;'",
    "javascript:alert(1)",
    "\u202egnp.exe",
)


class Broken(Regression):
    def fit(self, X, y=None, qid=None, **options):
        raise ZeroDivisionError(PAYLOADS[0])


class Page(HTMLParser):
    """The texts and tags of a page; table cells with their values."""

    def __init__(self, text: str):
        super().__init__()
        self.tags: list[tuple[str, dict]] = []
        self.texts: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.values: list[str] = []
        self._cell = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.tags.append((tag, given))
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self._cell = True
            self.tables[-1][-1].append(given.get("data-value", ""))
            self.values.append(given.get("data-value", ""))

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self._cell = False

    def handle_data(self, data):
        self.texts.append(data)
        if self._cell and not self.values[-1]:
            self.tables[-1][-1][-1] += data

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
            folder / "data", "regression,adarank,broken", measures=MEASURES, convention="letor3", out=folder,
            command=["directrank", "compare", "my data", "--out", "x"],
        )  # fmt: skip
    return read_results(folder)


@pytest.fixture(scope="module")
def page(result) -> Page:
    return Page(render(result))


def test_numbers_are_those_of_the_files(result, page):
    for place, convention in enumerate(("letor3", "standard")):
        rows = list(csv.DictReader(io.StringIO(result.to_csv(convention))))
        table = page.tables[place]
        assert table[0] == ["method", *MEASURES]
        for method, *values in table[1:3]:
            for measure, value in zip(MEASURES, values, strict=True):
                folds = [
                    float(row["value"])
                    for row in rows
                    if (row["method"], row["measure"], row["split"]) == (method, measure, "test")
                ]
                assert float(value) == pytest.approx(sum(folds) / 3, abs=1e-15)
    by_fold = page.tables[2]
    assert by_fold[0] == ["method", "Fold1", "Fold2", "Fold3", "mean"]
    assert [float(value) for value in by_fold[1][1:4]] == [
        result.value("regression", fold, "AP", "letor3") for fold in result.folds
    ]


def test_best_is_marked_and_for_errors_it_is_the_smallest(result):
    from directrank.experiments.tables import headline

    table = headline(result, "standard")
    for column, measure in enumerate(MEASURES):
        values = [table.rows[row][1][column] for row in (0, 1)]
        best = min(values) if measure == "WPD" else max(values)
        assert [table.best(row, column) for row in range(3)] == [
            *(f"{value:.4f}" == f"{best:.4f}" for value in values),
            False,
        ]


def test_failed_method_is_shown_as_failed(result, page):
    assert page.tables[0][3] == ["broken", *["failed"] * len(MEASURES)]
    assert "3 of 9 runs failed" in page.text
    assert f"failed: ZeroDivisionError: {PAYLOADS[0]}" in page.text


def test_what_a_newcomer_needs_is_said(page):
    for said in (
        "has the highest mean test AP",
        "Its mean over queries is called MAP.",
        "ties in file order",
        "expected values over ties",
        "What the data check found",
        "ridge = ",
        "directrank compare 'my data' --out x",
        "converged",
        "numba",
        "SHA-256",
    ):
        assert said in page.text, said


def test_it_needs_nothing_and_runs_nothing(result, page):
    text = render(result)
    tags = {tag for tag, _ in page.tags}
    assert not tags & {"script", "img", "link", "iframe", "object", "embed", "base", "form", "video", "audio"}
    for _, given in page.tags:
        assert not [name for name in given if name.startswith("on") or name in ("src", "style", "srcset")]
        assert given.get("href", "#").startswith("#")
    assert "url(" not in text
    assert "@import" not in text
    assert len(text.encode()) < 100_000


def test_policy_forbids_all_but_its_own_style(result, page):
    text = render(result)
    style = re.findall(r"<style>(.*?)</style>", text, re.S)
    assert len(style) == 1
    digest = base64.b64encode(hashlib.sha256(style[0].encode()).digest()).decode()
    policy = next(given["content"] for tag, given in page.tags if given.get("http-equiv"))
    assert f"style-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")


def poisoned(result: Comparison, payload: str) -> Comparison:
    """Put a payload wherever a name or a text of somebody else can stand."""
    facts = parse(dump(result.to_dict()).encode())
    for old, new in (("adarank", f"adarank{payload}"), ("Fold2", f"Fold2{payload}")):
        for cell in facts["cells"]:
            cell["method"] = cell["method"].replace(old, new)
            cell["fold"] = cell["fold"].replace(old, new)
        for method in facts["methods"]:
            method["label"] = method["label"].replace(old, new)
        for fold in facts["folds"]:
            fold["name"] = fold["name"].replace(old, new)
    facts["dataset"] += payload
    facts["command"] = ["directrank", payload]
    facts["data_check"]["lines"].append(payload)
    facts["environment"]["platform"] = payload
    facts["methods"][0]["summary"] = payload
    facts["cells"][0]["warnings"] = [payload]
    facts["cells"][0]["chosen"] = {payload: payload}
    facts["cells"][0]["training"] = {"status": payload, "certificate": {payload: 1.0}}
    return Comparison({name: each for name, each in facts.items() if name != "cells"}, facts["cells"])


@pytest.mark.parametrize("payload", PAYLOADS)
def test_hostile_text_stays_text(result, page, payload):
    poisoned_page = Page(render(poisoned(result, payload)))
    assert [tag for tag, _ in poisoned_page.tags if tag not in ("li", "span", "ul", "div", "strong")] == [
        tag for tag, _ in page.tags if tag not in ("li", "span", "ul", "div", "strong")
    ]
    shown = "".join(poisoned_page.texts)
    assert shown.count(payload) >= 12


def test_charts_stay_inside(page):
    for tag, given in page.tags:
        for name in ("x", "x1", "x2", "cx"):
            if tag in ("line", "circle", "text") and given.get(name, "").endswith("%"):
                assert 0 <= float(given[name][:-1]) <= 100


def test_page_is_written_whole(result, tmp_path):
    write_report(result, tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == render(result)
    with pytest.raises(OSError, match=r"nowhere/page\.html"):
        write_report(result, tmp_path / "nowhere" / "page.html")


def test_page_of_nothing_but_failures(result):
    facts = result.to_dict()
    cells = [dict(cell, method=cell["method"]) for cell in facts["cells"] if "error" in cell]
    summary = dict(result.summary, methods=[each for each in facts["methods"] if each["label"] == "broken"])
    assert "3 of 3 runs failed" in Page(render(Comparison(summary, cells))).text
