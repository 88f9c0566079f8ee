"""From text to terms: words in lower case, without stop words, stemmed."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from directrank.text.extra import imported

#: scikit-learn's pattern of words of two or more letters or digits; bm25s has the same one.
WORDS = re.compile(r"(?u)\b\w\w+\b")
#: Longer words are cut, in characters: they are no words but data.
LONGEST = 64
#: Words that are part of no term.
STOPPED = -1
NONE = "none"
#: How the lists of stop words are called in bm25s, and those that are not called after a language.
LISTS = "STOPWORDS_"
LANGUAGES = {"STOPWORDS_EN": "english", "STOPWORDS_EN_PLUS": "english-plus"}


@dataclass(frozen=True)
class Analysis:
    """How text becomes terms; part of an index.

    Attributes
    ----------
    stemmer : str, default="english"
        A stemmer of Snowball, or ``"none"``.
    stopwords : str, default="english-plus"
        A language of bm25s's lists of stop words, or ``"none"``.
    """

    stemmer: str = "english"
    stopwords: str = "english-plus"

    def __post_init__(self):
        if self.stemmer != NONE and self.stemmer not in (known := imported("Stemmer").algorithms()):
            raise ValueError(
                f"no stemmer is called {self.stemmer!r}; there are {', '.join(known)} and {NONE}"
            )
        self.stop_words()

    def stop_words(self) -> frozenset[str]:
        """Return the words that are left out."""
        if self.stopwords == NONE:
            return frozenset()
        lists = vars(imported("bm25s.stopwords"))
        known = {
            LANGUAGES.get(name) or name.removeprefix(LISTS).lower(): words
            for name, words in sorted(lists.items())
            if name.startswith(LISTS) and isinstance(words, tuple)
        }
        if self.stopwords not in known:
            raise ValueError(f"no stop words for {self.stopwords!r}; there are {', '.join(known)} and {NONE}")
        return frozenset(known[self.stopwords])

    def stem(self) -> Callable[[str], str]:
        """Return the function from a word to its stem."""
        return str if self.stemmer == NONE else imported("Stemmer").Stemmer(self.stemmer).stemWord


def words_of(text: str) -> list[str]:
    """Return the words of a text, in lower case."""
    return WORDS.findall(text.lower())


class TermNumbers(dict[str, int]):
    """The number of the term of each word; a new term gets the next number when its word is first looked up.

    Attributes
    ----------
    terms : dict of str to int
        The terms by number, in the order of their first appearance.
    """

    def __init__(self, analysis: Analysis):
        super().__init__()
        self.terms: dict[str, int] = {}
        self._stop_words, self._stem = analysis.stop_words(), analysis.stem()

    def __missing__(self, word: str) -> int:
        term = "" if word in self._stop_words else self._stem(word[:LONGEST])
        number = self.terms.setdefault(term, len(self.terms)) if term else STOPPED
        self[word] = number
        return number


def terms_of(text: str, analysis: Analysis) -> list[str]:
    """Return the terms of a text, as often as they are in it."""
    stop_words, stem = analysis.stop_words(), analysis.stem()
    stems = (stem(word[:LONGEST]) for word in words_of(text) if word not in stop_words)
    return [each for each in stems if each]
