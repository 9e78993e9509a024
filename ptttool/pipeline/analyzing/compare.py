"""Recordings, each read once, to be compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptttool.analyses.compare.blocks import BlockAnalysis
from ptttool.analyses.compare.comparison import Measurements
from ptttool.analyses.compare.latency import LatencyBlocks
from ptttool.analyses.errors.analysis import ErrorsAnalysis
from ptttool.analyses.loss.analysis import Loss
from ptttool.capture.event.explain import explain
from ptttool.errors import UsageError
from ptttool.pipeline.analyzing.ask import Ask, captured_by, run

if TYPE_CHECKING:
    from ptttool.pipeline.recording import OpenRecording


def measure(recording: OpenRecording, ask: Ask) -> Measurements:
    """Read a recording and return what a comparison needs of it.

    Parameters
    ----------
    recording, ask
        As :func:`ptttool.pipeline.analyzing.ask.run` takes them.

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
    answer = run(recording, ask, (BlockAnalysis, LatencyBlocks, ErrorsAnalysis, Loss))
    results, blocks = answer.results, answer.analyses[BlockAnalysis.name]
    attribute = recording.attribute
    assert isinstance(blocks, BlockAnalysis)
    return Measurements(
        path=recording.path,
        sums=results[BlockAnalysis.name],
        latencies=results[LatencyBlocks.name],
        errors=results[ErrorsAnalysis.name],
        loss=results[Loss.name],
        captured=captured_by(recording, ask.machine),
        scope=blocks.scope,
        filter=None if attribute is None else explain(attribute.config, pmu=recording.device, machine=ask.machine).filter,
    )
