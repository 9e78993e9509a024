"""From the command to the values: installed on a machine with the system's own libudev and udevd, set by an event, and removed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ptttool.tune.persist.contract import TARGETS, PermanentValues
from tests.support import machines, own_system

pytestmark = pytest.mark.slow

LINES = """
mount -t tmpfs -o mode=755 none /etc/udev && mkdir /etc/udev/rules.d
export PTTTOOL_STATE_DIR=/run/state/new PTTTOOL_RUNTIME_DIR=/run/locks
ptttool() { "$PYTHON" -m ptttool "$@"; }
echo "install $(ptttool tune export network --install --yes >/dev/null 2>&1; echo $?)"
"$PYTHON" -m tests.support.own_system add /sys/bus/event_source/devices/hisi_ptt0_0 2>/dev/null
echo "diff $(ptttool tune diff network --json >/dev/null; echo $?)"
ptttool tune get hisi_ptt0_0
$TRIGGER --dry-run --verbose
echo "uninstall $(ptttool tune export --uninstall --yes >/dev/null 2>&1; echo $?)"
find /etc/udev /run/state -type f
"""


def test_installed_set_and_removed(tmp_path: Path) -> None:
    tree = machines.copy_of(machines.NEW, tmp_path)
    names = ("hisi_ptt0_0", "hisi_ptt0_2", "hisi_ptt2_0")
    _, trigger = TARGETS.get("udev").activation(PermanentValues("network", {name: {} for name in names}, ("ptttool",)))
    script = f"PYTHON={sys.executable!r}\nTRIGGER={trigger!r}\n{LINES}"
    done = own_system.inside(tree, ["sh", "-c", script])
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    # Only one of the three devices has had its event.
    assert lines[:7] == [
        "install 0",
        "diff 1",
        "qos_tx_cpl=1",
        "qos_tx_np=1",
        "qos_tx_p=1",
        "rx_alloc_buf_level=2",
        "tx_alloc_buf_level=2",
    ], done.stderr
    assert [Path(line).name for line in lines[7:10]] == list(names)
    assert lines[10:] == ["uninstall 0"]
