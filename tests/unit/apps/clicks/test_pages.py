"""Rankings and the order shown on the same pages: whatever pages are like, the order shown differs by 0."""

import numpy as np
import pytest

from directrank.apps.clicks import ClickLog, Propensities, evaluate_clicks, read_clicks
from directrank.apps.clicks.measures import ClickDCG, ClickP, ClickRBP
from directrank.apps.clicks.pages import Pages

pandas = pytest.importorskip("pandas")

N_QUERIES, N_DOCS = 6, 9
ORDER = np.array([np.random.default_rng(q).permutation(N_DOCS) for q in range(N_QUERIES)])
CHANCE = np.random.default_rng(9).uniform(0.1, 0.9, (N_QUERIES, N_DOCS))
#: The documents that pages of five show, with a chance as large as -1 for all others.
CHANCE_SHOWN = np.where(np.argsort(ORDER) < 5, CHANCE, -1.0)
RUN = {
    name: [(f"q{q}", f"d{d}", float(s)) for q in range(N_QUERIES) for d, s in enumerate(scores[q])]
    for name, scores in (("shown", -np.argsort(ORDER)), ("best", CHANCE_SHOWN), ("worst", -CHANCE_SHOWN))
}


def columns(name: str):
    return tuple(map(list, zip(*RUN[name], strict=True)))


def log_of(positions_of, *, sessions: bool = True) -> ClickLog:
    """Pages that show the first documents of the order of a query, at positions by query and page."""
    rng, rows = np.random.default_rng(0), []
    for page in range(400):
        q = page % N_QUERIES
        for d, k in zip(ORDER[q], positions_of(q, page), strict=False):
            rows.append((f"s{page}", f"q{q}", f"d{d}", k, int(rng.random() < CHANCE[q, d] / k)))
    frame = pandas.DataFrame(rows, columns=["session", "qid", "docid", "position", "clicked"])
    return read_clicks(frame if sessions else frame.drop(columns="session"))


def difference(log: ClickLog, name: str, measure: str = "DCG@10") -> float:
    """The difference to the order shown, if examination falls as 1/k."""
    ranks = np.arange(1, log.n_ranks + 1)
    p = Propensities("given", ranks, 1.0 / ranks, (tuple(ranks.tolist()),))
    return evaluate_clicks(log, p, {name: columns(name)}, measure=measure)[0].difference


def lengths(q, page):
    return list(range(1, 3 + (page // N_QUERIES) % 5))


LAYOUTS = {
    "five of nine": lambda q, page: [1, 2, 3, 4, 5],
    "an advert on half of the pages": lambda q, page: [1, 3, 4, 5, 6] if page % 4 < 2 else [1, 2, 3, 4, 5],
    "an advert in half of the queries": lambda q, page: [1, 3, 4, 5, 6] if q % 2 else [1, 2, 3, 4, 5],
    "an advert first on half of the pages": lambda q, page: (
        [2, 3, 4, 5, 6] if page % 4 < 2 else [1, 2, 3, 4, 5]
    ),
    "pages of different lengths": lengths,
}
#: Without sessions, pages with these are only known on the whole.
WITH_SESSIONS = {
    "two adverts first on half of the pages": lambda q, page: (
        [3, 4, 5, 6, 7] if page % 4 < 2 else [1, 2, 3, 4, 5]
    ),
    "an advert anywhere": lambda q, page: [k for k in range(1, 7) if k != 1 + (page // N_QUERIES) % 6],
}


@pytest.mark.parametrize("layout", [*LAYOUTS, *WITH_SESSIONS])
@pytest.mark.parametrize("measure", ["DCG@10", "DCG@3", "P@4", "RBP"])
def test_the_order_shown_differs_by_0_from_itself(layout, measure):
    log = log_of({**LAYOUTS, **WITH_SESSIONS}[layout])
    assert difference(log, "shown", measure) == pytest.approx(0.0, abs=1e-12)
    assert difference(log, "best", measure) > 0 > difference(log, "worst", measure)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_without_sessions_pages_are_those_that_ranks_tell(layout):
    log = log_of(LAYOUTS[layout], sessions=False)
    assert log.slot is None
    assert difference(log, "shown") == pytest.approx(0.0, abs=1e-12)
    assert difference(log, "best") > 0 > difference(log, "worst")


@pytest.mark.parametrize("measure", [ClickDCG(10), ClickDCG(3), ClickP(4), ClickRBP()], ids=repr)
@pytest.mark.parametrize("sessions", [True, False])
def test_all_documents_of_a_ranking_weigh_as_much_as_all_that_were_shown(measure, sessions):
    for layout in (*LAYOUTS.values(), *WITH_SESSIONS.values()):
        log = log_of(layout, sessions=sessions)
        pages = Pages.of(log, measure)
        of_query = np.add.reduceat(pages.weight, pages.start[:-1])
        assert of_query == pytest.approx(np.bincount(log.query, pages.shown))


def test_weights_of_pages_by_hand():
    # Of four pages of q all show a first; two show b at 2, and two an advert there and b at 3.
    log = ClickLog.of_counts(["q"] * 3, ["a", "b", "b"], [1, 2, 3], [4, 2, 2], [1, 1, 1])
    h = [1 / np.log2(k + 1) for k in (1, 2, 3)]
    pages = Pages.of(log, ClickDCG(10))
    assert pages.shown == pytest.approx([h[0], (h[1] + h[2]) / 2])
    # Ranks 2 and 3 have half of a document each: no rank below is fuller, so a third document may be there.
    assert pages.weight == pytest.approx([h[0], h[1] / 2, h[2] / 2])
    # Where pages are known, b is the second document of all.
    known = ClickLog.of_counts(["q"] * 3, ["a", "b", "b"], [1, 2, 3], [4, 2, 2], [1, 1, 1], slot=[1, 2, 2])
    pages = Pages.of(known, ClickDCG(10))
    assert pages.shown == pytest.approx([h[0], h[1]])
    assert pages.weight == pytest.approx([h[0], h[1]])


def test_a_cut_is_said():
    log = log_of(LAYOUTS["five of nine"])
    assert Pages.of(log, ClickDCG(10)).cut_line(ClickDCG(10)) == (
        "DCG@10 is cut at the documents that pages show (5): what is below them is not compared"
    )
    assert not Pages.of(log, ClickDCG(5)).cut_line(ClickDCG(5))
    assert "(2 to 6, by query)" in Pages.of(
        ClickLog.of_counts(
            ["q"] * 2 + ["r"] * 6, list("abcdefgh"), [1, 2, 1, 2, 3, 4, 5, 6], [1] * 8, [0] * 8
        ),
        ClickDCG(10),
    ).cut_line(ClickDCG(10))


def test_sessions_that_are_no_pages_are_not_taken_for_pages():
    # A sample of rows, with their sessions: each seems to show one document, at the first place.
    rows = [
        (f"s{i}", f"q{i % 6}", f"d{ORDER[i % 6][i // 6 % 5]}", 1 + i // 6 % 5, i % 7 == 0)
        for i in range(3000)
    ]
    log = read_clicks(pandas.DataFrame(rows, columns=["session", "qid", "docid", "position", "clicked"]))
    assert log.slot is None
    assert log.pages().tolist() == [100.0] * 6
    assert difference(log, "shown") == pytest.approx(0.0, abs=1e-12)


def test_a_further_page_of_a_search_goes_on_from_the_first():
    log = log_of(lambda q, page: [6, 7, 8] if page // N_QUERIES % 4 == 3 else [1, 2, 3, 4, 5])
    assert sorted(set(zip(log.rank.tolist(), log.slot.tolist(), strict=True))) == [
        (k, k) for k in range(1, 9)
    ]


def test_ranks_that_are_read_alone_are_compared_alone():
    log = log_of(LAYOUTS["five of nine"])
    for n in (2, 3):
        assert difference(log.first_ranks(n), "shown") == pytest.approx(0.0, abs=1e-12)
        assert difference(log.first_ranks(n), "worst") < 0
