"""`directrank cutoff`, and `rank --cutoff`: what they print, write and refuse."""

import csv
import json

import numpy as np
import pytest

from commands import run


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    lines = ["qid,docid,relevance,a,b"]
    run, qrels = [], []
    for q in range(60):
        for d in range(20):
            grade = int(d < 2)
            a, b = 3 * grade + rng.normal(), rng.normal()
            lines.append(f"{q},d{d},{grade},{a:.5f},{b:.5f}")
            run.append(f"{q} Q0 d{d} 1 {a:.5f} a")
            qrels.append(f"{q} 0 d{d} {grade}")
    for name, content in (("judged.csv", lines), ("a.run", run), ("qrels", qrels)):
        (tmp_path / name).write_text("\n".join(content) + "\n")
    return tmp_path


def test_a_model_is_cut_where_its_file_says(capsys, folder):
    assert run(capsys, "fit", "regression", "judged.csv", "-o", "m.dr", "-q")[0] == 0
    code, out, _ = run(capsys, "cutoff", "m.dr", "--qrels", "judged.csv", "--miss", 0.2, "-o", "c.json")
    assert code == 0
    assert out.startswith("keep documents with a rank of at most ")
    rank = int(out.split("at most ")[1].split(":")[0])
    # Nine in ten keeps no fewer documents than the mean, which is printed beside it.
    other = out.split("with --in-the-mean: keep documents with a rank of at most ")[1]
    assert int(other.split(":")[0]) <= rank
    code, _, err = run(capsys, "rank", "m.dr", "judged.csv", "--cutoff", "c.json", "-o", "kept.csv")
    assert code == 0
    assert f"cut-off: {60 * rank} of 1200 documents are kept ({rank / 20:.1%})" in err
    run(capsys, "rank", "m.dr", "judged.csv", "-o", "all.csv")
    kept, everything = (
        [*csv.DictReader((folder / name).read_text().splitlines())] for name in ("kept.csv", "all.csv")
    )
    assert kept == [row for row in everything if int(row["rank"]) <= rank]
    run(capsys, "fit", "regression", "judged.csv", "--set", "scaling=none", "-o", "n.dr", "-q")
    code, _, err = run(capsys, "rank", "n.dr", "judged.csv", "--cutoff", "c.json", "--format", "csv")
    assert code == 2
    assert "it was calibrated for another model than n.dr" in err
    code, _, err = run(capsys, "rank", "m.dr", "judged.csv", "--cutoff", "c.json")
    assert code == 2
    assert "--cutoff: a score a line does not say whose it is" in err


def test_what_a_cut_off_keeps_and_misses_of_runs(capsys, folder):
    run(capsys, "cutoff", "a.run", "--qrels", "qrels", "--axis", "rank", "--miss", 0.2, "-o", "c.json")
    rank = json.loads((folder / "c.json").read_text())["threshold"]
    code, out, _ = run(capsys, "evaluate", "qrels", "a.run", "--cutoff", "c.json", "--json")
    outcome = json.loads(out)["a.run"]
    lines = [line.split() for line in (folder / "a.run").read_text().splitlines()]
    losses = []
    for q in range(60):
        ranked = sorted((line for line in lines if line[0] == str(q)), key=lambda line: -float(line[4]))
        losses.append(sum(line[2] in ("d0", "d1") for line in ranked[int(-rank) :]) / 2)
    assert (code, outcome["n_queries"], outcome["kept"]) == (0, 60, -rank / 20)
    assert outcome["missed"] == pytest.approx(np.mean(losses))
    code, out, _ = run(capsys, "evaluate", "qrels", "a.run", "--cutoff", "c.json")
    assert f"{np.mean(losses):.4f}" in out
    code, _, err = run(capsys, "fuse", "a.run", "b.run", "--cutoff", "c.json")
    assert (code, "--run-out" in err) == (2, True)


def test_the_least_grade_of_a_relevant_document_is_saved(capsys, folder):
    lines = [line.split() for line in (folder / "qrels").read_text().splitlines()]
    grades = {"d0": 2, "d1": 2, "d2": 1, "d3": 1}
    (folder / "graded").write_text("".join(f"{q} 0 {d} {grades.get(d, 0)}\n" for q, _, d, _ in lines))
    run(capsys, "cutoff", "a.run", "--qrels", "graded", "--rel", 2, "--miss", 0.2, "-o", "c.json")
    code, out, _ = run(capsys, "evaluate", "graded", "a.run", "--cutoff", "c.json", "--json")
    # The share of documents of grade 2 that are missed, as in the calibration; those of grade 1 are noise.
    assert code == 0
    assert json.loads(out)["a.run"]["missed"] == json.loads((folder / "c.json").read_text())["missed"]
    (folder / "none").write_text("".join(f"{q} 0 {d} 1\n" for q, _, d, _ in lines))
    code, _, err = run(capsys, "evaluate", "none", "a.run", "--cutoff", "c.json")
    assert (code, err.splitlines()[-1].endswith("has a document of grade 2 or more")) == (3, True)
    code, _, err = run(capsys, "evaluate", "graded", "a.run", "--cutoff", "c.json", "--judge", "none")
    assert (code, "--judge and --cutoff: give one of them" in err) == (2, True)
    (folder / "list.json").write_text("[]")
    code, _, err = run(capsys, "evaluate", "graded", "a.run", "--cutoff", "list.json")
    assert (code, "list.json: not a cut-off" in err, "it is no object" in err) == (3, True, True)


def test_a_fused_run_is_cut(capsys, folder):
    (folder / "b.run").write_text((folder / "a.run").read_text())
    run(capsys, "fuse", "a.run", "b.run", "--run-out", "fused.run", "-q")
    run(capsys, "cutoff", "fused.run", "--qrels", "qrels", "--axis", "rank", "--miss", 0.2, "-o", "c.json")
    rank = -json.loads((folder / "c.json").read_text())["threshold"]
    code, _, _ = run(capsys, "fuse", "a.run", "b.run", "--run-out", "cut.run", "--cutoff", "c.json")
    assert code == 0
    assert len((folder / "cut.run").read_text().splitlines()) == 60 * rank


def test_methods_are_compared_with_a_judge(capsys, folder):
    head, *lines = (folder / "judged.csv").read_text().splitlines()
    (folder / "people.csv").write_text("\n".join([head, *lines[: 20 * 20]]) + "\n")
    command = ("compare", "people.csv", "--kfold", 3, "--methods", "regression,adarank", "--measures", "AP")
    asked = (*command, "--baseline", "regression", "--judge", "judged.csv")
    code, out, err = run(capsys, *asked)
    assert code == 0, err
    facts = json.loads((folder / "runs" / "people.csv" / "results.json").read_text())["judged"]
    (row,) = facts["AP"]
    assert (row["queries"], row["more"]) == (20, 40)
    # The judge says what people say, so that the judged difference is what it says of all 60 queries, nearly.
    assert row["correlation"] == pytest.approx(1.0)
    assert "Test AP less that of regression: 20 queries, 40 by the judge alone" in out
    assert f"{row['assisted'][0]:+.4f}, {row['assisted'][1]:+.4f} to {row['assisted'][2]:+.4f}" in out
    assert "20 queries, 40 by the judge alone" in (folder / "runs" / "people.csv" / "report.html").read_text()
    code, _, err = run(capsys, *command, "--judge", "judged.csv")
    assert (code, "--judge" in err, "--baseline" in err) == (2, True, True)
    code, _, err = run(capsys, *asked[:-1], "people.csv")
    assert (code, "all its queries are in the data" in err) == (3, True)
    code, _, err = run(capsys, *asked[:-1], "absent.csv", "--dry-run")
    assert (code, len(err.splitlines()), "absent.csv" in err) == (3, 1, True)
