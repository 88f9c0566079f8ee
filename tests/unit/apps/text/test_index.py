"""The index: counts by definition, whatever the size of blocks; refused if it is damaged or foreign."""

import numpy as np
import pandas as pd
import pytest

from directrank.apps.text import Analysis, build_index, open_index
from text_examples import field_of, texts, write_smart


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("index")
    documents = texts()
    lines = build_index(write_smart(folder, documents), folder / "index")
    return documents, folder / "index", lines


def test_counts_are_those_by_definition(built):
    documents, folder, _ = built
    index = open_index(folder)
    assert index.fields == ("title", "body", "whole")
    assert [index.ids[number] for number in range(index.n_docs)] == list(documents)
    for field in index.fields:
        postings = index.postings(field)
        rows = postings.matrix().toarray()
        for number, text in enumerate(documents.values()):
            expected = field_of(text, field, index.analysis)
            found = {index.word(term): int(rows[number, term]) for term in np.flatnonzero(rows[number])}
            assert found == expected
            assert postings.lengths[number] == expected.total()
            assert postings.different[number] == len(expected)
        assert postings.total == rows.sum()


def test_texts_and_names_are_found(built):
    documents, folder, _ = built
    index = open_index(folder)
    for number, (docid, (title, body)) in enumerate(documents.items()):
        assert (index.titles[number], index.bodies[number]) == (
            " ".join(title.split()),
            " ".join(body.split()),
        )
        assert index.ids.find(docid) == number
    assert index.ids.find("nothing") == index.ids.find("") == -1
    assert [index.word(term) for term in index.terms("Flutters, flutter; unknownword the résumé")] == [
        "flutter", "flutter", "résumé",
    ]  # fmt: skip


def test_analysis(tmp_path):
    frame = pd.DataFrame({"id": ["a"], "text": ["die Häuser the waves"]})
    build_index(frame, tmp_path / "index", analysis=Analysis("german", "german"))
    index = open_index(tmp_path / "index")
    assert [index.word(term) for term in range(index.n_terms)] == ["haus", "the", "wav"]
    build_index(frame, tmp_path / "plain", analysis=Analysis("none", "none"))
    assert open_index(tmp_path / "plain").n_terms == 4
    with pytest.raises(ValueError, match="no stemmer is called 'klingon'"):
        Analysis("klingon")
    with pytest.raises(ValueError, match="no stop words for 'klingon'; there are"):
        Analysis(stopwords="klingon")
