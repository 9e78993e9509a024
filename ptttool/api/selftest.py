"""The self-test: measure what no document says, as the command ``selftest`` does; and judge recordings that were made elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING

from msgspec.structs import replace

from ptttool.diagnostics import Diagnostic, Severity
from ptttool.documents import dumps
from ptttool.errors import InputError, PtttoolError
from ptttool.files.atomic import output_file
from ptttool.files.failures import output_failure
from ptttool.files.ownership import scratch_folder
from ptttool.machine.details.read import with_details
from ptttool.machine.discovery import open_source, require_machine
from ptttool.machine.model import REQUESTER
from ptttool.machine.resolve import find_function, resolve_device, resolve_root_port
from ptttool.selftest.archive import files_of
from ptttool.selftest.document import Judged, SelfTest, Verdict
from ptttool.selftest.run import Session, kept, looked_at, measured_of, require_live, result_of, subject_of

if TYPE_CHECKING:
    from ptttool.capture.keep import Report
    from ptttool.machine.model import Machine, PttDevice
    from ptttool.machine.sources.contract import Source
    from ptttool.pci import PciAddress
    from ptttool.selftest.evidence import Evidence

__all__ = ["Judged", "SelfTest", "Verdict", "judge_recordings", "run_selftest"]


def run_selftest(
    name: str | None = None,
    *,
    load: str = "config",
    tune: bool = False,
    cpu: int | None = None,
    archive: str | Path | None = None,
    anonymize: bool = False,
    force: bool = False,
    progress: Callable[[str], None] | None = None,
    report: Report | None = None,
) -> tuple[SelfTest, PtttoolError | None]:
    """Record coded reads of an endpoint's registers on the running machine, and judge each assumption by what is recorded.

    Nothing is written but what ``tune`` asks for. The clock that was measured is kept for later traces.

    Parameters
    ----------
    name : str, optional
        A PTT device, a root port or an endpoint. By default the first endpoint that is awake.
    load : str
        ``config``: reads of the first 64 bytes of configuration space; ``read``: reads of the endpoint's disk, too.
    tune : bool
        Write back the value that each tune attribute has, noted in the journal.
    cpu : int, optional
        The CPU that records.
    archive : str or Path, optional
        A tar archive to write, with the recordings and what ``collect`` takes.
    anonymize : bool
        Replace addresses in the archive's recordings by region and offset, and the host's name.
    force : bool
        Overwrite the archive.
    progress : Callable, optional
        Called with the name of each recording before it begins.
    report : Callable, optional
        Called with each diagnostic at once; the result has them, too.

    Returns
    -------
    result : SelfTest
        What was found.
    error : PtttoolError or None
        Why it ended early, or why the archive could not be written. What was recorded until then is judged.

    Raises
    ------
    PtttoolError
        It cannot begin, also since the archive cannot be written, or nothing was recorded.
    """
    source = open_source()
    require_live(source)
    machine = require_machine(source, tune=True)
    subject = subject_of(source, machine, *_named(machine, name))
    result: SelfTest | None = None
    with scratch_folder() as folder:
        session = Session(source, subject, folder, load, cpu, progress or (lambda _: None), report)
        try:
            # Opened before anything is recorded: a name that cannot be written is told at once.
            with nullcontext() if archive is None else output_file(archive, force=force, mode=0o600) as file:
                session.record(tune=tune)
                recorded = any(path.suffix == ".data" for path in folder.iterdir())
                if session.error is not None and not recorded:
                    raise session.error
                evidence = looked_at(folder, with_details(source, machine), session.note) if recorded else []
                result = result_of(evidence, source.origin, subject, session)
                result = replace(result, kept=kept(measured_of(result, evidence, source, session.note), session.note))
                if file is not None:
                    result = replace(result, archive=str(archive))
                    _write(file, source, result, evidence, anonymize=anonymize)
        except (PtttoolError, OSError) as error:
            if result is None:
                raise
            # What was measured is shown all the same.
            failure = error if isinstance(error, PtttoolError) else output_failure(str(archive), error)
            session.note(Diagnostic(Severity.ERROR, failure.code, f"no archive is written: {failure.message}", failure.hint))
            session.error, result = session.error or failure, replace(result, archive=None)
        return replace(result, diagnostics=tuple(session.diagnostics)), session.error


def judge_recordings(folder: str | Path) -> SelfTest:
    """Judge recordings and readings that were made elsewhere: ``NAME.data`` with ``NAME.reads.json`` beside it.

    Parameters
    ----------
    folder : str or Path
        The folder that they are in.

    Returns
    -------
    SelfTest
        What they show; ``diagnostics`` has the recordings that cannot be used, and those whose readings cannot.

    Raises
    ------
    InputError
        The folder cannot be read, has no recording, or no readings beside one.

    Examples
    --------
    >>> result = judge_recordings("fixtures/anchors")
    >>> {one.name: one.verdict.value for one in result.judged[:3]}
    {'A1': 'confirmed', 'A2': 'not tested', 'A3': 'confirmed'}
    >>> round(result.clocks["8dw"].tick_ns, 3)
    4.0
    """
    found: list[Diagnostic] = []
    evidence = looked_at(Path(folder), None, found.append)
    if not found and not any(one.readings is not None for one in evidence):
        message = "no recording has readings beside it (NAME.reads.json): nothing can be tested"
        raise InputError(str(folder), message, hint="'ptttool selftest -o FILE' makes both", code="no-readings")
    for one in evidence:
        if one.readings is not None and one.readings.problem is not None:
            message = f"{one.name}: coded reads ended after {one.made:,}: {one.readings.problem}"
            found.append(Diagnostic(Severity.WARNING, "reads-ended", message, where=str(one.path)))
    return replace(result_of(evidence, str(folder)), diagnostics=tuple(found))


def _named(machine: Machine, name: str | None) -> tuple[PttDevice | None, PciAddress | None, PciAddress | None]:
    """Return the PTT device, the root port and the endpoint that a name stands for."""
    if name is None:
        return None, None, None
    device, _ = resolve_device(machine, name)
    try:
        port = resolve_root_port(machine, name).address
    except PtttoolError:  # the name of the device itself
        return device, None, None
    function = find_function(machine, name, prefer=REQUESTER)
    return device, port, None if function == port else function


def _write(file: IO[bytes], source: Source, result: SelfTest, evidence: Sequence[Evidence], *, anonymize: bool) -> None:
    from ptttool.api.collect import Collected

    collected = Collected(source)
    collected.add("/selftest/result.json", dumps(result).encode())
    for name, content in files_of(evidence, anonymize=anonymize):
        collected.add(f"/selftest/{name}", content)
    collected.write_to(file)
