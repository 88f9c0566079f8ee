"""A local server of the search page: this machine alone reaches it, and it asks nothing of any other."""

from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from urllib.parse import parse_qs, urlsplit

from directrank.text.search.page import LONGEST, policy, render_search
from directrank.text.search.searching import Searcher

HOST = "127.0.0.1"
#: Seconds that a client may take to send its request.
PATIENCE = 10


class SearchServer(ThreadingHTTPServer):
    """Answers queries on the loopback interface.

    Parameters
    ----------
    searcher : Searcher
    name : str
        What the collection is called on the page.
    port : int, default=0
        0 takes a free one.
    n : int, default=10
        Documents of each ranking.

    Raises
    ------
    OSError
        If the port is taken.
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
