"""The report as Markdown."""

from __future__ import annotations

from ptttool.report.markdown import markdown_of
from tests.report.examples import HOSTILE, reported


def test_chapters_advice_and_no_markup_of_files() -> None:
    text = markdown_of([reported(), reported(HOSTILE)])
    lines = text.splitlines()
    heads = [line for line in lines if line.startswith("#")]
    assert heads[0] == "# PCIe trace report"
    assert next(line for line in heads if line.startswith("## ")) == "## /tmp/a `b/nvme.data`"
    assert len([line for line in heads if line.startswith("### ")]) == 2 * (4 + 1)
    assert "`ptttool analyze outstanding '/tmp/a b/nvme.data'`" in text
    assert "<" not in text.replace("\\<", "")
    assert "\x1b" not in text
    assert text.endswith("\n") and not text.endswith("\n\n")
