"""UBJSON as XGBoost writes it (`save_model("model.ubj")`): the values that its JSON has."""

import numpy as np

from directrank.storage.strict_json import MAX_DEPTH, JSONObject, Plain, StrictJSONError

#: Numbers by their marker, all of them with the most important byte first.
NUMBERS = {"i": ">i1", "U": ">u1", "I": ">i2", "l": ">i4", "L": ">i8", "d": ">f4", "D": ">f8"}
WHOLE = "iUIlL"
WORDS = {"T": True, "F": False, "Z": None}


def parse(content: bytes) -> Plain:
    """Return the value of a whole file, or raise `StrictJSONError`.

    Nothing is made that is longer than the bytes that are left.
    """
    reader = _Reader(content)
    value = reader.value(reader.marker(), MAX_DEPTH)
    if reader.at != len(content):
        raise StrictJSONError(f"byte {reader.at}: something follows the end")
    return value


class _Reader:
    def __init__(self, content: bytes):
        self.content, self.at = content, 0

    def take(self, length: int) -> bytes:
        if not 0 <= length <= len(self.content) - self.at:
            raise StrictJSONError(f"byte {self.at}: {length} bytes are to follow, and are not there")
        self.at += length
        return self.content[self.at - length : self.at]

    def marker(self) -> str:
        return self.take(1).decode("latin-1")

    def numbers(self, marker: str, count: int) -> list:
        kind = np.dtype(NUMBERS[marker])
        return np.frombuffer(self.take(count * kind.itemsize), kind).tolist()

    def length(self) -> int:
        marker = self.marker()
        if marker not in WHOLE:
            raise StrictJSONError(f"byte {self.at - 1}: found {marker!r}, expected a length")
        return self.numbers(marker, 1)[0]

    def text(self) -> str:
        try:
            return self.take(self.length()).decode()
        except UnicodeDecodeError:
            raise StrictJSONError(f"byte {self.at}: a text is no UTF-8") from None

    def value(self, marker: str, depth: int) -> Plain:
        if depth == 0:
            raise StrictJSONError(f"nested deeper than {MAX_DEPTH} levels")
        if marker in NUMBERS:
            return self.numbers(marker, 1)[0]
        if marker in WORDS:
            return WORDS[marker]
        if marker == "S":
            return self.text()
        if marker == "[":
            return self.array(depth)
        if marker == "{":
            return self.members(depth)
        raise StrictJSONError(f"byte {self.at - 1}: found {marker!r}, expected a value")

    def array(self, depth: int) -> list:
        marker, kind = self.marker(), ""
        if marker == "$":
            kind, marker = self.marker(), self.marker()
            if kind not in NUMBERS or marker != "#":
                raise StrictJSONError(f"byte {self.at - 1}: an array of {kind!r}, expected one of numbers")
        if marker == "#":
            count = self.length()
            if kind:
                return self.numbers(kind, count)
            return [self.value(self.marker(), depth - 1) for _ in range(count)]
        values = []
        while marker != "]":
            values.append(self.value(marker, depth - 1))
            marker = self.marker()
        return values

    def members(self, depth: int) -> JSONObject:
        members: JSONObject = {}
        while self.content[self.at : self.at + 1] != b"}":
            name = self.text()
            if name in members:
                raise StrictJSONError("a key is repeated")
            members[name] = self.value(self.marker(), depth - 1)
        self.at += 1
        return members
