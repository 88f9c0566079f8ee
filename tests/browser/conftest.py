"""A real browser without a network, driven from outside."""

import os
import shutil
from dataclasses import dataclass, field

import pytest
from reading import MEASURES

import pages
from directrank.apps.experiments.results.comparison import Comparison
from directrank.apps.report import render

NAMES = ("chromium", "chromium-browser", "google-chrome")
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


def _missing(what: str):
    """Skip, but fail where everything has to be there."""
    reason = (
        f"{what}; tests in a browser need it (Debian: apt-get install chromium; then pip install '.[test]')"
    )
    if os.environ.get("CI"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def _executable() -> str:
    given = os.environ.get("DIRECTRANK_CHROMIUM")
    found = given or next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        _missing(f"none of {', '.join(NAMES)} is installed and DIRECTRANK_CHROMIUM is not set")
    return str(found)


@pytest.fixture(scope="module")
def browser():
    executable = _executable()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _missing("playwright is not installed")
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=executable)
        yield chromium
        chromium.close()


@dataclass
class Opened:
    """A page in the browser, and everything that it should not have done."""

    page: object
    faults: list[str] = field(default_factory=list)


@pytest.fixture
def opened(browser, tmp_path):
    """Return a function that opens the text of a page, offline; at the end nothing may have gone wrong.

    Its folded sections are unfolded, unless the function is told otherwise.
    """
    every: list[Opened] = []

    def open_page(text: str, *, unfolded: bool = True, **options):
        file = tmp_path / f"page{len(every)}.html"
        file.write_text(text, encoding="utf-8")
        context = browser.new_context(offline=True, **{"viewport": WIDE, **options})
        shown = Opened(context.new_page())
        every.append(shown)
        page, faults = shown.page, shown.faults
        page.set_default_timeout(30_000)
        page.on("dialog", lambda dialog: (faults.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.on("pageerror", lambda error: faults.append(f"page error {error}"))
        page.on("console", lambda message: faults.append(f"console {message.type}: {message.text}"))
        page.on("request", lambda asked: faults.append(f"request {asked.url}"))
        page.on("popup", lambda _: faults.append("popup"))
        page.goto(file.as_uri())
        # Opening the file itself is the one request there may be.
        assert faults.pop(0) == f"request {file.as_uri()}"
        if unfolded:
            page.evaluate(
                "document.querySelectorAll('details.folded').forEach(each => { each.open = true; })"
            )
        return shown

    yield open_page
    for shown in every:
        shown.page.context.close()
    assert [fault for shown in every for fault in shown.faults] == []


@pytest.fixture(scope="session")
def result() -> Comparison:
    return pages.invented(9, 3, MEASURES, n_queries=20)


@pytest.fixture(scope="session")
def text(result) -> str:
    return render(result)
