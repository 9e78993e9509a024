"""Counts of unusual records in a PTT recording: made while decoding, reported afterwards."""

from __future__ import annotations

from collections import Counter

import numpy as np
from msgspec import Struct, field, structs

from ptttool.diagnostics import Diagnostic, Severity
from ptttool.tlp import codes
from ptttool.tlp.bulk import KNOWN, RECORD, U32
from ptttool.wording import counted

# The Fmt/Type code of an 8DW record's check word when it is read as a 4DW record.
CHECK_CODE = 0x7F


class Findings(Struct):
    """Counts of records, and of data that are not a TLP. None of these stops the decoder.

    Parameters
    ----------
    records : int
        TLPs delivered.
    zero_records : int
        All-zero records; they are left out.
    tails, tail_bytes : int
        Ends of payloads that are not a whole record, and their bytes; they are left out.
    unchecked_records : int
        8DW records without their check word; they are delivered as Unknown.
    unknown_codes : Counter of int
        Number of records by Fmt/Type code, for codes that are not a TLP type.
    format_conflicts : int
        Payloads with another layout than the recording declares; they are decoded as the data say.
    formats : Counter of str
        Number of payloads by layout (``4DW``, ``8DW``, with their header pattern).
    undecided_payloads : int
        Payloads with data that could be of either layout.
    missing_bytes : int
        Bytes of payloads that the recording announces and the file does not hold.
    notes : list of str
        Further sentences.
    """

    records: int = 0
    zero_records: int = 0
    tails: int = 0
    tail_bytes: int = 0
    unchecked_records: int = 0
    unknown_codes: Counter[int] = field(default_factory=Counter)
    format_conflicts: int = 0
    formats: Counter[str] = field(default_factory=Counter)
    undecided_payloads: int = 0
    missing_bytes: int = 0
    notes: list[str] = field(default_factory=list)

    def count_unknown(self, traits: U32, codes: U32) -> None:
        """Count the headers of kind Unknown.

        Parameters
        ----------
        traits : ndarray of uint32, shape (n,)
            Traits of the headers.
        codes : ndarray of uint8, shape (n,)
            Their Fmt/Type codes.
        """
        self.unchecked_records += int(np.count_nonzero(traits & RECORD == 0))
        unknown = codes[traits & (KNOWN | RECORD) == RECORD]
        for code, count in enumerate(np.bincount(unknown.astype(np.intp), minlength=256).tolist()):
            if count:
                self.unknown_codes[code] += count

    def merge(self, other: Findings) -> None:
        """Add the counts of other findings."""
        for name, count in structs.asdict(other).items():
            if isinstance(count, int):
                setattr(self, name, getattr(self, name) + count)
        self.unknown_codes.update(other.unknown_codes)
        self.formats.update(other.formats)
        for sentence in other.notes:
            self.note(sentence)

    def note(self, sentence: str) -> None:
        """Add a sentence, unless it is there already."""
        if sentence not in self.notes:
            self.notes.append(sentence)

    def counts(self) -> dict[str, object]:
        """Return everything that was counted, by stable names; ``unknown_codes`` by ``0x..``."""
        counts = structs.asdict(self)
        del counts["notes"]
        counts["unknown_codes"] = {f"{code:#04x}": count for code, count in sorted(self.unknown_codes.items())}
        counts["formats"] = dict(self.formats)
        return counts

    def diagnostics(self) -> list[Diagnostic]:
        """Return a diagnostic for each kind of unusual data; none for a clean recording."""
        diagnostics = []

        def add(code: str, message: str, **details: object) -> None:
            diagnostics.append(Diagnostic(Severity.INFO, code, message, details=details))

        if self.zero_records:
            add(
                "zero-records",
                f"{counted(self.zero_records, 'all-zero record')} left out: not TLPs, but memory that an older driver committed before "
                "the hardware had written it (a trace stopped and started within one session)",
                count=self.zero_records,
            )
        if self.tails:
            add(
                "tails",
                f"{counted(self.tail_bytes, 'byte')} at the end of {counted(self.tails, 'payload')} left out: not a whole record",
                count=self.tails,
                bytes=self.tail_bytes,
            )
        if self.unchecked_records:
            add(
                "no-check-word",
                f"{counted(self.unchecked_records, '8DW record')} without the check word: shown as Unknown",
                count=self.unchecked_records,
            )
        if CHECK_CODE in self.unknown_codes and any(name.startswith("4DW") for name in self.formats):
            count = self.unknown_codes[CHECK_CODE]
            add(
                "mixed-formats",
                f"{counted(count, '4DW record')} beginning like 8DW records: the payload may hold both formats, and the records after them "
                "may be misread",
                count=count,
            )
        for code, count in sorted(self.unknown_codes.items()):
            message = f"{counted(count, 'record')} with Fmt/Type code {code:#04x}, {codes.code_name(code)}: shown as Unknown"
            add("unknown-code", message, type_code=code, count=count)
        if self.format_conflicts:
            add(
                "format-conflict",
                f"in {counted(self.format_conflicts, 'payload')} the records do not have the declared format (4DW or 8DW): "
                "they are decoded as the data say",
                count=self.format_conflicts,
            )
        if self.missing_bytes:
            message = f"{counted(self.missing_bytes, 'byte')} of trace data are missing: the file is shorter than its records say"
            add("missing-bytes", message, bytes=self.missing_bytes)
        return diagnostics + [Diagnostic(Severity.INFO, "layout", sentence) for sentence in self.notes]
