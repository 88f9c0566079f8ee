"""The page and the document of a run: escaped, strict, and equal to what the record says."""

from pathlib import Path

from benchmarks.results.records import Record, Row, write_record
from benchmarks.results.speed_page import speed_page

ROOT = Path(__file__).parents[3]
RECORDS = ROOT / "benchmarks" / "records"
NASTY = "<script>alert('x')</script> | a*b & \"c\""


def record(**given):
    rows = [
        Row(f"one/{NASTY}", NASTY, NASTY, True, 8.0, ratio=7.5, low=7.0, high=8.0, ours=0.1, theirs=0.75),
        Row("one/kept", "this", "that", False, 2.0, ratio=1.5, low=1.4, high=1.6, ours=0.1, theirs=0.75),
        Row("two/missing", "what", "that", problem=NASTY),
        Row("two/noisy", "what", "that", ratio=3.0, low=1.0, high=9.0, ours=1.0, theirs=3.0, noisy=True),
    ]
    given = {"rows": rows, "written": "2026-01-01", "read_pass": 40.0, **given}
    return Record({"processor": NASTY, "cores": "2"}, {"numpy": "2"}, **given)


def test_the_document_says_how_it_is_made_and_shows_each_row(tmp_path):
    write_record(record(), tmp_path / "one.json")
    text = speed_page(tmp_path)
    head = text.splitlines()[:4]
    assert any("python -m benchmarks --docs" in line for line in head)
    assert "| this | 100 ms | that | 1.50 times as long |" in text
    assert "- `two/missing`, what: not measured: " in text
    assert "<script>" not in text.replace("\\<script\\>", "")
    rows = [line for line in text.splitlines() if line.startswith("| ") and "alert" in line]
    assert len(rows) == 1
    assert rows[0].replace("\\|", "").count("|") == 5


def test_the_document_has_a_table_of_growth_with_exponents(tmp_path):
    rows = [
        Row("growth/fast/10k", ratio=10.0, ours=2.0, theirs=0.2),
        Row("growth/slow/10k", ratio=1000.0, ours=300.0, theirs=0.3),
        Row("growth/fast/1m", ratio=5.0, ours=10.0, theirs=2.0),
        Row("growth/slow/1m", problem="about 50 minutes"),
    ]
    (tmp_path / "growth").mkdir()
    grown = record(rows=rows, written="2026-02-03T01:00", pending=["growth/slowest/10k"])
    write_record(grown, tmp_path / "growth" / "one.json")
    lines = speed_page(tmp_path).splitlines()
    table = lines[lines.index("| method | 10k | 1m |") :][:5]
    assert table[2] == "| `fast` | 2.00 s (1.00) | 10.0 s (0.70) |"
    assert table[3] == "| `slow` | 300 s (3.00) | about 50 minutes |"
    assert table[4] == "| `slowest` | not measured |  |"
    assert "(2026-02-03)" in " ".join(lines)


def test_docs_speed_is_what_the_record_generates():
    assert (ROOT / "docs" / "speed.md").read_text() == speed_page(RECORDS)
