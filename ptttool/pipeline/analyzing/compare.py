"""Two recordings, each read once, and compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from ptttool.analyses.compare.blocks import BlockAnalysis
from ptttool.analyses.compare.comparison import MOST_PARTS, Comparison, Measurements, compare
from ptttool.analyses.compare.latency import LatencyBlocks
from ptttool.analyses.errors.analysis import ErrorsAnalysis
from ptttool.analyses.loss.analysis import Loss
from ptttool.capture.event.explain import explain
from ptttool.errors import UsageError
from ptttool.pipeline.report import captured_by, result_of, run_kinds

if TYPE_CHECKING:
    from ptttool.files.progress import Progress
    from ptttool.machine.model import Machine
    from ptttool.pipeline.query import Query
    from ptttool.pipeline.recording import Recording
    from ptttool.pipeline.scope import TimeOptions
    from ptttool.pipeline.workers.pool import Workers

Watch = Callable[["Progress"], AbstractContextManager[None]]


def measure(
    recording: Recording,
    workers: Workers,
    *,
    machine: Machine | None = None,
    query: Query | None = None,
    time: TimeOptions | None = None,
    went_offline: Sequence[int] = (),
    watch: Watch,
) -> Measurements:
    """Read a recording and return what a comparison needs of it.

    Parameters
    ----------
    recording : Recording
        The recording.
    workers : Workers
        Who decodes and sums up.
    machine : Machine or None
        The machine that was recorded.
    query : Query or None
        Its condition: only rows for which it is true.
    time : TimeOptions or None
        What the user says of time.
    went_offline : sequence of int
        CPUs that went offline while recording.
    watch : callable
        Shows the progress of the walk.

    Raises
    ------
    UsageError
        The recording is not of TLPs (code ``no-tlps``); the time options mean nothing.
    """
    missing = [column for column in BlockAnalysis.columns if column not in recording.schema]
    if missing:
        raise UsageError(
            f"{recording.path} holds {recording.title}: only recordings of TLPs are compared",
            hint="'ptttool analyze elements' sums up packet traces",
            code="no-tlps",
            columns=missing,
        )
    walk = recording.walk(workers)
    with watch(walk.progress):
        kinds = (BlockAnalysis, LatencyBlocks, ErrorsAnalysis, Loss)
        blocks, latencies, errors, loss = run_kinds(recording, kinds, workers, walk, machine=machine, query=query, time=time)
    attribute = recording.attribute
    assert isinstance(blocks, BlockAnalysis)
    return Measurements(
        path=recording.path,
        sums=result_of(blocks, recording, walk, machine),
        latencies=result_of(latencies, recording, walk, machine),
        errors=result_of(errors, recording, walk, machine),
        loss=result_of(loss, recording, walk, machine, went_offline),
        captured=captured_by(recording, machine),
        scope=blocks.scope,
        filter=None if attribute is None else explain(attribute.config, pmu=recording.device, machine=machine).filter,
    )


__all__ = ["MOST_PARTS", "Comparison", "Measurements", "compare", "measure"]
