"""A process that ends after an error about a table ends with its own exit code, and never by an abort.

`DIRECTRANK_EXIT_RUNS` sets the number of runs of each case; 300 on a busy machine is the full count.
"""

import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

RUNS = int(os.environ.get("DIRECTRANK_EXIT_RUNS", "8"))
HEAD = "qid,label,f1\n" + "".join(f"{row // 4},{row % 2},{row}\n" for row in range(40))
#: As busy processors do, this lets no thread of pyarrow run Python between the last read and the end.
READ = """
import pathlib, sys, time
from directrank.files.tables import csv_batches, csv_schema
from directrank.errors import DataError

sys.setswitchinterval(60)
try:
    csv_schema(pathlib.Path(sys.argv[1]))
    list(csv_batches(pathlib.Path(sys.argv[1]), {}))
except DataError:
    pass
end = time.perf_counter() + 0.2
while time.perf_counter() < end:
    pass
sys.exit(3)
"""
COMMANDS = {
    "read": ["-c", READ, "data.csv"],
    "command": ["-m", "directrank", "evaluate", "data.csv", "s.txt"],
}


@pytest.mark.heavy
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("row", ["9,1,1,2\n", "9,-1,1\n"])
def test_a_table_that_cannot_be_used(tmp_path, row, command):
    (tmp_path / "data.csv").write_text(HEAD + row)
    (tmp_path / "s.txt").write_text("1\n")
    words = [sys.executable, *COMMANDS[command]]

    def code(_) -> int:
        return subprocess.run(words, cwd=tmp_path, capture_output=True).returncode

    with ThreadPoolExecutor(3) as pool:
        assert Counter(pool.map(code, range(RUNS))) == {3: RUNS}
