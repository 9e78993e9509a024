"""How a finished recording gets its name and its sidecar.

perf writes to a name of its own beside the wanted one, and only a good recording takes the wanted name. So a failed one leaves the last
recording and its ``.old`` alone. (perf itself renames the last recording to ``.old`` before it knows whether it can record.)
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from ptttool import __version__
from ptttool.capture.documents import PlanBody, RecordedBody, TracedCommand
from ptttool.capture.plan import Plan
from ptttool.capture.sidecar import Sidecar, part_of, save, sidecar_path
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import OutputError
from ptttool.wording import html_table

Report = Callable[[Diagnostic], None]


@dataclass(frozen=True)
class Recorded:
    """A recording that has its name.

    Parameters
    ----------
    path : Path
        The recording.
    size : int
        Its bytes.
    elapsed : float or None
        Seconds that perf ran; None for a replay.
    old : Path or None
        The new name of the recording that had the name before.
    sidecar : Path or None
        The file beside it; None where it could not be written.
    stopped_by : str or None
        The signal that stopped it, such as ``SIGINT``.
    traced : TracedCommand or None
        How the command ended that ran meanwhile.
    replay_of : str or None
        The command that made the bundled recording which this is a copy of.
    perf_stderr : str
        All that perf wrote to standard error.
    went_offline : tuple of int
        CPUs that were online when recording began and offline when it ended.
    diagnostics : tuple of Diagnostic
        What was reported while recording.
    """

    path: Path
    size: int
    elapsed: float | None = None
    old: Path | None = None
    sidecar: Path | None = None
    stopped_by: str | None = None
    traced: TracedCommand | None = None
    replay_of: str | None = None
    perf_stderr: str = ""
    went_offline: tuple[int, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()

    def document(self, plan: Plan) -> RecordedBody:
        """Describe the recording, and the plan that it was made by, for JSON."""
        return RecordedBody(
            **vars(PlanBody.of_plan(plan, (*plan.chosen.diagnostics, *self.diagnostics))),
            recording=str(self.path),
            old=None if self.old is None else str(self.old),
            sidecar=None if self.sidecar is None else str(self.sidecar),
            size=self.size,
            elapsed=self.elapsed,
            stopped_by=self.stopped_by,
            traced=self.traced,
            replay_of=self.replay_of,
        )

    def _repr_html_(self) -> str:
        facts = {"size": f"{self.size:,} bytes", "seconds": self.elapsed, "stopped by": self.stopped_by, "replay of": self.replay_of}
        return html_table(("", ""), [item for item in facts.items() if item[1] is not None], caption=str(self.path))


class Log:
    """Diagnostics: each is passed on at once and kept for the result."""

    def __init__(self, report: Report | None) -> None:
        self.diagnostics: list[Diagnostic] = []
        self._report = report

    def add(self, found: Diagnostic) -> None:
        """Add a diagnostic."""
        self.diagnostics.append(found)
        if self._report is not None:
            self._report(found)


class Destination:
    """The wanted file, and the unfinished one beside it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.unfinished = path.with_name(f"{path.name}.{os.getpid()}.part")

    def keep(self, companion: Callable[[Path], Path] | None = None) -> Path | None:
        """Give the recording its name.

        What had the name becomes ``.old``, with its companion file (the sidecar).

        Returns
        -------
        Path or None
            The ``.old`` name, where there was a recording before.

        Raises
        ------
        OutputError
            The file system refuses; the recording then still has its unfinished name.
        """
        try:
            return self._keep(companion)
        except OSError as error:
            hint, details = f"the recording is in {self.unfinished}", {"recording": str(self.unfinished)}
            raise OutputError(f"{self.path}: {error.strerror}", hint=hint, **details) from None

    def _keep(self, companion: Callable[[Path], Path] | None) -> Path | None:
        old = Path(f"{self.path}.old")
        moved = None
        if self.path.is_file() and self.path.stat().st_size:
            self.path.replace(old)
            moved = old
        if companion is not None:
            with suppress(OSError):  # the recording matters more than the file beside it
                if moved is not None:
                    companion(old).unlink(missing_ok=True)
                    if companion(self.path).is_file():
                        companion(self.path).replace(companion(old))
                companion(self.path).unlink(missing_ok=True)
        self.unfinished.replace(self.path)
        return moved

    def discard(self) -> None:
        """Remove the unfinished recording."""
        self.unfinished.unlink(missing_ok=True)


def settle(plan: Plan, destination: Destination, known: Sidecar, log: Log) -> tuple[Path | None, Path | None]:
    """Give a recording its name and write its sidecar.

    Returns
    -------
    old : Path or None
        The new name of the recording that had the name before.
    sidecar : Path or None
        None where the sidecar could not be written: the recording is kept anyway, with a diagnostic.

    Raises
    ------
    OutputError
        The recording cannot take its name.
    """
    old = destination.keep(sidecar_path)
    part = replace(part_of(known.machine, plan.device), diagnostics=())
    whole = replace(known, machine=part, versions={"ptttool": __version__, **known.versions})
    try:
        return old, save(plan.output, whole)
    except (OSError, OutputError) as error:
        log.add(Diagnostic(Severity.WARNING, "no-sidecar", f"the recording has no sidecar: {error}"))
        return old, None
