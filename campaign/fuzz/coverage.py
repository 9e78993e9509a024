"""Which lines of ptttool a run reaches."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import ptttool

PACKAGE = str(Path(ptttool.__file__).parent)
Line = tuple[str, int]


def lines_of(run: Callable[[], object]) -> set[Line]:
    """Run something under a trace function and return the lines that it reached. Slow; works on every Python."""
    found: set[Line] = set()

    def trace(frame: FrameType, _event: str, _argument: object) -> Any:
        name = frame.f_code.co_filename
        if not name.startswith(PACKAGE):
            return None
        found.add((name, frame.f_lineno))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return found


class NewLines:
    """Tells whether a run reached a line that none before it had reached. It costs almost nothing, and needs Python 3.12."""

    available = hasattr(sys, "monitoring")

    def __init__(self) -> None:
        self.count = 0
        if not self.available:
            return
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore]
        self._disable = monitoring.DISABLE
        tool = monitoring.COVERAGE_ID
        monitoring.use_tool_id(tool, "ptttool-fuzz")
        monitoring.register_callback(tool, monitoring.events.LINE, self._reached)
        monitoring.set_events(tool, monitoring.events.LINE)

    def _reached(self, code: CodeType, _line: int) -> Any:
        if code.co_filename.startswith(PACKAGE):
            self.count += 1
        return self._disable  # each line is reported once
