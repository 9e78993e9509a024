"""Kill a sweep at its writes: a process of its own, so that nothing but Python itself is running when it forks.

``python -m tests.support.sweep_kills TREE OUTPUT`` sweeps an attribute of the machine in the folder TREE, and is killed before and after
each write in turn. Then the original values are restored as an administrator would. One line of JSON for each point: whether it was
killed, the attribute, the runs that are kept, whether the journal says that it is half done, and the attribute after the repair.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ptttool.api.machine import find_machine, recover_tune_attributes
from ptttool.api.sweep import sweep_options, sweep_tune_attributes
from tests.support.tune_kills import in_killed_child


def killed_at(point: int, tree: str, output: str) -> bool:
    """Sweep in a child that is killed at a point: before (even) or after (odd) a write; tell whether it was."""

    def sweep() -> int:
        options = sweep_options(["qos_tx_p"], [0, 2], ["run:seconds"], ["true"], rounds=1, seed=1)
        sweep_tune_attributes(find_machine(tree).devices[0], options, output, force=True)
        return 0

    code = in_killed_child(point, sweep)
    if code:
        raise AssertionError(f"the sweep failed at point {point}")
    return code is None


def run(tree: str, output: str) -> None:
    """Go through all points."""
    attribute = Path(tree, "sys/bus/event_source/devices/hisi_ptt0_0/tune/qos_tx_p")
    log = Path(f"{output}.runs")
    machine = find_machine(tree)
    for point in range(1000):
        killed = killed_at(point, tree, output)
        facts = {
            "killed": killed,
            "value": int(attribute.read_text()),
            "runs": len(log.read_text().splitlines()) - 1 if log.exists() else None,
            "half": not recover_tune_attributes(machine).settled,
            "repaired": recover_tune_attributes(machine, "restore").settled,
        }
        print(json.dumps(facts | {"after": int(attribute.read_text()), "rest": recover_tune_attributes(machine).settled}))
        if not killed:
            return


if __name__ == "__main__":
    run(*sys.argv[1:])
