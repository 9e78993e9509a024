"""``ptttool tune sweep``: run a workload with every value of tune attributes, and say which of them made a difference."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ptttool.cli.app import DemoOption, ForceOption, JsonOption, SysfsOption
from ptttool.cli.commands.tune.group import DryRunOption, NoJournalOption, tune
from ptttool.cli.help.about import Example, KeptFile, Stage
from ptttool.cli.options.device import DEVICE_HELP, choose_device
from ptttool.cli.options.given import given, refuse_beside
from ptttool.cli.options.units import parse_duration, parse_size
from ptttool.cli.terminal.interrupts import tidy_end
from ptttool.cli.terminal.talk import note, outlive_reader, print_diagnostics, print_json
from ptttool.errors import UsageError
from ptttool.wording import clean

if TYPE_CHECKING:
    from ptttool.capture.plan import Plan
    from ptttool.machine.model import Machine
    from ptttool.sweep.plan import SweepPlan

EXAMPLES = (
    Example(
        "ptttool tune sweep --device nvme0 --events qos_tx_p --values 0,1,2 --metric run:seconds --rounds 2 -o r.parquet -- true",
        "How long a program takes with each weight of posted requests.",
        on_demo=True,
    ),
    Example(
        "ptttool tune sweep --device nvme0 --events qos_tx_p,qos_tx_np --values 0,2 --metric fio:read.iops --dry-run -- true",
        "The settings and their order, without running anything.",
        on_demo=True,
    ),
)
FILES = (
    KeptFile("FILE.runs", "The runs so far, beside the results FILE: what --resume goes on with. It is removed at the end."),
    KeptFile("/var/lib/ptttool", "The journal of changes: how a sweep that was killed is repaired."),
)


# The first word that is not an option begins the workload; later options belong to it.
@tune.command(
    "sweep", stage=Stage.TUNE, rank=70, examples=EXAMPLES, files=FILES, related=["tune recover"],
    context_settings={"allow_interspersed_args": False},
)  # fmt: skip
def sweep(
    context: typer.Context,
    attributes: Annotated[
        str, typer.Option("--events", "--attributes", metavar="LIST", help="The tune attributes, with commas between them.")
    ],
    values: Annotated[str, typer.Option("--values", metavar="LIST", help="The values that each of them is to have, such as 0,1,2.")],
    metric: Annotated[
        list[str],
        typer.Option(
            "--metric", metavar="METRIC", help="What is measured; can be repeated. By name: fio:read.iops, iperf3:sent.bits_per_second, "
            "sockperf:latency.p99, run:seconds. A number in JSON on standard output: json:jobs[0].read.iops. A regular expression "
            "with one group: 'regex:rate=([0-9.]+)'. With --trace, a number of an analysis: trace:latency.ticks.p99.",
        ),
    ],
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- COMMAND...", help="The workload: it runs once for each setting and round."),
    ] = None,
    device: Annotated[str | None, typer.Option("--device", metavar="NAME", help=DEVICE_HELP)] = None,
    minimize: Annotated[bool, typer.Option("--minimize", help="Lower is better, for metrics whose better direction is not known.")] = False,
    rounds: Annotated[
        int | None,
        typer.Option(
            "--rounds", metavar="N",
            help="How often each setting is measured. By default as often as a difference needs at least to be found.",
        ),
    ] = None,
    design: Annotated[
        str,
        typer.Option(
            "--design", metavar="[factorial|one-at-a-time]",
            help="All combinations of the values, or each value of each tune attribute while the others stay as they are.",
        ),
    ] = "factorial",
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", help="Of the order of the runs; by default by chance.")
    ] = None,
    warmup: Annotated[int, typer.Option("--warmup", metavar="N", help="Runs before the first round, which do not count.")] = 0,
    timeout: Annotated[
        str | None,
        typer.Option(
            "--timeout", metavar="TIME", help="End a run that takes longer, with all its processes: 90s, 10m."
        ),
    ] = None,
    trace: Annotated[
        str | None,
        typer.Option(
            "--trace", metavar="OPTIONS",
            help="Record a trace during each run, for metrics of traces, with these options of 'ptttool trace': "
            "'--rootport nvme0 --direction both --duration 1s'.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE",
            help="The results: a Parquet file with a row for each run.", readable=False,
        ),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(
            "--picture", metavar="FILE",
            help="Draw the runs: FILE.svg, or a page FILE.html.", readable=False,
        )
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(
            "--resume", metavar="FILE",
            help="Go on with a sweep that was cut off, from its file of runs. The other options are as at first; --output may be left out.",
            readable=False,
        ),
    ] = None,
    force: ForceOption = False,
    dry_run: DryRunOption = False,
    no_journal: NoJournalOption = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Print a line for each run.")] = False,
    json: JsonOption = False,
    sysfs: SysfsOption = None,
    demo: DemoOption = False,
) -> None:  # fmt: skip
    """Run a workload with several values, and compare them.

    Runs are in rounds. Each round has each setting once, in an order by chance, and settings are compared with the original values
    within rounds: what changes slowly, such as a temperature, then does not look like a difference. The test is exact (signed-rank),
    and corrected for the number of comparisons. If nothing was found, the smallest difference that could have been is printed.

    No other ptttool changes tune attributes meanwhile. The original values are restored at the end, on Ctrl-C, SIGTERM and SIGHUP, and
    when something fails. After SIGKILL, 'ptttool tune recover --restore' restores them. Each run is on the disk at once: --resume goes on.
    If another program changes one of these tune attributes, the sweep ends.

    The workload gets no input. Its exit status must be 0, and its output is not shown. For metrics of known tools, the unit and the better
    direction are known; for others, higher is better unless --minimize is given.
    """
    from ptttool.api.sweep import plan_sweep, sweep_options, sweep_tune_attributes
    from ptttool.cli.views.sweep import plan_lines, print_plan, print_result, progress_of_sweep
    from ptttool.machine.discovery import open_source, require_machine
    from ptttool.machine.resolve import find_device
    from ptttool.sweep.design import DesignKind

    if dry_run:
        refuse_beside("--dry-run", context, refused=("resume",))
    else:
        outlive_reader(is_result=json)
    if design not in list(DesignKind):
        raise UsageError(f"--design: {design!r} is not a design", hint=f"one of {', '.join(DesignKind)}", code="bad-design")
    options = sweep_options(
        _listed(attributes), _listed(values), metric, command or (), minimize=minimize, rounds=rounds, design=design, seed=seed,
        warmup=warmup, timeout=None if timeout is None else parse_duration(timeout, "--timeout"),
    )  # fmt: skip
    source = open_source(sysfs, demo)
    machine = require_machine(source, tune=False)
    chosen = find_device(machine, None) if device is None else choose_device(machine, device)
    traced = None if trace is None else _trace_plan(trace, machine, ask_driver=not dry_run)
    print_diagnostics(() if traced is None else traced.notes)
    if dry_run:
        plan = plan_sweep(chosen, options)
        print_diagnostics(plan.diagnostics)
        if json:
            from ptttool.sweep.documents import PlanBody, SweepPlanDocument

            order = tuple(tuple(map(plan.design.label, settings)) for settings in plan.order)
            print_json(SweepPlanDocument(PlanBody.of(plan), order, plan.diagnostics))
        else:
            print_plan(plan)
        note("dry run: nothing was written, and nothing has run")
        return

    def planned(plan: SweepPlan) -> None:
        for line in plan_lines(plan):
            note(clean(line))
        print_diagnostics(plan.diagnostics)

    with tidy_end(), progress_of_sweep(verbose=verbose) as show:
        result = sweep_tune_attributes(
            chosen, options, output, picture=picture, resume=resume, force=force, trace=traced, journal=not no_journal, planned=planned,
            progress=show,
        )  # fmt: skip
    print_diagnostics(one for one in result.diagnostics if one not in result.plan.diagnostics)
    if json:
        print_json(result)
    else:
        print_result(result)
    if not source.live:
        note(clean(f"tune attributes were those of {source.origin}, not of this machine"))


def _listed(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _trace_plan(text: str, machine: Machine, *, ask_driver: bool) -> Plan:
    """Read the options of a trace as ``ptttool trace`` does."""
    from ptttool.api.capture import choose_event, plan_recording
    from ptttool.cli.commands.trace import trace
    from ptttool.cli.options.event import EventTerms

    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"--trace: {error}", code="bad-trace") from None
    alone = typer.Typer()
    alone.command("trace")(trace)
    parser: Any = typer.main.get_command(alone)
    try:
        with parser.make_context("trace", words) as context:
            params, named = context.params, given(context)
    except typer.exceptions.TyperException as error:
        raise UsageError(f"--trace: {error.format_message()}", hint="see 'ptttool trace --help'", code="bad-trace") from None
    taken = {*EventTerms.__struct_fields__, "force", "duration", "aux_size", "cpu"}  # that make sense for a trace during a run
    wrong = [name for name in params if name in named and name not in taken]
    if wrong:
        raise UsageError(
            f"--trace: {wrong[0]} is not an option for a trace during a run",
            hint="such as --rootport nvme0 --direction both --type np,cpl --duration 1s",
            code="bad-trace",
        )
    what = EventTerms(**{name: params[name] for name in EventTerms.__struct_fields__})
    event = choose_event(what.asked(force=params["force"]), machine, ask_driver=ask_driver)
    size = params["aux_size"]
    return plan_recording(
        event, output="run.data", duration=parse_duration(params["duration"] or "1s"), cpu=params["cpu"],
        aux_size=None if size is None else parse_size(size, "--aux-size"),
    )  # fmt: skip
