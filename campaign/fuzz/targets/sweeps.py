"""What sweeps read: outputs of workloads, and the file of runs of a sweep that was cut off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from campaign.fuzz.targets.contract import Target, add

ROOT = Path(__file__).parents[3]
PLAN: Mapping[str, Any] = {
    "output": "r.parquet",
    "machine": None,
    "attributes": ["qos_tx_p"],
    "originals": {"qos_tx_p": 1},
    "settings": [[1], [2]],
    "seed": 1,
}


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
        with RunLog.create(path, PLAN) as log:
            log.add(RunRecord(1, 1, (1,), "done", 0, 1.5, "2026-01-01T00:00:00Z", {"run:seconds": 1.5}))
            log.add(RunRecord(1, 2, (2,), "failed", -9, 0.5, "2026-01-01T00:00:01Z", {"run:seconds": None}, "killed"))
        yield path.read_bytes()


def run_log(data: bytes, place: Path) -> None:
    """Go on with a sweep, and add a run."""
    from ptttool.errors import InputError
    from ptttool.sweep.log import RunLog, RunRecord, planned_sweep

    path = place / "r.runs"
    path.write_bytes(data)
    try:
        planned_sweep(path)
        with RunLog.resume(path, PLAN) as log:
            log.add(RunRecord(2, 3, (1,), "done", 0, 1.0, "2026-01-01T00:00:02Z", {"run:seconds": 1.0}))
            runs = log.runs
        with RunLog.resume(path, PLAN) as log:
            # Not by ==: NaN is not equal to itself.
            if repr(log.runs) != repr(runs):
                raise AssertionError("other runs were read than were there")
    except InputError as error:
        str(error)


add(
    Target(
        "sweep-output", output_seeds, run_output, words=(b"{", b"[", b'"jobs"', b"1e999", b"NaN", b"IOPS=", b"sender", b"usec", b"9" * 400)
    )
)
add(Target("sweep-log", log_seeds, run_log, words=(b'"round"', b'"setting"', b"[", b"{", b"-1", b"1e999", b"NaN", b"9" * 5000, b"\n")))
