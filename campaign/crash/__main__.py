"""``python -m campaign.crash``: run the points and print their number by command."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from campaign.crash.cases import all_cases
from campaign.crash.client import Servers, build_shim
from campaign.crash.events import Event
from campaign.crash.run import run_all


def main() -> int:
    """Run the campaign; exit code 1 if something was wrong."""
    parser = argparse.ArgumentParser(prog="python -m campaign.crash", description=__doc__)
    parser.add_argument("--only", metavar="WORDS", default="", help="commands that have these words in their names")
    parser.add_argument("--events", metavar="LIST", default=",".join(event.name for event in Event), help="what happens: %(default)s")
    parser.add_argument("--most", metavar="N", type=int, help="largest number of points of a command, at even distances; default: all")
    parser.add_argument("--jobs", metavar="N", type=int, default=len(os.sched_getaffinity(0)), help="runs at the same time")
    parser.add_argument("--list", action="store_true", help="list the commands")
    options = parser.parse_args()
    cases = [case for case in all_cases() if options.only in case.name]
    if options.list:
        for case in cases:
            print(f"{case.name:32} ptttool {' '.join(case.arguments)}")
        return 0
    events = [Event[name] for name in options.events.split(",")]
    print(f"{'command':32}{'calls':>7}" + "".join(f"{event.name:>8}" for event in events) + f"{'points':>8}{'wrong':>7}{'seconds':>9}")
    total = wrong = 0
    with tempfile.TemporaryDirectory(prefix="ptttool-crash-") as name:
        folder = Path(name)
        servers = Servers(build_shim(folder))
        try:
            clock = time.monotonic()
            for report in run_all(cases, servers, folder, jobs=options.jobs, events=events, most=options.most):
                counts = "".join(f"{report.counts.get(event, 0):8}" for event in events)
                seconds, clock = time.monotonic() - clock, time.monotonic()
                print(f"{report.case:32}{report.calls:7}{counts}{report.total:8}{len(report.wrong):7}{seconds:9.1f}", flush=True)
                for point, reasons in report.wrong:
                    for reason in reasons:
                        print(f"    {point}: {reason}")
                total += report.total
                wrong += len(report.wrong)
        finally:
            servers.close()
    print(f"{total} points, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
