"""From sums over outbound requests to the result, with names of registers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ptttool.analyses.budget import MAX_LISTED
from ptttool.analyses.distribution import Distribution
from ptttool.analyses.mmio.document import Mmio, PollingRun, RegisterUse, RequestLatency, RequestSums, SlowRequest
from ptttool.analyses.mmio.sums import FLOWS, OPERATION_BITS, OPERATIONS, OUTBOUND, READ, WRITE
from ptttool.analyses.regions import Region, tables_of
from ptttool.analyses.registers import Space, Target, dstrd_of_drives, target_of
from ptttool.analyses.time.model import TimeModel
from ptttool.tlp.transactions import REQUESTER_BITS, Ending

if TYPE_CHECKING:
    from ptttool.analyses.contract import AnalysisContext
    from ptttool.analyses.matching.traced import Untraced
    from ptttool.analyses.mmio.polling import Polling
    from ptttool.analyses.mmio.sums import RegisterSums
    from ptttool.analyses.ranges import RangeSums
    from ptttool.analyses.scope import Scope
    from ptttool.analyses.time.clock import Clock
    from ptttool.machine.model import Machine

Key = tuple[Space, int]


def mmio_of(sums: RegisterSums, polling: Polling, clock: Clock, scope: Scope, context: AnalysisContext, untraced: Untraced) -> Mmio:
    """Return the result of the analysis."""
    has_time = scope.time_model is not TimeModel.UNKNOWN
    registers, more = _registers(sums, polling)
    runs = polling.runs()
    slowest = sums.slowest
    keys = [key for key, _ in registers]
    keys += [(Space(int(run["space"])), int(run["target"])) for run in runs]
    keys += [(Space(int(slow["flow"]) >> OPERATION_BITS), int(slow["target"])) for slow in slowest]
    shift = max(sums.requests.shift, sums.answered.shift, polling.repeats.shift)
    targets = _targets(keys, sums, scope.regions, context.machine)
    if shift:  # a row stands for several registers
        targets = {key: target._replace(name=None) for key, target in targets.items()}
    return Mmio(
        time=scope.time_facts(clock, context),
        requests=int(sum(requests for _, requests in _by_flow(sums))),
        direction_unknown=sums.unknown,
        flows=list(_flows(sums, untraced)),
        registers=[
            RegisterUse(
                register=targets[key].register,
                name=targets[key].name,
                space=key[0].title,
                address=hex(key[1]),
                reads=use["read"],
                writes=use["write"],
                atomics=use["atomic"],
                answered=use["answered"],
                mean_ticks=use["ticks"] / use["answered"] if use["answered"] else None,
                repeats=use["repeats"],
                period_ticks=use["period"] / use["repeats"] if use["repeats"] and has_time else None,
                index=use["index"],
            )
            for key, use in registers
        ],
        more=more,
        register_bytes=1 << shift,
        polling=[_run(run, targets, has_time) for run in runs],
        slowest=[_slow(slow, targets) for slow in slowest],
    )


def _registers(sums: RegisterSums, polling: Polling) -> tuple[list[tuple[Key, Counter[str]]], int]:
    """Return the registers with most requests, and how many others there are."""
    # Where there were too many registers, all three tables are looked at by the largest ranges of them.
    shift = max(sums.requests.shift, sums.answered.shift, polling.repeats.shift)
    uses: defaultdict[Key, Counter[str]] = defaultdict(Counter)
    for target, flow, count, _, index in _rows(sums.requests, shift):
        use = uses[Space(flow >> OPERATION_BITS), target]
        use[OPERATIONS[flow & (1 << OPERATION_BITS) - 1]] += count
        use["requests"] += count
        use["index"] = min(use.get("index", index), index)
    for target, flow, count, ticks, _ in _rows(sums.answered, shift):
        if flow & (1 << OPERATION_BITS) - 1 == READ:
            uses[Space(flow >> OPERATION_BITS), target].update(answered=count, ticks=ticks)
    for target, space, count, ticks, _ in _rows(polling.repeats, shift):
        uses[Space(space), target].update(repeats=count, period=ticks)
    ordered = sorted(uses.items(), key=lambda item: (-item[1]["requests"], item[1]["index"], item[0]))
    return ordered[:MAX_LISTED], max(len(ordered) - MAX_LISTED, 0)


def _rows(sums: RangeSums, shift: int) -> Iterator[tuple[int, int, int, int, int]]:
    """Yield sums by ranges of ``2**shift``: target, code, requests, ticks, first index."""
    targets, *others = sums.rows()
    targets = targets >> np.uint64(shift) << np.uint64(shift)
    yield from zip(targets.tolist(), *(column.tolist() for column in others), strict=True)


def _targets(keys: Sequence[Key], sums: RegisterSums, regions: tuple[Region, ...], machine: Machine | None) -> dict[Key, Target]:
    from ptttool.machine.topology import functions_by_id

    found = {}
    functions = {} if machine is None else functions_by_id(machine)
    targets, flows, *_ = sums.requests.rows()
    written = targets[flows == Space.MEMORY << OPERATION_BITS | WRITE]
    distances = dstrd_of_drives(written, regions, functions)
    tables = dict(zip((Space.MEMORY, Space.IO), tables_of(regions), strict=True))
    for key in dict.fromkeys(keys):
        space, target = key
        table = tables.get(space)
        number = 0 if table is None else int(table.find(np.array([target], dtype=np.uint64))[0])
        region = regions[number - 1] if number else None
        found[key] = target_of(space, target, region, functions, 0 if region is None else distances.get(region, 0))
    return found


def _by_flow(sums: RegisterSums) -> Iterator[tuple[int, int]]:
    """Yield the flows that occur, and the requests of each."""
    _, flows, requests, _, _ = sums.requests.rows()
    counts = np.bincount(flows.astype(np.intp), weights=requests, minlength=FLOWS).astype(np.int64)
    for flow in np.flatnonzero(counts).tolist():
        yield flow, int(counts[flow])


def _flows(sums: RegisterSums, untraced: Untraced) -> Iterator[RequestSums]:
    """Yield the sums of each flow."""
    keys, counts = sums.alone.rows()
    of_flow, is_end = keys >> (REQUESTER_BITS + 1), keys & 1
    is_untraced = np.isin(keys >> 1 & ((1 << REQUESTER_BITS) - 1), untraced.requesters(OUTBOUND))
    for flow, requests in _by_flow(sums):
        endings = sums.endings[flow].tolist()
        inside, end = (int(counts[is_untraced & (of_flow == flow) & (is_end == each)].sum()) for each in range(2))
        yield RequestSums(
            space=Space(flow >> OPERATION_BITS).title,
            operation=OPERATIONS[flow & (1 << OPERATION_BITS) - 1],
            requests=requests,
            answered=endings[Ending.COMPLETE],
            errors=endings[Ending.ERROR],
            short=endings[Ending.SHORT],
            unanswered=endings[Ending.INSIDE] - inside,
            open_at_end=endings[Ending.END] - end,
            not_traced=inside + end,
            ticks=_latency(sums.latencies.get(flow, Distribution())),
        )


def _latency(values: Distribution) -> RequestLatency:
    edges, counts = values.bins()
    return RequestLatency(
        n=values.count,
        min=values.smallest,
        mean=values.mean,
        p50=values.quantile(0.5),
        p90=values.quantile(0.9),
        p99=values.quantile(0.99),
        max=values.largest,
        edges=edges,
        counts=counts,
    )


def _run(run: np.void, targets: dict[Key, Target], has_time: bool) -> PollingRun:
    reads = int(run["reads"])
    ticks = int(run["last"]) - int(run["first"]) if has_time else None
    target = targets[Space(int(run["space"])), int(run["target"])]
    return PollingRun(*target, reads, ticks, None if ticks is None else ticks / (reads - 1), int(run["index"]))


def _slow(slow: np.void, targets: dict[Key, Target]) -> SlowRequest:
    flow = int(slow["flow"])
    return SlowRequest(
        *targets[Space(flow >> OPERATION_BITS), int(slow["target"])],
        OPERATIONS[flow & (1 << OPERATION_BITS) - 1],
        int(slow["ticks"]),
        int(slow["index"]),
        int(slow["last"]),
    )
