"""Reading tables beside reading LETOR text: seconds, and how many times as fast as LETOR text.

    python benchmarks/kernels/tables.py [--scale 0.02]

The same documents as LETOR text, CSV, Parquet and Arrow, read in this process after kernels are compiled; and
`pyarrow.csv.read_csv` alone. Times are the least of some calls: processor time, summed over threads, and time
that passed.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

from directrank.data import load_data
from web30k import write_web30k

REPEATS = 3


def write_tables(groups, folder: Path) -> list[Path]:
    """Write documents as CSV, gzipped CSV, Parquet and Arrow; return the paths."""
    columns = {"qid": groups.qid, "relevance": groups.relevance.astype(int)}
    table = pa.table(columns | {f"f{i}": column for i, column in enumerate(groups.X.T, 1)})
    paths = [folder / f"web30k.{ending}" for ending in ("csv", "csv.gz", "parquet", "arrow")]
    csv.write_csv(table, paths[0])
    with pa.output_stream(str(paths[1]), compression="gzip") as file:
        csv.write_csv(table, file)
    parquet.write_table(table, paths[2])
    with pa.ipc.new_file(str(paths[3]), table.schema) as writer:
        writer.write_table(table, 1 << 16)
    return paths


def seconds(read) -> tuple[float, float]:
    """Return the least processor time and the least time that passed, of some calls."""
    processor, passed = [], []
    for _ in range(REPEATS):
        start = time.process_time(), time.perf_counter()
        read()
        processor.append(time.process_time() - start[0])
        passed.append(time.perf_counter() - start[1])
    return min(processor), min(passed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=0.02, help="share of WEB30K (default 0.02)")
    scale = parser.parse_args().scale
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "web30k.txt"
        write_web30k(text, scale)
        groups = load_data(text)
        paths = [text, *write_tables(groups, Path(folder))]
        same = all(np.array_equal(load_data(path).features, groups.features) for path in paths)
        print(f"{groups.n_docs} documents × {groups.n_features} features; equal bits: {same}")
        print(f"{'read':24}{'MB':>8}{'processor s':>13}{'ratio':>7}{'passed s':>11}{'ratio':>7}")
        whole = seconds(lambda: load_data(text))
        taken = {path.name: (path, seconds(lambda path=path: load_data(path))) for path in paths}
        taken["pyarrow.csv.read_csv"] = paths[1], seconds(lambda: csv.read_csv(paths[1]))
        for name, (path, times) in taken.items():
            shown = (f"{time:11.3f}{full / time:7.1f}" for time, full in zip(times, whole, strict=True))
            print(f"{name:24}{path.stat().st_size / 1e6:8.1f}  {''.join(shown)}")


if __name__ == "__main__":
    main()
