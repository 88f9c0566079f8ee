"""The gate against scipy's interval, simulated error rates, and verdicts by hand."""

import json

import numpy as np
import pytest
from scipy.stats import ttest_rel

import directrank
from directrank.apps.cli import main


def one(new, old, margin, measure="AP"):
    (found,) = directrank.gate({measure: new}, {measure: old}, {measure: margin}).margins
    return found


def test_the_interval_is_that_of_scipy():
    rng = np.random.default_rng(0)
    old, new = rng.random((2, 40))
    found, expected = one(new, old, 0.1), ttest_rel(new, old).confidence_interval(0.9)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-12)
    less = ttest_rel(new + 0.1, old, alternative="less").pvalue
    assert found.p == pytest.approx(less, rel=1e-9)


@pytest.mark.parametrize(
    ("gains", "margin", "verdict"),
    [
        ([0.0, 0.0, 0.0], 0.01, "PASS"),
        ([-0.02, -0.02, -0.02], 0.01, "FAIL"),
        ([0.0, 0.0, 0.0], 0.0, "CANNOT TELL"),  # the margin itself
        ([0.1, -0.1, 0.1, -0.1], 0.01, "CANNOT TELL"),
        ([0.1, 0.11, 0.12, 0.1], 0.01, "PASS"),
    ],
)
def test_verdicts_by_hand(gains, margin, verdict):
    assert one(np.add(0.5, gains), np.full(len(gains), 0.5), margin).verdict == verdict


def test_a_loss_of_the_margin_passes_one_time_in_twenty():
    rng, passed, failed, n = np.random.default_rng(1), 0, 0, 600
    for _ in range(n):
        gains = rng.normal(-0.01, 0.05, 30)
        verdict = one(gains, np.zeros(30), 0.01).verdict
        passed, failed = passed + (verdict == "PASS"), failed + (verdict == "FAIL")
    # Four standard errors of a share of .05.
    assert abs(passed / n - 0.05) < 4 * np.sqrt(0.05 * 0.95 / n)
    assert abs(failed / n - 0.05) < 4 * np.sqrt(0.05 * 0.95 / n)


def test_the_number_of_queries_tells_four_times_in_five():
    rng = np.random.default_rng(2)
    gains = rng.normal(0.0, 0.05, 20)
    gains = (gains - gains.mean()) / gains.std(ddof=1) * 0.05 + 0.003
    needed = one(gains, np.zeros(20), 0.01).queries_needed
    told = sum(
        one(rng.normal(0.003, 0.05, needed), np.zeros(needed), 0.01).verdict == "PASS" for _ in range(600)
    )
    assert abs(told / 600 - 0.8) < 4 * np.sqrt(0.8 * 0.2 / 600)


def test_holm_is_for_failing_and_not_for_passing():
    rng = np.random.default_rng(3)
    z = rng.normal(size=20)
    z = (z - z.mean()) / z.std(ddof=1)
    worse = 0.05 * z - 0.01 - 0.05 * 1.9 / np.sqrt(20)  # p of about .036
    alone = directrank.gate({"AP": worse}, {"AP": np.zeros(20)}, {"AP": 0.01})
    assert alone.verdict == "FAIL"
    equal = {name: worse if name == "AP" else 0.05 * z - 0.01 for name in ("AP", "RR", "P@5")}
    several = directrank.gate(equal, dict.fromkeys(equal, np.zeros(20)), dict.fromkeys(equal, 0.01))
    assert several.verdict == "CANNOT TELL"
    assert several.margins[0].p == pytest.approx(3 * alone.margins[0].p)
    better = dict.fromkeys(equal, 0.05 * z - 0.01 + 0.05 * 1.9 / np.sqrt(20))
    assert (
        directrank.gate(better, dict.fromkeys(equal, np.zeros(20)), dict.fromkeys(equal, 0.01)).verdict
        == "PASS"
    )


def test_queries_without_a_value_are_left_out_and_too_few_refused():
    assert one([0.5, np.nan, 0.6], [0.5, 0.1, 0.6], 0.01).queries == 2
    with pytest.raises(directrank.DataError, match="1 queries have a value of AP in both"):
        one([0.5], [0.5], 0.01)
    with pytest.raises(ValueError, match="the margin of AP is -1"):
        one([0.5, 0.1], [0.5, 0.1], -1)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    grades = {f"q{q}": {f"d{d}": int(g) for d, g in enumerate(rng.integers(0, 3, 8))} for q in range(40)}
    old = {q: {d: g + float(rng.normal()) for d, g in of.items()} for q, of in grades.items()}
    worse = {q: {d: -s for d, s in of.items()} for q, of in old.items()}
    for name, content in (("q", grades), ("old", old), ("new", old), ("worse", worse)):
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    return tmp_path


def test_what_cannot_be_told_may_be_tolerated(folder, capsys):
    grades, old = (json.loads((folder / f"{name}.json").read_text()) for name in ("q", "old"))
    rng = np.random.default_rng(6)
    few = {q: {d: s + float(rng.normal()) for d, s in of.items()} for q, of in [*old.items()][:6]}
    (folder / "q.json").write_text(json.dumps({q: grades[q] for q in few}))
    (folder / "few.json").write_text(json.dumps(few))
    command = ["evaluate", "q.json", "few.json", "--baseline", "old.json", "--not-worse", "nDCG@10=.001"]
    assert main(command) == 5
    out = capsys.readouterr().out
    assert "CANNOT TELL: about" in out
    assert " AP " not in out
    assert main([*command, "--measures", "AP"]) == 5
    assert " AP " in capsys.readouterr().out
    assert main([*command, "--tolerate-unclear"]) == 0
