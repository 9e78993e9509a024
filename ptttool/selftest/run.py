"""The self-test: record coded reads in each format and direction, and judge what the recordings show."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from ptttool.capture.ask_driver import asking_on, choose_asking
from ptttool.capture.checks.host import online_cpus
from ptttool.capture.cpu import choose_cpu, occupied_on
from ptttool.capture.device.lock import hold_device
from ptttool.capture.event.choose import EventOptions, choose
from ptttool.capture.event.terms import Completions, Direction, Format, TlpType
from ptttool.capture.keep import Recorded, Report
from ptttool.capture.perf.command import MINIMUM_AUX_SIZE
from ptttool.capture.plan import Plan
from ptttool.capture.record import record
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import DeviceError, InputError, InterruptedByUserError, OutputError, PtttoolError, UsageError, WorkloadError
from ptttool.machine.measured import Measured, keep, key_of, measured_here
from ptttool.machine.model import Machine, PciFunction, PttDevice
from ptttool.machine.sources.contract import Source, or_none
from ptttool.machine.topology import endpoints_behind
from ptttool.pci import PciAddress
from ptttool.selftest import readings
from ptttool.selftest.coded_reads import MOST
from ptttool.selftest.document import Judged, SelfTest, TestedRecording, Verdict
from ptttool.selftest.evidence import Evidence, look
from ptttool.selftest.judges.machine import UNDECIDED, judge_reach, judge_sysfs, judge_tune
from ptttool.selftest.judges.records import (
    commits_early,
    judge_aux,
    judge_completions,
    judge_fields,
    judge_loss,
    judge_ports,
    judge_requester,
    judge_requester_filter,
    judge_reserved,
    judge_so,
    judge_types,
)
from ptttool.selftest.judges.time import Clocks, judge_order
from ptttool.selftest.load import (
    LARGE,
    LARGE_READS,
    PAIRS,
    SMALL,
    SMALL_READS,
    LoadResults,
    disk_of,
    done_of,
    judge_commands,
    judge_cost,
    without_trace,
    words,
)
from ptttool.tune.driver import Run, Setting, end_undone, plan_changes
from ptttool.tune.journal.records import Outcome
from ptttool.tune.session import tuning

CODED_READS: Final = Path(__file__).with_name("coded_reads.py")
DATA: Final = ".data"
_SUSPENDED: Final = frozenset({"suspended", "suspending"})
_MOST_FILES: Final = 256
_INBOUND, _OUTBOUND, _BOTH = Direction
_A, _B = Completions
_NP, _CPL = TlpType.NON_POSTED, TlpType.COMPLETION


class Trial(Struct, frozen=True):
    """A recording of the self-test.

    Parameters
    ----------
    name : str
        Its name.
    format, direction, completions, types
        What it traces.
    target : str
        What it filters for: ``port``, ``other-port`` (another root port of the device) or ``function``.
    """

    name: str
    format: Format
    direction: Direction
    completions: Completions | None = None
    types: tuple[TlpType, ...] = tuple(TlpType)
    target: str = "port"


TRIALS: Final = (
    Trial("8dw-out-np", Format.DW8, _OUTBOUND, None, (_NP,)),
    Trial("8dw-in-a", Format.DW8, _INBOUND, _A),
    Trial("8dw-in-b", Format.DW8, _INBOUND, _B),
    Trial("4dw-both-a", Format.DW4, _BOTH, _A),
    Trial("4dw-both-b", Format.DW4, _BOTH, _B),
    Trial("4dw-function", Format.DW4, _BOTH, _B, target="function"),
    Trial("4dw-other-port", Format.DW4, _BOTH, _A, target="other-port"),
)
"""What is recorded while registers are read."""


class Subject(Struct, frozen=True):
    """What the self-test works on.

    Parameters
    ----------
    machine : Machine
        The machine.
    device : PttDevice
        The PTT device.
    port : PciAddress
        The root port.
    function : PciFunction
        The endpoint whose registers are read.
    """

    machine: Machine
    device: PttDevice
    port: PciAddress
    function: PciFunction

    @property
    def config(self) -> str:
        """Path of the function's configuration space."""
        return f"/sys/bus/pci/devices/{self.function.address}/config"


def subject_of(
    source: Source,
    machine: Machine,
    device: PttDevice | None = None,
    root_port: PciAddress | None = None,
    function: PciAddress | None = None,
) -> Subject:
    """Choose what the self-test works on: an endpoint, or the first that is awake behind a root port, behind a device's, or behind any.

    Raises
    ------
    DeviceError
        No endpoint is behind the root ports (``no-endpoint``), or all are asleep (``asleep``).
    """
    asleep: list[PciFunction] = []
    for one in machine.devices if device is None else (device,):
        for port in one.root_ports:
            for endpoint in endpoints_behind(machine, port.address) if root_port in (None, port.address) else ():
                if function not in (None, endpoint.address):
                    continue
                if function is None and sleeps(source, endpoint.address):
                    asleep.append(endpoint)
                    continue
                return Subject(machine, one if one.ports_known or device else _asked(source, machine, port.address), port.address, endpoint)
    if asleep:
        names = ", ".join(f"{each.address} {each.called}" for each in asleep[:4])
        message = f"every endpoint is suspended, and reading its registers would wake its link: {names}"
        raise DeviceError(message, hint=f"name one to read it all the same: ptttool selftest {asleep[0].address}", code="asleep")
    what = str(root_port or ("a root port of a PTT device" if device is None else f"the root ports of {device.name}"))
    raise DeviceError(f"no endpoint is behind {what}", hint="'ptttool list --tree' shows what is", code="no-endpoint")


def _asked(source: Source, machine: Machine, port: PciAddress) -> PttDevice:
    """Return the device that traces a port, where only the driver knows. Raises as the asking does."""
    device = choose_asking(EventOptions(root_ports=(str(port),)), machine, asking_on(source)).device
    assert device is not None  # there is a machine
    return device


def sleeps(source: Source, address: PciAddress) -> bool:
    """Return whether a function is suspended: reading its registers would wake its link."""
    return (or_none(source.read, f"/sys/bus/pci/devices/{address}/power/runtime_status") or "").strip() in _SUSPENDED


class Session:
    """A self-test that is under way: what was recorded so far stays, whatever comes.

    Parameters
    ----------
    source : Source
        The running machine.
    subject : Subject
        What it works on.
    folder : Path
        Where recordings go; nobody else may write there.
    load : str
        ``config`` or ``read``.
    cpu : int or None
        The CPU that records.
    report : Callable
        Called with each recording's name before it begins.
    warn : Callable or None
        Called with each diagnostic at once.
    """

    def __init__(
        self, source: Source, subject: Subject, folder: Path, load: str, cpu: int | None, report: Callable[[str], None], warn: Report | None
    ) -> None:
        self.source, self.subject, self.folder, self.load = source, subject, folder, load
        self.diagnostics: list[Diagnostic] = []
        self.error: PtttoolError | None = None
        self.results = LoadResults()
        self.written = False
        online = online_cpus(source)
        occupied = None if cpu is not None else occupied_on(subject.machine, subject.device, (subject.port,), online)
        self._cpu, why = choose_cpu(subject.device, cpu, online, occupied)
        self._report, self._warn = report, warn or (lambda _: None)
        if why is not None:
            self.note(why)

    def note(self, *diagnostics: Diagnostic) -> None:
        """Keep diagnostics, and pass them on; what was said of one recording is not said again of the next."""
        new = [one for one in diagnostics if one not in self.diagnostics]
        self.diagnostics += new
        for one in new:
            self._warn(one)

    def record(self, *, tune: bool) -> None:
        """Record everything; an error ends it, and what was recorded is kept."""
        device = self.subject.device
        try:
            disk = disk_of(self.source, self.subject.function) if self.load == "read" else None
            with hold_device(device.name, purpose="selftest"):
                for number, trial in enumerate(TRIALS, 1):
                    self._coded(trial, f"{trial.name} ({number} of {len(TRIALS)})")
                if disk is not None:
                    self._read(disk)
            if tune:
                self._write_back()
        except KeyboardInterrupt:
            self._ended(InterruptedByUserError("interrupted"))
        except SystemExit as error:  # SIGTERM or SIGHUP between two recordings
            self._ended(InterruptedByUserError("stopped by a signal", ending=error.code - 128 if isinstance(error.code, int) else None))
        except OSError as error:
            self._ended(OutputError(f"{error.filename or self.folder}: {error.strerror}", code="cannot-write"))
        except PtttoolError as error:
            self._ended(error)

    def _ended(self, error: PtttoolError) -> None:
        self.error = error
        self.note(Diagnostic(Severity.ERROR, error.code, error.message, error.hint))

    def _coded(self, trial: Trial, said: str) -> None:
        options = self._options(trial)
        if options is None:
            return
        output = self.folder / f"{trial.name}{readings.SUFFIX}"
        function = str(self.subject.function.address)
        self._report(said)
        self._one(
            trial.name, options, (sys.executable, "-I", "-S", str(CODED_READS), self.subject.config, function, str(output), str(MOST))
        )
        made = readings.load(output)
        if made.problem is not None:
            message = f"{function}: coded reads ended after {len(made):,}: {made.problem}"
            raise DeviceError(message, hint="is the device still there, and awake? 'ptttool list' shows it", code="reads-ended")

    def _options(self, trial: Trial) -> EventOptions | None:
        subject = self.subject
        ports: tuple[str, ...] = (str(subject.port),)
        if trial.target == "other-port":
            if not subject.device.ports_known:  # the driver refuses ports of other devices
                return None
            bits = next(port.value for port in subject.device.root_ports if port.address == subject.port)
            ports = tuple(str(port.address) for port in subject.device.root_ports if port.value != bits)[:1]
            if not ports:
                return None
        return EventOptions(
            root_ports=() if trial.target == "function" else ports,
            requester=str(subject.function.address) if trial.target == "function" else None,
            types=trial.types, direction=trial.direction, completions=trial.completions, format=trial.format,
            device=subject.device.name, force=True,
        )  # fmt: skip

    def _one(self, name: str, options: EventOptions, command: tuple[str, ...]) -> Recorded:
        chosen = choose(options, self.subject.machine, self.subject.device)
        plan = Plan(chosen, self._cpu, MINIMUM_AUX_SIZE, self.folder / f"{name}{DATA}", None, command)
        done = record(plan, self.source)
        self.note(*(one for one in done.diagnostics if one.severity is not Severity.INFO))
        if done.stopped_by is not None:
            raise InterruptedByUserError(f"stopped by {done.stopped_by}", ending=signal.Signals[done.stopped_by])
        if done.traced is not None and done.traced.exit != 0:
            ending = done.traced.signal or f"exit status {done.traced.exit}"
            raise WorkloadError(f"{name}: the program that reads failed: {ending}", code="reads-failed")
        return done

    def _read(self, disk: Path) -> None:
        """Read the disk while it is traced: small reads, then large ones in turn with the same without a trace."""

        def traced(name: str, size: int, count: int, **terms: Any) -> tuple[Path, Path]:
            output = self.folder / f"{name}.json"
            ports = () if "requester" in terms else (str(self.subject.port),)
            options = EventOptions(root_ports=ports, format=Format.DW4, device=self.subject.device.name, force=True, **terms)
            self._report(name)
            return self._one(name, options, words(disk, size, count, output)).path, output

        path, output = traced("read-4k", SMALL, SMALL_READS, direction=_BOTH)
        self.results.commands = "read-4k", path, done_of(output)
        traced("read-function", SMALL, SMALL_READS, direction=_BOTH, completions=_B, requester=str(self.subject.function.address))
        without_trace(disk, LARGE, LARGE_READS, self.folder / "warm.json")
        for number in range(PAIRS):
            plain = self.folder / f"plain-{number}.json"
            # Who comes first has what the other has warmed up.
            first = without_trace(disk, LARGE, LARGE_READS, plain) if number % 2 else None
            path, output = traced(f"read-128k-{number}", LARGE, LARGE_READS, direction=_INBOUND, types=(TlpType.POSTED,))
            self.results.pairs.append((first or without_trace(disk, LARGE, LARGE_READS, plain), done_of(output)))
            if number:  # one shows how the AUX area ends; all would fill the disk
                path.unlink()

    def _write_back(self) -> None:
        """Write to each tune attribute the value that is there, noted in the journal like every change."""
        device = self.subject.device
        with tuning(self.source, "selftest --tune") as session:
            settings = [Setting(device, one.name, one.value) for one in device.tune if one.value is not None]
            changes = tuple(replace(one, new=one.old) for one in plan_changes(settings))
            run = Run(session.begin(changes, [device] * len(changes)), lambda _: None)
            try:
                for change in changes:
                    run.write(change)
            except BaseException:
                end_undone(run, run.restore(), session)
                raise
            session.end(run.writer, Outcome.DONE, [change.key for change in changes])
        self.written = True


def recordings_in(folder: Path) -> list[Path]:
    """Return the recordings of a folder.

    Raises
    ------
    InputError
        The folder cannot be read, has no recordings, or too many.
    """
    try:
        paths = sorted(path for path in folder.iterdir() if path.name.endswith((DATA, f"{DATA}.xz")) and path.is_file())
    except OSError as error:
        raise InputError(str(folder), error.strerror or "cannot be read", code="no-folder") from None
    plain = {path.name for path in paths}
    paths = [path for path in paths if path.suffix != ".xz" or path.stem not in plain]  # a recording and its packed copy are one
    if not paths:
        raise InputError(str(folder), f"there is no recording in it (NAME{DATA})", code="no-recordings")
    if len(paths) > _MOST_FILES:
        raise InputError(str(folder), f"{len(paths):,} recordings are too many: {_MOST_FILES} are read", code="too-many-recordings")
    return paths


def looked_at(folder: Path, machine: Machine | None, note: Callable[[Diagnostic], None]) -> list[Evidence]:
    """Look at the recordings of a folder, with their readings; one that cannot be used, or its readings cannot, is told and left out."""
    evidence = []
    for path in recordings_in(folder):
        name = path.name.partition(DATA)[0]
        beside = folder / f"{name}{readings.SUFFIX}"
        try:
            made = readings.load(beside) if os.path.lexists(beside) else None
            one = look(name, path, made, machine)
        except PtttoolError as error:
            note(Diagnostic(Severity.ERROR, error.code, error.message, error.hint, where=str(path)))
            continue
        evidence.append(one)
    return evidence


def judge(evidence: Sequence[Evidence], subject: Subject | None, session: Session | None) -> tuple[list[Judged], Clocks]:
    """Judge all assumptions, A1 to A20."""
    clocks = Clocks(evidence)
    device, machine = (None, None) if subject is None else (subject.device, subject.machine)
    results = LoadResults() if session is None else session.results
    judged = [
        *clocks.judged,
        judge_order(evidence, clocks),
        *(one(evidence) for one in (
            judge_fields, judge_requester, judge_types, judge_completions, judge_requester_filter, judge_ports, judge_reserved, judge_so,
            judge_aux, judge_loss,
        )),
        judge_cost(results.pairs), judge_commands(results.commands),
        judge_tune(device, written=session is not None and session.written), judge_sysfs(machine, device), judge_reach(machine),
        *UNDECIDED,
    ]  # fmt: skip
    return sorted(judged, key=lambda one: int(one.name[1:])), clocks


def result_of(evidence: Sequence[Evidence], origin: str, subject: Subject | None = None, session: Session | None = None) -> SelfTest:
    """Return what the recordings show."""
    judged, clocks = judge(evidence, subject, session)
    functions = {str(one.readings.function) for one in evidence if one.readings is not None}
    device = next((one.event.device for one in evidence if one.event.device), None) if subject is None else subject.device.name
    return SelfTest(
        origin=origin,
        kernel=None if subject is None else subject.machine.kernel,
        device=device,
        function=functions.pop() if len(functions) == 1 else None,
        load=None if session is None else session.load,
        judged=tuple(judged),
        clocks=clocks.measured,
        recordings=tuple(
            TestedRecording(one.name, f"{one.event.config_hex}", one.tlps, one.made, len(one.requests), len(one.completions))
            for one in evidence
        ),
        diagnostics=() if session is None else tuple(session.diagnostics),
    )


def measured_of(result: SelfTest, evidence: Sequence[Evidence], source: Source, note: Callable[[Diagnostic], None]) -> Measured | None:
    """Return what later traces are to know of this machine: what was measured now, and before what was not tested now.

    None where nothing is new. A clock from before goes where now no tick fits.
    """
    key, early = key_of(source), commits_early(evidence)[0]
    by_name = {one.name: one.verdict for one in result.judged}
    is_refuted = by_name["A1"] is Verdict.REFUTED and not result.clocks
    if key is None or not (result.clocks or early is not None or is_refuted):
        return None
    before = measured_here(source)[0] or Measured(key, "", {})
    if is_refuted and before.clocks:
        message = f"the clock that was measured on {before.when[:10]} is dropped: no tick fits what was read now"
        note(Diagnostic(Severity.WARNING, "clock-dropped", message, details={"clocks": before.clocks}))

    def said(name: str, old: bool | None) -> bool | None:
        return {Verdict.CONFIRMED: True, Verdict.REFUTED: False}.get(by_name[name], old)

    when = datetime.now(UTC).astimezone().isoformat(timespec="seconds")
    clocks = {} if is_refuted else {**before.clocks, **result.clocks}
    return Measured(
        key, when, clocks, said("A3", before.in_order), before.commits_early if early is None else early,
        said("A6", before.several_types_outbound),
    )  # fmt: skip


def kept(measured: Measured | None, note: Callable[[Diagnostic], None]) -> str | None:
    """Keep it for later traces; a problem is told."""
    if measured is None:
        return None
    try:
        return str(keep(measured))
    except (PtttoolError, OSError, ValueError) as error:
        message = error.message if isinstance(error, PtttoolError) else str(error)
        note(Diagnostic(Severity.WARNING, "not-kept", f"what was measured is not kept for later traces: {message}"))
    return None


def require_live(source: Source) -> None:
    """Refuse a recorded machine.

    Raises
    ------
    UsageError
        Nothing can be measured on it.
    """
    if not source.live:
        raise UsageError(
            "a recorded machine cannot be tested", hint="--from FOLDER judges recordings that were made elsewhere", code="not-live"
        )
