"""One ``ptttool trace``: from checked options to a recording with its sidecar, on this machine or as a replay."""

from __future__ import annotations

import dataclasses
import errno
import platform
import shlex
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ptttool import __version__
from ptttool.capture import sidecar
from ptttool.capture.perf.command import perf_command
from ptttool.cli.options.event import ChosenEvent, request_as_json
from ptttool.cli.terminal.talk import clean, note, warn
from ptttool.errors import InterruptedByUserError, OutputError, PerfError, PtttoolError
from ptttool.machine.model import Machine, PttDevice

if TYPE_CHECKING:
    from ptttool.capture.perf.recorder import Destination, Outcome
    from ptttool.capture.preflight import Host
    from ptttool.machine.sources.contract import Source


@dataclass(frozen=True)
class Recorded:
    """A recording that is in place. ``old``: where the one before is now. ``traced``: how the traced command ended."""

    path: Path
    size: int
    elapsed: float | None = None
    old: Path | None = None
    sidecar: Path | None = None
    stopped_by: str | None = None
    traced: dict[str, Any] | None = None
    replay_of: str | None = None


@dataclass
class TraceJob:
    """What was asked for, checked as far as options can be. ``seconds``: of --duration. ``traced``: the command to run meanwhile."""

    source: Source
    machine: Machine
    chosen: ChosenEvent
    device: PttDevice
    cpu: int
    aux_size: int
    output: Path
    seconds: float | None = None
    traced: tuple[str, ...] = ()
    verbose: bool = False
    json: bool = False
    warnings: list[str] = field(default_factory=list)

    @property
    def command(self) -> list[str]:
        """The perf command that does it."""
        return self._command(str(self.output), self._workload)

    @property
    def _workload(self) -> Sequence[str]:
        # A sleep ends the recording even where nobody is left to end it.
        return self.traced if self.seconds is None else ("sleep", f"{self.seconds:.9g}")

    def _command(self, output: str, workload: Sequence[str]) -> list[str]:
        return perf_command(self.chosen.built.event, output=output, cpu=self.cpu, aux_size=self.aux_size, command=workload)

    def as_json(self) -> dict[str, Any]:
        """The options for ``--json``."""
        return {**self._options(), "command": self.command, "warnings": list(self.warnings)}

    def _options(self) -> dict[str, Any]:
        request, built = self.chosen.request, self.chosen.built
        return {
            "device": self.device.name,
            "event": built.event,
            "config": built.config,
            "cpu": self.cpu,
            "aux_size": self.aux_size,
            "duration": self.seconds,
            **request_as_json(request),
        }

    def record(self) -> Recorded:
        """Check, run perf, keep what it recorded. Raises the translated error where it fails; what was there before is then as it was."""
        from ptttool.capture.perf.recorder import Destination
        from ptttool.capture.preflight import Plan, check, gather

        host = gather(self.source, self.output, self.traced)
        for text in check(host, Plan(self.device, self.cpu, self.aux_size, self.traced)):
            self._warn(text)
        destination = Destination(self.output)
        outcome = self._run(destination)
        if self.verbose:
            for line in outcome.stderr.splitlines():
                note(f"perf: {clean(line)}")
        if not outcome.complete:
            raise self._failure(host, outcome, destination)
        return self._keep(destination, outcome, perf_version=getattr(host.perf, "version", None))

    def _run(self, destination: Destination) -> Outcome:
        from ptttool.capture.perf.recorder import Recorder, duplicate_of_stderr, with_own_stderr
        from ptttool.cli.views.recording_line import progress_line

        with duplicate_of_stderr() if self.traced else nullcontext() as descriptor:
            workload, pass_fds = self._workload, []
            if descriptor is not None:
                workload, pass_fds = with_own_stderr(workload, descriptor), [descriptor]
            recorder = Recorder(
                self._command(str(destination.unfinished), workload),
                destination.unfinished,
                # Standard output is ours where it is to be JSON.
                command_stdout=sys.stderr.fileno() if self.json else None,
                pass_fds=pass_fds,
            )
            try:
                with progress_line(self.device.name, self.cpu, self.seconds) as show:
                    return recorder.run(show)
            except FileNotFoundError:
                raise PerfError("perf has gone from PATH", code="perf-missing") from None
            except BaseException:
                destination.discard()
                raise

    def _failure(self, host: Host, outcome: Outcome, destination: Destination) -> PtttoolError:
        """What went wrong; what perf had recorded until then is kept if there is a trace in it."""
        from ptttool.capture.perf.errors import Attempt, translate
        from ptttool.capture.perf.tool import PerfTool

        attempt = Attempt(
            stderr=outcome.stderr,
            exit_status=outcome.exit_status,
            device=self.device.name,
            output=str(self.output),
            aux_size=self.aux_size,
            privileged=host.rights.may_trace,
            paranoid=host.rights.paranoid,
            filter_listed=self._filter_listed(),
            free=_free(self.output.parent),
            perf=host.perf if isinstance(host.perf, PerfTool) else None,
        )
        error = translate(attempt)
        # perf names its file by the name that we gave it.
        error.message = error.message.replace(str(destination.unfinished), str(self.output))
        if _holds_trace(destination.unfinished):
            kept = self._keep(destination, outcome, perf_version=None if attempt.perf is None else attempt.perf.version)
            error.hint = f"what perf had written until then is in {kept.path}" + (f"; {error.hint}" if error.hint else "")
            error.details["recording"] = str(kept.path)
            return error
        destination.discard()
        if outcome.stopped_by is not None and outcome.exit_status < 0 and not outcome.stderr.strip():
            return InterruptedByUserError("interrupted before perf had begun to record; nothing was changed")
        return error

    def _filter_listed(self) -> bool | None:
        """Whether the driver (still) has the filter; devices come and go."""
        from ptttool.machine.discovery import read_machine

        request = self.chosen.request
        device = next((one for one in read_machine(self.source, tune=False).devices if one.name == self.device.name), None)
        if device is None or not device.ports_known:
            return None
        listed = {one.address for one in device.filters}
        return all(address in listed for address in (*request.root_ports, *([request.requester] if request.requester else [])))

    def _keep(self, destination: Destination, outcome: Outcome, perf_version: str | None) -> Recorded:
        traced = self._status(outcome)
        old = _settle(destination)
        kept = self._save(
            sidecar.Sidecar(
                machine=self.machine,
                options=self._options(),
                command=tuple(self.command),
                traced=traced,
                tune={event.name: event.value for event in self.device.tune if event.value is not None},
                versions={"kernel": platform.release()} | ({"perf": perf_version} if perf_version else {}),
                started=outcome.started.isoformat(timespec="milliseconds"),
                ended=outcome.ended.isoformat(timespec="milliseconds"),
            )
        )
        elapsed = (outcome.ended - outcome.started).total_seconds()
        return Recorded(self.output, outcome.size, elapsed, old, kept, outcome.stopped_by, traced)

    def _status(self, outcome: Outcome) -> dict[str, Any] | None:
        """How the traced command ended; perf ends as it did."""
        from ptttool.capture.perf.errors import signal_name

        if not self.traced:
            return None
        status = outcome.exit_status
        known = outcome.complete
        return {
            "command": list(self.traced),
            "exit": status if known and status >= 0 else None,
            "signal": signal_name(-status) if known and status < 0 else None,
            "stopped": outcome.stopped_by is not None,
        }

    def replay(self) -> Recorded:
        """Put the bundled recording of the same options in place, as perf would have, and say so."""
        from ptttool.capture import replay
        from ptttool.capture.perf.recorder import Destination
        from ptttool.capture.preflight import check_place, look_at
        from ptttool.cli.terminal.interrupts import tidy_end

        recording = replay.matching(self.machine, self.device.name, self.chosen.built.config)
        check_place(look_at(self.output))
        note(
            f"{clean(self.machine.origin)} is a recording of a machine and cannot be traced: this is the replay of a trace made on it "
            f"under Linux {recording.kernel} ({recording.what})"
        )
        note(f"it was recorded with: {recording.command}")
        if self.machine.kernel is not None and not self.machine.kernel.startswith(recording.kernel):
            note(f"this machine runs Linux {clean(self.machine.kernel)}: the recording is of the same hardware under another kernel")
        if self.traced:
            self._warn("the command was not run")
        destination = Destination(self.output)
        destination.discard()
        try:
            with tidy_end():
                replay.unpack(recording, destination.unfinished)
        except OSError as error:
            destination.discard()
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            raise OutputError(f"{self.output}: {error.strerror}", code="disk-full" if full else "cannot-write") from None
        except BaseException:
            destination.discard()
            raise
        old = _settle(destination)
        # What was asked for here had no part in that recording: only what its own command says is kept.
        request = {name: value for name, value in self._options().items() if name not in ("cpu", "aux_size", "duration")}
        kept = self._save(
            sidecar.Sidecar(
                machine=self.machine,
                options=request,
                command=tuple(shlex.split(recording.command)),
                versions={"perf": recording.perf, "kernel": recording.kernel},
                replay_of=recording.command,
            )
        )
        return Recorded(self.output, recording.size, old=old, sidecar=kept, replay_of=recording.command)

    def _save(self, known: sidecar.Sidecar) -> Path | None:
        """The sidecar, with what the trace can name of the machine; a recording is worth keeping without one."""
        part = dataclasses.replace(sidecar.part_of(known.machine, self.device), diagnostics=())
        versions = {"ptttool": __version__, **known.versions}
        try:
            return sidecar.save(self.output, dataclasses.replace(known, machine=part, versions=versions))
        except (OSError, OutputError) as error:
            self._warn(f"the recording has no sidecar: {error}")
            return None

    def _warn(self, text: str) -> None:
        self.warnings.append(text)
        warn(clean(text))


def _settle(destination: Destination) -> Path | None:
    try:
        return destination.keep(sidecar.sidecar_path)
    except OSError as error:
        raise OutputError(
            f"{destination.path}: {error.strerror}",
            hint=f"the recording is in {destination.unfinished}",
            recording=str(destination.unfinished),
        ) from None


def _holds_trace(path: Path) -> bool:
    """Whether there is any AUX data in a file that perf did not finish."""
    from ptttool.recording.opening import open_perfdata

    try:
        with open_perfdata(path) as reader:
            return any(chunk.size for chunk in reader.chunks())
    except (PtttoolError, OSError):
        return False


def _free(folder: Path) -> int | None:
    import shutil

    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None
