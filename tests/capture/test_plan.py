"""What is to be recorded: AUX area, CPU, options that exclude each other."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from ptttool.capture.plan import check_aux_size, check_options, choose_cpu
from ptttool.errors import DeviceError, UsageError
from ptttool.machine.model import PttDevice

DEVICE = PttDevice(name="hisi_ptt0_0", sicl=0, core=0, sysfs="/sys/devices/hisi_ptt0_0", cpus=(0, 1))


@pytest.mark.parametrize(
    ("size", "code"), [(0, "aux-too-small"), (8 << 20, "aux-too-small"), (48 << 20, "aux-no-power-of-two"), (1 << 40, "aux-too-large")]
)
def test_aux_size(size: int, code: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_aux_size(size)
    assert caught.value.code == code
    check_aux_size(16 << 20)


def test_choose_cpu() -> None:
    assert choose_cpu(DEVICE, None, (0, 1)) == 0
    assert choose_cpu(DEVICE, None, (1, 2)) == 1
    assert choose_cpu(DEVICE, None, None) == 0
    assert choose_cpu(DEVICE, None, (2,)) == 0
    assert choose_cpu(DEVICE, 1, (0, 1)) == 1
    assert choose_cpu(replace(DEVICE, cpus=()), 3, None) == 3
    for wanted, online, code in ((2, None, "cpu-not-in-cpumask"), (1, (0,), "cpu-offline")):
        with pytest.raises(UsageError) as caught:
            choose_cpu(DEVICE, wanted, online)
        assert caught.value.code == code
    with pytest.raises(DeviceError):
        choose_cpu(replace(DEVICE, cpus=()), None, None)


def test_offline_cpus_are_named() -> None:
    """The driver's cpumask has only CPUs that are online, so such a CPU looks like one of another node."""
    one = replace(DEVICE, cpus=(0,), offline_cpus=(1,), numa_node=0)
    assert choose_cpu(one, None, (0, 2, 3)) == 0
    with pytest.raises(UsageError) as caught:
        choose_cpu(one, 1, (0, 2, 3))
    assert (caught.value.code, caught.value.details["cpu"]) == ("cpu-offline", 1)
    assert "cpu1/online" in str(caught.value.hint)
    with pytest.raises(UsageError) as caught:
        choose_cpu(one, 2, (0, 2, 3))
    assert caught.value.code == "cpu-not-in-cpumask"
    for wanted in (None, 0, 2):
        with pytest.raises(DeviceError) as failed:
            choose_cpu(replace(one, cpus=(), offline_cpus=(0, 1)), wanted, (2, 3))
        assert (failed.value.code, failed.value.details["cpus"]) == ("cpus-offline", [0, 1])
        assert "NUMA node 0" in failed.value.message


@pytest.mark.parametrize(
    ("output", "seconds", "command", "code"),
    [("-", None, (), "output-is-stdout"), ("x", 1.0, ("true",), "two-durations")],
)
def test_options_that_exclude_each_other(output: str, seconds: float | None, command: tuple[str, ...], code: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_options(Path(output), 64 << 20, seconds, command)
    assert caught.value.code == code
