"""``ptttool trace``: record, keep what is needed to read it later, and say what came of it."""

from __future__ import annotations

import errno
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ptttool.cli.app import DemoOption, JsonOption, SysfsOption, app
from ptttool.cli.help.about import Example, KeptFile, Stage
from ptttool.cli.options.event import AuxSizeOption, CpuOption, EventTerms, ForOption
from ptttool.cli.options.given import given, refuse_beside
from ptttool.cli.options.units import parse_duration, parse_size
from ptttool.cli.terminal.interrupts import tidy_end
from ptttool.cli.terminal.talk import note, outlive_reader, print_diagnostic, print_diagnostics, print_json, print_line
from ptttool.diagnostics import Severity
from ptttool.errors import PtttoolError, UsageError
from ptttool.wording import clean

if TYPE_CHECKING:
    from ptttool.capture.event.choose import ChosenEvent, EventOptions
    from ptttool.capture.keep import Recorded
    from ptttool.capture.plan import Plan
    from ptttool.cli.views.trace_report import Reporting
    from ptttool.planner.check import PlanCheck
    from ptttool.planner.plan import CapturePlan
    from ptttool.planner.runs import Run


# A window is a trace and nothing else; several runs and what runs beside them have no sense in it.
_NOT_WITH_UNTIL = ("command", "keep_command", "purposes", "with_events", "anchors", "counters", "decode", "fail_on_loss")

EXAMPLES = (
    Example("ptttool trace --rootport nvme0 --duration 10 -o nvme.data", "What an NVMe drive sends, for 10 seconds.", on_demo=True),
    Example("ptttool trace --rootport nvme0 --format 8dw -- fio job.fio", "Whole headers, while a program runs.", on_demo=True),
    Example("ptttool trace --rootport nvme0 --with nvme,irq -- fio job.fio", "And what the kernel had to do with it.", on_demo=True),
    Example("ptttool trace --rootport nvme0 --for latency --duration 10", "What an analysis needs; see 'ptttool plan'.", on_demo=True),
    Example("ptttool trace --rootport nvme0 --direction outbound --duration 5", "Each outbound type, one after another.", on_demo=True),
    Example(
        "ptttool trace --rootport nvme0 --format 8dw --until \"kind = 'MRd' and length_dw > 100\" -o seen.data",
        "Short windows again and again; the one with such a TLP is kept, with those around it.",
        on_demo=True,
    ),
    Example(
        "ptttool trace --rootport ens2 --type p --direction outbound --dry-run",
        "The perf command for what the processor writes to a network card.",
        on_demo=True,
    ),
)


FILES = (
    KeptFile("FILE.ptttool.json", "Names of ports and devices, options, tune attributes and the measured clock: take it along with FILE."),
    KeptFile("NAME.kernel.data", "With --with: the kernel's events beside NAME.data, another perf.data file."),
    KeptFile("FILE.old", "The recording that had the name before, with its FILE.old.ptttool.json."),
    KeptFile("FILE.series.json", "Of several runs: which there are, how far each came; it stands for their recordings."),
    KeptFile("FILE.7-window.data", "With --until: a window that was kept, here the seventh."),
)


# The first word that is not an option begins the user's command; later options belong to it.
@app.command("trace", stage=Stage.TRACE, rank=20, examples=EXAMPLES, files=FILES, context_settings={"allow_interspersed_args": False})
def trace(
    context: typer.Context,
    what: EventTerms,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Record though FILE is there: it is kept as FILE.old, and replaces one of that name. Also build what the kernel "
            "documentation excludes and the driver takes (several types outbound), and --pattern v1 where the PMU cannot be looked at.",
        ),
    ] = False,
    purposes: ForOption = None,
    duration: Annotated[
        str | None, typer.Option("--duration", metavar="TIME", help="Record that long: 10, 1.5s, 500ms, 2m. Without it and without a "
        "COMMAND: until Ctrl-C.")
    ] = None,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE",
            help="The recording. One that is there already is kept as FILE.old.", readable=False,
        )
    ] = Path("perf.data"),
    aux_size: AuxSizeOption = None,
    cpu: CpuOption = None,
    keep_command: Annotated[
        bool, typer.Option("--keep-command", help="Keep the arguments of COMMAND in the file beside the recording. Without it only its "
        "name and their number are kept: arguments can hold passwords.")
    ] = False,
    anchors: Annotated[
        bool, typer.Option("--anchors", help="Read registers of an endpoint behind the port meanwhile, ten times a second: the recording "
        "gets its own clock. The event has to trace such reads (outbound np, or --completions a).")
    ] = False,
    until: Annotated[
        str | None, typer.Option("--until", metavar="CONDITION", help="Record short windows again and again until one holds a TLP for "
        "which this is true, such as \"status <> 'SC'\" (as --where of decode): it is kept, with the windows before and after it.")
    ] = None,
    window: Annotated[str, typer.Option("--window", metavar="TIME", help="With --until: how long each window records.")] = "50ms",
    windows: Annotated[int | None, typer.Option("--windows", metavar="N", help="With --until: end after N windows.")] = None,
    decode: Annotated[bool, typer.Option("--decode/--no-decode", help="Read the recording afterwards and sum it up.")] = True,
    counters: Annotated[
        bool, typer.Option("--counters/--no-counters", help="Count TLPs beside the trace, where the kernel has the hisi_pcie PMU: what "
        "they count and the recording lacks is reported.")
    ] = True,
    with_events: Annotated[
        str | None, typer.Option("--with", metavar="GROUP,...", help="Record events of the kernel meanwhile, by a second perf, to "
        "NAME.kernel.data beside NAME.data: nvme, block, irq, net, mmio-stacks. Those of the traced functions, where the kernel can tell.")
    ] = None,
    fail_on_loss: Annotated[
        bool, typer.Option("--fail-on-loss", help="For CI: end with exit code 5 if something seems to be missing. The recording is kept.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the perf commands and do nothing.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show what perf itself said.")] = False,
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[-- COMMAND...]", help="Record while this runs. Its own exit status is reported and does not become ptttool's."
        ),
    ] = None,
    json: JsonOption = False,
    sysfs: SysfsOption = None,
    demo: DemoOption = False,
) -> None:  # fmt: skip
    """Record TLPs with perf, sum them up, and report what is missing.

    Before perf starts, ptttool checks what can prevent the recording, and reports the first problem with its fix ('ptttool doctor' shows
    all of them). Ctrl-C ends
    the recording and keeps it, and so does the end of the terminal. Beside FILE a small FILE.ptttool.json keeps the names of ports
    and devices, the options and the tune attributes: what a recording itself cannot say. Afterwards: what was recorded, and every
    sign that something was lost. A recording without a TLP is a failure. If ptttool or perf is killed, 'ptttool recover FILE' finds
    what was recorded.

    Where the kernel has the hisi_pcie PMU, its counters run within the time of the trace: fewer TLPs recorded than counted are a loss,
    the only sign of records that the device itself overwrote.

    --with runs a second perf from just before the trace until just after it, with the same clock. It may fail alone: the recording is
    kept, and the other way round. An event costs the kernel about 1 µs.

    Where the kernel does not say which PTT device a root port belongs to (before Linux 6.5), the driver is asked, as root and while
    no process traces.

    --for takes the plan of 'ptttool plan' for an analysis; options beside it replace parts of the plan. Afterwards ptttool looks whether
    what was planned is in the recording.

    The device traces one type outbound at a time. Several of them, and plans that need more than one event, are recorded as a series: one
    run after another, each as long as --duration or COMMAND, to FILE.1-outbound-p.data and so on. FILE.series.json stands for all of them
    wherever recordings are read together.

    --until looks for what is rare: the device cannot keep the last moments before an event, so windows are recorded, looked at and
    removed, three at a time. What happens between two windows is not seen, and the result says which share of the time was. FILE stands
    for the windows that are kept: FILE.7-window.data and so on, with FILE.series.json. --duration ends the search, and so does Ctrl-C.
    Exit code 1: not found.

    On a recorded machine (--demo, --sysfs) a recording that was made there with the same options is replayed instead.
    """
    from ptttool.api.capture import choose_event, plan_recording
    from ptttool.api.planning import traced_runs
    from ptttool.capture.perf.command import DEFAULT_AUX_SIZE
    from ptttool.capture.plan import check_options
    from ptttool.capture.series.record import plan_series
    from ptttool.machine.discovery import open_source, require_machine

    outlive_reader(is_result=json or dry_run)
    if until is None:
        refuse_beside("a trace without --until", context, refused=("window", "windows"))
    else:
        refuse_beside("--until", context, refused=_NOT_WITH_UNTIL)
    options = what.asked(force=force, command=command)
    size = parse_size(aux_size, "--aux-size") if aux_size is not None else None
    total = None if duration is None else parse_duration(duration)
    seconds = total if until is None else parse_duration(window, "--window")
    check_options(output, size or DEFAULT_AUX_SIZE, seconds, command or ())
    machine = require_machine(open_source(sysfs, demo), tune=not dry_run)

    def choose(each: EventOptions) -> ChosenEvent:
        try:
            return choose_event(each, machine, ask_driver=not dry_run)
        except UsageError as error:
            if dry_run and error.code == "ambiguous-device" and not (demo or sysfs):
                error.hint = f"{error.hint}; without --dry-run, trace asks the driver which one it is"
            raise

    whole: CapturePlan | None = None
    if purposes is None:
        runs, chosen = traced_runs(options, choose)
    else:
        whole = _planned(purposes, options, choose, given(context), seconds, output, size)
        runs, chosen, size = [one.run for one in whole.runs], [one.chosen for one in whole.runs], whole.aux_size
    plans = [
        plan_recording(
            each,
            output=output,
            duration=seconds,
            command=command or (),
            cpu=cpu,
            aux_size=size,
            keep_command=keep_command,
            force=force,
            counters=counters,
            kernel_events=() if with_events is None else with_events.split(","),
        )
        for each in chosen
    ]
    names = [run.name for run in runs]
    if len(plans) > 1 and until is not None:
        message = f"--until records one event again and again, and these are {len(plans)}: {', '.join(names)}"
        raise UsageError(message, hint="choose one with --type", code="several-events")
    if len(plans) > 1:
        plans = plan_series(plans, names)
    diagnostics = [one for plan in plans for one in plan.diagnostics]
    if whole is not None:  # it has told what its limits are
        diagnostics = [*whole.diagnostics, *(one for plan in plans for one in plan.notes if one.code != "late-commit")]
    print_diagnostics({(one.code, one.message): one for one in diagnostics}.values())
    if len(plans) > 1:
        note(f"{len(plans)} runs, one after another, since the device does not trace them at once: {', '.join(names)}")
        if command:
            note(f"the command is run {len(plans)} times")
    if until is not None:
        _search(plans[0], until, windows, total, json=json, dry_run=dry_run, verbose=verbose)
        return
    if dry_run:
        _print_commands(plans, json=json)
        return
    from ptttool.cli.views.trace_report import Reporting

    _carry_out(plans, runs, whole, output, Reporting(decode, json, fail_on_loss), verbose=verbose, anchors=anchors)


def _planned(
    purposes: str,
    options: EventOptions,
    choose: Callable[[EventOptions], ChosenEvent],
    parameters: set[str],
    seconds: float | None,
    output: Path,
    size: int | None,
) -> CapturePlan:
    """Plan the runs for purposes, and say what options replace in the plan."""
    from ptttool.planner.plan import DEFAULT_SECONDS, plan_runs
    from ptttool.planner.runs import overridden, parse_purposes

    def override(runs: list[Run]) -> list[Run]:
        asked = {name: getattr(options, name) for name in ("types", "direction", "completions", "format") if name in parameters}
        new_runs = overridden(runs, **asked)
        if new_runs != runs:
            planned, now = ", ".join(run.name for run in runs), ", ".join(run.name for run in new_runs)
            note(f"the plan for {clean(purposes)} is {planned}; your options make it {now}")
        return new_runs

    plan = plan_runs(
        parse_purposes(purposes),
        options,
        choose,
        seconds=seconds or DEFAULT_SECONDS,
        output=output,
        aux_size=size,
        override=override,
    )
    print_diagnostics(one for one in plan.limits if one.severity is not Severity.INFO)
    return plan


def _search(plan: Plan, until: str, windows: int | None, duration: float | None, *, json: bool, dry_run: bool, verbose: bool) -> None:
    """Record windows until one holds what is looked for, and report what was seen."""
    from ptttool.api.until import check_condition, record_until
    from ptttool.capture.series.windows import window_of
    from ptttool.cli.terminal.recording_line import window_line
    from ptttool.cli.views.until import report_search

    assert plan.seconds is not None
    if dry_run:
        print_diagnostics(check_condition(until, plan.chosen))
        _print_commands([window_of(plan, 1, plan.seconds)], json=json, until=until)
        return
    perf_stderr: list[str] = []
    try:
        with window_line() as show:
            found = record_until(
                plan, until, window=plan.seconds, windows=windows, duration=duration, progress=show, report=print_diagnostic
            )
        perf_stderr += [one.recorded.perf_stderr for one in found.kept]
    except PtttoolError as error:
        perf_stderr.append(str(error.details.get("perf_stderr", "")))
        raise
    finally:
        for line in "".join(perf_stderr).splitlines() if verbose else ():
            note(f"perf: {clean(line)}")
    with _reader_may_be_gone(found.stopped_by):
        report_search(plan, found, json=json)


def _print_commands(plans: Sequence[Plan], *, json: bool, until: str | None = None) -> None:
    """Print the perf commands of each run: first that of the kernel's events, which begins before the trace."""
    from msgspec.structs import replace

    from ptttool.capture.documents import DryRunDocument, DryRunSeriesDocument, PlanBody

    documents = []
    for plan in plans:
        line = shlex.join(plan.perf_command)
        beside = None if plan.kernel_command is None else shlex.join(plan.kernel_command)
        asked = PlanBody.of_plan(plan, plan.diagnostics)
        documents.append(DryRunDocument(replace(asked, command=tuple(plan.perf_command)), line, beside, until))
        for one in () if json else filter(None, (beside, line)):
            print_line(clean(one))
    if json:
        print_json(documents[0] if len(documents) == 1 else DryRunSeriesDocument(tuple(documents)))


def _carry_out(
    plans: Sequence[Plan], runs: Sequence[Run], whole: CapturePlan | None, output: Path, how: Reporting, *, verbose: bool, anchors: bool
) -> None:
    """Record, one run after another, and report what was recorded."""
    from ptttool.capture.series.record import record_series
    from ptttool.cli.views.trace_report import report, report_series
    from ptttool.planner.check import CheckedRun, check_recordings

    run_of = {plan.output: run for plan, run in zip(plans, runs, strict=True)}
    recorded: Sequence[tuple[Plan, Recorded]]

    def record_run(number: int, plan: Plan) -> Recorded:
        note(f"run {number + 1} of {len(plans)}: {runs[number].name}")
        return _record(plan, verbose=verbose, json=how.json, anchors=anchors)

    def checks() -> tuple[PlanCheck, ...] | None:
        if whole is None:
            return None
        checked = [CheckedRun(run_of[plan.output], one.path, plan.machine) for plan, one in recorded]
        return tuple(check_recordings(whole.purposes, whole.wanted, checked))

    if len(plans) == 1:
        one = _record(plans[0], verbose=verbose, json=how.json, anchors=anchors)
        recorded = [(plans[0], one)]
        with _reader_may_be_gone(one.stopped_by):
            report(plans[0], one, how, checks)
    else:
        purposes = () if whole is None else whole.purposes
        done = record_series(plans, [run.name for run in runs], output, record_run, purposes=purposes, report=print_diagnostic)
        recorded = done.recorded
        with _reader_may_be_gone(done.stopped_by):
            report_series(done, how, checks)


@contextmanager
def _reader_may_be_gone(stopped_by: str | None) -> Iterator[None]:
    """Take it for the end of the report where the terminal is gone that ended the recording: the recording is good."""
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        if stopped_by != "SIGHUP" or error.errno != errno.EIO:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _record(plan: Plan, *, verbose: bool, json: bool, anchors: bool) -> Recorded:
    """Record with a progress line, and print what perf wrote if ``verbose``."""
    from ptttool.api.capture import record
    from ptttool.cli.terminal.recording_line import progress_line

    # With --json, standard output belongs to the document.
    live = plan.device.source is not None and plan.device.source.live
    command_stdout = sys.stderr.fileno() if json and live else None
    if plan.force and Path(plan.output).is_file() and Path(f"{plan.output}.old").is_file():
        note(clean(f"{plan.output} is kept as {plan.output}.old, and replaces the older recording of that name"))
    perf_stderr = ""
    try:
        with nullcontext() if live else tidy_end(), progress_line(plan) as show:
            recorded = record(plan, progress=show, report=print_diagnostic, command_stdout=command_stdout, anchors=anchors)
        perf_stderr = recorded.perf_stderr
        return recorded
    except PtttoolError as error:
        perf_stderr = str(error.details.get("perf_stderr", ""))
        raise
    finally:
        for line in perf_stderr.splitlines() if verbose else ():
            note(f"perf: {clean(line)}")
