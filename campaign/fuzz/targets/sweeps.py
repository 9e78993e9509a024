"""What sweeps read: outputs of workloads, and the file of runs of a sweep that was cut off."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from campaign.fuzz.targets.contract import Target, add

if TYPE_CHECKING:
    from ptttool.sweep.plan import SweepPlan

ROOT = Path(__file__).parents[3]


@cache
def planned() -> SweepPlan:
    """Return the plan of a sweep on the demo machine."""
    from ptttool.api.sweep import sweep_options
    from ptttool.machine.discovery import list_devices
    from ptttool.machine.sources.recorded import DemoSource
    from ptttool.sweep.plan import plan_sweep

    options = sweep_options(["qos_tx_p"], [1, 2], ["run:seconds"], ["true"], rounds=2, seed=1)
    return plan_sweep(list_devices(DemoSource())[0], options)


def output_seeds() -> Iterator[bytes]:
    """Take real outputs of the tools."""
    for path in sorted((ROOT / "fixtures" / "workloads").iterdir()):
        yield path.read_bytes()


def run_output(data: bytes, _place: Path) -> None:
    """Read every metric of every tool, a path and an expression."""
    from ptttool.sweep.metrics.contract import TOOLS, MetricError, Output
    from ptttool.sweep.metrics.parse import parse_metric

    output = Output(data, data[:100], 1.0, {"latency": {"ticks": {}}})
    names = [f"{tool.name}:{metric}" for tool in TOOLS for metric in tool.metrics]
    for name in (*names, "json:jobs[0].read.iops", "json:end.sum_sent", "trace:latency.ticks.p99", "=([ -~]*)"):
        try:
            value = parse_metric(name).read(output)
        except MetricError:
            continue
        if not abs(value) < 1e151:
            raise AssertionError(f"{name}: {value}")


def log_seeds() -> Iterator[bytes]:
    """Write what a sweep writes about its runs."""
    import tempfile

    from ptttool.sweep.log import RunLog, RunRecord

    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "r.runs")
        with RunLog.create(path, planned().identity("r.parquet")) as log:
            log.add(RunRecord(1, 1, (1,), "done", 0, 1.5, "2026-01-01T00:00:00Z", {"run:seconds": 1.5}))
            log.add(RunRecord(1, 2, (2,), "failed", -9, 0.5, "2026-01-01T00:00:01Z", {"run:seconds": None}, "killed"))
        yield path.read_bytes()


def run_log(data: bytes, place: Path) -> None:
    """Go on with a sweep, add a run, and write the results."""
    from ptttool.api.sweep import values_of
    from ptttool.errors import InputError
    from ptttool.sweep.log import RunLog, RunRecord, seed_of
    from ptttool.sweep.picture import write_picture
    from ptttool.sweep.results import write_results
    from ptttool.sweep.statistics import analyze

    path = place / "r.runs"
    path.write_bytes(data)
    plan = planned()
    identity = plan.identity("r.parquet")
    try:
        seed_of(path)
        with RunLog.resume(path, identity) as log:
            log.add(RunRecord(2, 3, (1,), "done", 0, 1.0, "2026-01-01T00:00:02Z", {"run:seconds": 1.0}))
            runs = log.runs
        with RunLog.resume(path, identity) as log:
            if log.runs != runs:
                raise AssertionError("other runs were read than were there")
    except InputError as error:
        str(error)
        return
    results = analyze(plan.design, [(metric, values_of(metric, runs)) for metric in plan.options.metrics])
    write_picture(place / "r.svg", plan, runs, results, force=True)
    write_results(place / "r.parquet", plan, runs, force=True)


add(
    Target(
        "sweep-output", output_seeds, run_output, words=(b"{", b"[", b'"jobs"', b"1e999", b"NaN", b"IOPS=", b"sender", b"usec", b"9" * 400)
    )
)
add(Target("sweep-log", log_seeds, run_log, words=(b'"round"', b'"setting"', b"[", b"{", b"-1", b"1e999", b"NaN", b"9" * 5000, b"\n")))
