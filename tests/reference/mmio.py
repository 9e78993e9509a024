"""What the processor reads and writes, one row at a time: slow, literal, and without any code of ptttool.

Rows are those of :mod:`tests.reference.matching`.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.reference.matching import COMPLETE, Row, match, ticks_between

FLOWS = {
    "MRd": ("memory", "read"), "MRdLk": ("memory", "read"), "MWr": ("memory", "write"), "DMWr": ("memory", "write"),
    "FetchAdd": ("memory", "atomic"), "Swap": ("memory", "atomic"), "CAS": ("memory", "atomic"), "IORd": ("io", "read"),
    "IOWr": ("io", "write"), "CfgRd0": ("configuration", "read"), "CfgRd1": ("configuration", "read"),
    "TCfgRd": ("configuration", "read"), "CfgWr0": ("configuration", "write"), "CfgWr1": ("configuration", "write"),
}  # fmt: skip


def register_of(row: Row) -> tuple[str, int]:
    """The address space, and the address in it."""
    space = FLOWS[row["kind"]][0]
    return space, row["destination"] << 12 | row["register"] if space == "configuration" else row["address"]


def is_outbound(row: Row, buses: range) -> bool:
    """Whether a request is the processor's; configuration requests always are."""
    return row["kind"] in FLOWS and (FLOWS[row["kind"]][0] == "configuration" or row["requester"] >> 8 not in buses)


def summed(rows: list[Row], model: str, buses: range) -> dict[str, Any]:
    """Everything that can be said without bounds."""
    times = ticks_between(rows, model)
    requests: Counter[tuple[str, str]] = Counter()
    registers: dict[tuple[str, int], dict[str, int]] = {}
    runs: list[dict[str, Any]] = []
    for row, (ticks, segment) in zip(rows, times, strict=True):
        if not is_outbound(row, buses):
            continue
        space, operation = FLOWS[row["kind"]]
        requests[space, operation] += 1
        use = registers.setdefault(register_of(row), Counter(index=row["index"]))
        use[operation] += 1
        if operation != "read":
            continue
        last = runs[-1] if runs else None
        if last is not None and (last["register"], last["segment"]) == (register_of(row), segment):
            use["repeats"] += 1
            use["period"] += ticks - last["last"]
            last.update(reads=last["reads"] + 1, last=ticks)
        else:
            runs.append(
                {"register": register_of(row), "segment": segment, "reads": 1, "index": row["index"], "first": ticks, "last": ticks}
            )
    endings: Counter[tuple[str, str, int]] = Counter()
    latencies: dict[tuple[str, str], list[tuple[int, int, int]]] = {}
    by_index = {row["index"]: row for row in rows}
    for one in match(rows, model).transactions:
        row = by_index[one["request"]]
        if not is_outbound(row, buses):
            continue
        flow = FLOWS[row["kind"]]
        endings[*flow, one["ending"]] += 1
        if one["ending"] == COMPLETE and one["to_last"] >= 0 and model != "unknown":
            latencies.setdefault(flow, []).append((one["to_last"], one["request"], one["last"]))
            if flow[1] == "read":
                registers[register_of(row)]["answered"] += 1
                registers[register_of(row)]["ticks"] += one["to_last"]
    return {
        "requests": requests,
        "registers": registers,
        "runs": sorted((run for run in runs if run["reads"] > 1), key=lambda run: (-run["reads"], run["index"])),
        "endings": endings,
        "latencies": latencies,
    }
