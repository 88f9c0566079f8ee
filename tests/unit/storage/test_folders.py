"""Folders of results: empty ones and ours are taken, those of others are refused."""

import pytest

from directrank import compare, make_ranking
from directrank.storage.folders import MARK, claim_folder


def test_new_empty_and_own_folders_are_taken(tmp_path):
    claim_folder(tmp_path / "a" / "new")
    claim_folder(tmp_path / "a" / "new")
    (tmp_path / "a" / "new" / "notes.txt").write_text("beside results")
    claim_folder(tmp_path / "a" / "new")
    (tmp_path / "empty").mkdir()
    claim_folder(tmp_path / "empty")
    assert (tmp_path / "empty" / MARK).is_file()


def test_a_folder_of_others_is_refused_unless_forced(tmp_path):
    (tmp_path / "results.csv").write_text("of another program")
    with pytest.raises(FileExistsError, match=r"holds 'results.csv', and no results of directrank"):
        claim_folder(tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["results.csv"]
    claim_folder(tmp_path, force=True)
    assert (tmp_path / MARK).is_file()


def test_compare_writes_nothing_into_a_folder_of_others(tmp_path):
    (tmp_path / "results.csv").write_text("of another program")
    parts = [make_ranking(4, 5, 2, random_state=seed).select(range(4)) for seed in range(3)]
    for number, part in enumerate(parts):
        part.queries.qid[:] += 10 * number
    with pytest.raises(FileExistsError):
        compare(parts, "regression", measures=["AP"], out=tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["results.csv"]
    assert (tmp_path / "results.csv").read_text() == "of another program"
