"""The page of a search, and a server of it that this machine alone reaches, and that asks nothing of others.

A box, the ranking of BM25 beside that of the model, and why; the page has no script.
"""

import base64
import hashlib
import re
from collections.abc import Iterator
from functools import cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from threading import Lock
from typing import Any
from urllib.parse import parse_qs, urlsplit

from directrank.apps.text.search.searching import Hit, Searcher, SearchResults
from directrank.storage.names import printable

HOST = "127.0.0.1"
#: Seconds that a client may take to send its request.
PATIENCE = 10
#: Contributions that are listed, and the longest query, in characters.
SHOWN, LONGEST = 8, 500
BLANK = re.compile(r"\s")
NOTHING = SearchResults([], [], 0)


def render_search(searcher: Searcher, query: str, name: str, n: int) -> str:
    """Return the page of a query as text; every text is escaped, and an empty query shows the box alone."""
    results = searcher.search(query, n) if query else NOTHING
    model = type(searcher.ranker).__name__
    page = _environment().get_template("search.html.jinja").render(
        style=_style(), query=query, name=name, n_docs=searcher.index.n_docs, longest=LONGEST,
        results=results, model=model, columns=[("BM25", results.bm25, model), (model, results.hits, "BM25")],
        bars=_bars, rest=_rest, shown=SHOWN,
    )  # fmt: skip
    # Texts of JSON may hold halves of surrogate pairs, which have no UTF-8.
    return page.encode("utf-8", "backslashreplace").decode()


def policy() -> str:
    """Return the content security policy of the page: its own style, its own form, and nothing else."""
    digest = base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    )


@cache
def _style() -> Any:
    from markupsafe import Markup

    folder = files("directrank.apps.text.search") / "templates"
    return Markup((folder / "search.css").read_text(encoding="utf-8"))


@cache
def _environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("directrank.apps.text.search", "templates"),
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters["text"] = _text
    return environment


def _text(value: str) -> str:
    """Return text on one line, with characters that a page cannot hold as escape sequences."""
    return printable(BLANK.sub(" ", value))


def _bars(hit: Hit) -> Iterator[tuple[str, float, str, str]]:
    """Yield the largest contributions, with start and width of a bar around the middle, in percent."""
    added = hit.contributions or ()
    largest = max((abs(value) for _, value in added), default=0.0)
    for feature, value in added[:SHOWN]:
        width = 50.0 * abs(value) / largest
        yield feature, value, f"{50.0 - (width if value < 0 else 0.0):.1f}", f"{width:.1f}"


def _rest(hit: Hit) -> float:
    """Return the sum of the contributions that are not listed, so that the table adds up to the score."""
    return sum(value for _, value in (hit.contributions or ())[SHOWN:])


class SearchServer(ThreadingHTTPServer):
    """Answers queries on the loopback interface, with n documents of each ranking.

    The page calls the collection by `name`; port 0 takes a free one. Raises OSError if the port is taken.
    """

    daemon_threads = True

    def __init__(self, searcher: Searcher, name: str, port: int = 0, n: int = 10):
        super().__init__((HOST, port), _Handler)
        self.searcher, self.name, self.n, self.lock = searcher, name, n, Lock()
        self.hosts = {f"{host}:{self.server_port}" for host in (HOST, "localhost")}

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{HOST}:{self.server_port}/"


class _Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: SearchServer  # pyright: ignore[reportIncompatibleVariableOverride]
    timeout = PATIENCE

    def do_GET(self) -> None:
        """Send the page of a query, or of none."""
        # A page of elsewhere may have turned its own name into this address.
        if self.headers.get("Host") not in self.server.hosts:
            self.send_error(HTTPStatus.FORBIDDEN, "this server answers on its own address only")
            return
        try:
            address = urlsplit(self.path)
            query = parse_qs(address.query, max_num_fields=8).get("q", [""])[0]
        except ValueError:
            self.send_error(HTTPStatus.BAD_REQUEST)
            return
        if address.path != "/":
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        with self.server.lock:
            page = render_search(
                self.server.searcher, query[:LONGEST].strip(), self.server.name, self.server.n
            )
        self._send(page.encode())

    def _send(self, content: bytes) -> None:
        self.send_response(HTTPStatus.OK)
        for name, value in (
            ("Content-Type", "text/html; charset=utf-8"),
            ("Content-Length", str(len(content))),
            ("Content-Security-Policy", policy()),
            ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"),
            ("Cache-Control", "no-store"),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def version_string(self) -> str:
        """Return the name of the server, without versions."""
        return "directrank"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is that of http.server
        """Log nothing: queries are private."""
