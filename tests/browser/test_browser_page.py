"""The page as a reader meets it."""

import csv
import io
import shlex

import pytest

import pages
from directrank.experiments.results import Comparison
from directrank.report import render

MEASURES = ("AP", "nDCG@1", "nDCG@10", "WPD")
#: Rows of a table that is shown, by its name: a row's heading, then every cell's text and value.
ROWS = """name => [...document.querySelectorAll(`table[data-table="${name}"]`)]
  .filter(table => table.checkVisibility())
  .map(table => ({
    label: table.getAttribute("aria-label"),
    columns: [...table.tHead.rows[0].cells].map(cell => cell.textContent),
    rows: [...table.tBodies[0].rows].filter(row => !row.hidden).map(row => [...row.cells].map(
      cell => ({text: cell.firstChild ? cell.firstChild.textContent : "", value: cell.dataset.value}))),
  }))"""
#: What has the focus, and what it belongs to.
FOCUSED = """() => {
  const node = document.activeElement;
  const around = node.closest(".control, th, nav, .scroll, li");
  return `${node.tagName} ${around ? around.tagName : ""}`;
}"""
#: The least contrast of visible text against what is behind it, and the text.
CONTRAST = """() => {
  const channels = text => {
    const n = text.match(/[\\d.]+/g).map(Number);
    return [n[0], n[1], n[2], n[3] ?? 1];
  };
  const light = c => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
  const luminance = ([r, g, b]) => 0.2126 * light(r) + 0.7152 * light(g) + 0.0722 * light(b);
  const over = (a, b) => [0, 1, 2].map(i => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
  const behind = node => {
    const layers = [];
    for (let each = node; each; each = each.parentElement) {
      layers.push(channels(getComputedStyle(each).backgroundColor));
    }
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255, 1]);
  };
  let least = [99, ""];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || node.closest("script") || !node.checkVisibility()) continue;
    const style = getComputedStyle(node);
    const back = behind(node);
    const ink = over(channels(node instanceof SVGElement ? style.fill : style.color), back);
    const pair = [luminance(ink), luminance(back)].sort((a, b) => b - a);
    const contrast = (pair[0] + 0.05) / (pair[1] + 0.05);
    if (contrast < least[0]) least = [contrast, walker.currentNode.data.trim()];
  }
  return least;
}"""


@pytest.fixture(scope="module")
def result() -> Comparison:
    return pages.invented(9, 3, MEASURES, n_queries=20)


@pytest.fixture(scope="module")
def text(result) -> str:
    return render(result)


def choose(page, label: str, value: str) -> None:
    page.get_by_label(label, exact=True).select_option(value)


def open_all(page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")


def test_numbers_on_the_page_are_those_of_the_files(opened, result, text):
    page = opened(text).page
    for convention in result.conventions:
        choose(page, "Convention", convention)
        rows = [
            row for row in csv.DictReader(io.StringIO(result.to_csv(convention))) if row["split"] == "test"
        ]
        for measure in MEASURES:
            choose(page, "Measure", measure)
            exact = {
                (row["method"], row["fold"]): float(row["value"]) for row in rows if row["measure"] == measure
            }
            (table,) = page.evaluate(ROWS, "folds")
            assert (measure in table["label"], convention in table["label"]) == (True, True)
            assert len(table["rows"]) == 9
            for heading, *cells in table["rows"]:
                values = [exact[heading["text"], fold] for fold in result.folds]
                assert [float(cell["value"]) for cell in cells[:3]] == values
                assert [cell["text"] for cell in cells[:3]] == [f"{value:.4f}" for value in values]
                assert float(cells[3]["value"]) == pytest.approx(sum(values) / 3, abs=1e-15)
            (headline,) = page.evaluate(ROWS, "results")
            column = headline["columns"].index(measure)
            for heading, *cells in headline["rows"]:
                mean = sum(exact[heading["text"], fold] for fold in result.folds) / 3
                assert float(cells[column - 1]["value"]) == pytest.approx(mean, abs=1e-15)
                assert cells[column - 1]["text"] == f"{mean:.4f}"


def test_hostile_text_is_shown_as_it_is_and_does_nothing(opened):
    poisoned, places = pages.poisoned()
    assert len(pages.PAYLOADS) == 40
    page = opened(render(poisoned)).page
    open_all(page)
    while page.locator("button.more").count():
        page.locator("button.more").click()
    shown = page.evaluate("document.body.innerText + '\\n' + document.body.textContent")
    for place, texts in places.items():
        for each in texts:
            expected = shlex.quote(each) if place == "path" else each
            assert expected in shown, (place, each)
    # Names of methods pass through every control.
    for at in range(0, 20, 5):
        choose(page, "Method A", str(at))
        assert page.locator("#compare .part-said strong").first.text_content() == places["method name"][at]
    for heading in page.locator("table.sortable:visible thead button").all()[:12]:
        heading.click()
    for entry in page.locator("ul.key button:visible").all()[:6]:
        entry.click()
    page.get_by_label("Find methods").fill(pages.PAYLOADS[0])
    assert page.locator("#count").text_content() == "1 of 40 methods shown"
    assert page.evaluate("Object.keys(window).filter(name => name.startsWith('alert')).length") == 1
    assert page.title().startswith("n0 </script><script>alert(1)</script>")


def test_columns_sort_by_mouse_and_by_keyboard(opened, result, text):
    page = opened(text).page

    def order(column: int) -> list[str]:
        (table,) = page.evaluate(ROWS, "results")
        return [row[column]["value"] or row[column]["text"] for row in table["rows"]]

    heading = page.locator("table[data-table=results]:visible thead th").nth(2)
    button = heading.get_by_role("button")
    button.click()
    assert heading.get_attribute("aria-sort") == "descending"
    values = [float(each) for each in order(2)]
    assert values == sorted(values, reverse=True)
    button.focus()
    page.keyboard.press("Enter")
    assert heading.get_attribute("aria-sort") == "ascending"
    assert [float(each) for each in order(2)] == sorted(values)
    first = page.locator("table[data-table=results]:visible thead th").first
    first.get_by_role("button").click()
    assert order(0) == sorted(result.methods)
    assert page.locator("table[data-table=results]:visible th[aria-sort]").count() == 1


def test_failed_rows_come_last_however_sorted(opened):
    result = pages.copied(pages.invented(4, 1, MEASURES, conventions=("standard",)))
    result.cells[1]["error"] = {"type": "ValueError", "message": "no", "traceback": ""}
    del result.summary["significance"]
    page = opened(render(result)).page
    button = page.locator("table[data-table=results] thead button").nth(1)
    for _ in range(2):
        button.click()
        (table,) = page.evaluate(ROWS, "results")
        assert table["rows"][-1][0]["text"] == "method 1"


def test_filter_hides_methods_everywhere(opened, text):
    page = opened(text).page
    field = page.get_by_label("Find methods")
    field.focus()
    page.keyboard.type("DOES method 4")
    assert page.locator("#count").text_content() == "1 of 9 methods shown"
    for name in ("results", "folds"):
        (table,) = page.evaluate(ROWS, name)
        assert [row[0]["text"] for row in table["rows"]] == ["method 4"]
    assert page.locator("#results .dots .row[data-m]:visible").count() == 1
    lines = page.locator("#curves .variant:not([hidden]) polyline:not(.out)")
    assert lines.count() == 1
    field.fill("")
    assert page.locator("#count").text_content() == ""
    assert len(page.evaluate(ROWS, "results")[0]["rows"]) == 9


def test_key_of_the_curves_brings_lines_forward(opened, text):
    page = opened(text).page
    button = page.locator("#curves .variant:not([hidden]) ul.key button").last
    method = page.locator("#curves .variant:not([hidden]) ul.key li").last.get_attribute("data-m")
    line = page.locator(f"#curves .variant:not([hidden]) polyline[data-m='{method}']")
    assert button.get_attribute("aria-pressed") == "false"
    assert "faint" in line.get_attribute("class")
    button.focus()
    page.keyboard.press("Space")
    assert button.get_attribute("aria-pressed") == "true"
    assert "faint" not in line.get_attribute("class")


@pytest.mark.parametrize("measure", ["AP", "WPD"])
def test_two_methods_query_by_query(opened, result, text, measure):
    page = opened(text).page
    choose(page, "Measure", measure)
    choose(page, "Convention", "standard")
    choose(page, "Method A", "2")
    choose(page, "Method B", "5")
    exact = {}
    for fold in result.folds:
        ours, theirs = (result.cell(f"method {place}", fold) for place in (2, 5))
        values = zip(*(cell["per_query"]["standard"][measure] for cell in (ours, theirs)), strict=True)
        exact.update(
            zip(ours["qid"], zip(values, ours["ranked"], theirs["ranked"], strict=True), strict=True)
        )
    sign = -1 if measure == "WPD" else 1
    wins = sum(sign * (a - b) > 1e-12 for (a, b), _, _ in exact.values())
    said = page.locator("#compare .part-said").text_content()
    assert f"method 2 is better than method 5 on {wins} queries, worse on {60 - wins}" in said
    pair = next(
        each
        for each in result.summary["significance"]["standard"]["pairs"][measure]
        if (each["method"], each["baseline"]) == ("method 2", "method 5")
    )
    assert f"{abs(pair['difference']):.4f}" in said
    assert page.locator("#compare svg.deltas rect.plus").count() == wins
    choose(page, "Queries listed", "a")
    while page.locator("button.more").count():
        page.locator("button.more").click()
    (table,) = page.evaluate(ROWS, "queries")
    assert len(table["rows"]) == wins
    for row in table["rows"]:
        (a, b), _, _ = exact[row[0]["text"]]
        assert [row[2]["text"], row[3]["text"]] == [f"{a:.4f}", f"{b:.4f}"]
        assert float(row[1]["text"].replace("−", "-")) == pytest.approx(sign * (a - b), abs=8e-5)
    chips = page.locator("table[data-table=queries] tbody tr").first.locator(".chips").all()
    shown = [[float(chip) for chip in each.locator(".chip").all_text_contents()] for each in chips]
    assert shown == [list(each) for each in exact[table["rows"][0][0]["text"]][1:]]


def test_first_method_against_every_other(opened, result, text):
    page = opened(text).page
    choose(page, "Method A", "3")
    (table,) = page.evaluate(ROWS, "against")
    pairs = result.summary["significance"]["letor3"]["pairs"]["AP"]
    exact = {}
    for each in pairs:
        if "method 3" in (each["method"], each["baseline"]):
            first = each["method"] == "method 3"
            other = each["baseline"] if first else each["method"]
            counts = (each["wins"], each["losses"]) if first else (each["losses"], each["wins"])
            exact[other] = (each["difference"] if first else -each["difference"], *counts)
    assert len(table["rows"]) == 8
    for row in table["rows"]:
        difference, wins, losses = exact[row[0]["text"]]
        assert float(row[1]["text"].replace("−", "-")) == pytest.approx(difference, abs=6e-5)
        assert [row[3]["text"], row[5]["text"]] == [str(wins), str(losses)]


def test_measure_that_is_not_kept_is_said(opened):
    result = pages.invented(4, 2, ("AP", "nDCG@10"), n_queries=9_000, tested=False)
    page = opened(render(result)).page
    assert "queries on which the methods differ most" in page.locator("#compare").text_content()
    choose(page, "Measure", "nDCG@10")
    assert "is not kept query by query" in page.locator("#compare .part-said").text_content()


def test_everything_is_reached_by_keyboard(opened, text):
    page = opened(text).page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the results"
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate(FOCUSED))
        style = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert style != "none"
    assert {"A LI", "INPUT DIV", "SELECT DIV", "BUTTON TH", "BUTTON LI", "DIV DIV"} <= reached
    summary = page.locator("#settings summary").first
    summary.focus()
    page.keyboard.press("Enter")
    assert page.locator("#settings details").first.get_attribute("open") is not None
    page.get_by_label("Measure", exact=True).focus()
    page.keyboard.press("ArrowDown")
    assert "nDCG@1" in page.evaluate(ROWS, "folds")[0]["label"]


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_nothing_hangs_over_the_side(opened, text, width):
    page = opened(text, viewport={"width": width, "height": 844}).page
    open_all(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_long_names_do_not_hang_over_either(opened):
    poisoned, _ = pages.poisoned(("x" * 300, "y " * 150, "<b>" * 90))
    page = opened(render(poisoned), viewport={"width": 390, "height": 844}).page
    open_all(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast(opened, text, scheme):
    page = opened(text, color_scheme=scheme).page
    open_all(page)
    back = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (back == "rgb(255, 255, 255)") == (scheme == "light")
    least, where = page.evaluate(CONTRAST)
    assert least >= 4.5, where


def test_print_shows_the_results_and_no_controls(opened, text):
    page = opened(text).page
    page.emulate_media(media="print", color_scheme="dark")
    assert not page.locator("#toolbar").is_visible()
    assert not page.locator("nav").is_visible()
    assert page.locator("table[data-table=results]:visible").count() == 1
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    least, where = page.evaluate(CONTRAST)
    assert least >= 4.5, where


def test_reduced_motion_is_respected(opened, text):
    page = opened(text, reduced_motion="reduce").page
    assert page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "auto"


def test_policy_blocks_scripts_that_are_not_the_page_s(opened, text):
    shown = opened(
        text.replace(
            "</main>", "<p onclick='window.hacked = 1' id='x'>x</p><script>window.hacked = 2</script></main>"
        )
    )
    page = shown.page
    page.locator("#x").click()
    page.evaluate("""() => {
      const script = document.createElement('script');
      script.textContent = 'window.hacked = 3';
      document.body.append(script);
      const image = document.createElement('img');
      image.src = 'https://example.org/x.png';
      document.body.append(image);
    }""")
    page.wait_for_timeout(100)
    assert page.evaluate("window.hacked") is None
    # What the policy refused is in the console, and nothing else went wrong; a refused image is announced.
    refused = [fault for fault in shown.faults if fault != "request https://example.org/x.png"]
    assert len(refused) == 4
    assert all("Content Security Policy" in fault for fault in refused)
    shown.faults.clear()


def test_without_its_script_the_page_still_shows_everything(opened, result, text):
    page = opened(text, java_script_enabled=False).page
    assert page.locator("table[data-table=results]").count() == 2
    assert page.locator("table[data-table=folds]:visible").count() == 2 * len(MEASURES)
    assert not page.locator("#toolbar").is_visible()
    assert page.get_by_text("needs the script of this page").is_visible()


def test_charts_have_titles_and_descriptions(opened, text):
    page = opened(text).page
    bare = page.evaluate("""() => [...document.querySelectorAll('svg.lines, svg.deltas')].filter(
      each => !each.querySelector(':scope > title') || !each.querySelector(':scope > desc')).length""")
    assert bare == 0
    assert page.locator("svg.lines").count() > 9
