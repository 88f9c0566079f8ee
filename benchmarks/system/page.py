"""Size and opening time of the page, in a browser without a network.

Without RUN, pages of invented results of growing size; with it, the page of a comparison's folder. Opening
is timed by the browser itself, from the start of navigation to the end of the load event, by which time the
script has built its part; the least and the median of several openings are printed, each in a context of its
own, beside those of an empty page.

    python benchmarks/system/page.py [RUN] [--rounds 7] [--screenshots FOLDER]

The picture in README is that of the demo: after README's command, which does not install LightGBM,

    python benchmarks/system/page.py demo --picture docs/page.png
"""

import argparse
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from directrank.apps.experiments import read_results
from directrank.apps.report import render

MEASURES = ("AP", "nDCG@1", "nDCG@2", "nDCG@3", "nDCG@4", "nDCG@5", "nDCG@10", "P@5", "P@10", "RR")
TIMING = """() => {
  const entry = performance.getEntriesByType("navigation")[0];
  return entry.loadEventEnd - entry.startTime;
}"""
SCREENS = [(width, scheme) for width in (1280, 390) for scheme in ("light", "dark")]


def page_texts(run):
    yield "an empty page", "<!doctype html><title>empty</title>"
    if run:
        yield run, render(read_results(run))
        return
    import pages

    for methods in (5, 20, 40):
        result = pages.invented(
            methods, 5, MEASURES, n_queries=22, n_points=24, n_rounds=200, n_features=46, tested=False
        )
        yield f"{methods} methods × 5 folds × 10 measures", render(result)


def opening(browser, file, rounds):
    times = []
    for _ in range(rounds):
        context = browser.new_context(offline=True, viewport={"width": 1280, "height": 900})
        page = context.new_page()
        page.goto(file.as_uri())
        page.wait_for_function("performance.getEntriesByType('navigation')[0].loadEventEnd > 0")
        times.append(page.evaluate(TIMING))
        context.close()
    return times


def take_screenshots(browser, file, folder):
    for width, scheme in SCREENS:
        context = browser.new_context(
            offline=True, viewport={"width": width, "height": 900}, color_scheme=scheme
        )
        page = context.new_page()
        page.goto(file.as_uri())
        page.screenshot(path=folder / f"page-{width}-{scheme}.png", full_page=True)
        print(f"{width} px, {scheme}: {page.evaluate('document.documentElement.scrollHeight')} px high")
        context.close()


def take_picture(browser, file, path):
    """Save the verdict and the chart, so narrow that a telephone shows them large enough to read."""
    context = browser.new_context(offline=True, viewport={"width": 640, "height": 760}, color_scheme="light")
    page = context.new_page()
    page.goto(file.as_uri())
    page.screenshot(path=path)
    context.close()


def main():
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("run", nargs="?")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--screenshots", type=Path)
    parser.add_argument("--picture", type=Path)
    arguments = parser.parse_args()
    executable = os.environ.get("DIRECTRANK_CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as driver, tempfile.TemporaryDirectory() as folder:
        browser = driver.chromium.launch(executable_path=executable)
        print(f"{'page':<40} {'MB':>6} {'least ms':>9} {'median ms':>10}")
        for name, text in page_texts(arguments.run):
            file = Path(folder) / "page.html"
            file.write_text(text, encoding="utf-8")
            times = opening(browser, file, arguments.rounds)
            size = file.stat().st_size / 1e6
            print(f"{name:<40} {size:>6.2f} {min(times):>9.0f} {statistics.median(times):>10.0f}")
        if arguments.screenshots:
            arguments.screenshots.mkdir(parents=True, exist_ok=True)
            take_screenshots(browser, file, arguments.screenshots)
        if arguments.picture:
            take_picture(browser, file, arguments.picture)
        browser.close()


if __name__ == "__main__":
    main()
