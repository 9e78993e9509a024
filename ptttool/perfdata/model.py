"""What a perf.data file is made of, once read."""

from __future__ import annotations

from dataclasses import dataclass, field

from ptttool.perfdata.mapped import MappedFile

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

    ``number``: of the payload, 0, 1, … in file order. ``offset``: of the payload in its AUX stream. ``start``: of this piece in the
    payload, a multiple of 4096 (0 for a file: one piece). ``payload_size``: what the record promises. ``idx``: the stream; ``cpu``: -1
    where the record names none. ``file_offset``: of ``data``. ``data``: read-only, a view of the mapped file or a buffer.
    ``missing``: bytes of the payload that the file should hold and does not (told with the last piece). ``file``: that ``data`` is a
    view of; None for a buffer. ``remote``: the address of a file elsewhere, of whose payload ``data`` holds just the beginning; all of
    it is ``held`` bytes.
    """

    number: int
    offset: int
    start: int
    payload_size: int
    idx: int
    cpu: int
    tid: int
    reference: int
    file_offset: int
    data: memoryview
    missing: int = 0
    file: MappedFile | None = None
    remote: str = ""
    remote_size: int = 0

    @property
    def held(self) -> int:
        """Bytes of the payload, or of the piece of it, that the file has."""
        return self.remote_size if self.remote else len(self.data)

    @property
    def path(self) -> str:
        """Where its data can be read again; empty where nowhere."""
        return self.remote if self.file is None else self.file.path

    def forget(self, upto: int) -> None:
        """Give the memory of its first ``upto`` bytes back, where they are a mapped file's; they can still be read."""
        if self.file is not None:
            self.file.forget(self.file_offset, self.file_offset + upto)


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
