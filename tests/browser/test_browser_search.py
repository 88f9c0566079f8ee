"""The page of a search in a browser: hostile texts do nothing, and both rankings are shown."""

import http.client
from threading import Thread
from urllib.parse import quote, urlsplit

import pandas as pd
import pytest

import pages
from directrank import Regression
from directrank.apps.text import Searcher, build_index, make_features, open_index
from directrank.apps.text.search.page import SearchServer
from directrank.storage.names import printable

pytestmark = pytest.mark.heavy

WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server of a collection whose names, titles and texts are hostile."""
    folder = tmp_path_factory.mktemp("search")
    names = [f"{number} {payload}" for number, payload in enumerate(pages.PAYLOADS)]
    frame = pd.DataFrame(
        {
            "id": names,
            "title": [f"heat {each}" for each in names],
            "text": [f"{each} of wings" for each in names],
        }
    )
    build_index(frame, folder / "index")
    index = open_index(folder / "index")
    queries = pd.DataFrame({"qid": ["a", "b"], "text": ["heat", "wings"]})
    judged = pd.DataFrame({"qid": ["a", "b"], "docid": names[:2], "grade": [1, 1]})
    ranker = Regression().fit(make_features(index, queries, judged, features="letor").groups)
    with SearchServer(Searcher(index, ranker), "<b>collection</b>", n=len(names)) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def visit(browser, server):
    """Return a function that opens an address of the server; at the end nothing may have gone wrong."""
    faults = []

    def open_page(path: str = "/", viewport=WIDE):
        page = browser.new_context(viewport=viewport).new_page()
        page.set_default_timeout(30_000)
        page.on("dialog", lambda dialog: (faults.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.on("pageerror", lambda error: faults.append(f"page error {error}"))
        page.on("console", lambda message: faults.append(f"console {message.text}"))
        page.on(
            "request",
            lambda asked: faults.append(asked.url) if not asked.url.startswith(server.url) else None,
        )
        page.goto(server.url + path.removeprefix("/"))
        return page

    yield open_page
    assert [each for each in faults if not each.startswith("data:,")] == []


def test_hostile_texts_are_shown_as_they_are(visit):
    page = visit("/?q=heat")
    shown = " ".join(page.evaluate("document.body.textContent").split())
    for number, payload in enumerate(pages.PAYLOADS):
        # Separators of lines are shown as blanks, in texts on one line.
        expected = printable(" ".join(f"{number} {payload}".split()))
        assert shown.count(expected) >= 4, payload


def test_hostile_queries_are_shown_as_they_are(visit):
    page = visit()
    for payload in pages.PAYLOADS:
        page.goto(f"{page.url.partition('?')[0]}?q={quote(f'heat {payload}')}", wait_until="commit")
        typed = page.get_by_role("searchbox").input_value()
        assert (
            typed
            == printable(" ".join(f"heat {payload}".split(" ")))
            .replace("\\u2028", " ")
            .replace("\\u2029", " ")
            .rstrip()
        )


def test_a_search_from_the_box(visit):
    from playwright.sync_api import expect

    page = visit()
    page.get_by_role("searchbox").fill("wings")
    page.get_by_role("button", name="Search").click()
    for name in ("BM25", "Regression"):
        headings = page.get_by_role("region", name=name).get_by_role("heading", level=3)
        expect(headings).to_have_count(len(pages.PAYLOADS))  # waits: a click returns before all is shown
    opened = page.locator("details[open]")
    assert opened.count() == 1
    values = [float(each) for each in opened.locator("td:nth-child(2)").all_text_contents()]
    score = float(opened.locator("summary").text_content().split()[-1])
    assert sum(values) == pytest.approx(score, abs=6e-4)
    page.goto(page.url.replace("wings", "nothingofthis"))
    assert "No document has a word of this query" in page.get_by_role("status").text_content()


@pytest.mark.parametrize(
    ("path", "host", "status"),
    [("/", None, 200), ("/x", None, 404), ("/", "evil.example", 403), ("/?" + "a=b&" * 20, None, 400)],
)
def test_only_the_page_itself_is_served(server, path, host, status):
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=10)
    connection.request("GET", path, headers={"Host": host or urlsplit(server.url).netloc})
    answer = connection.getresponse()
    assert answer.status == status
    if status == 200:
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    connection.close()
