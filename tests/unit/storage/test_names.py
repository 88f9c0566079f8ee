"""Names as text that can be printed, and as parts of paths."""

import os
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from directrank.storage.names import printable, slug

ANY = st.text(st.characters(), max_size=200)


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("../../evil", "evil"), ("/etc/passwd", "etc-passwd"), ("..", "unnamed"), (".", "unnamed"),
        ("", "unnamed"), ("CON", "CON"), ("nul.txt", "nul-txt"), ("a\\b", "a-b"), ("a\nb", "a-b"),
        ("x" * 300, "x" * 64), ("-rf", "rf"), (".hidden", "hidden"), ("été", "t"), ("end.", "end"),
        ("data-0123456789ab", "data-0123456789ab"),
    ],
)  # fmt: skip
def test_other_names_get_a_digest(name, kept):
    found, digest = slug(name)[:-13], slug(name)[-13:]
    assert found == kept
    assert digest[0] == "-"
    assert len(digest) == 13


@given(ANY)
@example("\udcff\udcfe")
@example("a" * 4096)
@example("COM1.txt")
def test_a_slug_is_one_part_of_a_path_below_its_folder(name):
    part = slug(name)
    assert Path(os.path.normpath(Path("/runs") / part)).parent == Path("/runs")
    assert part.isascii()
    assert 0 < len(part) <= 80
    assert set(part) & set('/\\:*?"<>|\0') == set()
    assert part[0] not in ".-"
    assert part[-1] != "."


@given(ANY, ANY)
@example("é", "e\u0301")
@example("a/b", "a-b")
@example("a/b", slug("a/b"))
@example("evil", "../evil")
@example("Straße", "STRASSE")
def test_different_names_have_different_slugs(one, other):
    assert (slug(one) == slug(other)) == (one == other)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (os.fsdecode(b"\xff\xfe"), r"\xff\xfe"), ("a\nb\tc", r"a\nb\tc"), ("\x1b[31m", r"\x1b[31m"),
        ("\u202egnp.exe", r"\u202egnp.exe"), ("\ud800", r"\ud800"), ("\x85\u2028", r"\x85\u2028"),
        ("日本 é", "日本 é"), ("ישראל", "ישראל"), ("👩‍🔬", "👩‍🔬"),
    ],
)  # fmt: skip
def test_what_is_no_text_is_escaped(name, shown):
    assert printable(name) == shown
