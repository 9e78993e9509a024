"""How a finished recording gets its name and its sidecar.

perf writes to an unfinished file beside the wanted one, and only a good recording takes the wanted name. So a failed one leaves the last
recording and its ``.old`` alone. (perf itself renames the last recording to ``.old`` before it knows whether it can record.)

The sidecar is written beside the unfinished file before perf starts, and again when perf has ended. So whatever happens, the recording
has one.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from msgspec import Struct, field
from msgspec.structs import replace

from ptttool.capture.names import sidecar_path
from ptttool.capture.perf.counters import LinkCounters
from ptttool.capture.perf.tracepoints import KernelEvents
from ptttool.capture.plan import Plan
from ptttool.capture.sidecar import Sidecar, TracedCommand, part_of, save
from ptttool.capture.unfinished.file import UnfinishedFile
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import OutputError, PtttoolError
from ptttool.machine.details.read import with_details
from ptttool.machine.model import Machine
from ptttool.wording import html_table

# Bytes that are copied at a time.
_COPIED = 1 << 20

Report = Callable[[Diagnostic], None]


class Recorded(Struct, frozen=True, kw_only=True):
    """A recording that has its name.

    Parameters
    ----------
    path : Path
        Its path.
    old : Path or None
        The new path of the recording that had the name before.
    sidecar : Path or None
        The path of the file beside it.
    size : int
        Its bytes.
    elapsed : float or None
        Seconds that were traced: between perf's answers that the event is on and off. Null where perf did not give both,
        and for a replay.
    elapsed_at_least : float or None
        Seconds that were certainly traced, where ``elapsed`` is null and they are known.
    stopped_by : str or None
        The signal that stopped it.
    traced : TracedCommand or None
        How the command ended that ran meanwhile.
    replay_of : str or None
        The command that made the bundled recording which this is a copy of.
    perf_stderr : str
        All that perf wrote to standard error.
    went_offline : tuple of int
        CPUs that were online when recording began and offline when it ended.
    counters : LinkCounters or None
        What counters beside the trace counted; no key where none did.
    kernel : KernelEvents or None
        The kernel's events that were recorded beside the trace; no key where none were.
    diagnostics : tuple of Diagnostic
        What was reported while recording.
    """

    json_hides: ClassVar = ("perf_stderr", "went_offline", "diagnostics")
    json_omits_none: ClassVar = ("counters", "kernel")

    path: Path = field(name="recording")
    old: Path | None = None
    sidecar: Path | None = None
    size: int
    elapsed: float | None = None
    elapsed_at_least: float | None = None
    stopped_by: str | None = None
    traced: TracedCommand | None = None
    replay_of: str | None = None
    perf_stderr: str = ""
    went_offline: tuple[int, ...] = ()
    counters: LinkCounters | None = None
    kernel: KernelEvents | None = None
    diagnostics: tuple[Diagnostic, ...] = ()

    def _repr_html_(self) -> str:
        facts = {"size": f"{self.size:,} bytes", "seconds": self.elapsed, "stopped by": self.stopped_by, "replay of": self.replay_of}
        return html_table(("", ""), [item for item in facts.items() if item[1] is not None], caption=str(self.path))


class Log:
    """Diagnostics: each is passed on at once and kept for the result."""

    def __init__(self, report: Report | None) -> None:
        self.diagnostics: list[Diagnostic] = []
        self._report = report or (lambda _: None)

    def add(self, *diagnostics: Diagnostic) -> None:
        """Add diagnostics."""
        self.diagnostics += diagnostics
        for one in diagnostics:
            self._report(one)


def traced_part(plan: Plan) -> Machine:
    """Return what a sidecar keeps of the machine: the part that the recording can name, with details where they can be read."""
    part, source = part_of(plan.machine, plan.device), plan.device.source
    return replace(part if source is None else with_details(source, part), diagnostics=())


def settle(plan: Plan, file: UnfinishedFile, content: Sidecar, log: Log) -> tuple[Path | None, Path | None]:
    """Give a recording its name, and finish its sidecar.

    Returns
    -------
    old : Path or None
        The new name of the recording that had the name before.
    sidecar : Path or None
        None where there is none: the recording is kept anyway, with a diagnostic.

    Raises
    ------
    OutputError
        The recording cannot take its name: it keeps its unfinished one.
    """
    problem: Exception | None = None
    try:
        save(file.path, content, name=plan.output.name, file=file.through_proc)
    except (OSError, PtttoolError) as error:  # what was written before the recording stays
        problem = error
    try:
        try:
            old = file.take_name(plan.output.name, keep_old=plan.force)
        except FileNotFoundError as error:
            old = _named_copy(plan, file, content)
            message = f"{file.path}: {error.strerror} while perf recorded; it was still open, and {plan.output} is a copy of it"
            log.add(Diagnostic(Severity.WARNING, "unfinished-gone", message, where=str(file.path)))
    except OSError as error:
        hint = f"the recording is in {file.path}: ptttool recover {shlex.quote(str(file.path))} gives it a name"
        raise OutputError(f"{plan.output}: {error.strerror}", hint=hint, recording=str(file.path)) from None
    sidecar = sidecar_path(plan.output) if sidecar_path(plan.output).is_file() else None
    if problem is not None:
        log.add(_sidecar_problem(problem, sidecar))
    return None if old is None else plan.output.with_name(old), sidecar


def _named_copy(plan: Plan, file: UnfinishedFile, content: Sidecar) -> str | None:
    """Save a recording of which others have removed or replaced the file; return the ``.old`` name as :meth:`UnfinishedFile.take_name`."""
    with UnfinishedFile(plan.output) as copy, copy.removed_on_failure():
        copy.take_beside(file)
        with file.through_proc.open("rb") as source, copy.through_proc.open("wb") as target:
            shutil.copyfileobj(source, target, _COPIED)
        with suppress(OSError, PtttoolError):
            save(copy.path, content, name=plan.output.name, file=copy.through_proc)
        old = copy.take_name(plan.output.name, keep_old=plan.force)
    file.remove_sidecar()
    return old


def _sidecar_problem(error: Exception, sidecar: Path | None) -> Diagnostic:
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    if sidecar is None:
        return Diagnostic(Severity.WARNING, "no-sidecar", f"the recording has no sidecar: {reason}")
    message = f"the sidecar does not have how the recording ended, only what was known before it: {reason}"
    return Diagnostic(Severity.WARNING, "sidecar-of-the-plan", message, where=str(sidecar))
