"""The files that a page is made of: styles and scripts, ours and those of others, with their licence."""

from __future__ import annotations

import base64
import hashlib
import tomllib
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
VENDOR = FOLDER / "vendor"


@cache
def styles() -> str:
    """Return the style sheet of a page."""
    return _read(VENDOR / "uplot" / "uPlot.min.css") + "\n" + _read(FOLDER / "page.css")


@cache
def scripts() -> tuple[str, ...]:
    """Return the scripts of a page, in order: the charting library under its licence, then ours."""
    version = tomllib.loads(_read(VENDOR / "vendored.toml"))["uplot"]["version"]
    licence = _read(VENDOR / "uplot" / "LICENSE").strip()
    library = _read(VENDOR / "uplot" / "uPlot.iife.min.js").strip()
    return f"/*! uPlot {version}\n{licence}\n*/\n{library}\n", _read(FOLDER / "page.js")


def source_hash(text: str) -> str:
    """Return what a Content-Security-Policy calls an inline script or style: ``'sha256-…'``."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")
