"""The text that perf prints for the AUX dump of a PTT recording (``perf report -D``), as a perf of June 2026 or later does.

Source: Linux, tools/perf/util/hisi-ptt.c and hisi-ptt-decoder.c, with the fix of June 2026 ("perf hisi-ptt: Fix PTT trace TLP header
parsing"). Before it, perf prints the bytes of a word in memory order and takes the fields of a 4DW record from the wrong end; all else
is the same. Field names that later patches of that series add are not part of it.

The text has just the AUX dumps, payload after payload, in the order of the file. Perf's report puts one into the dump of each
PERF_RECORD_AUXTRACE: a line with a single ``.`` before it, an empty line after it, other events between two of them. None of these is
here.

A dump begins with ``. ... HISI PTT data: size N bytes``. N is the size that the recording promises, less what is no whole record at its
end. The words follow, one a line: the offset in the payload, the bytes most significant first, a label. 4DW records have four lines.
8DW records have six: the check word and the reserved word are left out, so offsets have gaps. The first word of a payload decides what
all of it is taken for. All-zero records and records without a check word are printed like any other. Of a payload that is cut short
there is what the file holds.

How it is fast: a page of text has every label in its place from the start, and only digits are filled in, again and again.
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
# Bytes of text, eight or four at a time, in the order of this machine: never numbers.
Eights = npt.NDArray[np.uint64]
Fours = npt.NDArray[np.uint32]

# Bytes of trace on a page: the lower four digits of its offsets are the same on every page.
PAGE_SIZE = 1 << 16
# Records filled in at a time: their text stays in a processor's second-level cache. A divisor of the records of a page.
STEP = 1 << 11

# Places in a line, in bytes. After a word's digits there are spaces up to the label.
OFFSET_AT, WORD_AT, LABEL_AT = 3, 13, 57
LABELS_8DW = {1: b"Prefix", 2: b"Header DW0", 3: b"Header DW1", 4: b"Header DW2", 5: b"Header DW3", 7: b"Time"}
# Numbers with as many digits as they may have; x stands for a digit.
FIELDS_4DW = b"Format x Type xx T9 x T8 x TH x SO x Length xxx Time xxx"
LABELS_4DW = {0: FIELDS_4DW, 1: b"Header DW1", 2: b"Header DW2", 3: b"Header DW3"}


class PerfText(Exporter):
    """perf's own text, made of payloads, not of rows: see :meth:`text`."""

    name = "perf"
    meaning = "the text that a corrected perf report -D prints of the AUX data: whole payloads with all-zero records"
    suffixes = (".perf",)
    protocols = ("hisi-ptt",)

    def encoder(self, schema: Schema) -> Encoder:
        """Raise a UsageError: rows cannot be written as perf's text."""
        raise UsageError("perf's text is made of whole payloads, not of rows", hint="choose another format with --to", code="perf-whole")

    def writer(self, file: IO[bytes], schema: Schema, context: ExportContext) -> Writer:
        """Raise a UsageError, as `encoder` does."""
        raise UsageError("perf's text is made of whole payloads, not of rows", hint="choose another format with --to", code="perf-whole")

    def text(self, payloads: Iterable[Payload]) -> Iterator[bytes]:
        """Yield the text of payloads (:func:`ptttool.decoders.hisi_ptt.payloads.payloads`) in pieces of whole lines, each below 1 MiB."""
        return text(payloads)


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
    """Numbers below ``count`` without leading zeros, to the left: ASCII of shape (count, width); how many of these are not used."""
    numbers = np.arange(count)
    unused = sum(((numbers < 16**power).astype(np.intp) for power in range(1, width)), np.zeros(count, np.intp))
    columns = np.minimum(np.arange(width) + unused[:, np.newaxis], width - 1)
    return np.take_along_axis(_digits(numbers, width), columns, axis=1), unused


def _half_words() -> Eights:
    """By half a word: ``xx xx`` and three spaces."""
    found: Bytes = np.full((1 << 16, 8), ord(" "), dtype=np.uint8)
    found[:, [0, 1, 3, 4]] = _digits(np.arange(1 << 16), 4)
    return found.view(np.uint64)[:, 0]


class _Page:
    """The text of :data:`PAGE_SIZE` bytes of trace, one row a record. ``labels``: of the words that are shown, by number."""

    def __init__(self, layout: Layout, labels: dict[int, bytes]) -> None:
        self.layout = layout
        lines = {number: b".  00000000: ".ljust(LABEL_AT) + label + b"\n" for number, label in labels.items()}
        row = np.frombuffer(b"".join(lines.values()), dtype=np.uint8)
        self.rows: Bytes = np.tile(row, (PAGE_SIZE // layout.record_size, 1))
        self._half_words = _half_words()
        self._offsets: list[Fours] = []
        self._halves: list[int] = []
        self._places: list[Eights] = []
        lower_digits = _digits(np.arange(0, PAGE_SIZE, 4), 4).view(np.uint32)[:, 0]
        at = 0
        for number, line in lines.items():
            self._offsets.append(self._fours(at + OFFSET_AT))
            self._fours(at + OFFSET_AT + 4)[:] = lower_digits[number :: layout.dws]
            # The upper half first: its spaces are where the lower half goes.
            self._halves += [2 * number + 1, 2 * number]
            self._places += [self._eights(at + WORD_AT), self._eights(at + WORD_AT + 6)]
            at += len(line)

    def _fours(self, at: int) -> Fours:
        """Four bytes of every row, from ``at`` on."""
        return np.ndarray(len(self.rows), np.uint32, self.rows, at, self.rows.strides[0])

    def _eights(self, at: int) -> Eights:
        """Eight bytes of every row, from ``at`` on."""
        return np.ndarray(len(self.rows), np.uint64, self.rows, at, self.rows.strides[0])

    def texts(self, records: U32, start: int) -> Iterator[bytes]:
        """Yield the lines of records, shape (n, DWs), in pieces; ``start`` is the offset of the first one in its payload in bytes."""
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
        """Return the text of these rows of records."""
        self._put_words(records, rows)
        return self.rows[rows].tobytes()

    def _put_words(self, records: U32, rows: slice) -> None:
        halves = records.view("<u2").T[self._halves].astype(np.intp)
        # No half word is out of range: "clip" only saves the check.
        for place, digits in zip(self._places, self._half_words.take(halves, mode="clip"), strict=True):
            place[rows] = digits


class _Page4DW(_Page):
    """A page of 4DW records. Rows have room for the longest numbers of a first line; their used parts are put together as the text."""

    def __init__(self, layout: Layout, labels: dict[int, bytes]) -> None:
        super().__init__(layout, labels)
        size = self.rows.shape[1]
        stops = [LABEL_AT + FIELDS_4DW.index(b" T9"), LABEL_AT + FIELDS_4DW.index(b" Time"), LABEL_AT + len(FIELDS_4DW), size]
        self._parts = list(zip([0, *stops], stops, strict=False))
        self._drawn: Bytes = np.empty(STEP * size, dtype=np.uint8)

        upper = np.arange(1 << 11)
        types, unused_type = _short_digits(1 << 5, 2)
        self._unused_type = unused_type[upper >> 4 & 0x1F]
        heads = np.tile(np.frombuffer(FIELDS_4DW[:48], dtype=np.uint8), (len(upper), 1))
        heads[:, 7] = _digits(upper >> 9, 1)[:, 0]
        heads[:, 14:16] = types[upper >> 4 & 0x1F]
        for shift, name in ((3, b"T9 "), (2, b"T8 "), (1, b"TH "), (0, b"SO ")):
            heads[:, FIELDS_4DW.index(name) + 3] = _digits(upper >> shift & 1, 1)[:, 0]
        # By bits 31:21: all up to Length. By Length: it and the next label. By Time: a space and it.
        self._heads = heads.view("V48")[:, 0]
        lengths, self._unused_length = _short_digits(1 << 10, 3)
        self._lengths: Eights = np.hstack((lengths, np.tile(np.frombuffer(b" Time", dtype=np.uint8), (1 << 10, 1)))).view(np.uint64)[:, 0]
        times, self._unused_time = _short_digits(1 << 11, 3)
        self._times: Fours = np.insert(times, 0, ord(" "), axis=1).view(np.uint32)[:, 0]
        self._head_places = np.ndarray(len(self.rows), "V48", self.rows, LABEL_AT, size)
        self._length_places = self._eights(LABEL_AT + 44)
        self._time_places = self._fours(LABEL_AT + 52)

    def _text(self, records: U32, rows: slice) -> bytes:
        self._put_words(records, rows)
        words = records[:, 0].astype(np.intp)
        upper, lengths, times = words >> 21, words >> 11 & 0x3FF, words & 0x7FF
        self._head_places[rows] = self._heads[upper]
        self._length_places[rows] = self._lengths[lengths]
        self._time_places[rows] = self._times[times]
        return self._put_together(rows, (self._unused_type[upper], self._unused_length[lengths], self._unused_time[times]))

    def _put_together(self, rows: slice, unused: tuple[Numbers, Numbers, Numbers]) -> bytes:
        """Return the rows without the unused characters at the ends of their first three parts."""
        size = self.rows.shape[1]
        ends = np.cumsum(size - sum(unused))
        places = np.concatenate(([0], ends[:-1]))
        for (start, stop), fewer in zip(self._parts, (*unused, 0), strict=True):
            part = f"V{stop - start}"
            # A part is written with its unused places; the next one goes over them. Items of this array overlap, those written do not.
            drawn = np.ndarray(self._drawn.size - (stop - start) + 1, part, self._drawn, 0, 1)
            drawn[places] = np.ndarray(len(self.rows), part, self.rows, start, size)[rows]
            places += stop - start - fewer
        return self._drawn[: ends[-1]].tobytes()


EXPORTERS.add("perf", PerfText())
