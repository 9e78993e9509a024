"""Show what the self-test found: a line for each assumption, then the clocks, and what was kept."""

from __future__ import annotations

import shutil
import sys

from ptttool.cli.terminal.colours import Style, painted
from ptttool.cli.terminal.talk import folded, note, print_line, print_wrapped
from ptttool.selftest.document import Judged, SelfTest, Verdict
from ptttool.wording import clean, counted

_STYLES = {Verdict.CONFIRMED: Style.GOOD, Verdict.REFUTED: Style.WARNING, Verdict.NOT_TESTED: Style.FAINT}
_NAME, _SUBJECT, _VERDICT = 5, 18, 12
# Columns of a terminal below which messages stand under the verdict.
_NARROW = 80
_SHOWN_INDEXES = 4


def print_selftest(result: SelfTest) -> None:
    """Print the result."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    for one in result.judged:
        _print(one, width)
    print_line("")
    for name, clock in result.clocks.items():
        error = f"±{1e6 * clock.error:.3g} ppm"
        kind = "a counter" if clock.model == "counter" else "differences"
        readings = counted(clock.anchors, "coded read")
        print_wrapped(f"{name.upper()}: {kind} of {clock.bits} bits, {clock.tick_ns:.6g} ns a tick {error} ({readings})")
    if result.kept is not None:
        note(clean(f"the clock is kept in {result.kept}: later traces have nanoseconds"))
    if result.archive is not None:
        note(clean(f"wrote {result.archive}, readable by its owner alone"))
    numbers = ", ".join(f"{result.count(verdict)} {verdict}" for verdict in Verdict)
    print_line(painted(numbers, Style.HEADING, sys.stdout))


def _print(one: Judged, width: int) -> None:
    shown = ""
    if one.recording is not None:
        indexes = ", ".join(f"{index:,}" for index in one.indexes[:_SHOWN_INDEXES])
        more = ", …" if len(one.indexes) > _SHOWN_INDEXES else ""
        shown = f" [{one.recording}{f': TLP {indexes}{more}' if indexes else ''}]"
    verdict = painted(str(one.verdict), _STYLES[one.verdict], sys.stdout) + " " * (_VERDICT - len(str(one.verdict)))
    head = f"{one.name:<{_NAME}}{one.subject:<{_SUBJECT}}{verdict}"
    at = _NAME if 0 < width < _NARROW else _NAME + _SUBJECT + _VERDICT
    text = clean(one.message + shown)
    first, *others = folded(text, max(width - at, 20), "") if width else [text]
    if at == _NAME:
        print_line(head.rstrip())
        others.insert(0, first)
    else:
        print_line(f"{head}{first}")
    for line in others:
        print_line(" " * at + line)
