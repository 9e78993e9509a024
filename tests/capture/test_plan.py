"""What is to be recorded: AUX area, CPU, options that exclude each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptttool.capture.plan import check_aux_size, check_options
from ptttool.errors import UsageError
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


@pytest.mark.parametrize(
    ("output", "seconds", "command", "code"),
    [("-", None, (), "output-is-stdout"), ("x", 1.0, ("true",), "two-durations")],
)
def test_options_that_exclude_each_other(output: str, seconds: float | None, command: tuple[str, ...], code: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_options(Path(output), 64 << 20, seconds, command)
    assert caught.value.code == code
