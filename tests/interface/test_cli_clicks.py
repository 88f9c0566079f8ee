"""`directrank clicks` and `propensities`: what they print, and where they end with 3."""

import json
import re
import shutil
from html import unescape

import numpy as np
import pytest
from scipy.stats import t

from commands import run
from directrank import make_ranking
from directrank.apps.clicks import make_clicks

GROUPS = make_ranking(40, 8, uneven=0, random_state=0)


def write(path, log) -> None:
    columns = log.columns()
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    path.write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]) + "\n")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A log of two rankers, one of one ranker, and a run by relevance."""
    place = tmp_path_factory.mktemp("clicks") / "files"
    place.mkdir()
    rankers = {"old": GROUPS.X[:, 0], "new": GROUPS.X[:, 1]}
    write(place / "log.csv", make_clicks(GROUPS, rankers, sessions=8000, random_state=0))
    write(place / "one.csv", make_clicks(GROUPS, GROUPS.X[:, 0], random_state=0))
    rows = zip(GROUPS.qid, range(1, GROUPS.n_docs + 1), GROUPS.relevance + GROUPS.X[:, 2] / 1000, strict=True)
    (place / "best.run").write_text("".join(f"{q} Q0 {d} 1 {s:.6f} best\n" for q, d, s in rows))
    return place


@pytest.fixture(autouse=True)
def folder(files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(files, tmp_path, dirs_exist_ok=True)


def test_propensities_in_json_are_read_by_evaluate(capsys, folder):
    code, out, _ = run(capsys, "propensities", "log.csv", "--json", "-o", "kept.json")
    assert code == 0
    content = json.loads(out)
    assert json.loads((folder / "kept.json").read_text()) == content
    assert content["components"] == [list(range(1, 9))]
    p = [row["propensity"] for row in content["propensities"]]
    assert [row["position"] for row in content["propensities"]] == list(range(1, 9))
    assert p == pytest.approx(1 / np.arange(1, 9), rel=0.35)
    (folder / "p.json").write_text(out)
    code, out, _ = run(capsys, "clicks", "evaluate", "log.csv", "best.run", "--propensities", "p.json")
    assert code == 0
    assert "clicks as labels" in out
    code, again, _ = run(
        capsys, "evaluate", "--clicks", "log.csv", "--propensities", "p.json", "best.run", "--json"
    )
    assert code == 0
    (row,) = json.loads(again)["rows"]
    assert row["by_sessions"][0] > 0
    assert row["better"]
    for place, row_of in enumerate(content["propensities"][::-1]):
        row_of["position"] = place + 1
    (folder / "reversed.json").write_text(json.dumps(content))
    words = ("clicks", "evaluate", "log.csv", "best.run", "--propensities", "reversed.json")
    assert "WARNING: the log contradicts the propensities" in " ".join(run(capsys, *words)[1].split())
    permuted = json.loads(run(capsys, *words, "--json")[1])
    assert permuted["held_out_gain"] > 0
    assert permuted["held_out"] < 0.001
    assert row["naive"] < row["difference"]
    assert f"{row['difference']:+.4f}" in out


def test_a_log_of_one_ranker_ends_with_3_and_names_the_parts(capsys):
    code, out, _ = run(capsys, "propensities", "one.csv", "--json")
    assert code == 3
    content = json.loads(out)
    assert content["components"] == [[k] for k in range(1, 9)]
    assert [row["propensity"] for row in content["propensities"]] == [None] * 8
    code, out, _ = run(capsys, "propensities", "one.csv")
    assert code == 3
    assert "NOT IDENTIFIED: ranks 1 and 2 and 3" in out
    code, _, err = run(capsys, "clicks", "evaluate", "one.csv", "best.run")
    assert code == 3
    assert "propensities are not identified" in err


def test_check_and_comparison_rows(capsys):
    code, out, _ = run(capsys, "clicks", "check", "log.csv")
    assert code == 0
    assert "ranker 'old': 32,000 impressions" in out
    assert "all ranks are compared" in out
    code, out, _ = run(capsys, "clicks", "check", "log.csv", "--json")
    assert json.loads(out)["counts"]["impressions"] == 64_000
    code, _, err = run(capsys, "clicks", "check", "log.csv", "--how", "ips")
    assert (code, err) == (2, "directrank: --how: clicks check does not read it; omit it\n")
    code, out, _ = run(capsys, "propensities", "log.csv", "--compare", "--ranks", "4")
    assert code == 0
    assert "AllPairs" in out


def documents(folder, name, *, graded) -> None:
    head = ["qid", "docid", *(f"f{k}" for k in range(GROUPS.n_features)), *["grade"] * graded]
    rows = zip(GROUPS.qid, range(1, GROUPS.n_docs + 1), GROUPS.X.tolist(), GROUPS.relevance, strict=True)
    lines = [[q, d, *x, *[y] * graded] for q, d, x, y in rows]
    (folder / name).write_text("\n".join(",".join(map(str, line)) for line in [head, *lines]) + "\n")


def test_compare_by_clicks_writes_a_folder_and_grades_where_there_are_some(capsys, folder):
    documents(folder, "docs.csv", graded=False)
    documents(folder, "graded.csv", graded=True)
    words = ("compare", "docs.csv", "--clicks", "log.csv", "--methods", "ranksvm", "--kfold", "3")
    code, out, err = run(capsys, *words, "--out", "one")
    assert code == 0
    assert [line.split("  ")[0] for line in out.splitlines()[1:3]] == ["the order shown", "ranksvm"]
    assert "nDCG@10" not in out.splitlines()[0]
    assert "Annotators and clicks may disagree" in " ".join(out.split())
    assert "Fold3 ranksvm: not chosen on validation" in err
    content = json.loads((folder / "one" / "results.json").read_text())
    assert [row["better"] for row in content["rows"]][1]
    assert (content["seed"], content["command"][0]) == (0, "directrank")
    code, out, err = run(capsys, "report", "one", "-o", "page.html")
    assert (code, out) == (0, "")
    assert (folder / "page.html").read_bytes() == (folder / "one" / "report.html").read_bytes()
    shown = re.sub(r"<[^>]+>", " ", unescape((folder / "page.html").read_text())).replace("−", "-")
    rows = [row for row in content["rows"] if row["better"]]
    best = max(rows, key=lambda row: row["difference"])
    base = best["value"] - best["difference"]
    change, low, high = (100 * value / base for value in (best["difference"], *best["by_queries"]))
    assert (
        f"{best['name']} would earn {change:+.1f} % discounted clicks per search compared with the order "
        f"shown (95 % interval for new queries {low:+.1f} % to {high:+.1f} %)." in shown
    )
    first, second = content["propensities"]["propensities"][:2]
    assert f"{first['propensity']:.4f}" in shown
    assert f"{second['low']:.4f}" in shown
    # A doubt about several rows is printed once.
    for flag in {flag for row in content["rows"] for flag in row["flags"]}:
        assert shown.count(flag) == 1
    content.pop("rows")
    (folder / "one" / "results.json").write_text(json.dumps(content))
    code, out, err = run(capsys, "report", "one", "-o", "page.html")
    assert (code, len(err.splitlines())) == (3, 1)
    assert "results.json: not results of directrank compare, or damaged" in err
    code, out, _ = run(capsys, *words, "--out", "two", "--json", "--baseline", "ranksvm, clicks as labels")
    assert code == 0
    (row,) = [row for row in json.loads(out)["rows"] if row["name"] == "ranksvm, clicks as labels"]
    assert row["difference"] == 0
    words = ("compare", "graded.csv", *words[2:], "--measures", "AP", "--select-by", "P@3", "--out", "three")
    code, out, _ = run(capsys, *words)
    assert code == 0
    assert out.splitlines()[0].split()[:2] == ["method", "P@3"]
    assert "AP" in out.splitlines()[0]
    (folder / "p.json").write_text('[{"position": 1, "propensity": 1}, {"position": 2, "propensity": 0.5}]')
    for more, code, message in (
        (("--refit",), 2, "--refit: a comparison by --clicks does not have this option"),
        (("--grid", "leaves=7,31"), 2, "--grid leaves=7,31: no method has a parameter 'leaves'"),
        (("--no-audit",), 2, "--audit/--no-audit: a comparison by --clicks does not have this option"),
        (("--measures", "AP,RR"), 2, "name one measure on grades"),
        (("--select-by", "AP"), 2, "affine in the labels"),
        (("--format", "csv"), 2, "--format: a comparison by --clicks does not have this option"),
        (("--propensities", "p.json"), 3, "has rank 3, but propensities are of ranks 1-2;"),
        (("--split", "time"), 3, "no column is called like time"),
    ):
        found, _, err = run(capsys, *words[:8], "--out", "four", *more)
        assert found == code
        assert message in err.splitlines()[-1]
    code, _, err = run(capsys, "compare", "graded.csv", "--split", "time")
    assert (code, "these go with --clicks" in err) == (2, True)


def test_compare_by_clicks_has_the_grid_and_the_seeds_of_a_comparison(capsys, folder):
    documents(folder, "docs.csv", graded=False)
    words = (
        "compare", "docs.csv", "--clicks", "log.csv", "--methods", "ranksvm", "--kfold", "3", "--out", "out",
        "--grid", "penalty=10,0.1", "--seeds", "5,6",
    )  # fmt: skip
    code, out, err = run(capsys, *words, "--dry-run")
    # Of three rows, two points and a last fit, on three folds with two seeds.
    assert (code, out) == (0, "54 fits: 3 methods, 3 folds of docs.csv\n"), err
    assert not (folder / "out").exists()
    code, out, err = run(capsys, *words)
    assert code == 0, err
    content = json.loads((folder / "out" / "results.json").read_text())
    assert content["seeds"] == [5, 6]
    assert "means of 2 seeds" in content["lines"]
    assert {len(cell["tried"]) for cell in content["cells"]} == {4}
    assert all(line in " ".join(out.split()) for line in content["lines"])
    shown = unescape((folder / "out" / "report.html").read_text())
    for cell in content["cells"]:
        assert f"{cell['chosen']['penalty']:g}" in shown
    before = {path.name for path in (folder / "out" / "store").iterdir()}
    code, again, err = run(capsys, *words)
    assert (code, again) == (0, out)
    assert "9 of 9 cells are finished, 0 fits left" in err
    assert {path.name for path in (folder / "out" / "store").iterdir()} == before


def test_measures_of_a_fit_by_clicks(capsys, folder):
    documents(folder, "docs.csv", graded=False)
    fit = ("--clicks", "log.csv", "-o", "m.dr", "--json")
    code, out, _ = run(capsys, "fit", "lambdarank", "docs.csv", *fit, "--measure", "P@5")
    assert (code, json.loads(out)["method"]) == (0, "lambdarank(ClickP@5)")
    code, _, err = run(capsys, "fit", "lambdarank", "docs.csv", *fit, "--measure", "nDCG@10")
    assert (code, "nDCG@10 cannot be estimated from clicks" in err) == (2, True)
    code, out, _ = run(capsys, "fit", "ranksvm", "docs.csv", *fit)
    assert (code, json.loads(out)["parameters"]["weight"]) == (0, "difference")
    code, out, _ = run(capsys, "fit", "ranksvm", "docs.csv", *fit, "--set", "weight=none")
    assert (code, json.loads(out)["parameters"]["weight"]) == (0, "None")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("clicks", "evaluate", "log.csv", "best.run", "--measure", "nDCG@10"), 2, "affine in the labels"),
        (("propensities", "log.csv", "--context", "device"), 3, "no column 'device' for --context"),
        (("propensities", "log.csv", "--columns", "qid=search"), 3, "no column 'search'"),
        (("propensities", "none.csv"), 3, "none.csv"),
    ],
)
def test_faults_are_one_line(capsys, words, code, message):
    found, _, err = run(capsys, *words)
    assert found == code
    assert message in err
    assert len(err.strip().splitlines()) == 1


@pytest.fixture
def cascade(folder):
    """A log in which users stop after a click, so that curves differ between queries; and its documents."""
    documents(folder, "docs.csv", graded=False)
    rng = np.random.default_rng(0)
    X = GROUPS.X.reshape(40, 8, -1)
    chance = 0.05 + 0.9 * (GROUPS.relevance / GROUPS.relevance.max()).reshape(40, 8)
    lines = ["session,qid,docid,position,clicked"]
    for page in range(12_000):
        q = page % 40
        order = np.argsort(-X[q, :, page // 40 % 2])
        clicks = rng.random(8) < chance[q, order]
        clicks &= np.cumsum(clicks) - clicks == 0
        qid = GROUPS.qid[8 * q]
        lines += [
            f"s{page},{qid},{8 * q + d + 1},{k},{c:d}"
            for k, (d, c) in enumerate(zip(order, clicks, strict=True), 1)
        ]
    (folder / "cascade.csv").write_text("\n".join(lines) + "\n")
    return folder


def test_a_rejected_model_is_said_by_every_command_that_rests_on_it(capsys, cascade):
    says = "one curve of propensities does not fit all queries (goodness of fit p < 0.0001)"

    def said(*words) -> bool:
        code, out, err = run(capsys, *words)
        assert code == 0, err
        return says in " ".join((out + err).split())

    assert said("propensities", "cascade.csv", "-o", "p.json")
    assert not said("propensities", "log.csv")
    fit = ("fit", "regression", "docs.csv", "-o", "m.dr")
    evaluate = ("evaluate", "--clicks")
    compare = ("compare", "docs.csv", "--methods", "regression", "--kfold", "3", "--force")
    assert not said(*fit, "--clicks", "log.csv")
    assert not said(*evaluate, "log.csv", "best.run")
    for more in ((), ("--propensities", "p.json")):
        assert said(*fit, "--clicks", "cascade.csv", *more)
        assert said(*fit, "--clicks", "cascade.csv", *more, "--json")
        assert said(*evaluate, "cascade.csv", "best.run", *more)
        assert said(*evaluate, "cascade.csv", "best.run", *more, "--json")
        assert said(*compare, "--clicks", "cascade.csv", *more, "--out", "c")
        assert says in (cascade / "c" / "results.json").read_text()
        assert says in (cascade / "c" / "table.txt").read_text()
    # A file that does not say whether the model holds: the log does.
    bare = [{"position": k, "propensity": 1 / k} for k in range(1, 9)]
    (cascade / "bare.json").write_text(json.dumps(bare))
    assert said(*fit, "--clicks", "cascade.csv", "--propensities", "bare.json")
    assert not said(*fit, "--clicks", "log.csv", "--propensities", "bare.json")


def test_contexts_of_propensities_are_used_by_fit_and_evaluate(capsys, folder):
    documents(folder, "docs.csv", graded=False)
    rankers = {"old": GROUPS.X[:, 0], "new": GROUPS.X[:, 1]}
    log = make_clicks(GROUPS, rankers, sessions=8000, eta={"phone": 1.6, "desktop": 0.4}, random_state=0)
    write(folder / "log.csv", log)
    context = ("--context", "context")
    assert run(capsys, "propensities", "log.csv", *context, "-o", "p.json")[0] == 0
    assert sorted(json.loads((folder / "p.json").read_text())["contexts"]) == ["desktop", "phone"]
    values = {}
    for name, more in {
        "estimated": context, "of a file": (*context, "--propensities", "p.json"), "one curve": (),
    }.items():  # fmt: skip
        code, out, err = run(capsys, "evaluate", "--clicks", "log.csv", "best.run", *more, "--json")
        assert code == 0, err
        values[name] = json.loads(out)["rows"][0]["difference"]
        code, _, err = run(
            capsys, "fit", "regression", "docs.csv", "--clicks", "log.csv", *more, "-o", "m.dr"
        )
        assert code == 0, err
    assert values["of a file"] == pytest.approx(values["estimated"])
    assert values["one curve"] != pytest.approx(values["estimated"], rel=1e-3)
    for words in (
        ("evaluate", "--clicks", "log.csv", "best.run"),
        ("fit", "regression", "docs.csv", "--clicks", "log.csv"),
    ):
        code, _, err = run(capsys, *words, "--propensities", "p.json")
        assert (code, "propensities are of each context (desktop, phone); name the column" in err) == (
            3,
            True,
        )
    code, _, err = run(capsys, "fit", "regression", "docs.csv", "--context", "context")
    assert (code, "--propensities, --context and --how: these go with --clicks" in err) == (2, True)
    code, _, err = run(capsys, "evaluate", "docs.csv", "best.run", "--how", "dr")
    assert (code, err) == (2, "directrank: --how: it goes with --clicks\n")


def test_what_was_never_shown_is_said_and_can_be_labelled_in_each_way(capsys, folder):
    documents(folder, "docs.csv", graded=False)
    log = make_clicks(GROUPS, {"a": GROUPS.X[:, 0], "b": GROUPS.X[:, 1]}, n_ranks=5, random_state=0)
    write(folder / "log.csv", log)
    share = f"{1 - log.n_items / GROUPS.n_docs:.1%} of the documents of the log's queries were never shown"
    fit = ("fit", "regression", "docs.csv", "--clicks", "log.csv", "-o", "m.dr")
    labels = {
        None: "their labels are predicted from their features", "dr": "their labels are predicted",
        "policy": "their label is 0", "ips": "their label is 0", "shown": "they are left out",
    }  # fmt: skip
    for how, what in labels.items():
        code, out, err = run(capsys, *fit, *([] if how is None else ["--how", how]))
        assert code == 0, err
        assert f"{share}: {what}" in " ".join(out.split())
    compare = ("compare", "docs.csv", "--clicks", "log.csv", "--methods", "regression", "--kfold", "3")
    code, out, err = run(capsys, *compare, "--out", "c", "--json")
    assert code == 0, err
    content = json.loads(out)
    assert [row["name"] for row in content["rows"]] == [
        "the order shown", "regression", "regression, clicks as labels",
        "regression, shown documents alone", "regression, position as a feature",
    ]  # fmt: skip
    assert f"{share.split()[0]} of documents were never shown" in content["lines"]
    assert any(
        line.startswith("DCG@10 is cut at the documents that pages show (5)") for line in content["lines"]
    )
    plain = json.loads(run(capsys, "evaluate", "--clicks", "log.csv", "best.run", "--json")[1])
    robust = json.loads(
        run(capsys, "evaluate", "--clicks", "log.csv", "best.run", "--documents", "docs.csv", "--json")[1]
    )
    assert plain["cut"].startswith("DCG@10 is cut at the documents that pages show (5)")
    assert robust["rows"][0]["value"] > plain["rows"][0]["value"]
    out = " ".join(run(capsys, "evaluate", "--clicks", "log.csv", "best.run")[1].split())
    assert "DCG@10 is cut at the documents that pages show (5): what is below them is not compared" in out


def test_the_gate_of_clicks_says_the_same_words(capsys, folder):
    rows = zip(GROUPS.qid, range(1, GROUPS.n_docs + 1), -GROUPS.relevance, strict=True)
    (folder / "worst.run").write_text("".join(f"{q} Q0 {d} 1 {s:.6f} worst\n" for q, d, s in rows))
    evaluate = ("evaluate", "--clicks", "log.csv", "--not-worse", "DCG@10=.01")
    for name, code, verdict in (("best.run", 0, "PASS"), ("worst.run", 5, "FAIL")):
        ended, out, err = run(capsys, *evaluate, name)
        assert (ended, out.splitlines()[-1].partition(":")[0]) == (code, verdict), err
        ended, out, _ = run(capsys, *evaluate, name, "--json")
        found = json.loads(out)
        (margin,), (row,) = found["gate"]["margins"], found["rows"]
        # Both intervals are of one t-distribution, 90 % and 95 %; skewness moves one end of the first out.
        low, high = row["by_queries"]
        freedom = row["effective_queries"] - 1
        ratio = t.ppf(0.95, freedom) / t.ppf(0.975, freedom)
        mean = row["difference"]
        ends = margin["low"] - mean, margin["high"] - mean
        student = np.array([low - mean, high - mean]) * ratio
        outer = 0 if row["skewness"] < 0 else 1
        assert ends[1 - outer] == pytest.approx(student[1 - outer])
        assert abs(ends[outer]) > abs(student[outer])
        assert (ended, margin["difference"]) == (code, row["difference"])
    code, _, err = run(capsys, *evaluate, "best.run", "--measures", "P@5")
    assert (code, "--clicks has one measure, DCG, P or RBP, and P@5, DCG@10 are named" in err) == (2, True)
    for word in ("--ceiling", "--qid=q", "--grade=1=2", "--chunks=#", "--model=m.dr", "--queries-needed=.1"):
        code, _, err = run(capsys, "evaluate", "--clicks", "log.csv", "best.run", word)
        said = f"directrank: {word.split('=')[0]}: evaluate --clicks does not read it; omit one of them\n"
        assert (code, err) == (2, said)
