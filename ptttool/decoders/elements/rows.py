"""Elements of packet traces as decoded rows, and counts of what was odd."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from msgspec import Struct, field

from ptttool.decoders.decoded import Violation
from ptttool.decoders.elements.arrays import Elements
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.table.batch import Batch
from ptttool.table.schema import Schema
from ptttool.table.values import Array, Mask

# Different remarks that are reported; more would not help.
_MOST_REMARKS = 5
_PROGRAM_REASONS = {
    "bad_image": "packets and program do not agree",
    "not_followed": "the trace unit leaves out what cannot be reconstructed",
}


class ElementRows:
    """Elements that become columns when they are needed.

    Parameters
    ----------
    elements : Elements
        The elements.
    schema : Schema
        Columns of the stack that decoded them.
    cpu : int, ndarray of int32 or None
        CPU of all of them, or of each (-1 for none).
    file : str or None
        Name of the recording, where there are several.
    """

    def __init__(self, elements: Elements, schema: Schema, cpu: int | Array | None = None, file: str | None = None) -> None:
        self.elements = elements
        self._schema = schema
        self._cpu = cpu
        self._file = file

    @property
    def size(self) -> int:
        """Number of elements."""
        return len(self.elements)

    def batch(self, names: Sequence[str]) -> Batch:
        """Return the columns with these names."""
        return self.elements.batch(self._schema, names=names, cpu=self._cpu, file=self._file)

    def taken(self, mask: Mask) -> ElementRows:
        """Return the elements for which the mask is true."""
        if mask.all():
            return self
        cpu = self._cpu if self._cpu is None or isinstance(self._cpu, int) else self._cpu[mask]
        return ElementRows(self.elements.take(mask), self._schema, cpu, self._file)

    def violation(self) -> Violation | None:
        """Return the first element that strict decoding does not accept."""
        row = self.elements.first_violation()
        if row is None:
            return None
        (element,) = self.elements.take(np.array([row])).objects(self._schema)
        reason = _PROGRAM_REASONS.get(element.fields.get("reason", ""))
        if reason is None:
            reason = "bytes that are not a packet" if element.kind in ("no_sync", "unknown") else ", ".join(element.flags.names)
            reason += f" in {element.raw.hex(' ')}" if element.raw else ""
        return Violation(row, element.index, f"{element.protocol}: {reason}")


class ElementFindings(Struct):
    """Counts of elements, and remarks on what is easily overlooked.

    Parameters
    ----------
    records : int
        Elements that were decoded.
    remarks : Counter of str
        Sentences, with how often each was seen.
    notes : list of Diagnostic
        What is odd about the recording as a whole.
    """

    records: int = 0
    remarks: Counter[str] = field(default_factory=Counter)
    notes: list[Diagnostic] = field(default_factory=list)

    def merge(self, other: ElementFindings) -> None:
        """Add what was found in later rows."""
        self.records += other.records
        self.remarks.update(other.remarks)
        self.notes += [note for note in other.notes if note not in self.notes]

    def diagnostics(self) -> list[Diagnostic]:
        """Return the notes, then the most frequent remarks."""
        diagnostics = list(self.notes)
        for remark, count in self.remarks.most_common(_MOST_REMARKS):
            times = f" ({count} times)" if count > 1 else ""
            diagnostics.append(Diagnostic(Severity.WARNING, "remark", remark + times, details={"count": count}))
        more = len(self.remarks) - _MOST_REMARKS
        if more > 0:
            diagnostics.append(Diagnostic(Severity.WARNING, "more-remarks", f"and {more} more of this kind", details={"count": more}))
        return diagnostics


def no_rows(schema: Schema) -> ElementRows:
    """Return no elements."""
    return ElementRows(Elements.empty(), schema, np.empty(0, dtype=np.int32))
