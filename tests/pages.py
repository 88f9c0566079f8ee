"""Results to make pages of: invented ones of any size, and hostile text wherever text of others can stand."""

from itertools import combinations

import numpy as np

from directrank.apps.experiments import Comparison
from directrank.apps.experiments.results.comparison import FORMAT
from directrank.apps.experiments.results.significance import with_significance
from directrank.apps.experiments.store.records import Compared
from directrank.files.folds import PARTS
from directrank.storage.strict_json import dump, parse

PAYLOADS = (
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'><svg onload=alert(1)>",
    "{{ 7 * 7 }}{% raw %}",
    "${alert(1)}",
    "`${alert(1)}`",
    "</style><style>*{display:none}",
    "<!-- ",
    "--><script>alert(1)</script>",
    "<!--<script >",
    "]]>&lt;&amp;'",
    "javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "\u202egnp.exe",
    "\u2028alert(1)\u2029",
    "\\u003cscript\\u003ealert(1)",
    "\\x3cscript\\x3e",
    "</script ><script >alert(1)</script >",
    "</title><script>alert(1)</script>",
    "</svg><script>alert(1)</script>",
    "<svg><script>alert(1)</script></svg>",
    "<math><mtext></mtext><script>alert(1)</script></math>",
    "<iframe srcdoc='<script>alert(1)</script>'>",
    "<iframe src=https://example.org></iframe>",
    "<img src=https://example.org/x.png>",
    "<link rel=stylesheet href=https://example.org/x.css>",
    "<meta http-equiv=refresh content='0;url=https://example.org'>",
    "<base href=https://example.org/>",
    "<form action=https://example.org><button>",
    "<object data=https://example.org></object>",
    "<video><source onerror=alert(1)></video>",
    "<details open ontoggle=alert(1)>",
    "<body onload=alert(1)>",
    "<a href=javascript:alert(1)>click</a>",
    "<input autofocus onfocus=alert(1)>",
    "<template><script>alert(1)</script></template>",
    "__proto__",
    "constructor",
    "&#60;script&#62;alert(1)&#60;/script&#62;",
    "a' OR '1'='1\" ; -- \U0001d54f \u0000".replace("\u0000", ""),
)


def invented(
    n_methods: int = 3,
    n_folds: int = 2,
    measures=("AP", "nDCG@1", "nDCG@10"),
    n_queries: int = 6,
    conventions=("letor3", "standard"),
    n_points: int = 3,
    n_rounds: int = 5,
    n_features: int = 6,
    tested: bool = True,
) -> Comparison:
    """Return a comparison of methods that were never trained: every value is drawn at random.

    `n_queries` is that of a fold. Tests of differences are made as in a comparison, or invented as
    well, which takes no time.
    """
    rng = np.random.default_rng(0)
    methods, folds = (
        [f"method {place}" for place in range(n_methods)],
        [f"Fold{n + 1}" for n in range(n_folds)],
    )
    cells = [
        _cell(rng, method, fold, at, measures, n_queries, conventions, n_points, n_rounds, n_features)
        for at, fold in enumerate(folds)
        for method in methods
    ]
    content = plain_results(methods, folds, cells, measures, conventions)
    for each in content["methods"]:
        each["grid"] = {"penalty": list(range(n_points))}
    result = of_content(content)
    if tested:
        return with_significance(result, None, "holm")
    tests = {each: _invented_tests(rng, methods, measures) for each in result.conventions}
    return of_content(content | {"significance": tests})


def of_content(content: dict) -> Comparison:
    """Return results from plain values, whose pieces need not belong together."""
    return Comparison(Compared.read(content))


def changed(result: Comparison, change) -> Comparison:
    """Return a copy of results whose plain values a function has changed."""
    content = parse(dump(result.to_dict()).encode())
    change(content)
    return of_content(content)


def plain_results(methods, folds, cells, measures=("AP",), conventions=("standard",), **more) -> dict:
    """Return the plain values of results, with these cells."""
    size = {"n_queries": 12, "n_docs": 120, "n_features": 6}
    return {
        "format": FORMAT, "dataset": "invented", "select_by": measures[0],
        "measures": list(measures), "convention": conventions[0], "seeds": [0], "missing": "error",
        "search": "grid", "refit": False, "audit": True, "restarts": 0, "columns": {}, "seed": 0,
        "settings": {}, "grids": {}, "reading": [],
        "methods": [
            {"label": each, "name": "regression", "measure": None, "summary": f"does what {each} does",
             "paper": "no paper", "grid": {}}
            for each in methods
        ],
        "folds": [
            {"name": fold, "sha256": dict.fromkeys(PARTS, "0" * 64),
             "files": {part: [f"{fold}/{part}.txt"] for part in PARTS}}
            for fold in folds
        ],
        "data_check": {
            "name": "invented", "findings": [], "lines": ["1 query without a relevant document."],
            "of": "all parts", **size,
        },
        "environment": {"directrank": "0.1.0", "platform": "none"},
        "command": ["directrank", "compare", "invented"],
        "written": "2026-01-02T03:04:05+00:00", "cells": cells, "significance": {}, **more,
    }  # fmt: skip


def plain_cell(method, fold, per_query=None, **more) -> dict:
    """Return the plain values of a cell with these values of queries by convention and measure."""
    per_query = per_query or {"standard": {"AP": [0.5]}}
    means = {
        each: {name: _mean(values) for name, values in by_measure.items()}
        for each, by_measure in per_query.items()
    }
    conventions, measures = list(per_query), list(next(iter(per_query.values())))
    part = {"queries": 6, "documents": 60, "features": 6, "relevance": {"0": 9}}
    values = {each: {"test": means[each], "vali": means[each]} for each in conventions}
    n_queries = len(next(iter(per_query[conventions[0]].values())))
    return {
        "method": method, "fold": fold, "measure": None, "warnings": [], "seconds": 2.0,
        "parts": dict.fromkeys(PARTS, part),
        "tried": [
            {"parameters": {}, "seed": 0, "validation": 0.5, "seconds": 1.0, "status": "converged"}
        ],
        "chosen": {}, "validation": 0.5, "fit_seconds": 1.5, "peak_memory": 2**28,
        "training": {
            "status": "converged", "message": "", "remedy": "", "certificate": {}, "iterations": 0,
            "notes": [], "history": [],
        },
        "scaling": {"kind": "none", "reason": ""}, "weights": None,
        "seeds": [{"seed": 0, "chosen": {}, "validation": 0.5, "values": values}],
        "values": values, "per_query": per_query,
        "computed": {each: {name: name for name in measures} for each in conventions},
        "qid": [str(query) for query in range(n_queries)], "ranked": [[1.0]] * n_queries,
        "curve": {each: [0.5] * 10 for each in conventions},
        "ties": {"documents": 0, "queries": 0, "input": means[conventions[0]]}, "bounds": None, **more,
    }  # fmt: skip


def _mean(values) -> float:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else 0.0


def failed(cell: dict, error="no", kind="ValueError") -> dict:
    """Return a cell that failed in place of one that did not."""
    kept = ("fold", "method", "measure", "parts", "warnings", "seconds")
    problem = {"type": kind, "message": error, "traceback": ""}
    return {name: cell[name] for name in kept} | {"error": problem}


def _cell(rng, method, fold, at, measures, n_queries, conventions, n_points, n_rounds, n_features) -> dict:
    per_query = {each: {name: rng.random(n_queries).tolist() for name in measures} for each in conventions}
    cell = plain_cell(method, fold, per_query)
    cell["parts"]["test"] |= {
        "queries": n_queries, "documents": 10 * n_queries, "features": n_features
    }  # fmt: skip
    cell["tried"] = [
        {"parameters": {"penalty": 10.0 ** (point - 3)}, "seed": 0, "validation": float(rng.random()),
         "seconds": 1.0, "status": "converged"}
        for point in range(n_points)
    ]  # fmt: skip
    cell["chosen"] = {"penalty": 0.001}
    cell["training"] |= {
        "certificate": {"gradient_norm": 1e-7}, "iterations": n_rounds,
        "history": [
            {"objective": float(rng.random()), "monitor": float(rng.random())} for _ in range(n_rounds)
        ],
    }  # fmt: skip
    cell["weights"] = {
        "features": [str(each + 1) for each in range(n_features)],
        "coefficients": rng.normal(size=n_features).tolist(),
    }
    cell["qid"] = [f"{at}-{query}" for query in range(n_queries)]
    cell["ranked"] = rng.integers(0, 3, size=(n_queries, 10)).astype(float).tolist()
    cell["above"] = [
        {"rank": 1 + at % 9, "adds": [["1", 0.25], ["2", -1e-5]]} if at else None for at in range(n_queries)
    ]  # fmt: skip
    cell["curve"] = {each: rng.random(10).tolist() for each in conventions}
    cell["ties"] = {
        "documents": 3, "queries": 1, "input": {name: float(rng.random()) for name in measures}
    }  # fmt: skip
    cell["bounds"] = {
        "measure": measures[0], "queries": n_queries, "loss": 0.5,
        "rows": [
            {"name": f"bound {n}", "kind": "type one" if n % 2 else "approximation", "mean": 0.6 + n,
             "distance": 0.1 + n, "largest": 1.0 + n, "loosest": "0-1", "holds": True if n % 2 else None}
            for n in range(10)
        ],
    }  # fmt: skip
    return cell


def _invented_tests(rng, methods, measures) -> dict:
    def pair(first, second) -> dict:
        difference = float(rng.normal(scale=0.02))
        ends = {"low": difference - 0.02, "high": difference + 0.02, "effect": difference}
        p = float(rng.random())
        values = {"p_t": p, "p_randomisation": p, "p_holm": min(1.0, 9 * p), "p_bh": p}
        counts = {"queries": 106, "wins": 50, "ties": 3, "losses": 53}
        return {"method": first, "baseline": second, "difference": difference, **ends, **values, **counts}

    letters = dict(zip(methods, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJ", strict=False))
    return {
        "alpha": 0.05, "correction": "holm", "baseline": None, "level": 0.95, "flips": 1, "resamples": 1,
        "letters": letters,
        "better_than": {name: dict.fromkeys(methods, "abc") for name in measures},
        "pairs": {name: [pair(*each) for each in combinations(methods, 2)] for name in measures},
        "intervals": {name: {each: [0.4, 0.5] for each in methods} for name in measures},
    }  # fmt: skip


def poisoned(payloads=PAYLOADS) -> tuple[Comparison, dict[str, list[str]]]:
    """Return results with payloads wherever text of others can stand, and the texts by their place."""
    n = len(payloads)
    result = invented(n_methods=n, n_folds=2, n_queries=n, n_features=n, measures=("AP",), tested=False)
    facts = parse(dump(result.to_dict()).encode())
    rename = {f"method {at}": f"m{at} {payload}" for at, payload in enumerate(payloads)}
    for cell in facts["cells"]:
        at = int(cell["method"].split()[1])
        cell["method"] = rename[cell["method"]]
        cell["qid"] = [f"q{place} {payload}" for place, payload in enumerate(payloads)]
        cell["weights"]["features"] = [f"f{place} {payload}" for place, payload in enumerate(payloads)]
        # Each method leans on another feature, so that each name is among those shown.
        cell["weights"]["coefficients"] = [1.0 if place == at else 0.0 for place in range(n)]
        cell["above"] = [{"rank": 1, "adds": [[f"f{at} {payloads[at]}", 1.0]]} for at in range(n)]
        cell["warnings"] = [f"w{at} {payloads[at]}"]
        cell["training"]["status"] = f"s{at} {payloads[at]}"
        for row in cell["bounds"]["rows"]:
            row["loosest"] = f"q{at} {payloads[at]}"
    for place, method in enumerate(facts["methods"]):
        method["label"] = rename[method["label"]]
        method["summary"] = f"d{place} {payloads[place]}"
    for tested in facts["significance"].values():
        tested["letters"] = {rename[name]: letter for name, letter in tested["letters"].items()}
        for name, marks in tested["better_than"].items():
            tested["better_than"][name] = {rename[each]: letters for each, letters in marks.items()}
            tested["intervals"][name] = {rename[each]: [0.4, 0.5] for each in marks}
            for pair in tested["pairs"][name]:
                pair["method"], pair["baseline"] = rename[pair["method"]], rename[pair["baseline"]]
    # The first methods are whole, so that queries are compared.
    for at in range(n // 2, n):
        place = len(facts["cells"]) - n + at
        message = f"e{at} {payloads[at]}"
        facts["cells"][place] = failed(facts["cells"][place], message)
    facts["cells"][-1]["error"]["message"] = " | ".join(f"e{at} {each}" for at, each in enumerate(payloads))
    facts["dataset"] = " | ".join(f"n{at} {each}" for at, each in enumerate(payloads))
    facts["command"] = ["directrank", *(f"/p{at}/{each}" for at, each in enumerate(payloads))]
    facts["data_check"]["lines"] = [f"docid {at} {each}" for at, each in enumerate(payloads)]
    facts["environment"]["platform"] = payloads[0]
    facts["folds"][0]["files"]["train"] = [payloads[1]]
    return of_content(facts), {
        "method name": list(rename.values()),
        "qid": [f"q{at} {each}" for at, each in enumerate(payloads)],
        "feature name": [f"f{at} {each}" for at, each in enumerate(payloads)],
        "docid": facts["data_check"]["lines"],
        "dataset name": [facts["dataset"]],
        "path": facts["command"][1:],
        "error text": [f"e{at} {each}" for at, each in enumerate(payloads)],
    }
