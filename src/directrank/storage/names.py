"""Names that users give: as text that can be printed and stored, and as part of a path."""

import hashlib
import re
import unicodedata

__all__ = [
    "printable",
    "slug",
]

#: Categories of characters that are escaped: controls, halves of surrogate pairs, separators of lines.
ESCAPED = ("Cc", "Cs", "Zl", "Zp")
#: Characters that turn the direction of the text after them.
TURNING = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
LONGEST = 64
DIGITS = 12
#: Windows reserves these, with any ending.
RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?")
UNCHANGED = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_-])?")
SUFFIXED = re.compile(rf".*-[0-9a-f]{{{DIGITS}}}")


def printable(name: str) -> str:
    r"""Return a name with every character that is no text, such as a line break, as an escape sequence.

    Bytes of a path that are not UTF-8, which Python represents by halves of surrogate pairs, become
    ``\xff``. The result can be encoded, and prints on one line.
    """
    return "".join(_escaped(letter) if _is_escaped(letter) else letter for letter in name)


def slug(name: str) -> str:
    """Return a part of a path for a name: never empty, absolute, or a way out of its folder.

    A name of ASCII letters, digits, dots, hyphens and underscores is its own slug. The slug of any other
    name, and of one that is too long, reserved, or ends like such a slug, ends in a digest of the name. So
    different names have different slugs; where a file system ignores case, the slugs of names that differ
    only by case are the same folder.
    """
    fine = UNCHANGED.fullmatch(name) and not RESERVED.fullmatch(name) and not SUFFIXED.fullmatch(name)
    if fine and len(name) <= LONGEST:
        return name
    stem = re.sub(r"[^A-Za-z0-9_]+", "-", name).strip("-")[:LONGEST].rstrip("-")
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:DIGITS]
    return f"{stem or 'unnamed'}-{digest}"


def _is_escaped(letter: str) -> bool:
    return unicodedata.category(letter) in ESCAPED or unicodedata.bidirectional(letter) in TURNING


def _escaped(letter: str) -> str:
    code = ord(letter)
    if 0xDC80 <= code <= 0xDCFF:  # a byte of a path
        return f"\\x{code - 0xDC00:02x}"
    return letter.encode("ascii", "backslashreplace").decode() if code > 127 else ascii(letter)[1:-1]
