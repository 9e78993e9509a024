"""The line of progress: percent, groups of digits, a clock."""

from __future__ import annotations

import pytest

from ptttool.cli.terminal.walking import clock, progress_text
from ptttool.files.progress import Progress


@pytest.mark.parametrize(("seconds", "text"), [(0, "0:00"), (4.4, "0:04"), (59.6, "1:00"), (754, "12:34"), (3723, "1:02:03")])
def test_clock(seconds: float, text: str) -> None:
    assert clock(seconds) == text


def test_percent_and_groups() -> None:
    progress = Progress()
    progress.done, progress.total, progress.records = 1 << 30, 4 << 30, 16_777_216
    text = progress_text(progress, 10)
    assert text.startswith("25 %, 1,024.0 of 4,096.0 MiB, 16,777,216 ")
    assert text.endswith(" 0:30 left")


def test_an_input_of_unknown_size() -> None:
    progress = Progress()
    progress.done = 1 << 20
    assert "%" not in progress_text(progress, 1)
