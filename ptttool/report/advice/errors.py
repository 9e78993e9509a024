"""Advice on errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ptttool.analyses.errors.document import Errors
from ptttool.diagnostics import Severity
from ptttool.report.model import Advice, around

# Kinds of errors that are advice, the most important first.
_MOST: Final = 4


def on_errors(result: Errors) -> Iterator[Advice]:
    """Yield advice on errors, but for those that are usual."""
    bad = sorted((kind for kind in result.kinds if kind.severity is not Severity.INFO), key=lambda kind: (kind.severity.rank, -kind.count))
    for kind in bad[:_MOST]:
        who = ""
        if kind.requesters and kind.requesters[0].requester is not None:
            who = f", most of them of {kind.requesters[0].requester}"
        yield Advice(
            kind.severity,
            kind.code,
            "errors",
            f"{kind.meaning[:1].upper()}{kind.meaning[1:]}: {kind.count:,} ({100 * kind.share:.3g} % of the {kind.of}){who}. Look at "
            "the first one and at what led to it.",
            around(kind.index),
            {"count": kind.count, "first_index": kind.index},
        )
