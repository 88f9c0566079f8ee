"""From text to terms: words in lower case, without stop words, stemmed."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from directrank.errors import DataError, install_line

#: scikit-learn's pattern of words of two or more letters or digits.
WORDS = re.compile(r"(?u)\b\w\w+\b")
#: Longer words are cut, in characters: they are no words but data.
LONGEST = 64
#: Words that are part of no term.
STOPPED = -1
NONE = "none"


@dataclass(frozen=True)
class Analysis:
    """How text becomes terms; part of an index.

    Attributes
    ----------
    stemmer : str, default="english"
        A stemmer of Snowball, or ``"none"``.
    stopwords : str, default="english-plus"
        A list of ``stop_words.txt``, such as ``"german"``, or ``"none"``.
    """

    stemmer: str = "english"
    stopwords: str = "english-plus"

    def __post_init__(self):
        if self.stemmer != NONE and self.stemmer not in (algorithms := _stemmers().algorithms()):
            raise ValueError(
                f"no stemmer is called {self.stemmer!r}; there are {', '.join(algorithms)} and {NONE}"
            )
        self.stop_words()

    def stop_words(self) -> frozenset[str]:
        """Return the words that are left out."""
        if self.stopwords == NONE:
            return frozenset()
        word_lists = _stop_words()
        if self.stopwords not in word_lists:
            raise ValueError(
                f"no stop words for {self.stopwords!r}; there are {', '.join(word_lists)} and {NONE}"
            )
        return word_lists[self.stopwords]

    def stem(self) -> Callable[[str], str]:
        """Return the function from a word to its stem."""
        return str if self.stemmer == NONE else _stemmers().Stemmer(self.stemmer).stemWord

    def term(self) -> Callable[[str], str]:
        """Return the function from a word in lower case to its term, which is empty for a stop word."""
        stop_words, stem = self.stop_words(), self.stem()
        return lambda word: "" if word in stop_words else stem(word[:LONGEST])


def _stemmers() -> Any:
    try:
        import Stemmer
    except ImportError:
        raise DataError(f"this needs PyStemmer: {install_line('text')}") from None
    return Stemmer


@cache
def _stop_words() -> dict[str, frozenset[str]]:
    """Return the lists of stop words by their names."""
    content = (files("directrank.apps.text.index") / "stop_words.txt").read_text(encoding="utf-8")
    lists = content.split("\n[")[1:]
    return {
        name: frozenset(words.split()) for name, _, words in (section.partition("]") for section in lists)
    }


def words_of(text: str) -> list[str]:
    """Return the words of a text, in lower case."""
    return WORDS.findall(text.lower())


class TermNumbers(dict[str, int]):
    """The number of the term of each word; a new term gets the next number when its word is first looked up.

    `terms` are by number, in the order of their first appearance.
    """

    def __init__(self, analysis: Analysis):
        super().__init__()
        self.terms: dict[str, int] = {}
        self._term = analysis.term()

    def __missing__(self, word: str) -> int:
        term = self._term(word)
        number = self.terms.setdefault(term, len(self.terms)) if term else STOPPED
        self[word] = number
        return number


def terms_of(text: str, analysis: Analysis) -> list[str]:
    """Return the terms of a text, as often as they are in it."""
    return [term for term in map(analysis.term(), words_of(text)) if term]
