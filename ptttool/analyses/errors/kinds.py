"""The kinds of errors that are looked for."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from ptttool.diagnostics import Severity


class Of(StrEnum):
    """What an error is counted among."""

    TLPS = "TLPs"
    COMPLETIONS = "completions"
    REQUESTS = "requests"
    """Requests that are to be answered."""


class Kind(Struct, frozen=True):
    """A kind of error.

    Parameters
    ----------
    code : str
        A stable word.
    meaning : str
        What it is.
    of : Of
        What it is counted among.
    severity : Severity
        How much it matters.
    """

    code: str
    meaning: str
    of: Of = Of.TLPS
    severity: Severity = Severity.ERROR


_ALL = (
    Kind("completion-ur", "completions with the status Unsupported Request", Of.COMPLETIONS),
    Kind("completion-ca", "completions with the status Completer Abort", Of.COMPLETIONS),
    Kind("completion-rrs", "completions with Request Retry Status", Of.COMPLETIONS, Severity.WARNING),
    Kind("completion-reserved", "completions with a reserved status", Of.COMPLETIONS),
    Kind("poisoned", "TLPs with poisoned data (EP)"),
    Kind("message-err-cor", "ERR_COR messages: a device has corrected an error", severity=Severity.WARNING),
    Kind("message-err-nonfatal", "ERR_NONFATAL messages"),
    Kind("message-err-fatal", "ERR_FATAL messages"),
    Kind("unanswered", "requests without a completion", Of.REQUESTS),
    Kind("short", "requests whose completions bring fewer bytes than asked for", Of.REQUESTS),
    Kind("answered-without-data", "reads that end with success but without data", Of.REQUESTS),
    Kind("tag-reused", "requests whose tag was used again before their last completion", Of.REQUESTS),
    Kind("completion-without-request", "completions without an open request", Of.COMPLETIONS),
    Kind("completion-tag-bits", "completions without the upper tag bits of their request: no 10-bit tags in the completer", Of.COMPLETIONS),
    Kind("unknown-tlp", "records that are not TLPs: no check word, or an unknown Fmt and Type"),
    Kind("byte-enables", "requests whose byte enables break a rule"),
    Kind("length", "requests of a Length that their kind cannot have"),
    Kind("crosses-4k", "memory requests across a 4 KiB boundary"),
    Kind("attributes", "configuration and I/O requests with attributes or a traffic class"),
)
KINDS: dict[str, Kind] = {kind.code: kind for kind in _ALL}
"""Every kind by its code, in the order in which they are shown."""
CODES: tuple[str, ...] = tuple(KINDS)
