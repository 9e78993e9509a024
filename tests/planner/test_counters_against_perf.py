"""The real perf, under umockdev with a PMU of counters, opens the events that plans advise, each pair as one group."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

from ptttool.api.machine import find_machine
from ptttool.api.planning import plan_for
from ptttool.planner.counters import ANSWERS
from tests.support.machines import NEW, umockdev

# Type numbers that no kernel gives: the kernel that runs the tests has no such PMU.
TYPE = 0x7FFF_0100
# Codes of the events as the driver has them (drivers/perf/hisilicon/hisi_pcie_pmu.c).
CODES = {
    "rx_mwr_flux": 0x0104, "rx_mrd_flux": 0x0804, "rx_cpl_flux": 0x2004, "tx_mwr_flux": 0x0105, "tx_mrd_flux": 0x0405,
    "tx_cpl_flux": 0x1005,
    "rx_mrd_latency": 0x0210, "tx_mrd_latency": 0x0011,
}  # fmt: skip
CODES |= {name.replace("flux", "time").replace("latency", "cnt"): 0x10000 | code for name, code in CODES.items()}
FORMAT = {"event": "config:0-16", "thr_len": "config1:0-3", "port": "config2:0-15", "bdf": "config2:16-31"}


def with_counters(folder: Path) -> list[str]:
    """The recorded machine with the PMU ``hisi_pcie0_core0``."""
    run = umockdev(NEW, folder)
    dump = folder / f"{NEW}.umockdev"
    lines = ["P: /devices/hisi_pcie0_core0", "E: SUBSYSTEM=event_source", "A: cpumask=0\\n", f"A: type={TYPE}\\n"]
    lines += [f"A: events/{name}=config=0x{code:x}\\n" for name, code in CODES.items()]
    lines += [f"A: format/{name}={bits}\\n" for name, bits in FORMAT.items()]
    dump.write_text(dump.read_text() + "\n" + "\n".join(lines) + "\n")
    return run


def test_every_command(tmp_path: Path) -> None:
    machine = find_machine(demo=True)
    run = with_counters(tmp_path)
    advice = plan_for(machine, list(ANSWERS), root_ports=["nvme0"], duration=0.001).counters
    advice += plan_for(machine, ["bandwidth", "latency"], requester="nvme0", duration=0.001).counters
    assert [one.purpose for one in advice] == [*ANSWERS, "bandwidth", "latency"]
    assert ["bdf" in one.command_line for one in advice[-2:]] == [True, False]
    lines = [shlex.join(["perf", "stat", "-vv", *one.command[2:]]) + " 2>&1; echo next" for one in advice]
    done = subprocess.run([*run, "sh", "-c", "\n".join(lines)], capture_output=True, text=True, timeout=60)
    for one, said in zip(advice, done.stdout.split("next\n")[:-1], strict=True):
        opened = re.findall(rf"^  type +{TYPE}\b.*?^  config +0x([0-9a-f]+).*?^  \{{ bp_len, config2 \}} +0x([0-9a-f]+)", said, re.M | re.S)
        assert {int(config, 16) for config, _ in opened} >= {CODES[one.events[0]]}, said
        assert {int(config2, 16) for _, config2 in opened} == {0x100 << 16 if "bdf" in one.command_line else 1}
