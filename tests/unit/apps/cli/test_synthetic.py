"""The synthetic collection: the same for the same seed, and read back as it was written."""

import numpy as np

from directrank.apps.cli.demos.synthetic import TOPICS, make_texts, write_texts
from directrank.apps.text import CollectionOptions
from directrank.apps.text.collections.reading import read_documents, read_judgements, read_queries
from directrank.apps.text.collections.records import Faults


def test_written_texts_read_back(tmp_path):
    made, faults, how = make_texts(30, 5), Faults(), CollectionOptions()
    write_texts(made, tmp_path)
    assert [tuple(each) for each in read_documents(tmp_path, how, faults).records] == made.documents
    queries, _ = read_queries(tmp_path, how, faults)
    assert [tuple(each) for each in queries] == made.queries
    judged, _ = read_judgements(tmp_path, queries, how, faults)
    assert [tuple(each) for each in judged] == made.judgements
    assert not faults.lines()


def test_titles_of_relevant_documents_have_more_words_of_the_topic():
    made = make_texts(400, 12)
    words = [set(each.split()) for each in TOPICS.values()]
    titles = {name: title.split() for name, title, _ in made.documents}
    shares = {grade: [] for grade in (0, 1, 2)}
    for number, (qid, _) in enumerate(made.queries):
        grades = {name: grade for query, name, grade in made.judgements if query == qid}
        for name, title in titles.items():
            found = np.mean([word in words[number] for word in title])
            shares[grades.get(name, 0)].append(found)
    # A share of .35 is of the topic, and one of .3 of any of twelve topics.
    np.testing.assert_allclose(np.mean(shares[2]), 0.35 + 0.3 / 12, atol=0.02)
    np.testing.assert_allclose(np.mean(shares[0]), 0.3 / 12, atol=0.02)
