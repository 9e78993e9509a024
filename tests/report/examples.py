"""A report with every kind of part, made up."""

from __future__ import annotations

import math

from ptttool.analyses.needs import Lack, LackCode
from ptttool.analyses.shown import Column, Facts, Histogram, Note, Scale, Series, Table, Timeline, Unit, text_column
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.report.model import Advice, Chapter, Glance, ReportedRecording

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'\u202e\x1b[31m"

LATENCIES = Table(
    "Read latency by requester",
    [text_column("Requester"), text_column("Name"), Column("Reads", Unit.TLPS), Column("p99", Unit.TICKS), Column("Slowest", Unit.INDEX)],
    [["01:00.0", "nvme0", 1200, 990.5, 123456], ["02:00.0", "ens2", 20345, 87, 7], ["08:00.1", HOSTILE, 3, None, 99]],
    total=["all", "", 21548, 991, None],
    more=12,
    note="Ticks are not nanoseconds.",
)
HISTOGRAM = Histogram(
    "Time to the first completion",
    "Time",
    [3, *(2**power for power in range(2, 11))],
    [*(2**power - 1 for power in range(2, 11)), 1900],
    [3, 8, 60, 900, 40_000, 8000, 700, 20, 0, 1],
    Unit.TICKS,
    "reads",
    {"p50": 40.0, "p99": 130.0, "max": 1900.0},
    Scale.LOGARITHMIC,
)
POINTS = 240
OUTSTANDING = Timeline(
    "Outstanding reads",
    [1000.0 * at for at in range(POINTS)],
    Unit.NANOSECONDS,
    [
        Series(name, [None if 100 < at < 110 else 20 + 9 * each + 8 * math.sin(at / 9 + each) for at in range(POINTS)])
        for each, name in enumerate(("nvme0", HOSTILE))
    ],
    "requests",
    indexes=[37 * at for at in range(POINTS)],
    limits={"32 tags": 32},
)


def reported(path: str = "/tmp/a b/nvme.data", **changes: object) -> ReportedRecording:
    """A recording with every kind of part."""
    chapters = [
        Chapter("loss", "Was anything lost?", "", [Note("7 signs", Severity.WARNING)]),
        Chapter(
            "latency",
            "How long reads take",
            "A question",
            [Facts([("Requests", "1,234"), ("Of", HOSTILE)], "Counts"), HISTOGRAM, LATENCIES],
        ),
        Chapter("outstanding", "How many requests are under way", "", [OUTSTANDING, Note("Lost TLPs make it a lower bound")]),
        Chapter(
            "mmio",
            "Register accesses",
            "",
            lacks=[Lack(LackCode.NOT_TRACED, "reads of registers", "the event asks for inbound TLPs only", "--direction both")],
        ),
    ]
    values: dict[str, object] = {
        "path": path,
        "protocol": "hisi-ptt",
        "records": 21548,
        "noun": "TLP",
        "facts": [("Machine", "kunpeng"), ("Command", f"perf record -o {HOSTILE}")],
        "results": {"latency": {"requests": 1234}},
        "lacks": {},
        "chapters": chapters,
        "glances": [Glance("NVMe commands", "20,000", "latency", 20000, HOSTILE)],
        "advice": [
            Advice(Severity.WARNING, "tags", "outstanding", f"A peak of 32 for {HOSTILE}", "ptttool analyze outstanding FILE", {"peak": 32})
        ],
        "diagnostics": [Diagnostic(Severity.INFO, "odd", HOSTILE)],
    }
    return ReportedRecording(**{**values, **changes})  # type: ignore[arg-type]
