"""The line of progress of a recording."""

from __future__ import annotations

import os
import sys
import termios
import time
from types import SimpleNamespace
from typing import Any

import pytest

from ptttool.capture.perf.recorder import RecordingProgress
from ptttool.cli.terminal.recording_line import progress_line


def test_a_terminal_that_takes_nothing_does_not_hold_up_the_recording(monkeypatch: pytest.MonkeyPatch) -> None:
    """As after Ctrl-S; it shows the last of what it missed."""
    terminal, end = os.openpty()
    plan: Any = SimpleNamespace(device=SimpleNamespace(name="hisi_ptt0_0"), cpu=0, seconds=None)
    with os.fdopen(end, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        with progress_line(plan) as show:
            assert show is not None
            termios.tcflow(end, termios.TCOOFF)
            began = time.monotonic()
            for size in range(5):
                show(RecordingProgress(1.0, size << 20))
                time.sleep(0.2)
            took = time.monotonic() - began
            termios.tcflow(end, termios.TCOON)
            time.sleep(0.5)
        assert took < 10
        assert b"4.0 MiB" in os.read(terminal, 10000)
    os.close(terminal)
