"""The page in a browser: it draws, nothing leaves it, nothing in it runs but its own scripts, everybody can use it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ptttool.cli.main import main
from ptttool.report.page.build import page_of
from tests.report.examples import HOSTILE, POINTS, reported
from tests.support import browser as browsers
from tests.support import captures
from tests.support.browser import Shown, shown

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytest.importorskip("playwright.sync_api")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(browsers.executable() is None, reason="needs Chromium")]

WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 400, "height": 800}
CHART = "figure.chart"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsers.chromium() as found:
        yield found


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_bytes(page_of([reported(), reported(HOSTILE)], version="1.0"))
    return path


@pytest.fixture
def view(browser: Browser, page_file: Path) -> Iterator[Shown]:
    with shown(browser, page_file, viewport=WIDE) as found:
        yield found


def inks(view: Shown, chart: int) -> int:
    """How many colours a chart's canvas has: more than one is a picture."""
    count = view.page.locator(CHART).nth(chart).locator(".plot canvas").evaluate(
        """canvas => {
            const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
            const found = new Set();
            for (let at = 0; at < data.length; at += 4) if (data[at + 3]) found.add(`${data[at]},${data[at + 1]},${data[at + 2]}`);
            return found.size;
        }"""
    )  # fmt: skip
    assert isinstance(count, int)
    return count


def test_it_draws_and_nothing_else_happens(view: Shown, page_file: Path) -> None:
    view.draw_all()
    charts = view.page.locator(CHART).count()
    assert charts == 4
    assert all(inks(view, chart) > 3 for chart in range(charts))
    assert view.requests == [page_file.as_uri()]
    assert (view.console, view.errors, view.dialogs) == ([], [], [])


def test_strings_of_files_stay_text(view: Shown) -> None:
    page = view.page
    assert page.locator("img").count() == 0
    assert page.locator("script:not([type])").count() == 2
    assert page.locator("td", has_text="onerror=alert(2)").count() == 2
    figure = page.locator(CHART).nth(1)
    figure.scroll_into_view_if_needed()
    figure.locator(".plot").focus()
    page.keyboard.press("ArrowRight")
    assert "<img src=x onerror=alert(2)>" in figure.locator(".tip").inner_text()
    figure.locator("summary").press("Enter")
    page.locator(".legend button").last.click()
    assert page.locator("img").count() == 0
    assert (view.console, view.errors, view.dialogs) == ([], [], [])


@pytest.fixture
def listener() -> Iterator[tuple[str, list[str]]]:
    """A server on this machine: its address, and what it was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(204)
            self.send_header("Access-Control-Allow-Origin", "*")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
        server.shutdown()
        thread.join()


REFUSED = "addEventListener('securitypolicyviolation', event => (window.refused ??= []).push(event.effectiveDirective))"


@pytest.mark.parametrize(
    "attack",
    [
        "fetch('URL').catch(() => 0)",
        "new Image().src = 'URL'",
        "navigator.sendBeacon('URL')",
        "new WebSocket('URL'.replace('http', 'ws'))",
        "document.head.append(Object.assign(document.createElement('script'), {src: 'URL'}))",
        "document.head.append(Object.assign(document.createElement('link'), {rel: 'stylesheet', href: 'URL'}))",
        "document.body.append(Object.assign(document.createElement('iframe'), {src: 'URL'}))",
        "document.head.append(Object.assign(document.createElement('script'), {textContent: 'window.broken = 1'}))",
        "document.body.setAttribute('onclick', 'window.broken = 1'); document.body.click()",
    ],
)
def test_the_policy_forbids_the_network_and_other_scripts(view: Shown, listener: tuple[str, list[str]], attack: str) -> None:
    """Even what runs inside the page can load nothing and start nothing."""
    address, asked = listener
    view.page.evaluate(REFUSED)
    view.page.evaluate(f"() => {{ {attack.replace('URL', address)} }}")
    view.page.wait_for_function("window.refused?.length")
    assert asked == []
    assert view.page.evaluate("window.broken") is None


def test_the_listener_hears(browser: Browser, tmp_path: Path, listener: tuple[str, list[str]]) -> None:
    """A page without the policy reaches it, so that the test above can fail."""
    address, asked = listener
    (tmp_path / "open.html").write_text("<!DOCTYPE html><title>open</title>", encoding="utf-8")
    with shown(browser, tmp_path / "open.html") as view:
        view.page.evaluate(f"fetch('{address}/heard')")
    assert asked == ["/heard"]


def columns(view: Shown, table: int, column: int) -> list[str]:
    cells = view.page.locator("table.sortable").nth(table).locator(f"tbody tr > :nth-child({column})")
    return cells.all_inner_texts()


def test_tables_are_sorted_by_keyboard(view: Shown) -> None:
    page = view.page
    heads = page.locator("table.sortable").nth(1).locator("thead th")
    reads = heads.nth(2)
    assert columns(view, 1, 3) == ["1,200", "20,345", "3"]
    reads.locator("button").focus()
    page.keyboard.press("Enter")
    assert reads.get_attribute("aria-sort") == "descending"
    assert columns(view, 1, 3) == ["20,345", "1,200", "3"]
    page.keyboard.press("Space")
    assert reads.get_attribute("aria-sort") == "ascending"
    assert columns(view, 1, 3) == ["3", "1,200", "20,345"]
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert reads.get_attribute("aria-sort") is None
    assert heads.nth(3).get_attribute("aria-sort") == "descending"
    assert columns(view, 1, 4) == ["990.5", "87", ""]  # an empty cell is last, in either order
    page.keyboard.press("Enter")
    assert columns(view, 1, 4) == ["87", "990.5", ""]
    assert page.locator("table.sortable").nth(1).locator("tfoot td").first.inner_text() == "all"


def test_charts_by_keyboard(view: Shown) -> None:
    page = view.page
    figure = page.locator(CHART).nth(1)
    figure.scroll_into_view_if_needed()
    plot, tip = figure.locator(".plot"), figure.locator(".tip")
    plot.focus()
    page.keyboard.press("End")
    assert f"first TLP: {37 * (POINTS - 1)}" in tip.inner_text().replace("\n", " ")
    page.keyboard.press("ArrowLeft")
    assert f"first TLP: {37 * (POINTS - 2)}" in tip.inner_text()
    assert tip.get_attribute("aria-live") == "polite"
    page.keyboard.press("Enter")
    assert page.locator("#tlp-around").inner_text() == f"ptttool decode '/tmp/a b/nvme.data' --at {37 * (POINTS - 2)} --context 20"
    page.keyboard.press("Escape")
    assert not page.locator("#tlp").is_visible()


def labels(view: Shown, chart: int) -> str:
    """What the canvas shows, as a picture: it differs between ranges."""
    found = view.page.locator(CHART).nth(chart).locator(".plot canvas").evaluate("canvas => canvas.toDataURL()")
    assert isinstance(found, str)
    return found


def test_zoom_by_key_button_and_mouse(view: Shown) -> None:
    page = view.page
    view.draw_all()
    figure = page.locator(CHART).nth(1)
    figure.scroll_into_view_if_needed()
    before = labels(view, 1)
    figure.locator(".plot").focus()
    page.keyboard.press("+")
    near = labels(view, 1)
    assert near != before
    page.keyboard.press("0")
    assert labels(view, 1) == before
    figure.locator(".tools button").first.click()
    assert labels(view, 1) == near
    figure.locator(".tools button").nth(2).click()
    assert labels(view, 1) == before
    box = figure.locator(".u-over").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 100, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + 300, box["y"] + 60, steps=5)
    page.mouse.up()
    assert labels(view, 1) != before
    page.mouse.dblclick(box["x"] + 200, box["y"] + 50)
    page.mouse.move(0, 0)
    assert labels(view, 1) == before


def test_the_mouse_names_the_tlp(view: Shown) -> None:
    page = view.page
    view.draw_all()
    figure = page.locator(CHART).nth(1)
    figure.scroll_into_view_if_needed()
    box = figure.locator(".u-over").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 60)
    text = figure.locator(".tip").inner_text()
    index = int(text.rpartition("first TLP: ")[2])
    assert abs(index - 37 * POINTS / 2) < 37 * 3
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 60)
    page.locator("#tlp").wait_for()
    assert f"--at {index} " in page.locator("#tlp-around").inner_text()


def test_the_scale_can_be_logarithmic_and_lines_hidden(view: Shown) -> None:
    page = view.page
    view.draw_all()
    before = labels(view, 0)
    button = page.locator(CHART).first.locator(".tools button[aria-pressed]")
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    assert labels(view, 0) != before
    lines = labels(view, 1)
    line = page.locator(CHART).nth(1).locator(".legend button").first
    line.click()
    assert line.get_attribute("aria-pressed") == "false"
    assert labels(view, 1) != lines
    assert view.errors == []


def test_values_as_a_table(view: Shown) -> None:
    figure = view.page.locator(CHART).nth(1)
    # By key: charts that are drawn as they come into sight may move what a mouse points at.
    figure.locator("summary").press("Enter")
    figure.locator("table").wait_for()
    assert figure.locator("table tbody tr").count() == POINTS
    last = figure.locator("table tbody tr").last.locator("td").all_inner_texts()
    assert (last[0], last[-1]) == (f"{1000 * (POINTS - 1):,}", str(37 * (POINTS - 1)))


def test_numbers_of_tlps_say_how_to_see_them(view: Shown) -> None:
    page = view.page
    page.get_by_role("button", name="TLP 123456").first.click()
    assert page.locator("#tlp-around").inner_text() == "ptttool decode '/tmp/a b/nvme.data' --at 123456 --context 20"
    assert page.locator("#tlp-follow").inner_text() == "ptttool decode '/tmp/a b/nvme.data' --follow 123456"


def violations(view: Shown) -> list[tuple[str, str, list[str]]]:
    """Rules of accessibility that a page breaks, but for those that hardly matter, and where."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found: list[dict[str, Any]] = axe.run(view.page).response["violations"]
    return [(each["impact"], each["id"], [node["html"] for node in each["nodes"]]) for each in found if each["impact"] != "minor"]


@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
def test_rules_of_accessibility(browser: Browser, page_file: Path, viewport: dict[str, int]) -> None:
    with shown(browser, page_file, viewport=viewport, color_scheme="light") as view:
        view.draw_all()
        for values in view.page.locator("details").all():
            values.evaluate("details => { details.open = true }")
        view.page.wait_for_function("document.querySelectorAll('.values table').length === document.querySelectorAll('.chart').length")
        # All rows of a table are alike, and the rules look at every cell.
        view.page.evaluate("document.querySelectorAll('.values tbody tr:nth-child(n + 6)').forEach(row => row.remove())")
        light = background(view)
        assert violations(view) == []
        view.page.emulate_media(color_scheme="dark")
        assert background(view) != light
        assert violations(view) == []


def background(view: Shown) -> str:
    found = view.page.evaluate("getComputedStyle(document.querySelector('.chapter')).backgroundColor")
    assert isinstance(found, str)
    return found


def test_light_and_dark(browser: Browser, page_file: Path) -> None:
    with shown(browser, page_file, color_scheme="light") as view:
        light = background(view)
        view.page.emulate_media(color_scheme="dark")
        dark = background(view)
        assert dark != light
        view.page.locator("#colours").select_option("light")
        assert background(view) == light
        view.page.emulate_media(color_scheme="light")
        view.page.locator("#colours").select_option("dark")
        assert background(view) == dark
        view.page.emulate_media(media="print")
        assert background(view) == "rgb(255, 255, 255)"


def test_a_phone_has_no_sideways_scrolling(browser: Browser, page_file: Path) -> None:
    with shown(browser, page_file, viewport=PHONE) as view:
        view.draw_all()
        assert view.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_paper_has_all_charts(browser: Browser, page_file: Path, tmp_path: Path) -> None:
    with shown(browser, page_file, viewport=WIDE, color_scheme="dark") as view:
        assert view.page.locator(CHART).last.locator(".plot canvas").count() == 0  # out of sight
        view.page.pdf(path=tmp_path / "page.pdf")
        view.page.emulate_media(media="print")
        assert all(inks(view, chart) > 3 for chart in range(view.page.locator(CHART).count()))
        assert (view.console, view.errors) == ([], [])


def test_without_scripts_it_is_all_in_words(browser: Browser, page_file: Path) -> None:
    with shown(browser, page_file, java_script_enabled=False) as view:
        page = view.page
        assert page.locator("noscript, .note").first.is_visible()
        assert page.locator(".tools").first.is_hidden()
        assert page.locator(".words li").count() == 2 * (4 + 2)
        assert page.locator("td", has_text="20,345").first.is_visible()


def test_a_page_without_anything(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "empty.html"
    path.write_bytes(page_of([reported(chapters=[], advice=[], diagnostics=[], facts=[], records=0)], version="1.0"))
    with shown(browser, path) as view:
        assert (view.console, view.errors) == ([], [])
        assert json.loads(view.page.locator("#data").inner_text())["charts"] == []


@pytest.mark.parametrize("name", ["w-randread-8dw", "w-download-8dw"])
def test_a_real_recording(browser: Browser, tmp_path: Path, name: str) -> None:
    recording, path = captures.path_of(f"workloads/{name}", tmp_path), tmp_path / "report.html"
    assert main(["report", str(recording), "--tick-ns", "4", "-o", str(path)]) == 0
    with shown(browser, path, viewport=PHONE) as view:
        view.draw_all()
        assert view.page.locator(CHART).count() > 0
        assert all(inks(view, chart) > 3 for chart in range(view.page.locator(CHART).count()))
        assert (view.console, view.errors, view.requests) == ([], [], [path.as_uri()])
        assert violations(view) == []
        assert view.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
