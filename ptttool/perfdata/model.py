"""What a perf.data file is made of, once read."""

from __future__ import annotations

from dataclasses import dataclass, field

from ptttool.errors import InputError
from ptttool.perfdata.backing import Backing

AUX_TRUNCATED, AUX_OVERWRITE, AUX_PARTIAL, AUX_COLLISION = 1, 2, 4, 8


@dataclass(frozen=True)
class Attribute:
    """One ``perf_event_attr`` and what names it. ``size``: the attribute's own size in bytes (it differs between perf versions)."""

    type: int
    config: int
    size: int
    sample_type: int
    sample_id_all: bool
    ids: tuple[int, ...] = ()
    name: str | None = None


@dataclass(frozen=True, slots=True)
class AuxEvent:
    """One PERF_RECORD_AUX: the kernel committed ``size`` bytes at ``offset`` of a CPU's AUX stream.

    ``cpu``: whose stream it is (of the event that traced, not of the CPU that happened to commit); None where the file does not tell.
    ``time``: perf's clock in nanoseconds, None where the event carries none.
    """

    offset: int
    size: int
    flags: int
    cpu: int | None
    time: int | None
    file_offset: int


@dataclass(frozen=True, slots=True)
class HardwareId:
    """One PERF_RECORD_AUX_OUTPUT_HW_ID: a number that the hardware of a CPU's trace goes by (CoreSight: its trace ID)."""

    value: int
    cpu: int | None
    file_offset: int


@dataclass(frozen=True)
class AuxChunk:
    """The payload of one PERF_RECORD_AUXTRACE, or, where it comes through a pipe, a piece of it.

    The bytes are read with :meth:`read`, while the recording is open. In a local file they are mapped and not copied; from remote storage
    they are fetched; of a pipe they are in a buffer.

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
    _backing: Backing
    missing: int = 0

    @property
    def path(self) -> str:
        """Path or address where another process can read the bytes, at ``file_offset``; empty where there is none."""
        return self._backing.path

    @property
    def in_memory(self) -> bool:
        """Whether the bytes are mapped or buffered, so that reading all of them fetches and copies nothing."""
        return self._backing.in_memory

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
            If remote storage reports an error, or the file became shorter.
        """
        offset = min(max(offset, 0), self.size)
        left = self.size - offset
        size = left if size is None else min(size, left)
        data = self._backing.read(offset, size)
        if len(data) < size:
            where = self.file_offset + offset + len(data)
            raise InputError(self.path, "the file was shortened while it was read", offset=where, code="truncated")
        return data

    def forget(self, upto: int) -> None:
        """Give the memory of the first ``upto`` bytes back to the system, where they are mapped; they can still be read."""
        self._backing.forget(upto)


@dataclass(frozen=True, slots=True)
class AuxPayload:
    """One PERF_RECORD_AUXTRACE without its data. ``size``: bytes promised; ``held``: bytes that are in the file."""

    number: int
    offset: int
    size: int
    held: int
    idx: int
    cpu: int
    file_offset: int


@dataclass(frozen=True)
class Problem:
    """A place in a file where reading could not go on as it should; what was read before it is good."""

    offset: int | None
    reason: str
    code: str = "bad-input"


@dataclass
class Contents:
    """Everything of a recording but the payloads; complete once the chunks have been walked to the end.

    ``mode``: ``file``, ``pipe``, ``directory``. ``records``: counts by name of record type; ``unknown``: counts by number of those that
    are not understood. ``features``: the header's feature sections by name (``hostname``, ``osrelease``, ``version``, ``arch``,
    ``cmdline``, ``pmu_mappings`` …). ``auxtrace_type``/``auxtrace_priv``: from PERF_RECORD_AUXTRACE_INFO.
    ``first_time``/``last_time``: of all records, perf's clock in nanoseconds. ``interrupted``: perf did not finish the file.
    """

    mode: str
    attributes: list[Attribute] = field(default_factory=list)
    features: dict[str, object] = field(default_factory=dict)
    auxtrace_type: int | None = None
    auxtrace_priv: tuple[int, ...] = ()
    aux_events: list[AuxEvent] = field(default_factory=list)
    aux_payloads: list[AuxPayload] = field(default_factory=list)
    hardware_ids: list[HardwareId] = field(default_factory=list)
    records: dict[str, int] = field(default_factory=dict)
    unknown: dict[int, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    first_time: int | None = None
    last_time: int | None = None
    interrupted: bool = False
