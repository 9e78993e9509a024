"""The analysis ``bandwidth``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
from msgspec.structs import replace

from ptttool.analyses.bandwidth.cells import CELLS, UNKNOWN, cells_of, extra_dws
from ptttool.analyses.bandwidth.document import MORE_THAN_THE_LINK, Bandwidth, Flow
from ptttool.analyses.bandwidth.floor import floor_of
from ptttool.analyses.bandwidth.gaps import Gaps
from ptttool.analyses.bandwidth.rates import bursts_of, flow_of, line_of
from ptttool.analyses.bandwidth.saturation import saturation_of
from ptttool.analyses.contract import ANALYSES, AnalysisContext
from ptttool.analyses.link import FRAMING, LinkRate, rate_of_ports, rates_unknown
from ptttool.analyses.needs import Need
from ptttool.analyses.scope import Scope, TlpAnalysis
from ptttool.analyses.time.facts import TimeFacts
from ptttool.analyses.time.kept import TickFloor
from ptttool.analyses.time.line import Line, piece_of_rows
from ptttool.analyses.time.model import CLOCK_COLUMNS, TimeModel
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.recording.traced_buses import ports_of
from ptttool.tlp.columns import CLASSES, DIRECTIONS

if TYPE_CHECKING:
    from ptttool.table.batch import Batch

# TLPs of a group stand below DWs of data in one number, which a double holds exactly: a unit has fewer than 2^20 rows of 2^10 DWs.
_COUNT_BITS: Final = 20


class BandwidthAnalysis(TlpAnalysis[Bandwidth]):
    """Sums bytes up over time.

    Parameters
    ----------
    scope : Scope
        What is known of the recording.
    """

    name = "bandwidth"
    meaning = "TLPs and bytes on the link over time, by direction and class; bursts, idle time, share of the link"
    columns = (*CLOCK_COLUMNS, "class", "direction", "payload_bytes", "dw0", "prefix")
    needs = (
        Need("the inbound load of the link", "--direction inbound", inbound=("P", "NP", "CPL A", "CPL B"), is_vital=False, is_sum=True),
        Need("the outbound load of the link", "--direction both --format 4dw", outbound=("P", "NP", "CPL"), is_vital=False, is_sum=True),
    )
    # A time line, bursts, idle time: times of different recordings do not join.
    sums_recordings = False

    def __init__(self, scope: Scope | None = None) -> None:
        super().__init__(scope)
        self._clock = self.scope.clock
        self._line = Line(3 * CELLS, self.scope.grain)
        self._gaps = Gaps()
        self._is_partial = False

    def update(self, batch: Batch) -> None:
        """Add TLPs."""
        ticks = self._clock.ticks(batch)
        self._gaps.add(ticks)
        if not batch.size:
            return
        starts = self._line.starts(batch)
        cells = cells_of(batch)
        eight_dw = ticks.record_size == 32
        self._is_partial |= not eight_dw
        keys = piece_of_rows(starts, batch.size) * CELLS + cells
        size = len(starts) * CELLS
        weights = (batch.values("payload_bytes").filled(batch.size) >> 2) * float(1 << _COUNT_BITS) + 1.0
        both = np.bincount(keys, weights, size).astype(np.int64).reshape(-1, CELLS)
        tlps, payload = both & ((1 << _COUNT_BITS) - 1), both >> _COUNT_BITS << 2
        more = np.bincount(keys, extra_dws(batch, eight_dw), size).astype(np.int64).reshape(-1, CELLS) << 2
        wire = payload + more + tlps * (12 + FRAMING)
        wire[:, UNKNOWN] = 0
        self._line.add(batch, ticks, starts, tlps, payload, wire)

    def merge(self, later: BandwidthAnalysis) -> None:
        """Add the TLPs behind."""
        seam = self._clock.merge(later._clock)
        self._line.merge(later._line, seam)
        self._gaps.merge(later._gaps, seam)
        self._is_partial |= later._is_partial

    def tick_floor(self, context: AnalysisContext) -> TickFloor | None:
        """Return how long a tick is at least, by the busiest interval; None where time is not known, or gaps in it may be hidden."""
        if self.scope.time_model is TimeModel.UNKNOWN or self._clock.bits < 32:
            return None
        ports = ports_of(context.contents, context.machine)
        return None if ports is None else floor_of(self._line, rate_of_ports(ports, fastest=True))

    def result(self, context: AnalysisContext) -> Bandwidth:
        """Return the sums, and rates as far as time is known."""
        time = self.scope.time_facts(self._clock, context)
        ports = ports_of(context.contents, context.machine)
        link = None if ports is None else rate_of_ports(ports)
        flow = partial(flow_of, ticks=time.elapsed_ticks, tick_ns=time.tick_ns, link=link)
        sums = self._line.sums.sum(axis=0).reshape(3, CELLS)
        by_direction = sums[:, :UNKNOWN].reshape(3, len(DIRECTIONS), len(CLASSES))
        total = flow(None, None, sums.sum(axis=1))
        intervals = self._line.intervals(by_rows=time.elapsed_ticks is None)
        directions = [flow(name, None, by_direction[:, code].sum(axis=1)) for code, name in enumerate(DIRECTIONS)]
        flows = [
            flow(name, tlp_class, by_direction[:, code, number])
            for code, name in enumerate(DIRECTIONS)
            for number, tlp_class in enumerate(CLASSES)
        ]
        notes = list(self._notes(time, directions, link))
        saturation = None
        if link is None or time.tick_ns is None:
            why = rates_unknown(link, time.tick_ns)
            notes.append(Diagnostic(Severity.INFO, "saturation-unknown", f"for how long the link was full is not known: {why}"))
        elif not any(note.code == MORE_THAN_THE_LINK for note in notes):
            saturation = saturation_of(self._line, link, time.tick_ns, time.elapsed_ticks) if time.elapsed_ticks else {}
        else:  # then no share is one
            directions, flows = ([replace(each, share=None) for each in some] for some in (directions, flows))
        return Bandwidth(
            time=time,
            total=total,
            directions=directions,
            flows=flows,
            undecodable=int(sums[0, UNKNOWN]),
            link=link,
            bursts=bursts_of(intervals, time, link),
            tick_floor=self.tick_floor(context),
            idle=self._gaps.idle(time.elapsed_ticks),
            line=line_of(intervals),
            notes=notes,
            saturation=saturation,
        )

    def _notes(self, time: TimeFacts, directions: Iterable[Flow], link: LinkRate | None) -> Iterator[Diagnostic]:
        most = max((each for each in directions if each.share is not None), key=lambda each: each.share or 0.0, default=None)
        if link is not None and most is not None and most.wire_per_second is not None and (most.share or 0.0) > 1:
            seen, limit = most.wire_per_second / 1e6, link.bytes_per_second / 1e6
            yield Diagnostic(
                Severity.WARNING, MORE_THAN_THE_LINK,
                f"more bytes than the link can carry: {seen:,.4g} MB/s {most.direction}, and the link has {limit:,.4g} MB/s. The length of "
                "a tick, or what is known of the link, is wrong, so no share of the link is known",
                details={"direction": most.direction, "bytes_per_second": most.wire_per_second, "link": link.bytes_per_second},
            )  # fmt: skip
        if time.breaks:
            yield Diagnostic(
                Severity.WARNING, "rates-too-high",
                "time that passed unseen is not counted and TLPs may be missing: rates are those of the time that was seen",
            )  # fmt: skip
        if self._is_partial:
            yield Diagnostic(
                Severity.INFO, "wire-bytes-partial", "4DW records keep neither prefixes nor digests: wire bytes are without them",
                "--format 8dw records them",
            )  # fmt: skip
        yield Diagnostic(
            Severity.INFO, "not-traced-at-all",
            "DLLPs (acknowledgements, flow control), ordered sets and replays are not traced: they take some per cent of a link",
        )  # fmt: skip


ANALYSES.add("bandwidth", BandwidthAnalysis)
