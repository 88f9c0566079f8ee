"""A small synthetic collection of texts, for the demo: topics, documents, queries and judgements."""

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

from directrank.storage.atomic import write_atomically

#: The words of each topic. Words of one topic mean alike: a relevant document may have none of a query's.
TOPICS = {
    "sea": "harbour ship sailor tide anchor coast wave vessel island captain",
    "bread": "flour oven dough bakery yeast crust wheat loaf recipe butter",
    "stars": "planet orbit telescope comet galaxy moon astronomer rocket crater eclipse",
    "music": "violin concert melody orchestra singer rhythm piano chorus opera drum",
    "garden": "flower soil seed rose compost tree hedge lawn blossom gardener",
    "railway": "train station platform locomotive ticket signal carriage bridge tunnel timetable",
    "medicine": "doctor patient fever vaccine clinic nurse surgery symptom remedy hospital",
    "law": "judge court trial verdict lawyer witness appeal contract statute jury",
    "sport": "football goal referee stadium coach league athlete medal sprint tournament",
    "weather": "storm rain cloud forecast thunder frost wind temperature snow drought",
    "money": "bank loan market interest currency investor price tax budget debt",
    "school": "teacher pupil lesson exam classroom homework library grammar essay term",
}
COMMON = (
    "people time year day way thing world life hand part place case week company work point number group "
    "problem fact new good first last long great little own other old right big high different small "
    "large next early young important few public bad same able"
)
TITLE_WORDS, BODY_WORDS = 5, 45
#: Shares of the words of titles and of bodies: of the topic, of the second topic, and of any topic by chance.
TITLE_SHARES, BODY_SHARES = (0.35, 0.0, 0.3), (0.08, 0.05, 0.25)


class Texts(NamedTuple):
    """Documents (name, title, body), queries (name, text) and judgements (query, document, grade)."""

    documents: list[tuple[str, str, str]]
    queries: list[tuple[str, str]]
    judgements: list[tuple[str, str, int]]


def make_texts(n_docs: int = 600, n_queries: int = 60, *, random_state: int = 0) -> Texts:
    """Return a synthetic collection; documents have two topics, and are relevant to queries of these."""
    random = np.random.default_rng(random_state)
    topics = [words.split() for words in TOPICS.values()]
    documents, main, second = [], [], []
    for number in range(n_docs):
        one, other = random.choice(len(topics), 2, replace=False).tolist()
        sources = [topics[one], topics[other], [word for topic in topics for word in topic]]
        title = _text(random, TITLE_WORDS, TITLE_SHARES, sources)
        body = _text(random, BODY_WORDS, BODY_SHARES, sources)
        documents.append((f"d{number}", title, body))
        main.append(one)
        second.append(other)
    queries, judgements = [], []
    for number in range(n_queries):
        topic = number % len(topics)
        words = [*random.choice(topics[topic], 2, replace=False), random.choice(COMMON.split())]
        queries.append((f"q{number}", " ".join(words)))
        judgements += [
            (f"q{number}", documents[row][0], 2 if main[row] == topic else 1)
            for row in range(n_docs)
            if topic in (main[row], second[row])
        ]
    return Texts(documents, queries, judgements)


def _text(
    random: np.random.Generator, n_words: int, shares: tuple[float, ...], sources: list[list[str]]
) -> str:
    """Return words, of which these shares are of these lists, and the others common."""
    places = np.searchsorted(np.cumsum(shares), random.random(n_words), side="right")
    return " ".join(str(random.choice([*sources, COMMON.split()][place])) for place in places.tolist())


def write_texts(texts: Texts, folder: Path) -> None:
    """Write a collection in BEIR's layout."""
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    corpus = [{"_id": name, "title": title, "text": body} for name, title, body in texts.documents]
    queries = [{"_id": name, "text": text} for name, text in texts.queries]
    for name, records in (("corpus.jsonl", corpus), ("queries.jsonl", queries)):
        write_atomically(folder / name, "".join(json.dumps(record) + "\n" for record in records))
    rows = ["query-id\tcorpus-id\tscore", *("\t".join(map(str, judgement)) for judgement in texts.judgements)]
    write_atomically(folder / "qrels" / "test.tsv", "\n".join(rows) + "\n")
