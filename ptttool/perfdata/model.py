"""What a recording consists of, once it is read."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from ptttool.diagnostics import Diagnostic
from ptttool.files.local import LocalFile, shortened


class RandomAccess(Protocol):
    """A file that is read at any offset: on this machine, or on remote storage."""

    @property
    def path(self) -> str:
        """Path or address by which another process can read the same file; empty where there is none."""
        ...

    @property
    def size(self) -> int:
        """Size in bytes."""
        ...

    def read(self, offset: int, size: int) -> bytes:
        """Return the bytes at an offset, fewer only at the end of the file.

        Raises
        ------
        InputError
            If the file became shorter, or the storage reports an error.
        """
        ...

    def close(self) -> None:
        """Close the file."""
        ...


AUX_TRUNCATED, AUX_OVERWRITE, AUX_PARTIAL, AUX_COLLISION = 1, 2, 4, 8
# PERF_AUX_FLAG_PMU_FORMAT_TYPE_MASK, and PERF_AUX_FLAG_CORESIGHT_FORMAT_RAW.
_FORMAT_MASK, _FORMAT_RAW = 0xFF00, 0x0100


class Attribute(Struct, frozen=True):
    """One ``perf_event_attr`` and what names it.

    Attributes
    ----------
    type : int
        Type number of the PMU.
    config : int
        The event's ``config``.
    size : int
        Size of the attribute in bytes; it differs between versions of perf.
    sample_type : int
        Bits that say which fields samples and trailers have.
    sample_id_all : bool
        Whether all records of the kernel have a trailer.
    ids : tuple of int
        Ids of the event, one for each CPU.
    name : str or None
        The event string; None where the recording does not have it.
    """

    type: int
    config: int
    size: int
    sample_type: int
    sample_id_all: bool
    ids: tuple[int, ...] = ()
    name: str | None = None


class AuxEvent(Struct, frozen=True):
    """One PERF_RECORD_AUX: the kernel committed bytes to a CPU's AUX stream.

    Attributes
    ----------
    offset, size : int
        The bytes, in the AUX stream.
    flags : int
        ``AUX_TRUNCATED`` and so on; bits 8 to 15 belong to the PMU.
    cpu : int or None
        CPU of the AUX stream (of the event that traced, not of the CPU that happened to commit); None where the file does not say.
    time : int or None
        Time on perf's clock, in nanoseconds; None where the record has none.
    file_offset : int
        Offset of the record in the file.
    """

    offset: int
    size: int
    flags: int
    cpu: int | None
    time: int | None
    file_offset: int

    @property
    def is_framed(self) -> bool:
        """Whether the bytes of a CoreSight trace are in frames; they are not where a CPU wrote the trace of its own unit."""
        return self.flags & _FORMAT_MASK != _FORMAT_RAW


class HardwareId(Struct, frozen=True):
    """One PERF_RECORD_AUX_OUTPUT_HW_ID: a number that the hardware gives a CPU's trace (CoreSight: its trace ID)."""

    value: int
    cpu: int | None
    file_offset: int


class AuxChunk(Struct, frozen=True):
    """The payload of one PERF_RECORD_AUXTRACE, or, where it comes through a pipe, a piece of it.

    The bytes are read with :meth:`read`, while the recording is open: those of a file when they are asked for; those of a pipe are in
    memory.

    Attributes
    ----------
    number : int
        Number of the payload, 0, 1, … in file order.
    offset : int
        Offset of the payload in its AUX stream.
    start : int
        Offset of this piece in the payload, a multiple of 4096 (0 for a file, which gives whole payloads).
    payload_size : int
        Size of the payload as the record states it.
    size : int
        Bytes of this piece that the file holds.
    idx : int
        Number of the AUX stream.
    cpu, tid : int
        CPU and thread of the AUX stream; -1 where the record names none.
    reference : int
        The record's reference.
    file_offset : int
        Offset of this piece in the file.
    source : memoryview or RandomAccess
        The bytes of this piece, or the file that holds them.
    missing : int
        Bytes of the payload that the file should hold and does not; set in its last piece.
    """

    number: int
    offset: int
    start: int
    payload_size: int
    size: int
    idx: int
    cpu: int
    tid: int
    reference: int
    file_offset: int
    source: memoryview | RandomAccess
    missing: int = 0

    @property
    def path(self) -> str:
        """Path or address where another process can read the bytes, at ``file_offset``; empty where there is none."""
        return "" if isinstance(self.source, memoryview) else self.source.path

    @property
    def in_memory(self) -> bool:
        """Whether the bytes are in memory, so that reading all of them copies nothing."""
        return isinstance(self.source, memoryview)

    @property
    def file(self) -> LocalFile | None:
        """The file on this machine that holds the bytes at ``file_offset``; None for a pipe and for remote storage."""
        return self.source if isinstance(self.source, LocalFile) else None

    def read(self, offset: int = 0, size: int | None = None) -> memoryview:
        """Return bytes of this piece.

        Parameters
        ----------
        offset : int, optional
            Where to begin, from the start of the piece.
        size : int, optional
            Number of bytes; by default all up to the end of the piece.

        Returns
        -------
        memoryview
            The bytes, read-only; fewer than ``size`` only at the end of the piece.

        Raises
        ------
        InputError
            If the file became shorter, or the storage reports an error.
        """
        offset = min(max(offset, 0), self.size)
        left = self.size - offset
        size = left if size is None else min(size, left)
        if isinstance(self.source, memoryview):
            return self.source[offset : offset + size]
        data = self.source.read(self.file_offset + offset, size)
        if len(data) < size:
            raise shortened(self.path, self.file_offset + offset + len(data))
        return memoryview(data)


class AuxPayload(Struct, frozen=True):
    """One PERF_RECORD_AUXTRACE without its data.

    Attributes
    ----------
    size : int
        Bytes that the record states.
    held : int
        Bytes that are in the file.
    """

    number: int
    offset: int
    size: int
    held: int
    idx: int
    cpu: int
    file_offset: int


class Mode(StrEnum):
    """What a recording is: how its container was written, or that it has none."""

    FILE = "file"
    PIPE = "pipe"
    DIRECTORY = "directory"
    RAW = "raw"


class Contents(Struct):
    """Everything of a recording but the AUX data; complete once the chunks have been walked to the end.

    Attributes
    ----------
    mode : Mode
        What the recording is.
    attributes : list of Attribute
        The events that were recorded.
    features : dict
        The header's feature sections by name (``hostname``, ``osrelease``, ``version``, ``arch``, ``cmdline``, ``pmu_mappings`` …); see
        :func:`ptttool.perfdata.features.parse_feature` for the values.
    auxtrace_type : int or None
        Type of the AUX data, from PERF_RECORD_AUXTRACE_INFO; None where there is no such record.
    auxtrace_priv : tuple of int
        The 64-bit numbers of PERF_RECORD_AUXTRACE_INFO; what they mean depends on the type.
    aux_events : list of AuxEvent
        The AUX records, up to 2**20 of them.
    aux_payloads : list of AuxPayload
        The AUXTRACE records, up to 2**20 of them.
    hardware_ids : list of HardwareId
        The AUX_OUTPUT_HW_ID records, up to 2**20 of them.
    records : dict of str to int
        Number of records by name of their type.
    unknown : dict of int to int
        Number of records by type, of types that are not understood.
    problems : list of Diagnostic
        Damage, in the order in which it was met. What was read before it is good. ``details["offset"]`` is the offset in the file, or
        None; ``details["file"]`` is there for a file of a folder.
    first_time, last_time : int or None
        Times of all records on perf's clock, in nanoseconds; None where no record has one.
    interrupted : bool
        Whether perf did not finish the file.
    revision : int
        Number of changes to the attributes, features and AUXTRACE_INFO so far.
    """

    mode: Mode
    attributes: list[Attribute] = []
    features: dict[str, object] = {}
    auxtrace_type: int | None = None
    auxtrace_priv: tuple[int, ...] = ()
    aux_events: list[AuxEvent] = []
    aux_payloads: list[AuxPayload] = []
    hardware_ids: list[HardwareId] = []
    records: dict[str, int] = {}
    unknown: dict[int, int] = {}
    problems: list[Diagnostic] = []
    first_time: int | None = None
    last_time: int | None = None
    interrupted: bool = False
    revision: int = 0
