"""Folds, data frames, synthetic collections and the data check."""

import numpy as np
import pytest

from directrank import make_ranking
from directrank.data import QueryGroups
from directrank.diagnostics import check_data
from directrank.diagnostics.data_check import constant_score_ap, scan
from directrank.errors import DataError, DataFormatError
from directrank.files import find_folds, load_letor
from naive import column_ranges_naive


def line(qid, last=1) -> str:
    return f"1 qid:{qid} 1:1 {last}:2\n" if last > 1 else f"1 qid:{qid} 1:1\n"


def write_files(folder, **texts):
    folder.mkdir(parents=True, exist_ok=True)
    for stem, text in texts.items():
        (folder / f"{stem}.txt").write_text(text)


class TestFolds:
    def test_numbered_folders(self, tmp_path):
        for k in (1, 2):
            write_files(tmp_path / f"Fold{k}", train=line(1), vali=line(2, 7), test=line(3, 3))
        (tmp_path / "Foldx").mkdir()
        folds = find_folds(tmp_path)
        assert [fold.name for fold in folds] == ["Fold1", "Fold2"]
        assert folds[1].vali == (tmp_path / "Fold2" / "vali.txt",)
        parts = folds[0].load()
        assert [part.n_features for part in parts] == [7, 7, 7]
        assert [part.qid.tolist() for part in parts] == [[1], [2], [3]]

    def test_one_triple(self, tmp_path):
        write_files(tmp_path / "mine", train=line(1), vali=line(2), test=line(3))
        (fold,) = find_folds(tmp_path / "mine")
        assert fold.name == "mine"
        train, vali, test = load_letor(tmp_path / "mine")
        assert (train.n_docs, vali.qid[0], test.qid[0]) == (1, 2, 3)

    def test_five_parts_turn_into_the_official_folds(self, tmp_path):
        write_files(tmp_path, **{f"S{k}": line(k, k + 1) for k in range(1, 6)})
        folds = find_folds(tmp_path)
        assert [fold.name for fold in folds] == [f"Fold{k}" for k in range(1, 6)]
        stems = [[p.stem for part in (f.train, f.vali, f.test) for p in part] for f in folds]
        assert stems == [
            ["S1", "S2", "S3", "S4", "S5"],
            ["S2", "S3", "S4", "S5", "S1"],
            ["S3", "S4", "S5", "S1", "S2"],
            ["S4", "S5", "S1", "S2", "S3"],
            ["S5", "S1", "S2", "S3", "S4"],
        ]
        train, vali, test = folds[3].load()
        assert train.qid.tolist() == [4, 5, 1]
        assert train.X.tolist() == [[1, 0, 0, 0, 2, 0], [1, 0, 0, 0, 0, 2], [1, 2, 0, 0, 0, 0]]
        assert (vali.qid.tolist(), test.qid.tolist()) == ([2], [3])

    def test_what_is_missing_is_named(self, tmp_path):
        with pytest.raises(DataError, match=r"looked for Fold1/train.txt.*train.txt, vali.txt.*S1.txt"):
            find_folds(tmp_path)
        with pytest.raises(DataError, match=r"no such file or folder"):
            find_folds(tmp_path / "absent")
        write_files(tmp_path / "a", train=line(1), test=line(3))
        with pytest.raises(DataError, match=r"vali.txt is missing"):
            find_folds(tmp_path / "a")
        write_files(tmp_path / "b", **{f"S{k}": line(k) for k in (1, 2, 3, 5)})
        with pytest.raises(DataError, match=r"S4.txt is missing"):
            find_folds(tmp_path / "b")
        for k in (1, 3):
            write_files(tmp_path / "c" / f"Fold{k}", train=line(1), vali=line(2), test=line(3))
        with pytest.raises(DataError, match=r"Fold2 is missing"):
            find_folds(tmp_path / "c")

    def test_parts_do_not_share_queries(self, tmp_path):
        write_files(tmp_path, train=line(1) + line(4), vali=line(2), test=line(3) + line(4))
        (fold,) = find_folds(tmp_path)
        with pytest.raises(DataError, match=r"qid 4 is in train and in test"):
            fold.load()
        assert fold.load(allow_shared_queries=True)[0].n_docs == 2
        # the same name, once as a number among numbers and once as text
        write_files(tmp_path, train=line(1), vali=line("x") + line(1), test=line(3))
        with pytest.raises(DataError, match=r"qid 1 is in train and in vali"):
            fold.load()

    def test_a_fault_is_named_by_its_file(self, tmp_path):
        write_files(tmp_path, train=line(1), vali=line(2), test=line(3) + "1 qid:9 1:?\n")
        with pytest.raises(DataFormatError, match=r"test.txt:2:11: found '\?'"):
            load_letor(tmp_path)
        write_files(tmp_path, test=line(3) + "1 qid:9 1:NULL\n")
        assert load_letor(tmp_path, missing=4.0)[2].X.tolist() == [[1], [4]]


class TestSynthetic:
    def test_a_seed_fixes_everything_and_rows_do_not_leak(self):
        one, other = (make_ranking(600, 10, 3, random_state=5) for _ in range(2))
        np.testing.assert_array_equal(one.X, other.X)
        np.testing.assert_array_equal(one.relevance, other.relevance)
        assert not np.array_equal(one.X, make_ranking(600, 10, 3, random_state=6).X)
        assert "order_leaks_relevance" not in [f.code for f in check_data(one).findings]


def finding(groups, code):
    found = [f for f in check_data(groups).findings if f.code == code]
    assert len(found) <= 1
    return found[0] if found else None


class TestCheck:
    def test_features(self):
        X = np.array([[1, 5, 1, 1, -0.0, 7], [1, 5, 2, 2, 1, 7], [1, 6, 3, 3, 2, 7], [1, 6, 4, 4, 3, 7]])
        groups = QueryGroups(X, [0, 1, 0, 1], [1, 1, 2, 2], feature_names=list("abcdef"))
        assert finding(groups, "constant_features").examples == ["a", "f"]
        assert finding(groups, "constant_within_queries").examples == ["b"]
        assert finding(groups, "duplicate_features").examples == ["d = c"]
        unnamed = QueryGroups(X, [0, 1, 0, 1], [1, 1, 2, 2])
        assert finding(unnamed, "constant_within_queries").examples == ["feature 2"]

    def test_order(self):
        qid = np.repeat(np.arange(40), 10)
        leaking = QueryGroups(np.arange(400).reshape(-1, 1), np.tile([1] * 3 + [0] * 7, 40), qid)
        found = finding(leaking, "order_leaks_relevance")
        assert found.values["input_order"] == pytest.approx(1.0)
        harmonic = sum(1 / k for k in range(1, 11))
        assert found.values["expected"] == pytest.approx(((1 - 2 / 9) * harmonic + 2 / 9 * 10) / 10)
        backwards = QueryGroups(np.arange(400).reshape(-1, 1), np.tile([0] * 7 + [1] * 3, 40), qid)
        assert finding(backwards, "order_leaks_relevance").values["input_order"] < 0.3
        rng = np.random.default_rng(0)
        fair = QueryGroups(np.arange(400).reshape(-1, 1), (rng.random(400) < 0.3).astype(float), qid)
        assert finding(fair, "order_leaks_relevance") is None

    def test_expected_ap_is_the_mean_over_all_orders(self):
        from itertools import permutations

        for y in ([1, 0, 0], [1, 1, 0, 0], [0, 1, 2, 0, 1], [0, 0], [1], [0], [1, 1]):
            groups = QueryGroups(np.zeros((len(y), 1)), y, [0] * len(y))
            in_order, expected = constant_score_ap(groups.queries)

            def ap(order):
                hits = [k for k, grade in enumerate(order, 1) if grade > 0]
                return sum(n / k for n, k in enumerate(hits, 1)) / len(hits) if hits else 0.0

            assert in_order[0] == pytest.approx(ap(y), abs=1e-14)
            assert expected[0] == pytest.approx(np.mean([ap(order) for order in permutations(y)]), abs=1e-14)

    def test_nothing_to_say_and_nothing_changed(self):
        groups = make_ranking(50, 20, 3, random_state=0)
        groups = groups.select(
            np.flatnonzero(
                (groups.queries.n_positive > 0)
                & (groups.queries.relevance[groups.queries.indptr[1:] - 1] == 0)
            )
        )
        before = groups.X.tobytes(), groups.relevance.tobytes()
        assert check_data(groups).lines() == []
        assert (groups.X.tobytes(), groups.relevance.tobytes()) == before

    def test_twins(self):
        rng = np.random.default_rng(0)
        X = rng.integers(0, 2, (30, 40)).astype(np.float32)
        X[:, ::3] = X[0, ::3]
        X[:10, 1::3], X[10:, 1::3] = 4, 5
        indptr = np.array([0, 10, 11, 30])
        found = scan(X, indptr)
        for ours, twin in zip(found[:2], column_ranges_naive(X, indptr), strict=True):
            np.testing.assert_array_equal(ours, twin)
        for hashes, rows in ((found.rows, X), (found.columns, X.T)):
            _, by_value = np.unique(rows, axis=0, return_inverse=True)
            _, by_hash = np.unique(hashes, return_inverse=True)
            assert (
                len(np.unique(by_value))
                == len(np.unique(by_hash))
                == len(set(zip(by_value, by_hash, strict=True)))
            )
