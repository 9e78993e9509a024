"""``ptttool info``: what a recording holds."""

from __future__ import annotations

from pathlib import Path

from ptttool.cli.app import DemoOption, JsonOption, SysfsOption, app
from ptttool.cli.options.reading import (
    InputOption,
    JobsOption,
    PatternOption,
    RecordingArgument,
    SchedulerOption,
    chosen_workers,
    failure_of,
    machine_of,
    sidecar_of,
)
from ptttool.cli.terminal.talk import PrintedError, print_json
from ptttool.errors import InputError
from ptttool.pipeline.workers import WORTH_AN_ADDER, Workers


@app.command("info")
def info(
    file: RecordingArgument,
    input_format: InputOption = None,
    pattern: PatternOption = None,
    jobs: JobsOption = None,
    scheduler: SchedulerOption = None,
    json: JsonOption = False,
    sysfs: SysfsOption = None,
    demo: DemoOption = False,
) -> None:
    """Show what a recording holds: TLPs by kind and requester, AUX streams, and every sign of loss.

    FILE is a perf.data of perf record (as a file, a folder, from a pipe, compressed or cut off), or, with --input, a dump of AUX data
    without a container. Names of devices come from the file that 'ptttool trace' keeps beside a recording, or from --sysfs.
    """
    from ptttool.cli.terminal.interrupts import tidy_end

    with tidy_end(), chosen_workers(file, jobs, scheduler, WORTH_AN_ADDER) as workers:
        _info(file, input_format, pattern, json, sysfs, demo, workers)


def _info(file: str, input_format: str | None, pattern: str | None, json: bool, sysfs: Path | None, demo: bool, workers: Workers) -> None:
    from ptttool.cli.views.coresight import show_coresight
    from ptttool.cli.views.recording import print_summary, summarise
    from ptttool.pipeline.trace import open_trace

    with open_trace(file, raw_format=input_format, pattern=pattern) as trace:
        sidecar = sidecar_of(file)
        machine = None if sidecar is None else sidecar.machine
        if sysfs is not None or demo:
            machine = machine_of(file, sysfs, demo)
        command, started = (None, None) if sidecar is None else (sidecar.command, sidecar.started)
        try:
            summary = summarise(trace, machine, command=command, started=started, workers=workers)
        except InputError as error:
            if error.code == "other-pmu" and show_coresight(file, trace.contents, json=json):
                return
            raise
        failure = failure_of(trace)
        if json:
            document = summary.as_json()
            if failure is not None:
                document["error"] = failure.as_json()
            print_json(document)
        else:
            print_summary(summary)
        if failure is not None:
            raise PrintedError(failure) if json else failure
