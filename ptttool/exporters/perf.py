"""The text that perf prints for the AUX data of a PTT recording (``perf report -D``), as perf of June 2026 or later prints it.

Source: Linux, tools/perf/util/hisi-ptt.c and hisi-ptt-decoder.c, with the fix of June 2026 ("perf hisi-ptt: Fix PTT trace TLP header
parsing"). Without the fix, perf prints the bytes of a DW in memory order and takes the fields of a 4DW record from the wrong bits;
everything else is the same. Later patches of that series add field names; they are not used here.

The text consists of the AUX dumps only, one for each payload, in the order of the file. perf's report has more around each dump: a line
with a single ``.`` before it, an empty line after it, and other events between the dumps.

A dump begins with ``. ... HISI PTT data: size N bytes``. N is the size that the recording announces, without an incomplete record at its
end. Each following line has one DW: its offset in the payload, its bytes with the most significant one first, and a label. A 4DW record
has four lines. An 8DW record has six lines: the check word and the reserved DW are left out, so offsets have gaps. The first DW of a
payload decides which layout all of its records have. All-zero records and records without a check word are printed like any other. If
the file ends within a payload, only the data in the file are printed.

For speed, a page of text with all labels is made once. Then only the digits are filled in, for page after page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import IO

import numpy as np
import numpy.typing as npt

from ptttool.decoders.hisi_ptt.layout import Layout
from ptttool.decoders.hisi_ptt.payloads import Payload
from ptttool.errors import UsageError
from ptttool.exporters.contract import EXPORTERS, Encoder, ExportContext, Exporter, Writer
from ptttool.table.schema import Schema
from ptttool.tlp.bulk import U32

Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.intp]
# Text, eight or four bytes in one item. The items are only copied, so the byte order does not matter.
Eights = npt.NDArray[np.uint64]
Fours = npt.NDArray[np.uint32]

# Bytes of trace on a page. With 64 KiB, the lower four digits of the offsets are the same on every page.
PAGE_SIZE = 1 << 16
# Records that are filled in at a time, so that their text stays in the second-level cache. It divides the records of a page.
STEP = 1 << 11

# Columns in a line: of the offset, of the DW's digits, of the label. Spaces fill the gaps.
OFFSET_AT, DW_AT, LABEL_AT = 3, 13, 57
LABELS_8DW = {1: b"Prefix", 2: b"Header DW0", 3: b"Header DW1", 4: b"Header DW2", 5: b"Header DW3", 7: b"Time"}
# Every number has its largest number of digits; x stands for a digit.
FIELDS_4DW = b"Format x Type xx T9 x T8 x TH x SO x Length xxx Time xxx"
LABELS_4DW = {0: FIELDS_4DW, 1: b"Header DW1", 2: b"Header DW2", 3: b"Header DW3"}


class PerfText(Exporter):
    """perf's own text. It is made from payloads, not from rows: see :func:`text`."""

    name = "perf"
    meaning = "the text that a corrected perf report -D prints of the AUX data: whole payloads with all-zero records"
    suffixes = (".perf",)
    protocols = ("hisi-ptt",)

    def encoder(self, schema: Schema) -> Encoder:
        """Raise a UsageError: rows cannot be written as perf's text."""
        raise _not_of_rows()

    def writer(self, file: IO[bytes], schema: Schema, context: ExportContext) -> Writer:
        """Raise a UsageError, as `encoder` does."""
        raise _not_of_rows()


def _not_of_rows() -> UsageError:
    message = "perf's text is made from whole payloads, not from rows"
    return UsageError(message, hint="choose another format with --to", code="perf-whole")


def text(payloads: Iterable[Payload]) -> Iterator[bytes]:
    """Yield the text of payloads (:func:`ptttool.decoders.hisi_ptt.payloads.payloads`) in pieces of whole lines, each below 1 MiB."""
    pages: dict[bool, _Page] = {}
    for payload in payloads:
        layout = payload.layout
        if payload.start == 0:
            yield b". ... HISI PTT data: size %d bytes\n" % (payload.payload_size // layout.record_size * layout.record_size)
        if layout.eight_dw not in pages:
            pages[layout.eight_dw] = _Page(layout, LABELS_8DW) if layout.eight_dw else _Page4DW(layout, LABELS_4DW)
        yield from pages[layout.eight_dw].texts(payload.dws, payload.start)


def _digits(numbers: Numbers, count: int) -> Bytes:
    """Return the lower ``count`` hexadecimal digits of numbers: shape (n, count), ASCII."""
    shifts = np.arange(4 * count - 4, -1, -4)
    digits: Bytes = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)[numbers[:, np.newaxis] >> shifts & 0xF]
    return digits


def _short_digits(count: int, width: int) -> tuple[Bytes, Numbers]:
    """Format the numbers below ``count`` in hexadecimal without leading zeros, aligned to the left.

    Returns
    -------
    digits : ndarray of uint8, shape (count, width)
        ASCII digits.
    unused : ndarray of intp, shape (count,)
        How many characters at the end of each row are not used.
    """
    numbers = np.arange(count)
    unused = sum(((numbers < 16**power).astype(np.intp) for power in range(1, width)), np.zeros(count, np.intp))
    columns = np.minimum(np.arange(width) + unused[:, np.newaxis], width - 1)
    return np.take_along_axis(_digits(numbers, width), columns, axis=1), unused


def _half_dws() -> Eights:
    """Return the text of every 16-bit half of a DW: ``xx xx`` and three spaces."""
    texts: Bytes = np.full((1 << 16, 8), ord(" "), dtype=np.uint8)
    texts[:, [0, 1, 3, 4]] = _digits(np.arange(1 << 16), 4)
    return texts.view(np.uint64)[:, 0]


class _Page:
    """The text of :data:`PAGE_SIZE` bytes of trace, one row for each record.

    Parameters
    ----------
    layout : Layout
        Layout of the records.
    labels : dict of int to bytes
        Labels of the DWs that are shown, by number.
    """

    def __init__(self, layout: Layout, labels: dict[int, bytes]) -> None:
        self.layout = layout
        lines = {number: b".  00000000: ".ljust(LABEL_AT) + label + b"\n" for number, label in labels.items()}
        row = np.frombuffer(b"".join(lines.values()), dtype=np.uint8)
        self.rows: Bytes = np.tile(row, (PAGE_SIZE // layout.record_size, 1))
        self._half_dws = _half_dws()
        self._offsets: list[Fours] = []
        self._halves: list[int] = []
        self._cells: list[Eights] = []
        lower_digits = _digits(np.arange(0, PAGE_SIZE, 4), 4).view(np.uint32)[:, 0]
        at = 0
        for number, line in lines.items():
            self._offsets.append(self._fours(at + OFFSET_AT))
            self._fours(at + OFFSET_AT + 4)[:] = lower_digits[number :: layout.dws]
            # The upper half is written first; the lower half then overwrites its spaces.
            self._halves += [2 * number + 1, 2 * number]
            self._cells += [self._eights(at + DW_AT), self._eights(at + DW_AT + 6)]
            at += len(line)

    def _fours(self, at: int) -> Fours:
        """Return a view of four bytes of every row, from column ``at`` on."""
        return np.ndarray(len(self.rows), np.uint32, self.rows, at, self.rows.strides[0])

    def _eights(self, at: int) -> Eights:
        """Return a view of eight bytes of every row, from column ``at`` on."""
        return np.ndarray(len(self.rows), np.uint64, self.rows, at, self.rows.strides[0])

    def texts(self, records: U32, start: int) -> Iterator[bytes]:
        """Yield the lines of records in pieces.

        Parameters
        ----------
        records : ndarray of uint32, shape (n, DWs)
            The records.
        start : int
            Offset of the first record in its payload, in bytes.
        """
        while len(records):
            first = start % PAGE_SIZE // self.layout.record_size
            part = records[: STEP - first % STEP]
            rows = slice(first, first + len(part))
            upper_digits = _digits(np.array([start >> 16]), 4).view(np.uint32)[0]
            for offsets in self._offsets:
                offsets[rows] = upper_digits
            yield self._text(part, rows)
            records = records[len(part) :]
            start += len(part) * self.layout.record_size

    def _text(self, records: U32, rows: slice) -> bytes:
        """Fill rows of the page with records and return their text."""
        self._fill_dws(records, rows)
        return self.rows[rows].tobytes()

    def _fill_dws(self, records: U32, rows: slice) -> None:
        halves = records.view("<u2").T[self._halves].astype(np.intp)
        # No index is out of range; "clip" only saves the check.
        for cells, digits in zip(self._cells, self._half_dws.take(halves, mode="clip"), strict=True):
            cells[rows] = digits


class _Page4DW(_Page):
    """A page of 4DW records.

    Numbers in the first line of a record vary in length. Rows have room for the longest ones; the used parts of a row make the text.
    """

    def __init__(self, layout: Layout, labels: dict[int, bytes]) -> None:
        super().__init__(layout, labels)
        size = self.rows.shape[1]
        stops = [LABEL_AT + FIELDS_4DW.index(b" T9"), LABEL_AT + FIELDS_4DW.index(b" Time"), LABEL_AT + len(FIELDS_4DW), size]
        self._parts = list(zip([0, *stops], stops, strict=False))
        self._output: Bytes = np.empty(STEP * size, dtype=np.uint8)

        upper = np.arange(1 << 11)
        types, unused_type = _short_digits(1 << 5, 2)
        self._unused_type = unused_type[upper >> 4 & 0x1F]
        heads = np.tile(np.frombuffer(FIELDS_4DW[:48], dtype=np.uint8), (len(upper), 1))
        heads[:, 7] = _digits(upper >> 9, 1)[:, 0]
        heads[:, 14:16] = types[upper >> 4 & 0x1F]
        for shift, name in ((3, b"T9 "), (2, b"T8 "), (1, b"TH "), (0, b"SO ")):
            heads[:, FIELDS_4DW.index(name) + 3] = _digits(upper >> shift & 1, 1)[:, 0]
        # Three tables of text. Index bits 31:21: the line up to Length. Index Length: Length and the next label. Index Time: a space, Time.
        self._heads = heads.view("V48")[:, 0]
        lengths, self._unused_length = _short_digits(1 << 10, 3)
        self._lengths: Eights = np.hstack((lengths, np.tile(np.frombuffer(b" Time", dtype=np.uint8), (1 << 10, 1)))).view(np.uint64)[:, 0]
        times, self._unused_time = _short_digits(1 << 11, 3)
        self._times: Fours = np.insert(times, 0, ord(" "), axis=1).view(np.uint32)[:, 0]
        self._head_cells = np.ndarray(len(self.rows), "V48", self.rows, LABEL_AT, size)
        self._length_cells = self._eights(LABEL_AT + 44)
        self._time_cells = self._fours(LABEL_AT + 52)

    def _text(self, records: U32, rows: slice) -> bytes:
        self._fill_dws(records, rows)
        first = records[:, 0].astype(np.intp)
        upper, lengths, times = first >> 21, first >> 11 & 0x3FF, first & 0x7FF
        self._head_cells[rows] = self._heads[upper]
        self._length_cells[rows] = self._lengths[lengths]
        self._time_cells[rows] = self._times[times]
        return self._compacted(rows, (self._unused_type[upper], self._unused_length[lengths], self._unused_time[times]))

    def _compacted(self, rows: slice, unused: tuple[Numbers, Numbers, Numbers]) -> bytes:
        """Return the rows without the unused characters at the ends of their first three parts."""
        size = self.rows.shape[1]
        ends = np.cumsum(size - sum(unused))
        starts = np.concatenate(([0], ends[:-1]))
        for (start, stop), fewer in zip(self._parts, (*unused, 0), strict=True):
            part = f"V{stop - start}"
            # A part is written with its unused characters; the next part overwrites them. This view has an item at every byte, so items
            # overlap, but those that are written do not.
            output = np.ndarray(self._output.size - (stop - start) + 1, part, self._output, 0, 1)
            output[starts] = np.ndarray(len(self.rows), part, self.rows, start, size)[rows]
            starts += stop - start - fewer
        return self._output[: ends[-1]].tobytes()


EXPORTERS.add("perf", PerfText())
