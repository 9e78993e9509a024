"""A recording of generated records, with everything that perf and the driver write around them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import IO, ClassVar

from msgspec import Struct

from ptttool.capture.event.build import TraceRequest, build
from ptttool.capture.event.terms import BOTH, FORMATS, INBOUND, OUTBOUND, PATTERNS, Direction, Format, Pattern
from ptttool.capture.perf.command import perf_command
from ptttool.documents import document
from ptttool.errors import UsageError
from ptttool.files.progress import Progress
from ptttool.generate.profiles import PROFILES
from ptttool.generate.records import Records
from ptttool.perfdata import layout, writer
from ptttool.recording.auxtrace import DMA_BUFFER, HISI_PTT
from ptttool.wording import in_words

PMU, PMU_TYPE = "hisi_ptt0_0", 11
# perf saves the AUX data in steps of half the AUX area, here of 16 MiB, and the rest at the end.
PAYLOAD, SMALLEST_PAYLOAD = 8 << 20, 4096
MOST_STREAMS = 64
# perf's clock at the beginning of the trace in nanoseconds, and the kernel release of the events.
BEGIN = 1_000_000_000
RELEASE = "6.12.0"
# From the last AUX event to the end of the session, nanoseconds.
ENDING = 1_000_000

EVERYTHING = "all"
DIRECTIONS = (EVERYTHING, INBOUND, OUTBOUND, BOTH)


class Wanted(Struct, frozen=True):
    """What to generate.

    Attributes
    ----------
    profile : str
        Name of a profile in :data:`ptttool.generate.profiles.PROFILES`.
    format, pattern : str
        Names of members of :class:`ptttool.capture.event.terms.Format` and ``Pattern``.
    size : int
        Largest number of bytes of AUX data.
    direction : str
        ``inbound``, ``outbound`` or ``both``: what the device records; ``all``: every TLP on the link.
    seed : int
        Seed of the random choices.
    payload : int
        Largest number of bytes of AUX data in an AUXTRACE record.
    streams : int
        Number of CPUs that record one after the other.
    """

    profile: str
    format: str
    size: int
    direction: str = EVERYTHING
    pattern: str = "legacy"
    seed: int = 0
    payload: int = PAYLOAD
    streams: int = 1


class GeneratedStream(Struct, frozen=True):
    """The AUX stream of one CPU.

    Parameters
    ----------
    cpu : int
        The CPU that traced.
    records : int
        Number of its trace records.
    first : int
        The first of them, of all.
    """

    json_hides: ClassVar = ("first",)

    cpu: int
    records: int
    first: int


@document("generate")
class GenerateDocument(Struct, frozen=True):
    """A recording of simulated traffic.

    Parameters
    ----------
    file : str
        The recording's path.
    profile : str
        Name of the traffic's profile.
    format : str
        `4dw` or `8dw`.
    pattern : str
        Layout of the headers: `legacy` or `v1`.
    direction : str
        `all`, `inbound`, `outbound` or `both`.
    seed : int
        The number that the traffic was made from.
    event : str
        The PMU event that the recording names.
    config : int
        The same as a number.
    records : int
        Number of trace records, one for each TLP.
    size : int
        Bytes of trace data.
    streams : tuple of GeneratedStream
        The AUX streams, in order.
    duration : float
        Duration of the trace in seconds.
    """

    file: str
    profile: str
    format: str
    pattern: str
    direction: str
    seed: int
    event: str
    config: int
    records: int
    size: int
    streams: tuple[GeneratedStream, ...]
    duration: float


class GeneratedRecording:
    """A recording of simulated traffic, which can be written once.

    Parameters
    ----------
    settings : Wanted
        What to generate.

    Attributes
    ----------
    records : int
        Number of TLPs.
    size : int
        Bytes of AUX data.
    event : Event
        The event that it was recorded with.
    duration : int
        Duration in nanoseconds.

    Raises
    ------
    UsageError
        A setting is unknown or out of range.
    """

    def __init__(self, settings: Wanted) -> None:
        profile = PROFILES.get(settings.profile)
        _one_of("--format", settings.format, FORMATS)
        _one_of("--pattern", settings.pattern, PATTERNS)
        _one_of("--direction", settings.direction, DIRECTIONS)
        eight_dw, everything = settings.format == "8dw", settings.direction == EVERYTHING
        # No direction of 8DW holds what goes both ways; the event then names the one of most requests.
        direction = (INBOUND if eight_dw else BOTH) if everything else Direction(settings.direction)
        request = TraceRequest(
            device=PMU,
            root_ports=(profile.port,),
            direction=direction,
            format=Format(settings.format),
            pattern=None if settings.pattern == "legacy" else Pattern(settings.pattern),
        )
        built = build(request, force=True)
        pattern = PATTERNS[Pattern(settings.pattern)]
        self._settings = settings
        self._records = Records(profile, eight_dw=eight_dw, pattern=pattern, seed=settings.seed, flow=None if everything else built.flow)
        self._record_size = self._records.record_size
        if not 1 <= settings.streams <= MOST_STREAMS:
            raise UsageError(f"--streams: {settings.streams}, not from 1 to {MOST_STREAMS}", code="bad-streams")
        if settings.size < self._record_size * settings.streams:
            raise UsageError(
                f"--size: {settings.size} bytes are too few for a record of {self._record_size} in each stream", code="bad-size"
            )
        if settings.payload < SMALLEST_PAYLOAD:
            raise UsageError(f"--payload-size: {settings.payload} bytes, less than {SMALLEST_PAYLOAD}", code="bad-size")
        self._payload = settings.payload // self._record_size * self._record_size
        self.streams = tuple(self._dealt_out(settings.size // self._record_size))
        self.records = sum(stream.records for stream in self.streams)
        self.size = self.records * self._record_size
        self.duration = self._records.time_at(self.records - 1)
        self.event = writer.Event(built.event, PMU_TYPE, built.config, tuple(stream.cpu for stream in self.streams))
        self._private = (PMU_TYPE, pattern) if pattern else (PMU_TYPE,)
        self.progress = Progress(total=self.size)

    def _dealt_out(self, records: int) -> Iterator[GeneratedStream]:
        """Divide records among the streams.

        All streams but the last one end with a full buffer, as they do when the AUX area is full; then another CPU records. The last one
        ends inside a buffer, as it does when the trace is stopped.
        """
        per_buffer = DMA_BUFFER // self._record_size
        share = records // self._settings.streams
        share = share // per_buffer * per_buffer or share
        for cpu in range(self._settings.streams - 1):
            yield GeneratedStream(cpu, share, cpu * share)
        first = (self._settings.streams - 1) * share
        count = records - first
        yield GeneratedStream(self._settings.streams - 1, count - (count % per_buffer == 0), first)

    def write(self, file: IO[bytes]) -> None:
        """Write the recording, in bounded memory."""
        writer.write(file, self.event, self._features(), self._parts, self._supply())

    def document(self, file: str) -> GenerateDocument:
        """Return what was made, for ``--json``; ``file`` is the path that it was written to."""
        settings = self._settings
        return GenerateDocument(
            file=file,
            profile=settings.profile,
            format=settings.format,
            pattern=settings.pattern,
            direction=settings.direction,
            seed=settings.seed,
            event=self.event.name,
            config=self.event.config,
            records=self.records,
            size=self.size,
            streams=self.streams,
            duration=self.duration / 1e9,
        )

    def _supply(self) -> writer.Supply:
        supply = writer.supply_of(self._records.pieces(self.records))
        progress = self.progress

        def counted(size: int) -> Iterator[memoryview]:
            for piece in supply(size):
                yield piece
                progress.done += len(piece)
                progress.records = progress.done // self._record_size

        return counted

    def _parts(self) -> Iterator[bytes | int]:
        """Yield the data section: AUX events stand before the payload that they announce."""
        event, record_size = self.event, self._record_size
        yield writer.beginning(event, HISI_PTT, self._private)
        yield writer.comm(event, "load", BEGIN)
        for stream in self.streams:
            announced, size = 0, stream.records * record_size
            for start in range(0, size, self._payload):
                end = min(start + self._payload, size)
                while announced < end:
                    following = min(announced + DMA_BUFFER, size)
                    time = BEGIN + self._records.time_at(stream.first + following // record_size - 1)
                    yield writer.aux(event, announced, following - announced, time, stream.cpu)
                    announced = following
                yield writer.auxtrace(event, start, end - start, stream.cpu, start // self._payload)
                yield end - start
                yield writer.record(writer.FINISHED_ROUND)
        yield writer.exit_of(event, BEGIN + self.duration + ENDING)

    def _features(self) -> dict[str, bytes]:
        cpu = self.event.cpus[0] if len(self.event.cpus) == 1 else None
        return {
            "hostname": writer.string("generated"),
            "osrelease": writer.string(RELEASE),
            "version": writer.string(RELEASE),
            "arch": writer.string("aarch64"),
            "nrcpus": layout.U32.pack(MOST_STREAMS) * 2,
            "cmdline": writer.strings(perf_command(self.event.name, cpu=cpu, command=("load",))),
            "event_desc": writer.event_desc(self.event),
            "pmu_mappings": writer.pmu_mappings({1: "software", PMU_TYPE: PMU}),
        }


def _one_of(option: str, value: str, choices: Iterable[str]) -> None:
    choices = list(choices)
    if value not in choices:
        raise UsageError(
            f"{option}: {value!r} is not known", hint=f"choose {in_words(choices, 'or')}", code=f"unknown-{option.removeprefix('--')}"
        )
