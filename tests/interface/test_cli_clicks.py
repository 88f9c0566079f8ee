"""`directrank clicks` and `propensities`: what they print, and where they end with 3."""

import json

import numpy as np
import pytest

from directrank import make_ranking
from directrank.apps.cli import main
from directrank.apps.clicks import make_clicks

GROUPS = make_ranking(40, 8, uneven=0, random_state=0)


def write(path, log) -> None:
    columns = log.columns()
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    path.write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]) + "\n")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rankers = {"old": GROUPS.X[:, 0], "new": GROUPS.X[:, 1]}
    write(tmp_path / "log.csv", make_clicks(GROUPS, rankers, sessions=8000, random_state=0))
    write(tmp_path / "one.csv", make_clicks(GROUPS, GROUPS.X[:, 0], random_state=0))
    rows = zip(GROUPS.qid, range(1, GROUPS.n_docs + 1), GROUPS.relevance + GROUPS.X[:, 2] / 1000, strict=True)
    (tmp_path / "best.run").write_text("".join(f"{q} Q0 {d} 1 {s:.6f} best\n" for q, d, s in rows))
    return tmp_path


def run(capsys, *arguments):
    code = main([str(each) for each in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


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
    assert "ranksvm, part 3 of 3" in err
    content = json.loads((folder / "one" / "results.json").read_text())
    assert [row["better"] for row in content["rows"]][1]
    code, out, err = run(capsys, "report", "one", "-o", "page.html")
    assert (code, out) == (3, "")
    assert "results.json: a comparison by clicks, which has no page; see table.txt beside it" in err
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
        (("--jobs", "2"), 2, "--jobs: a comparison by --clicks does not have this option"),
        (("--measures", "AP,RR"), 2, "name one measure on grades"),
        (("--select-by", "AP"), 2, "affine in the labels"),
        (("--dry-run",), 2, "--dry-run and --format"),
        (("--propensities", "p.json"), 3, "has rank 3, but propensities are of ranks 1-2;"),
        (("--split", "time"), 3, "no column is called like time"),
    ):
        found, _, err = run(capsys, *words[:8], "--out", "four", *more)
        assert found == code
        assert message in err.splitlines()[-1]
    code, _, err = run(capsys, "compare", "graded.csv", "--split", "time")
    assert (code, "these go with --clicks" in err) == (2, True)


def test_a_safe_fit_saves_the_logging_model_unless_the_new_one_is_better(capsys, folder):
    documents(folder, "graded.csv", graded=True)
    assert run(capsys, "fit", "regression", "graded.csv", "-o", "logging.dr")[0] == 0
    words = ("fit", "regression", "graded.csv", "--clicks", "log.csv", "--safe", "logging.dr", "-o", "new.dr")
    code, out, _ = run(capsys, *words)
    assert code == 0
    assert "note: safe: the logging ranker stays" in out
    scores = [run(capsys, "rank", model, "graded.csv")[1] for model in ("new.dr", "logging.dr")]
    assert scores[0] == scores[1]
    code, _, err = run(capsys, "fit", "regression", "graded.csv", "--safe", "logging.dr")
    assert (code, "--safe: it goes with --clicks" in err) == (2, True)


def test_measures_of_a_fit_by_clicks(capsys, folder):
    names = ",".join(["qid", "docid", *(f"f{i}" for i in range(GROUPS.X.shape[1]))])
    rows = zip(GROUPS.qid, range(1, GROUPS.n_docs + 1), GROUPS.X.tolist(), strict=True)
    (folder / "docs.csv").write_text(
        "\n".join([names, *(",".join(map(str, [q, d, *x])) for q, d, x in rows)]) + "\n"
    )
    fit = ("--clicks", "log.csv", "-o", "m.dr", "--json")
    code, out, _ = run(capsys, "fit", "lambdarank", "docs.csv", *fit, "--measure", "P@5")
    assert (code, json.loads(out)["method"]) == (0, "lambdarank(ClickP@5)")
    code, _, err = run(capsys, "fit", "lambdarank", "docs.csv", *fit, "--measure", "nDCG@10")
    assert (code, "nDCG@10 cannot be estimated from clicks" in err) == (2, True)
    code, out, _ = run(capsys, "fit", "ranksvm", "docs.csv", *fit)
    assert (code, json.loads(out)["parameters"]["weight"]) == (0, "difference")
    code, out, _ = run(capsys, "fit", "ranksvm", "docs.csv", *fit, "--set", "weight=none")
    assert (code, json.loads(out)["parameters"]["weight"]) == (0, "None")


def test_doubly_robust_evaluation_reads_documents(capsys, folder):
    documents(folder, "docs.csv", graded=False)
    words = ("clicks", "evaluate", "log.csv", "best.run", "--ranks", "5", "--json")
    plain = json.loads(run(capsys, *words)[1])["rows"][0]
    code, out, _ = run(capsys, *words, "--how", "dr", "--documents", "docs.csv")
    assert code == 0
    (row,) = json.loads(out)["rows"]
    assert row["value"] >= plain["value"] > 0
    code, _, err = run(capsys, *words, "--how", "dr")
    assert (code, "--how dr and --documents go together" in err) == (2, True)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("clicks", "evaluate", "log.csv"), 2, "name at least one run"),
        (("clicks", "check", "log.csv", "best.run"), 2, "takes a log and no run"),
        (("clicks", "evaluate", "log.csv", "best.run", "--measure", "nDCG@10"), 2, "affine in the labels"),
        (("clicks", "evaluate", "log.csv", "best.run", "--baseline", "x"), 3, "no ranking is called 'x'"),
        (("propensities", "log.csv", "--context", "device"), 3, "no column 'device' for --context"),
        (("propensities", "log.csv", "--columns", "qid=search"), 3, "no column 'search'"),
        (("propensities", "none.csv"), 3, "none.csv"),
        (("evaluate", "best.run"), 2, "RUN"),
    ],
)
def test_faults_are_one_line(capsys, words, code, message):
    found, _, err = run(capsys, *words)
    assert found == code
    assert message in err
    assert len(err.strip().splitlines()) == 1
