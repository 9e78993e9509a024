"""Show what the doctor found: one line for each finding, and below it cause and fix."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator

from ptttool.cli.terminal.colours import Style, painted
from ptttool.cli.terminal.talk import folded, print_line
from ptttool.doctor.contract import Finding, Status
from ptttool.doctor.examine import Answer, Examination
from ptttool.wording import clean, in_words

_STYLES = {Status.OK: Style.GOOD, Status.WARNING: Style.WARNING, Status.FAILED: Style.ERROR, Status.UNKNOWN: Style.HINT}
_NAME_AT, _TEXT_AT = 9, 24
# Columns of a terminal below which messages stand under the name of the check.
_NARROW = 70


def print_examination(examination: Examination) -> None:
    """Print the answers of all checks, and the verdict."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    for answer in examination.answers:
        for finding in answer.findings:
            first, *others = _lines(answer, finding, width)
            status = str(finding.status)
            print_line(painted(status, _STYLES[finding.status], sys.stdout) + first.removeprefix(status))
            for line in others:
                print_line(line)
    for line in _wrapped(verdict(examination), width, 0):
        print_line(painted(line, Style.HEADING, sys.stdout))


def _lines(answer: Answer, finding: Finding, width: int) -> Iterator[str]:
    """Yield the lines of a finding; a command is never wrapped, so that it can be pasted."""
    at = 2 if 0 < width < _NARROW else _TEXT_AT
    head = f"{finding.status:<{_NAME_AT}}{answer.check}"
    message = _wrapped(clean(finding.message), width, at)
    if at == _TEXT_AT:
        yield f"{head:<{at}}{message.pop(0)}"
    else:
        yield head
    yield from (f"{' ' * at}{line}" for line in message)
    for label, text in (("cause", finding.cause), ("hint", finding.hint)):
        if text is not None:
            yield from (f"{' ' * at}{line}" for line in _wrapped(f"{label}: {clean(text)}", width, at))
    if finding.fix is not None:
        yield f"{' ' * at}fix: {clean(finding.fix)}"


def _wrapped(text: str, width: int, at: int) -> list[str]:
    if not width:
        return [text]
    return folded(text, max(width - at, 20), "") or [""]


def verdict(examination: Examination) -> str:
    """Say whether a trace would work."""
    if examination.works is None:
        blind = [one.check for one in examination.answers if one.needed and one.status is Status.UNKNOWN]
        return f"whether a trace would work is not known: see {in_words(blind)}"
    if not examination.works:
        return f"a trace would not work: see {in_words(one.check for one in examination.answers if one.status is Status.FAILED)}"
    warnings = [one.check for one in examination.answers if one.status is Status.WARNING]
    return "a trace would work" + (f"; see {in_words(warnings)}" if warnings else "")
