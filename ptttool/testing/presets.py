"""Fake machines that are ready to use."""

from __future__ import annotations

from ptttool.testing.hardware import HOST_BRIDGE
from ptttool.testing.machine import FakeMachine

# The releases of the demo machines.
RELEASES = {"6.1": "6.1.0-56-arm64", "6.12": "6.12.95+deb12-arm64", "openeuler-5.10": "5.10.0-216.0.0.115.oe2203sp4.aarch64"}


def kunpeng(kernel: str = "6.12") -> FakeMachine:
    """Return a server with three PTT devices, as it was recorded under Linux 6.12 and 6.1.

    ``hisi_ptt0_0`` traces 00:10.0 (an NVMe disk), 00:11.0 (a network card) and 00:12.0 (empty), ``hisi_ptt0_2`` traces 00:14.0
    (a switch with an NVMe disk and a network card) and 00:15.0 (a network card with two functions); ``hisi_ptt2_0`` has no root port.

    Parameters
    ----------
    kernel
        ``6.12``, ``6.1``, ``openeuler-5.10`` or any other release.
    """
    machine = FakeMachine(RELEASES.get(kernel, kernel), hostname="ptt-rig", host_bridge="platform/4010000000.pcie")
    machine.add_function("0000:00:00.0", HOST_BRIDGE)
    first = machine.add_ptt("hisi_ptt0_0", "0000:00:08.0")
    second = machine.add_ptt("hisi_ptt0_2", "0000:00:09.0")
    machine.add_ptt("hisi_ptt2_0", "0000:00:0a.0", numa_node=1)
    first.add_root_port("0000:00:10.0").add_nvme("0000:01:00.0", "nvme0")
    first.add_root_port("0000:00:11.0").add_nic("0000:02:00.0", "ens2")
    first.add_root_port("0000:00:12.0", bus=3)
    switch = second.add_root_port("0000:00:14.0").add_switch("0000:04:00.0")
    switch.add_port("0000:05:00.0").add_nvme("0000:06:00.0", "nvme1")
    switch.add_port("0000:05:01.0").add_nic("0000:07:00.0", "enp7s0")
    card = second.add_root_port("0000:00:15.0")
    card.add_nic("0000:08:00.0", "ens6f0")
    card.add_nic("0000:08:00.1", "ens6f1")
    return machine
