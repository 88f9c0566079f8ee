"""The page of a search: a box, the ranking of BM25 beside that of the model, and why. It has no script."""

import base64
import hashlib
import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any

from directrank.storage.names import printable
from directrank.text.search.searching import Found, Hit, Searcher

#: Contributions that are listed, and the longest query, in characters.
SHOWN, LONGEST = 8, 500
BLANK = re.compile(r"\s")
NOTHING = Found([], [], 0)


def render_search(searcher: Searcher, query: str, name: str, n: int) -> str:
    """Return the page of a query as text; every text is escaped, and an empty query shows the box alone."""
    found = searcher.search(query, n) if query else NOTHING
    model = type(searcher.ranker).__name__
    page = _environment().get_template("search.html.jinja").render(
        style=_style(), query=query, name=name, n_docs=searcher.index.n_docs, longest=LONGEST,
        found=found, model=model, columns=[("BM25", found.bm25, model), (model, found.hits, "BM25")],
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

    folder = files("directrank.text.search") / "templates"
    return Markup((folder / "search.css").read_text(encoding="utf-8"))


@cache
def _environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("directrank.text.search", "templates"),
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters["text"] = _text
    return environment


def _text(value: str) -> str:
    """Return text on one line, with characters that a page cannot hold as escape sequences."""
    return printable(BLANK.sub(" ", value))


def _bars(hit: Hit) -> Iterator[tuple[str, float, str, str]]:
    """Yield the largest contributions, with start and width of a bar around the middle, in percent."""
    largest = max(abs(value) for _, value in hit.contributions)
    for feature, value in hit.contributions[:SHOWN]:
        width = 50.0 * abs(value) / largest
        yield feature, value, f"{50.0 - (width if value < 0 else 0.0):.1f}", f"{width:.1f}"


def _rest(hit: Hit) -> float:
    """Return the sum of the contributions that are not listed, so that all add up to the score."""
    return sum(value for _, value in hit.contributions[SHOWN:])
