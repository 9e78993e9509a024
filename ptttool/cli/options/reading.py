"""The options that commands which read recordings share, and how they end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ptttool.cli.terminal.talk import clean, note, warn
from ptttool.errors import InputError, UsageError
from ptttool.perfdata.problems import error_of
from ptttool.pipeline.workers import Workers, keep_memory, workers_for

if TYPE_CHECKING:
    from ptttool.capture.sidecar import Sidecar
    from ptttool.machine.model import Machine
    from ptttool.pipeline.trace import Trace

# Imported by each worker while it starts.
_PRELOAD = ("ptttool.pipeline.selection",)

RecordingArgument = Annotated[str, typer.Argument(metavar="FILE", help="The recording; - reads standard input.")]
RecordingsArgument = Annotated[list[str], typer.Argument(metavar="FILE", help="The recordings; - reads standard input.")]
InputOption = Annotated[
    str | None,
    typer.Option("--input", metavar="<4dw|8dw>", help="FILE holds AUX data without a container, of this format.", show_default=False),
]
PatternOption = Annotated[
    str | None,
    typer.Option(
        "--pattern",
        metavar="<legacy|v1>",
        help="Read spare header bits as this layout, whatever the recording says: v1 is that of PCIe 6 parts.",
        show_default=False,
    ),
]

JobsOption = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        "-j",
        metavar="N",
        min=1,
        max=1024,
        help="Work with so many processes, each some 50 to 100 MiB. By default info, Parquet and folders use as many as there are "
        "processors and as the recording is large enough for, everything else one. The result is the same.",
        show_default=False,
    ),
]

SchedulerOption = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="tcp://HOST:PORT",
        help="Have the workers of this Dask cluster do it. They read the recording themselves: its path, or address (s3://…), must mean "
        "the same to them.",
        show_default=False,
    ),
]


def chosen_workers(path: str, jobs: int | None, scheduler: str | None, worth: int) -> Workers:
    """A cluster's workers, or this machine's: ``jobs`` of them, or as many as the recording is large enough for.

    ``worth``: bytes for which each is worth it, 0 where more than one never is.
    """
    if scheduler is None:
        keep_memory()
        return workers_for(path, jobs, worth, preload=_PRELOAD)
    if jobs is not None:
        raise UsageError("--jobs and --scheduler exclude each other", hint="the cluster has as many workers as it has", code="two-crews")
    from ptttool.pipeline.cluster import Cluster

    return Cluster(scheduler)


def machine_of(recording: str, sysfs: Path | None, demo: bool) -> Machine | None:
    """The machine for names: --sysfs or --demo where given, else the recording's sidecar; None where there is neither."""
    if sysfs is not None or demo:
        from ptttool.cli.options.machine import load_machine, open_source

        return load_machine(open_source(sysfs, demo), tune=False)
    sidecar = sidecar_of(recording)
    return None if sidecar is None else sidecar.machine


def sidecar_of(recording: str) -> Sidecar | None:
    """The recording's sidecar; one that cannot be used is said on standard error and left aside."""
    from ptttool.capture.sidecar import find

    sidecar, problem = find(recording)
    if problem is not None:
        note(clean(f"{problem.message}: no names of devices"))
    return sidecar


def traced_part(machine: Machine | None, trace: Trace) -> Machine | None:
    """Of a machine, what the recording's own device can trace: elsewhere the same IDs may belong to other functions.

    The whole machine where the recording does not name its device (pipes name it on the way: ask after the first frame).
    """
    from ptttool.capture.event.parse import pmu_of
    from ptttool.capture.sidecar import part_of
    from ptttool.recording.identity import pmu_names

    attribute = trace.attribute
    if machine is None or attribute is None:
        return machine
    name = pmu_names(trace.contents).get(attribute.type) or pmu_of(attribute.name or "")
    device = next((device for device in machine.devices if device.name == name), None)
    return machine if device is None else part_of(machine, device)


def failure_of(trace: Trace) -> InputError | None:
    """After a walk: a damaged recording is an error, although all that could be read was given. None for a good one.

    Further problems are said on standard error.
    """
    problems = trace.contents.problems
    for problem in problems[1:]:
        if problem.code == problems[0].code == "truncated":  # what lies behind a cut is missing, too: one sentence is enough
            continue
        warn(clean(str(error_of(problem, trace.path))))
    if not problems:
        return None
    return error_of(problems[0], trace.path, hint="what could be read before that place was given")
