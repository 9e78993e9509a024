"""The examples of the documents work as written. ``python -m tests.test_docs`` writes the real output into them."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest

from tests import ROOT
from tests.test_readme import BLOCK, matches, run, steps

DOCUMENTS = sorted(path for path in (ROOT / "docs").rglob("*.md") if BLOCK.search(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.stem)
def test_examples_print_what_the_document_shows(document: Path, tmp_path: Path) -> None:
    for block in BLOCK.findall(document.read_text(encoding="utf-8")):
        for command, shown in steps(block):
            real = run(command, str(tmp_path))
            assert matches(shown, real), f"$ {command}\n{real}\n--- the document shows\n{shown}"


def test_links_lead_somewhere() -> None:
    for document in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).exists(), f"{document}: {target}"


def write() -> None:
    for document in DOCUMENTS:
        with tempfile.TemporaryDirectory() as folder:

            def fresh(block: re.Match[str], folder: str = folder) -> str:
                lines = [line for command, _ in steps(block[1]) for line in (f"$ {command}", run(command, folder)) if line]
                return "```console\n" + "\n".join(lines) + "\n```"

            document.write_text(BLOCK.sub(fresh, document.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    write()
