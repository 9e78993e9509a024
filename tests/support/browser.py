"""Chromium without a window: the page of a report as a reader has it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page

NAMES = ("chromium", "chromium-browser", "google-chrome")
_OPTIONS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync",
)  # fmt: skip


def executable() -> str | None:
    """Where Chromium is; None where it is not installed."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser with a fresh profile."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable(), args=list(_OPTIONS))
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Shown:
    """A page, and what happened while it was shown."""

    page: Page
    console: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    def refuse(self, dialog: Dialog) -> None:
        """Note a dialog, and close it."""
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def draw_all(self) -> None:
        """Scroll through the page, so that every chart is drawn."""
        for chart in self.page.locator("figure.chart").all():
            chart.scroll_into_view_if_needed()
            chart.locator("canvas").first.wait_for(state="attached")


@contextmanager
def shown(browser: Browser, html: Path | str, **options: Any) -> Iterator[Shown]:
    """Open a page of the disk, or at an address. ``options`` are those of a context: ``viewport``, ``color_scheme``."""
    context = browser.new_context(**options)
    try:
        page = context.new_page()
        found = Shown(page)
        page.on("console", lambda message: found.console.append(message.text))
        page.on("pageerror", lambda error: found.errors.append(str(error)))
        page.on("request", lambda request: found.requests.append(request.url))
        page.on("dialog", found.refuse)
        page.goto(html if isinstance(html, str) else html.as_uri())
        yield found
    finally:
        context.close()
