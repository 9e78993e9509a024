"""Reads the samples of tracepoints out of a perf.data file: one array for each event.

Layout of a sample: ``include/uapi/linux/perf_event.h`` of the Linux sources, PERF_RECORD_SAMPLE. No Python object is made for one.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from ptttool.budget import CODE
from ptttool.diagnostics import Diagnostic
from ptttool.errors import InputError
from ptttool.files.local import LocalFile, open_regular
from ptttool.files.packed.kinds import LONGEST_MAGIC, kind_of
from ptttool.kernel.records import find_records
from ptttool.perfdata import layout
from ptttool.perfdata.attributes import AttributeTable, trailer_of
from ptttool.perfdata.budget import MAX_FEATURE_BYTES, MAX_FIELD_BYTES, MAX_MAPS, MAX_SAMPLES, MAX_THREADS
from ptttool.perfdata.features import Cursor
from ptttool.perfdata.header import FileHeader, parse_header, read_attributes
from ptttool.perfdata.model import Attribute, Contents, Mode
from ptttool.perfdata.problems import Problems
from ptttool.perfdata.tracepoints.formats import Format, parse_tracing_data
from ptttool.perfdata.tracepoints.symbols import KernelMap
from ptttool.perfdata.tracepoints.threads import ThreadNames
from ptttool.perfdata.walker import Walker
from ptttool.wording import clean

if TYPE_CHECKING:
    from ptttool.files.packed.unpack import Unpacked

Array = npt.NDArray[Any]

# [uapi] enum perf_event_sample_format, those that lie in front of the raw data.
_ADDR, _READ, _CALLCHAIN, _PERIOD, _RAW = 8, 16, 32, 256, 1024
# [uapi] PERF_TYPE_TRACEPOINT; numbers of records.
_TRACEPOINT, _MMAP, _LOST, _COMM, _FORK, _MMAP2, _LOST_SAMPLES = 2, 1, 2, 3, 7, 10, 13
_NOTED = (_MMAP, _LOST, _COMM, _FORK, _MMAP2, _LOST_SAMPLES)
# Bytes of their bodies in front of the file's name.
_NAMED_AT = {_MMAP: 32, _MMAP2: 64}
# Feature bits.
_TRACING_DATA, _HOSTNAME, _OSRELEASE = 1, 3, 4
# [uapi] enum perf_callchain_context: marks from here on, of which the kernel's is the first in front of its frames.
_MARKS, _KERNEL_MARK = (1 << 64) - 4095, (1 << 64) - 128
# Frames of a call chain, at most.
_DEEPEST = 1 << 13
# Bytes that are read at a time, and records that are found at a time.
_PIECE, _ROWS = 1 << 20, 1 << 14
_LEAVING = (layout.AUXTRACE, layout.TRACING_DATA)


class Samples(NamedTuple):
    """The samples of a recording of tracepoints.

    Attributes
    ----------
    path : str
        The file.
    formats : dict of str to Format
        What the recording was asked for, by name, with the fields that are held.
    counts : dict of str to int
        How many samples there are of each event, also of those that are not held.
    events : dict of str to structured ndarray
        The samples of each event by time: ``at`` [ns on perf's clock], ``on_cpu``, ``by_pid``, ``by_tid``, and the event's fields.
        Texts have no bytes behind their end. An event with more than the budget allows is not in it.
    threads : ThreadNames
        Names of threads.
    lost : int
        Samples that the kernel had no room for. Which ones is not known.
    unread : int
        Samples that could not be read: of unknown events, or too short for their fields.
    problems : list of Diagnostic
        Damage of the file. What was read before it is good.
    maps : list of KernelMap
        Where the kernel and its modules were.
    system : tuple of str
        Name of the machine and release of its kernel, as far as the file says.
    """

    path: str
    formats: dict[str, Format]
    counts: dict[str, int]
    events: dict[str, Array]
    threads: ThreadNames
    lost: int
    unread: int
    problems: list[Diagnostic]
    maps: list[KernelMap]
    system: tuple[str, ...]


class _Place(NamedTuple):
    """Where samples of an attribute have what; bytes from the record's start, 0: nowhere."""

    id: int
    tid: int
    time: int
    cpu: int
    raw: int  # with a call chain: where that begins
    has_chain: bool


def _place(attribute: Attribute) -> _Place:
    at, kind = layout.RECORD.size, attribute.sample_type
    places = {}
    for bit in (
        layout.SAMPLE_IDENTIFIER, layout.SAMPLE_IP, layout.SAMPLE_TID, layout.SAMPLE_TIME, _ADDR, layout.SAMPLE_ID,
        layout.SAMPLE_STREAM_ID, layout.SAMPLE_CPU, _PERIOD,
    ):  # fmt: skip
        if kind & bit:
            places[bit] = at
            at += 8
    id = places.get(layout.SAMPLE_IDENTIFIER) or places.get(layout.SAMPLE_ID, 0)
    raw = at if kind & _RAW and not kind & _READ else 0
    return _Place(
        id, places.get(layout.SAMPLE_TID, 0), places.get(layout.SAMPLE_TIME, 0), places.get(layout.SAMPLE_CPU, 0), raw,
        bool(kind & _CALLCHAIN),
    )  # fmt: skip


def read_samples(path: str, wanted: Mapping[str, Collection[str]] | None = None, depth: int = 0) -> Samples:
    """Read the samples of a recording of tracepoints.

    Parameters
    ----------
    path : str
        The file, which may be packed; no link is followed.
    wanted : Mapping of str to collection of str, optional
        Names of the events that are held (``nvme:nvme_setup_cmd``), and of their fields that are; by default all.
    depth : int
        Frames of the kernel's stack that are held, as the column ``frames`` of each event, uint64, shape (n, depth): the innermost one
        first, 0 behind the last.

    Raises
    ------
    InputError
        It cannot be opened, or is not a file of perf record with tracepoints.
    """
    with _opened(path) as file:
        return _Reader(file, path, wanted, depth).read()


def check_samples(path: str) -> None:
    """Raise the errors of :func:`read_samples` that the beginning and the description of tracepoints show."""
    with _opened(path) as file:
        _Reader(file, path, {})


def events_of(path: str) -> frozenset[str]:
    """Return the names of the tracepoints that were recorded; raises as :func:`check_samples`."""
    with _opened(path) as file:
        return _Reader(file, path, {}).names


def _opened(path: str) -> closing[LocalFile]:
    try:
        descriptor = open_regular(path)
    except OSError as error:
        raise InputError(path, os.strerror(error.errno or 0), code="unreadable") from error
    try:
        packed = _unpacked(descriptor, path)
    except BaseException:
        os.close(descriptor)
        raise
    if packed is not None:
        os.close(descriptor)
        descriptor = os.dup(packed.file.fileno())
    return closing(LocalFile(descriptor, path))


def _unpacked(descriptor: int, path: str) -> Unpacked | None:
    if kind_of(os.pread(descriptor, LONGEST_MAGIC, 0)) is None:
        return None
    from ptttool.files.packed.unpack import unpacked

    return unpacked(descriptor, path)


class _Reader:
    def __init__(self, file: LocalFile, path: str, wanted: Mapping[str, Collection[str]] | None, depth: int = 0) -> None:
        header = parse_header(path, file.read(0, layout.FILE_HEADER_SIZE))
        if header is None:
            raise InputError(path, "was written to a pipe; the kernel's side is read from files only", code="pipe-mode")
        self._file, self._path = file, path
        self._contents = Contents(Mode.FILE)
        self._problems = Problems(path, self._contents.problems)
        table = AttributeTable(self._contents)
        read_attributes(header, file, Walker(self._contents, table, self._problems))
        self._formats = self._described(header)
        self._system = tuple(self._text(header, bit) for bit in (_HOSTNAME, _OSRELEASE))
        self._depth = depth
        self._maps: list[KernelMap] = []
        self._counts: dict[str, int] = {}
        self._full: set[str] = set()
        self._lost = self._unread = 0
        self._threads = ThreadNames(MAX_THREADS)
        self._pieces: dict[int, list[Array]] = {}
        self._events: dict[int, Format] = {}
        self._places: dict[int, _Place] = {}
        self._select(wanted)
        self._data = (header.data[0], min(header.data_end, file.size) if header.data[1] else file.size)
        if header.data_end > file.size:
            missing = header.data_end - file.size
            self._problems.add("truncated", f"the file ends {missing} bytes before its data do", file.size, missing=missing)

    def _described(self, header: FileHeader) -> dict[int, Format]:
        """Return the formats that the file describes, by number."""
        if _TRACING_DATA not in header.features:
            raise InputError(self._path, "does not describe tracepoints: it was recorded without any", code="no-tracepoints")
        entry, offset, size = self._section(header, _TRACING_DATA)
        if offset + size > self._file.size or size > MAX_FEATURE_BYTES:
            reason = "the description of its tracepoints is not in the file, which was cut perhaps"
            raise InputError(self._path, reason, offset=entry, code="truncated")
        try:
            return parse_tracing_data(memoryview(self._file.read(offset, size)))
        except ValueError as error:
            raise InputError(self._path, f"the description of its tracepoints: {error}", offset=offset, code="damaged-feature") from error

    def _section(self, header: FileHeader, feature: int) -> tuple[int, int, int]:
        """Return where the entry of a feature's section is, and offset and size of the section, which may be behind the end of the file."""
        entry = header.data_end + header.features.index(feature) * layout.SECTION.size
        raw = self._file.read(entry, layout.SECTION.size) if entry < self._file.size else b""
        offset, size = layout.SECTION.unpack(raw) if len(raw) == layout.SECTION.size else (self._file.size, 1)
        return entry, offset, size

    def _text(self, header: FileHeader, feature: int) -> str:
        """Return a text of the header; empty where it is missing or damaged."""
        if feature not in header.features:
            return ""
        _, offset, size = self._section(header, feature)
        if offset + size > self._file.size or size > MAX_FIELD_BYTES:
            return ""
        try:
            return Cursor(memoryview(self._file.read(offset, size))).string()
        except ValueError:
            return ""

    @property
    def names(self) -> frozenset[str]:
        """Names of the tracepoints."""
        return frozenset(one.name for one in self._events.values())

    def _select(self, wanted: Mapping[str, Collection[str]] | None) -> None:
        ids: list[tuple[int, int]] = []
        formats: dict[str, Format] = {}
        for number, attribute in enumerate(self._contents.attributes):
            one = self._formats.get(attribute.config) if attribute.type == _TRACEPOINT else None
            place = _place(attribute)
            ids += [(id, number) for id in attribute.ids]
            if one is None or not (place.raw and place.time):
                continue
            if wanted is not None and one.name in wanted:
                one = replace(one, fields=tuple(field for field in one.fields if field.name in wanted[one.name]))
            self._places[number] = place
            self._events[number] = one
            if formats.setdefault(one.name, one).id != one.id:
                raise InputError(self._path, f"describes {clean(one.name)} twice", code="damaged-feature")
            if wanted is None or one.name in wanted:
                self._pieces[number] = []
        if not self._events:
            raise InputError(self._path, "holds no tracepoints with their fields and times", code="no-tracepoints")
        ids.sort()
        self._ids = np.array([id for id, _ in ids], dtype=np.uint64)
        self._numbers = np.array([number for _, number in ids], dtype=np.int64)
        at = {_place(attribute).id for attribute in self._contents.attributes}
        self._time_from_end = trailer_of(self._contents.attributes[0]).time
        self._id_at = at.pop() if len(at) == 1 else 0
        if not self._id_at and len(self._contents.attributes) > 1:
            raise InputError(self._path, "nothing tells the samples of its events apart", code="no-tracepoints")

    def read(self) -> Samples:
        for buffer, found in self._records():
            kinds = found[:, 1]
            samples = found[kinds == layout.SAMPLE]
            if len(samples):
                self._take(buffer, samples[:, 0], samples[:, 2])
            for row in np.flatnonzero(np.isin(kinds, _NOTED)).tolist():
                at, kind, size = found[row].tolist()
                self._note(kind, bytes(buffer[at + layout.RECORD.size : at + size]))
            if (kinds == layout.COMPRESSED).any() or (kinds == layout.COMPRESSED2).any():
                raise InputError(self._path, "was recorded with perf record -z, which is not read here", code="compressed-records")
        events: dict[str, Array] = {}
        for number, pieces in self._pieces.items():
            one = self._events[number]
            if one.name in self._full:
                continue
            rows = [events[one.name]] if one.name in events else []
            together = np.concatenate([*rows, *pieces]) if rows or pieces else np.empty(0, dtype=self._dtype(one))
            pieces.clear()
            if (together["at"][1:] < together["at"][:-1]).any():
                together = together[together["at"].argsort(kind="stable")]
            events[one.name] = together
        self._threads.close()
        formats = {one.name: one for one in self._events.values()}
        return Samples(
            self._path, formats, self._counts, events, self._threads, self._lost, self._unread, self._contents.problems, self._maps,
            self._system,
        )  # fmt: skip

    def _records(self) -> Iterator[tuple[Array, Array]]:
        """Yield bytes of the file with the records that begin and end in them."""
        found: Any = np.empty((_ROWS, 3), dtype=np.int64)
        position, end = self._data
        while position < end:
            buffer: Any = np.frombuffer(self._file.read(position, min(_PIECE, end - position)), dtype=np.uint8)
            at = 0
            while used := find_records(memoryview(buffer), at, layout.AUXTRACE, memoryview(found)):
                rows = found[:used]
                at = int(rows[-1, 0] + rows[-1, 2])
                yield buffer, rows
                if int(rows[-1, 1]) == layout.AUXTRACE:
                    self._problems.add("damaged-record", "holds a trace of a device, which a recording of tracepoints does not", position)
                    return
            position += at
            if len(buffer) - at < layout.RECORD.size:
                if at:
                    continue
                break
            size = int(buffer[at + 6]) + 256 * int(buffer[at + 7])
            if size < layout.RECORD.size:
                message = f"a record states a size of {size} bytes, smaller than its own header; nothing after it can be read"
                self._problems.add("damaged-record", message, position, size=size)
                return
            if not at:
                break
        if position < end:
            self._problems.add("truncated", "the data end inside a record", position)

    def _note(self, kind: int, body: bytes) -> None:
        """Take in a record that is not a sample."""
        if kind == _LOST and len(body) >= 16:
            self._lost += int.from_bytes(body[8:16], "little")
        elif kind in _NAMED_AT and body[:4] == b"\xff" * 4 and len(body) > _NAMED_AT[kind] and len(self._maps) < MAX_MAPS:
            start, size, base = (int.from_bytes(body[at : at + 8], "little") for at in (8, 16, 24))
            self._maps.append(KernelMap(start, size, base, body[_NAMED_AT[kind] :].split(b"\0", 1)[0].decode(errors="replace")))
        elif kind == _LOST_SAMPLES and len(body) >= 8:
            self._lost += int.from_bytes(body[:8], "little")
        elif kind in (_COMM, _FORK):
            trailer = self._time_from_end
            time = int.from_bytes(body[-trailer : 8 - trailer or None], "little") if trailer and len(body) >= 24 + trailer else 0
            if kind == _COMM and len(body) >= 9:
                self._threads.named(time, int.from_bytes(body[4:8], "little", signed=True), body[8:24].split(b"\0", 1)[0])
            elif kind == _FORK and len(body) >= 16:
                child, parent = (int.from_bytes(body[at : at + 4], "little", signed=True) for at in (8, 12))
                self._threads.forked(time, child, parent)

    def _take(self, buffer: Array, at: Array, sizes: Array) -> None:
        """Take in the samples that begin in a buffer."""
        if self._id_at:
            is_long = sizes >= self._id_at + 8
            self._unread += int(np.count_nonzero(~is_long))
            at, sizes = at[is_long], sizes[is_long]
            if not len(self._ids):
                self._unread += len(at)
                return
            ids = _numbers(buffer, at + self._id_at, np.uint64)
            places = np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
            numbers = np.where(self._ids[places] == ids, self._numbers[places], -1)
        else:
            numbers = np.zeros(len(at), dtype=np.int64)
        self._unread += int(np.count_nonzero(numbers < 0))
        for number, event in self._events.items():
            mine = numbers == number
            count = int(np.count_nonzero(mine))
            name, pieces = event.name, self._pieces.get(number)
            self._counts[name] = self._counts.get(name, 0) + count
            if not count or pieces is None or name in self._full:
                continue
            if self._counts[name] > MAX_SAMPLES:
                self._full.add(name)
                for each, held in self._pieces.items():
                    if self._events[each].name == name:
                        held.clear()
                message = f"there are more than {MAX_SAMPLES} samples of {name}: none of them is taken"
                self._problems.add(CODE, message, None, limit=MAX_SAMPLES, event=name)
                continue
            pieces.append(self._rows(buffer, at[mine], sizes[mine], self._places[number], event))

    def _dtype(self, event: Format) -> Any:
        """Return the dtype of an event in the result."""
        return np.dtype([*event.dtype.descr, ("frames", "<u8", (self._depth,))]) if self._depth else event.dtype

    def _rows(self, buffer: Array, at: Array, sizes: Array, place: _Place, event: Format) -> Array:
        """Return samples of an event."""
        raw, before = at + place.raw, len(at)
        ends = at + sizes
        frames: Array = np.zeros((len(at), 0), dtype=np.uint64)
        if place.has_chain:
            whole = raw + 8 <= ends
            at, raw, ends = at[whole], raw[whole], ends[whole]
            depth = _numbers(buffer, raw, np.uint64)
            fits = depth <= np.uint64(_DEEPEST)
            fits &= raw + 8 + 8 * np.minimum(depth, np.uint64(_DEEPEST)).astype(np.int64) <= ends
            at, raw, ends, depths = at[fits], raw[fits] + 8, ends[fits], depth[fits].astype(np.int64)
            frames = _frames(buffer, raw, depths, self._depth)
            raw = raw + 8 * depths
        fits = raw + 4 <= ends
        at, raw, ends, frames = at[fits], raw[fits], ends[fits], frames[fits]
        lengths = _numbers(buffer, raw, np.uint32).astype(np.int64)
        raw = raw + 4
        fits = (lengths >= event.size) & (raw + lengths <= ends)
        at, raw, lengths, frames = at[fits], raw[fits], lengths[fits], frames[fits]
        self._unread += before - len(at)
        held = _gathered(buffer, raw, max(event.size, 1)).view(event.held).reshape(-1)
        rows = np.empty(len(at), dtype=self._dtype(event))
        if self._depth:
            rows["frames"] = 0
            rows["frames"][:, : frames.shape[1]] = frames
        rows["at"] = np.minimum(_numbers(buffer, at + place.time, np.uint64), np.uint64((1 << 63) - 1))
        rows["on_cpu"] = _numbers(buffer, at + place.cpu, np.int32) if place.cpu else -1
        rows["by_pid"] = _numbers(buffer, at + place.tid, np.int32) if place.tid else -1
        rows["by_tid"] = _numbers(buffer, at + place.tid + 4, np.int32) if place.tid else -1
        for field in event.fields:
            if field.is_elsewhere:
                where = held[field.name].astype(np.int64)
                start, size = where & 0xFFFF, where >> 16
                if field.is_relative:
                    start = start + field.offset + field.size
                rows[field.name] = _texts(buffer, raw, lengths, start, size, field.dtype.itemsize)
            elif field.is_text:
                rows[field.name] = _ended(held[field.name])
            else:
                rows[field.name] = held[field.name]
        return rows


def _frames(buffer: Array, at: Array, depths: Array, most: int) -> Array:
    """Return the first frames of the kernel in call chains of so many numbers, shape (n, most); 0 behind the last."""
    if not most or not len(at):
        return np.zeros((len(at), 0), dtype=np.uint64)
    columns = np.arange(most + 1)
    inside = columns < depths[:, None]
    places = np.where(inside, at[:, None] + 8 * columns, 0)
    chains = _numbers(buffer, np.minimum(places, max(len(buffer) - 8, 0)).reshape(-1), np.uint64).reshape(-1, most + 1)
    chains[~inside] = _MARKS
    is_kernel = chains[:, 0] == _KERNEL_MARK
    chains = np.where(is_kernel[:, None], chains[:, 1:], chains[:, :-1])
    chains[np.logical_or.accumulate(chains >= _MARKS, axis=1)] = 0
    return chains


def _gathered(buffer: Array, at: Array, size: int) -> Array:
    """Return so many bytes from each place, shape (n, size)."""
    return np.ascontiguousarray(buffer[at[:, None] + np.arange(size)])


def _numbers(buffer: Array, at: Array, dtype: type[np.generic]) -> Array:
    """Return the number at each place."""
    return _gathered(buffer, at, np.dtype(dtype).itemsize).view(np.dtype(dtype).newbyteorder("<")).reshape(-1)


def _ended(texts: Array) -> Array:
    """Return texts without what lies behind the first zero."""
    size = texts.dtype.itemsize
    raw = np.frombuffer(np.ascontiguousarray(texts).tobytes(), dtype=np.uint8).reshape(-1, size).copy()
    raw[np.logical_or.accumulate(raw == 0, axis=1)] = 0
    return raw.view(f"S{size}").reshape(-1)


def _texts(buffer: Array, raw: Array, lengths: Array, start: Array, size: Array, width: int) -> Array:
    """Return the first bytes of texts that lie at a place of the raw data; one that does not is empty."""
    inside = start + size <= lengths
    columns = np.arange(width)
    valid = inside[:, None] & (columns < size[:, None])
    at = np.where(valid, (raw + start)[:, None] + columns, 0)
    found = np.where(valid, buffer[at], 0).astype(np.uint8)
    return _ended(found.view(f"S{width}").reshape(-1))


def text_of(raw: bytes) -> str:
    """Return a text of a sample; bytes that are not UTF-8 are replaced. It may hold control characters: show it with ``clean``."""
    return raw.split(b"\0", 1)[0].decode(errors="replace")
