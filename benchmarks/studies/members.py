"""What `auto` loses without each of its members, by `directrank compare`, with paired standard errors.

    python benchmarks/studies/members.py FOLDER --out runs/members

FOLDER has Fold1 … FoldN. Each row is the test value of `auto` without a member less that of `auto`, mean of
the folds, trained for AP on the training sets. Members on standardised features take part where the others
take the logarithm, as in `auto`.
"""

import argparse
import subprocess
import sys
from pathlib import Path

import numpy as np

from directrank import find_folds
from directrank.apps.auto.ensembles import MEMBERS
from directrank.apps.experiments import read_results
from directrank.measures.names import split_specs
from directrank.scorers.scaling import fit_scaling

MEASURES = ("AP", "nDCG@10")


def values(folder: str, members: list[str], out: Path) -> dict[str, np.ndarray]:
    """Return the values of `auto` with some members on each test query, by measure."""
    options = ["--methods", "auto", "--set", f"members={','.join(members)}", "--select-by", "AP"]
    options += ["--measures", ",".join(MEASURES), "--out", str(out)]
    subprocess.run([sys.executable, "-m", "directrank", "compare", folder, *options], check=True)
    found = read_results(out)
    return {measure: found.query_values("standard", measure, found.trained[0]) for measure in MEASURES}


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    train = find_folds(arguments.folder)[0].load()[0]
    logarithms = fit_scaling("auto", train, None, 1).kind == "log"
    members = [each for each in split_specs(MEMBERS) if logarithms or "scaling" not in each]
    whole = values(arguments.folder, members, arguments.out / "all")
    print("without", *MEASURES, sep=" | ")
    for place, member in enumerate(members):
        others = values(arguments.folder, members[:place] + members[place + 1 :], arguments.out / str(place))
        cells = []
        for measure in MEASURES:
            gains = others[measure] - whole[measure]
            cells.append(f"{gains.mean():+.4f} ({gains.std(ddof=1) / np.sqrt(len(gains)):.4f})")
        print(member, *cells, sep=" | ")


if __name__ == "__main__":
    main()
