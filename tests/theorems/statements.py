"""The statements of the four papers: what each says, the class that implements it, the tests that check it.

    python tests/theorems/statements.py

writes docs/statements.md. A test names its statement with ``@pytest.mark.statement("Xu, Theorem 1")``.
"""

import ast
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
PAGE = FOLDER.parents[1] / "docs" / "statements.md"

PAPERS = {
    "Xu": "Xu, Liu, Lu, Li, Ma, SIGIR 2008",
    "Buffoni": "Buffoni, Calauzènes, Gallinari, Usunier, ICML 2011",
    "Qin": "Qin, Liu, Li, Information Retrieval 2010",
    "Valizadegan": "Valizadegan, Jin, Zhang, Mao, NIPS 2009",
}


@dataclass(frozen=True)
class Statement:
    """A numbered statement: its name, what it says in a sentence, and where the library implements it."""

    name: str
    says: str
    code: str


S, D = "directrank.surrogates.", "directrank.diagnostics."
STATEMENTS = (
    Statement(
        "Xu, Theorem 1",
        "Sorting by score gives the ranking with the largest query-level value F.",
        S + "rankings.permutations.ViolatedRankings",
    ),
    Statement(
        "Xu, Theorem 2",
        "The largest loss among pairs with F(π*) ≤ F(π), Eq. (6), bounds the loss 1 − E.",
        S + "TypeTwoBound",
    ),
    Statement("Xu, type one, exponential", "exp(−E) bounds 1 − E.", S + "TypeOneBound"),
    Statement(
        "Xu, type one, logistic",
        "log₂(1 + exp(−E)) bounds 1 − E, less tightly than the exponential.",
        S + "TypeOneBound",
    ),
    Statement(
        "Xu, type two, exponential",
        "The largest loss times exp(−margin) over pairs of rankings bounds 1 − E.",
        S + "TypeTwoBound",
    ),
    Statement(
        "Xu, type two, logistic",
        "The largest loss times log₂(1 + exp(−margin)) over pairs of rankings bounds 1 − E.",
        S + "TypeTwoBound",
    ),
    Statement(
        "Xu, type two, slack-rescaled hinge",
        "The largest loss times [1 − margin]₊ over pairs of rankings bounds 1 − E.",
        S + "TypeTwoBound",
    ),
    Statement(
        "Xu, Eq. (9)", "The largest [loss − margin]₊ over pairs of rankings bounds 1 − E.", S + "TypeTwoBound"
    ),
    Statement(
        "Xu, Eq. (7)",
        "The sum over all pairs of rankings bounds their maximum, and so 1 − E.",
        S + "TypeTwoBound",
    ),
    Statement(
        "Xu, Eqs. (8) and (9)",
        "The quadratic programme with a slack per query minimises the regularised hinge.",
        "directrank.solvers.CuttingPlane",
    ),
    Statement(
        "Xu, Eq. (11)",
        "Over working sets B and C the sum is divided by the size of B; it bounds 1 − E once C has the "
        "predicted ranking.",
        "directrank.solvers.WorkingSets",
    ),
    Statement(
        "Buffoni, Theorem 1",
        "Weighted sums over all pairs of a convex margin that becomes flat are order-preserving.",
        S + "OrderPreserving",
    ),
    Statement(
        "Buffoni, Theorem 2",
        "With a standardisation function, an order-preserving loss is consistent with the measure.",
        S + "OrderPreserving",
    ),
    Statement(
        "Buffoni, Theorem 2, converse",
        "A form of the supervision that makes the loss consistent is a standardisation function.",
        D + "consistency.check",
    ),
    Statement("Buffoni, Theorem 3", "AP and ERR have no standardisation function.", S + "OrderPreserving"),
    Statement(
        "Buffoni, Lemma 4",
        "On binary relevance a standardisation function orders documents by grade, and is symmetric.",
        "directrank.measures.capabilities.Standardised",
    ),
    Statement("Buffoni, r of DCG@K", "The gains standardise DCG at every cutoff.", "directrank.measures.DCG"),
    Statement(
        "Buffoni, r of NDCG@K",
        "The gains divided by the largest DCG@K standardise NDCG@K.",
        "directrank.measures.NDCG",
    ),
    Statement(
        "Buffoni, r of WPD",
        "Under low noise, preferences won minus preferences lost standardise the pairwise disagreement.",
        "directrank.data.PreferenceGraph",
    ),
    Statement(
        "Buffoni, r of the 0/1 error",
        "Borda counts standardise the 0/1 error on order-preserving distributions of rankings.",
        "directrank.data.ObservedRankings",
    ),
    Statement(
        "Qin, Theorem 1",
        "The error of a smooth position is at most (n − 1)/(exp(α δ) + 1), δ the gap to the nearest score.",
        S + "SmoothedPositions",
    ),
    Statement(
        "Qin, Corollary 1",
        "The same with the smallest gap of the query, for all its documents.",
        S + "SmoothedPositions",
    ),
    Statement(
        "Qin, Theorem 2",
        "The errors of positions and of their comparisons bound the error of smooth AP.",
        S + "SmoothedPositions",
    ),
    Statement(
        "Qin, Theorem 3",
        "The error of smooth NDCG is at most the error of positions over 2 ln 2.",
        S + "SmoothedPositions",
    ),
    Statement(
        "Valizadegan, Lemma 1",
        "The expected measure is at least the measure at the expected positions.",
        S + "ExpectedMeasure",
    ),
    Statement(
        "Valizadegan, Lemma 2",
        "A logistic function of the score difference bounds the probability that the better document is "
        "ranked behind. It motivates the approximation; the library has no code that it could contradict.",
        S + "ExpectedMeasure",
    ),
    Statement(
        "Valizadegan, Proposition 1",
        "The discount lies above a line from the first position.",
        S + "ExpectedMeasure",
    ),
    Statement(
        "Valizadegan, Proposition 2",
        "After a step along f, each pair's term is bounded by an exponential of the step.",
        S + "ExpectedMeasure",
    ),
    Statement(
        "Valizadegan, Proposition 3",
        "An exponential of the step is bounded by a line in f. It is used in the proof of Theorem 2 only.",
        S + "ExpectedMeasure",
    ),
    Statement(
        "Valizadegan, Theorem 1",
        "The step along a binary f that minimises the bound is half the logarithm of gains over losses.",
        S + "ExpectedMeasure",
    ),
    Statement(
        "Valizadegan, Theorem 2",
        "The bound after a step falls with the sum of document weights that f selects.",
        S + "ExpectedMeasure",
    ),
)


@cache
def marked_tests() -> dict[str, list[str]]:
    """Return the tests that are marked with each statement, such as ``test_x.py::test_a``."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(FOLDER.glob("test_*.py")):
        for outer in ast.parse(path.read_text(encoding="utf-8")).body:
            inner = outer.body if isinstance(outer, ast.ClassDef) else [outer]
            where = f"{path.name}::{outer.name}" if isinstance(outer, ast.ClassDef) else path.name
            for node in inner:
                if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                    for name in _marked(node) + (_marked(outer) if node is not outer else []):
                        found[name].append(f"{where}::{node.name}")
    return dict(found)


def _marked(node) -> list[str]:
    return [
        name.value
        for each in node.decorator_list
        if isinstance(each, ast.Call) and ast.unparse(each.func) == "pytest.mark.statement"
        for name in each.args
        if isinstance(name, ast.Constant)
    ]


def page() -> str:
    """Return docs/statements.md."""
    lines = [
        "# Statements of the papers, and the classes that implement them",
        "",
        f"{len(STATEMENTS)} numbered statements of four [papers](papers.md), in our words, written by "
        "`python tests/theorems/statements.py`. Each has tests, which name it: "
        "`grep -rn 'Xu, Theorem 1\"' tests/theorems`. Errata are in their docstrings.",
    ]
    head = ["| statement | what it says | implemented by |", "| --- | --- | --- |"]
    for paper, citation in PAPERS.items():
        rows = [each for each in STATEMENTS if each.name.startswith(f"{paper}, ")]
        lines += ["", f"## {citation}", "", *head]
        for each in rows:
            title = each.name.removeprefix(f"{paper}, ")
            lines.append(f"| {title} | {each.says} | `{each.code.removeprefix('directrank.')}` |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
