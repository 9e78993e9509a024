"""A recording and the protocol that decodes it: the front door of every command and of the library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property, partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakSet

from msgspec import Struct, structs

from ptttool.capture.series.manifest import is_series
from ptttool.decoders.contract import RecordProtocol
from ptttool.decoders.stack import Stack, default_protocol, stack_of
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import InputError, UsageError
from ptttool.files.remote import is_remote
from ptttool.perfdata.problems import damage_of
from ptttool.pipeline.walk import RecordWalk, Walk
from ptttool.pipeline.workers.pool import Workers
from ptttool.recording import auxtrace
from ptttool.recording.identity import aux_type_name, pmu_names, ptt_attribute
from ptttool.recording.marks import all_contents
from ptttool.recording.opening import InputForm, PeekedSource, Source, form_of, open_source
from ptttool.table.schema import Schema
from ptttool.wording import clean

if TYPE_CHECKING:
    from ptttool.capture.perf.counters import LinkCounters
    from ptttool.capture.sidecar import Sidecar
    from ptttool.decoders.decoded import Decoded, Findings, PlannedUnit, Splitter
    from ptttool.decoders.parameters import Given
    from ptttool.machine.model import Machine
    from ptttool.perfdata.model import Attribute
    from ptttool.pipeline.lanes import Lanes

PTT = "hisi-ptt"


class Request(Struct, frozen=True):
    """Which recording is to be read, and as what; it can be pickled.

    Parameters
    ----------
    path : str
        A file, a folder of ``perf record``, an address (``s3://…``), or ``-`` for standard input.
    protocol : str or None
        Name of the protocol; None for the one that the recording's type of AUX trace stands for.
    parameters : Mapping
        Parameters of the protocol and its framing, as given.
    form : InputForm or None
        What the input is; None to see from its first bytes.
    strict : bool
        Whether to end at the first row that is not as it should be.
    file : str or None
        Value of the column ``file``, where there are several recordings.
    channels : tuple of int
        Source IDs or trace IDs that are wanted; empty for all.
    without : tuple of str
        Kinds of elements that are left out.
    """

    path: str
    protocol: str | None = None
    parameters: Mapping[str, Given] = {}
    form: InputForm | None = None
    strict: bool = False
    file: str | None = None
    channels: tuple[int, ...] = ()
    without: tuple[str, ...] = ()


class OpenRecording:
    """An open recording and the protocol that decodes it; a context manager.

    Every walk reads it anew; standard input can be walked once.

    Parameters
    ----------
    request : Request
        Which recording, and as what.

    Attributes
    ----------
    contents : Contents
        Everything of the recording but the AUX data, as far as it has been read.
    size : int or None
        Bytes of the recording; None for a pipe.
    is_closed : bool
        Whether :meth:`close` was called.

    Raises
    ------
    InputError
        The file is missing, damaged from its first byte on, or holds nothing that the protocol decodes.
    UsageError
        The protocol or its parameters are unknown or missing.
    """

    def __init__(self, request: Request) -> None:
        self.path = request.path
        form = _form(request)
        if form is InputForm.RAW and request.protocol is None:
            raise UsageError("a raw trace does not tell its protocol", hint="name it with --protocol", code="protocol-unknown")
        stack = None if request.protocol is None else stack_of(request.protocol, request.parameters)
        self.request = structs.replace(request, form=form)
        # Each walk has its own source, which is closed when the walk is no longer referenced or the recording is closed.
        self._sources: WeakSet[PeekedSource] = WeakSet()
        self._source = self._held(_opened(self.path, form, request))
        self._is_taken = False
        # Processes that decode a packet trace already.
        self.lanes: Lanes | None = None
        # A machine that counts instead of that of the recording's sidecar: its topology tells in from out.
        self.topology: Machine | None = None
        self.is_closed = False
        try:
            self.stack = self._check(stack, has_trace=self._source.peek() is not None)
        except BaseException:
            self.close()
            raise
        self._notes: tuple[Diagnostic, ...] = ()
        self._last_walk: Walk | None = None
        if self.stack.protocol.described:
            self._describe()

    @property
    def protocol(self) -> str:
        """Name of the protocol."""
        return self.stack.protocol.name

    @property
    def title(self) -> str:
        """The protocol with its framing."""
        return self.stack.title

    @property
    def noun(self) -> str:
        """What a row is."""
        return "TLP" if self.is_ptt else "element"

    @property
    def is_ptt(self) -> bool:
        """Whether it is decoded as a PTT recording."""
        return self.protocol == PTT

    @property
    def is_raw(self) -> bool:
        """Whether it is AUX data without a container."""
        return self.request.form is InputForm.RAW

    @property
    def schema(self) -> Schema:
        """The columns of its rows."""
        schema: Schema = self.stack.schema
        if self.request.file is not None and "file" not in schema:
            from ptttool.decoders.hisi_ptt.units import FILE

            schema = Schema((FILE, *schema.columns))
        return schema

    @property
    def attribute(self) -> Attribute | None:
        """The PTT event; None where the recording does not tell."""
        return ptt_attribute(self.contents)

    @property
    def device(self) -> str | None:
        """Name of the PMU that traced; None where the recording does not tell."""
        attribute = self.attribute
        return None if attribute is None else pmu_names(self.contents).get(attribute.type)

    @property
    def facts(self) -> dict[str, str]:
        """Facts for the metadata of files."""
        facts = {"ptttool.recording": self.path.rsplit("/", 1)[-1], "ptttool.protocol": self.title}
        facts |= {f"ptttool.{name}": f"{value}" for name, value in self.stack.values.items() if value is not None}
        attribute = self.attribute
        if attribute is not None:
            facts |= {"ptttool.event": attribute.name or "", "ptttool.config": f"{attribute.config:#x}"}
        return {name: clean(value) for name, value in facts.items()}

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What is odd, as far as the recording has been read: damage, and what decoding found; complete after a walk to the end."""
        return (*self.contents.problems, *(self._notes if self._last_walk is None else self.findings.diagnostics()))

    @property
    def findings(self) -> Findings:
        """What the last walk found; complete when it has come to the end of the recording."""
        assert self._last_walk is not None
        return self._last_walk.findings

    @property
    def formats(self) -> Mapping[str, int]:
        """Payloads of a PTT device by the format of their records, as far as the last walk came."""
        from ptttool.decoders.hisi_ptt.findings import Findings

        findings = self.findings
        return findings.formats if isinstance(findings, Findings) else {}

    @property
    def damage(self) -> list[InputError]:
        """The errors that a damaged recording is, although all that could be read was given, as far as it has been read."""
        return damage_of(self.path, self.contents)

    def lacks_row(self, index: int) -> UsageError:
        """Return the error for a row that the recording, which has been read to its end, does not have."""
        count = self.findings.records
        return UsageError(
            f"{self.path} has no {self.noun} {index}: it holds {count:,}",
            hint=f"the last one is {count - 1}" if count else None,
            code="no-such-index",
            records=count,
        )

    def source(self) -> Source:
        """Return the recording's source, not yet read.

        Raises
        ------
        UsageError
            The recording is closed (code ``recording-closed``); standard input has been read already (``stdin-twice``).
        """
        self.check_open()
        if self._is_taken and self.path == "-":
            raise UsageError("standard input can be read once only", hint="save it to a file first", code="stdin-twice")
        if self._is_taken:
            self._source = self._held(open_source(self.path, self.request.form))
        self._is_taken = True
        return self._source

    def _held(self, source: Source) -> PeekedSource:
        held = PeekedSource(source)
        self._sources.add(held)
        self.contents, self.size = source.contents, source.size
        return held

    def walk(self, workers: Workers) -> Walk:
        """Return a new pass through the recording.

        Parameters
        ----------
        workers : Workers
            Who decodes. Records of one size go to workers in parts; a packet stream goes to one process as a whole.

        Raises
        ------
        UsageError
            The protocol has no channels, and some are wanted (code ``no-channels``); or as :meth:`source` does.
        """
        self._last_walk = self._new_walk(workers)
        return self._last_walk

    def look(self, most: int) -> Iterator[Decoded]:
        """Yield the first rows without beginning to read: of a file as many as are wanted, of a pipe those that have arrived.

        Parameters
        ----------
        most : int
            Number of rows of a part, at most. A packet stream yields nothing.
        """
        from ptttool.pipeline.jobs import load

        protocol = self.stack.protocol
        self.check_open()
        if not isinstance(protocol, RecordProtocol):
            return
        is_pipe = self.path == "-" or self.size is None
        with self._source.glimpse() if is_pipe else open_source(self.path, self.request.form) as source:
            for planned in protocol.splitter(source, self.stack.settings).units(most):
                yield load(planned.unit).decoded(0)[0]

    def units(self, most: int) -> Iterator[PlannedUnit]:
        """Yield the parts of a recording of records of one size, which can be decoded in any order.

        Parameters
        ----------
        most : int
            Number of rows of a part, at most.
        """
        protocol = self.stack.protocol
        assert isinstance(protocol, RecordProtocol)
        yield from self._splitter(protocol, self.source()).units(most)

    def _splitter(self, protocol: RecordProtocol[Any], source: Source) -> Splitter:
        settings = self._with_buses(self.stack.settings) if self.is_ptt else self.stack.settings
        return protocol.splitter(source, settings, file=self.request.file, strict=self.request.strict)

    def _new_walk(self, workers: Workers) -> Walk:
        protocol = self.stack.protocol
        request = self.request
        if isinstance(protocol, RecordProtocol):
            if request.channels:
                raise UsageError(f"{protocol.name} has no channels", hint="leave --channel out", code="no-channels")
            source = self.source()
            return RecordWalk(source, self._splitter(protocol, source), workers, strict=request.strict)
        from ptttool.decoders.elements.rows import ElementFindings
        from ptttool.pipeline.streams import Filter, StreamDecoder, StreamWalk

        lanes, self.lanes = self.lanes, None
        if lanes is None and workers.jobs > 1 and not workers.reduces and self.size is not None and self.path != "-":
            # Raw trace is one stream.
            lanes = lanes_of(request, 1 if self.is_raw else workers.jobs)
        return StreamWalk(
            StreamDecoder(self.source(), self.stack),
            self.stack,
            Filter(request.channels, request.without),
            file=request.file,
            strict=request.strict,
            lanes=lanes,
            findings=ElementFindings(notes=list(self._notes)),
        )

    @cached_property
    def beside(self) -> tuple[Sidecar | None, Diagnostic | None]:
        """The sidecar, and why one that is there is not used: see :func:`ptttool.capture.sidecar.find`. It is looked for once."""
        from ptttool.capture.sidecar import find

        if self.is_raw and is_remote(self.path):  # of no command of ours
            return None, None
        return find(self.path)

    @property
    def sidecar(self) -> Sidecar | None:
        """What ``trace`` keeps beside a recording; None without it."""
        return self.beside[0]

    @property
    def machine(self) -> Machine | None:
        """The part of the machine that was recorded, from the file that ``trace`` keeps beside a recording; None without it."""
        if self.topology is not None or self.sidecar is None:
            return self.topology
        return self.part_of(self.sidecar.machine)

    def part_of(self, machine: Machine | None) -> Machine | None:
        """Return the part of a machine that the recording's device can trace: elsewhere the same IDs may be of other functions.

        The whole machine where the recording does not name its device.
        """
        attribute = self.attribute
        if machine is None or attribute is None:
            return machine
        from ptttool.capture.event.parse import pmu_of
        from ptttool.capture.sidecar import part_of

        name = self.device or pmu_of(attribute.name or "")
        device = next((device for device in machine.devices if device.name == name), None)
        return machine if device is None else part_of(machine, device)

    @property
    def went_offline(self) -> tuple[int, ...]:
        """CPUs that were online when recording began and offline when it ended, as far as the file beside the recording says it."""
        return () if self.sidecar is None else self.sidecar.went_offline

    @property
    def counters(self) -> LinkCounters | None:
        """What counters beside the trace counted, as far as the file beside the recording says it."""
        return None if self.sidecar is None else self.sidecar.counters

    @property
    def lacks_buses(self) -> bool:
        """Whether buses would tell in from out, and nobody says which are behind the traced root ports."""
        return self.is_ptt and self._needs_buses and self._buses() is None

    @property
    def _needs_buses(self) -> bool:
        from ptttool.decoders.hisi_ptt.traced import direction_rule

        settings: Any = self.stack.settings
        attribute = self.attribute
        if settings.downstream is not None or attribute is None:
            return False
        return direction_rule(attribute.config, given=settings.direction).constant is None

    def _buses(self) -> str | None:
        from ptttool.recording.traced_buses import buses_behind
        from ptttool.tlp.direction import format_buses

        machine = self.sidecar.machine if self.topology is None and self.sidecar is not None else self.topology
        buses = buses_behind(self.contents, machine)
        return format_buses(tuple((one[0], one[-1]) for one in buses if one)) or None if buses else None

    def _with_buses(self, settings: Any) -> Any:
        """Return the settings with the buses behind the traced root ports, where they are needed, known, and not given."""
        buses = self._buses() if self._needs_buses else None
        return settings if buses is None else replace(settings, downstream=buses)

    def _check(self, stack: Stack | None, *, has_trace: bool) -> Stack:
        """Return the stack to decode it with. Raises where the recording holds something else."""
        if self.is_raw:
            assert stack is not None
            return stack
        contents = self.contents
        kind, what = contents.auxtrace_type, aux_type_name(contents)
        if kind is None and (stack is None or stack.protocol.name == PTT):
            self._check_ptt_without_type()
            return stack or stack_of(PTT, self.request.parameters)
        if stack is None:
            name = default_protocol(kind)
            if name is None:
                raise InputError(
                    self.path,
                    f"holds an AUX trace of {what}, for which there is no protocol",
                    hint="--protocol NAME decodes it as something else; 'ptttool decode --protocols' lists the protocols",
                    code="other-pmu",
                )
            stack = stack_of(name, self.request.parameters)
        kinds = {*stack.protocol.auxtrace, *(stack.framing.auxtrace if stack.framing is not None else ())}
        if kind is None and not has_trace and not contents.problems:
            raise InputError(self.path, "holds no AUX trace", code="no-trace")
        if kind is not None and kind not in kinds and (kinds or kind in auxtrace.NAMES):
            raise InputError(self.path, f"holds an AUX trace of {what}, not of {stack.protocol.name}", code="other-pmu")
        return stack

    def _check_ptt_without_type(self) -> None:
        """Raise where a recording that names no type of AUX trace is not of PTT."""
        contents = self.contents
        if self.attribute is not None or contents.problems or contents.interrupted:
            return
        events = ", ".join(sorted({each.name for each in contents.attributes if each.name})) or "no PTT event"
        raise InputError(
            self.path,
            f"holds no PTT trace: it was recorded with {events}",
            hint="record with: ptttool trace --rootport ADDRESS",
            code="no-ptt",
        )

    def _describe(self) -> None:
        """Take the trace sources that the recording describes."""
        from ptttool.decoders.opencsd.recorded_sources import sources_of

        sources, damage = sources_of(all_contents(self._source))
        self.stack = structs.replace(self.stack, sources=tuple(sources))
        if damage is not None:
            message = f"what the recording says of its trace units is incomplete: {damage}"
            self._notes = (Diagnostic(Severity.WARNING, "metadata-incomplete", message, where=self.path),)

    def check_open(self) -> None:
        """Raise a UsageError (code ``recording-closed``) where the recording is closed."""
        if self.is_closed:
            raise UsageError(f"{self.path} is closed", hint="open the recording again", code="recording-closed")

    def close(self) -> None:
        """Close the file, for all walks."""
        self.is_closed = True
        for source in tuple(self._sources):
            source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _opened(path: str, form: InputForm, request: Request) -> Source:
    try:
        return open_source(path, form)
    except InputError as error:
        if error.code in ("foreign-file", "not-perf-data") and is_series(path):
            error.hint = "the file of a series: 'ptttool info' lists its recordings, analyze and report read them all"
        elif error.code == "not-perf-data" and request.protocol is None and request.form is None:
            error.hint = "raw PTT records: --input 4dw or 8dw; other raw trace: --protocol NAME ('ptttool decode --protocols' lists them)"
        raise


def lanes_of(request: Request, jobs: int) -> Lanes:
    """Start processes that decode a packet trace."""
    from ptttool.pipeline.lanes import Lanes

    return Lanes(partial(OpenRecording, request), jobs)


def _form(request: Request) -> InputForm:
    """Determine the format of the input: as asked for, else by its first bytes."""
    if request.form is not None:
        return request.form
    if request.protocol is None:
        return InputForm.PERF
    form = form_of(request.path)
    if form is not None:
        return form
    # Standard input and FIFOs are read once: without --input, a packet protocol says that they hold its bytes.
    return InputForm.PERF if request.protocol == PTT else InputForm.RAW
