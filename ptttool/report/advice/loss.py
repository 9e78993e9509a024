"""Advice on lost trace data."""

from __future__ import annotations

from collections.abc import Iterator

from ptttool.analyses.loss.analysis import LossSigns
from ptttool.diagnostics import Severity
from ptttool.report.model import Advice
from ptttool.wording import counted

# Signs that a larger AUX area or a shorter recording helps against.
_FULL = ("silent-end", "hole", "aux-flags", "aux-missing", "takeover", "restarts")


def on_loss(result: LossSigns) -> Iterator[Advice]:
    """Yield advice where trace data are missing, or not what was asked for."""
    bad = [sign for sign in result.signs if sign.severity is not Severity.INFO]
    if not bad:
        return
    worst = bad[0]
    full = next((sign for sign in bad if sign.code in _FULL), None)
    what = worst.hint or ("Record for a shorter time, or with a larger AUX area." if full is not None else "Record again.")
    yield Advice(
        worst.severity,
        "loss",
        "loss",
        f"{counted(len(bad), 'sign')} of loss: the numbers of this recording are lower bounds. {what[:1].upper()}{what[1:].rstrip('.')}.",
        "ptttool analyze loss FILE" if full is None else "ptttool trace --aux-size 256M --duration 1",
        {"signs": ", ".join(dict.fromkeys(sign.code for sign in bad))},
    )
