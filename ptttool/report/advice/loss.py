"""Advice on lost trace data."""

from __future__ import annotations

from collections.abc import Iterator

from ptttool.analyses.loss.analysis import LossSigns
from ptttool.analyses.loss.asked import CODE as NOT_AS_ASKED
from ptttool.diagnostics import Severity
from ptttool.report.model import Advice
from ptttool.wording import counted

# Signs that a larger AUX area or a shorter recording helps against.
_FULL = ("aux-full", "silent-end", "hole", "aux-flags", "aux-missing", "takeover")


def on_loss(result: LossSigns) -> Iterator[Advice]:
    """Yield advice where trace data are missing, or not what was asked for."""
    bad = [sign for sign in result.signs if sign.severity is not Severity.INFO]
    if not bad:
        return
    worst = bad[0]
    full = next((sign for sign in bad if sign.code in _FULL), None)
    if full is not None:
        again = "Record for a shorter time, or with a larger AUX area."
    elif any(sign.code == "restarts" for sign in bad):
        again = "Keep the CPU online that records, or choose another with --cpu."
    else:
        again = "Record again."
    what = worst.hint or again
    others = any(sign.code == NOT_AS_ASKED for sign in bad)
    missing = any(sign.code != NOT_AS_ASKED for sign in bad)
    means = ["the recording holds TLPs that were not asked for, and every number counts them"] if others else []
    if missing:
        means.append("TLPs are missing" if others else "the numbers of this recording are lower bounds")
    signs = counted(len(bad), "sign") + (" of loss" if missing and not others else "")
    yield Advice(
        worst.severity,
        "loss",
        "loss",
        f"{signs}: {'; '.join(means)}. {what[:1].upper()}{what[1:].rstrip('.')}.",
        "ptttool analyze loss FILE" if full is None else "ptttool trace --aux-size 256M --duration 1",
        {"signs": ", ".join(dict.fromkeys(sign.code for sign in bad))},
    )
