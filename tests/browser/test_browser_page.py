"""The page as a reader meets it: hostile text, keyboard, narrow screens, contrast, print, policy."""

import shlex

import pytest
from reading import MEASURES, ROWS, choose, open_all

import pages
from directrank.apps.report import render

pytestmark = pytest.mark.heavy

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
    summary = page.locator("#settings details details summary").first
    summary.focus()
    page.keyboard.press("Enter")
    assert page.locator("#settings details details").first.get_attribute("open") is not None
    page.get_by_label("Measure", exact=True).focus()
    page.keyboard.press("ArrowDown")
    assert "nDCG@1" in page.evaluate(ROWS, "folds")[0]["label"]


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_nothing_hangs_over_the_side(opened, text, width):
    page = opened(text, viewport={"width": width, "height": 844}).page
    open_all(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_only_the_results_are_open_until_a_reader_opens_more(opened, text):
    page = opened(text, unfolded=False, reduced_motion="reduce").page
    assert page.evaluate("document.documentElement.scrollHeight") <= 4000
    assert page.locator("table[data-table=results]:visible").count() == 1
    assert page.locator("table[data-table=folds]:visible").count() == 0
    page.locator("nav a", has_text="Fold by fold").click()
    page.locator("table[data-table=folds]:visible").first.wait_for()
    page.locator("#curves summary").first.click()
    page.locator("#curves svg:visible").first.wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast(opened, text, scheme):
    page = opened(text, color_scheme=scheme).page
    open_all(page)
    back = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (back == "rgb(255, 255, 255)") == (scheme == "light")
    least, where = page.evaluate(CONTRAST)
    assert least >= 4.5, where


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
