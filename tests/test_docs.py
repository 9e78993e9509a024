"""README and docs: examples work as written, tables are those of the code, links lead somewhere, the site builds.

``python -m tests.test_docs`` writes the real output and the tables into them (``python -m tests.test_docs NAME.md …`` into these).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import pytest

from tests import ROOT
from tests.support.doc_tables import TABLES
from tests.support.examples import Folder, examples, matches, refreshed, with_tables

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
WITH_EXAMPLES = [path for path in DOCUMENTS if any(examples(path.read_text(encoding="utf-8")))]


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.slow
@pytest.mark.parametrize("document", WITH_EXAMPLES, ids=name_of)
def test_examples_print_what_the_document_shows(document: Path, tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    for _, steps in examples(document.read_text(encoding="utf-8")):
        for step in steps:
            real = folder.run(step)
            assert matches(step.shown, real), f"{step.source}\n{real}\n--- the document shows\n{step.shown}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_tables_are_those_of_the_code(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    assert text == with_tables(text, TABLES), "run `python -m tests.test_docs`"


def test_links_lead_somewhere() -> None:
    for document in [*DOCUMENTS, ROOT / "fixtures" / "README.md", ROOT / "CONTRIBUTING.md"]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).exists(), f"{document}: {target}"


def test_the_architecture_has_the_rooms_in_their_order() -> None:
    layers = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"][0]["layers"]
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = page[page.index("| subpackage |") : page.index("These libraries")]
    rows = [set(re.findall(r"`(\w+)`", row.split("|")[1])) for row in section.splitlines() if row.startswith("| `")]
    assert rows == [set(re.findall(r"\w+", layer)) for layer in layers if layer != "__main__"]


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    pages = {path.relative_to(tmp_path / "site").with_suffix(".md") for path in (tmp_path / "site").rglob("*.html")}
    assert {path.relative_to(ROOT / "docs") for path in DOCUMENTS[1:]} <= pages
    index = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    loaded = re.findall(r"""<(?:script|link|img)\b[^>]*?(?:src|href)="(https?:[^"]*)""", index)
    assert loaded == [], "the site loads something from the network"


@pytest.mark.parametrize(
    ("shown", "real", "same"),
    [("a\nb", "a\nb", True), ("a\n…", "a\nb\nc", True), ("a\n…\nc", "a\nc", True), ("a", "a\nb", False), ("…\nc", "a\nb", False)],
)
def test_lines_left_out(shown: str, real: str, same: bool) -> None:
    assert matches(shown, real) is same


def test_python_examples_share_their_names(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    text = "```python\na = 1\nprint(a)\n```\n\ntext\n\n```python\nprint(a + 1)\n```\n\n```text\n2\n```\n"
    shown = [(step.shown, folder.run(step)) for _, steps in examples(text) for step in steps]
    assert shown == [(None, "1"), ("2", "2")]
    assert not matches(None, folder.run(next(examples("```python\n1 / 0\n```"))[1][0]))
    assert refreshed(text, Folder(tmp_path)) == text


def write(documents: list[Path]) -> None:
    """Put the real output and the tables into the documents."""
    for document in documents:
        text = with_tables(document.read_text(encoding="utf-8"), TABLES)
        with tempfile.TemporaryDirectory() as folder:
            document.write_text(refreshed(text, Folder(Path(folder))), encoding="utf-8")


if __name__ == "__main__":
    write([Path(name).absolute() for name in sys.argv[1:]] or DOCUMENTS)
