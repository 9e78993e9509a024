"""Run the system's own tools on a recorded machine: in namespaces of their own its sysfs is at /sys, and it can have a udevd.

The kernel lets a process with the rights over a network namespace send uevents in it, which reach every listener there as the kernel's own:
so a real udevd gets the event of a device of the recorded machine, runs the rules and writes its files.
"""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

NETLINK_KOBJECT_UEVENT = 15
UDEVD = ("/usr/lib/systemd/systemd-udevd", "/lib/systemd/systemd-udevd")
UDEV_SOCKET = Path("/run/udev/control")
# The folders of the system that get a copy of their own. /dev holds no device, since udevd changes them; the tree may be below /dev/shm.
# The rules of the system's administrator and of an installed ptttool are hidden: the first would win over those of the test.
SETUP = """
set -e
tree=$1; rules=$2; shift 2
mount --bind "$tree/sys" /sys
mkdir -p "$tree/own-dev"; mount -t tmpfs none "$tree/own-dev"
if [ -d /dev/shm ]; then mkdir "$tree/own-dev/shm"; mount --rbind /dev/shm "$tree/own-dev/shm"; fi
touch "$tree/own-dev/null"; mount --bind /dev/null "$tree/own-dev/null"; mount --rbind "$tree/own-dev" /dev
for folder in /etc/udev/rules.d /usr/local/lib/udev/rules.d; do [ ! -d "$folder" ] || mount -t tmpfs none "$folder"; done
for rule in /usr/lib/udev/rules.d/*ptttool*; do [ ! -e "$rule" ] || mount --bind /dev/null "$rule"; done
mount -t tmpfs none /run; mkdir -p /run/udev/rules.d
[ -z "$rules" ] || cp "$rules" /run/udev/rules.d/90-ptttool-tune.rules
export SYSTEMD_DEVICE_VERIFY_SYSFS=0
exec "$@"
"""


def inside(tree: Path, command: Sequence[str], *, rules: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command that has the recorded machine in ``tree`` as its /sys, and a file of rules among those of udev."""
    words = ["unshare", "--user", "--map-root-user", "--mount", "--net", "--propagation", "private"]
    words += ["sh", "-c", SETUP, "sh", str(tree), "" if rules is None else str(rules), *command]
    return subprocess.run(words, capture_output=True, text=True, timeout=240)


def send_event(action: str, device: str, subsystem: str) -> None:
    """Send a uevent in this network namespace."""
    body = f"{action}@{device}\0ACTION={action}\0DEVPATH={device}\0SUBSYSTEM={subsystem}\0".encode()
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_KOBJECT_UEVENT) as netlink:
        netlink.bind((0, 0))
        netlink.sendto(struct.pack("=IHHII", 16 + len(body), 0x10, 0x5, 1, 0) + body, (0, 0))
        netlink.settimeout(60)
        answer = netlink.recv(4096)
        number = struct.unpack_from("=i", answer, 16)[0]
        if number:
            raise OSError(-number, os.strerror(-number))


def main(arguments: Sequence[str]) -> None:
    """``ACTION DEVICE…``: inside the namespaces, start udevd, send an event for each device, and wait until udevd is done."""
    action, *devices = arguments
    program = next(path for path in UDEVD if Path(path).exists())
    udevd = subprocess.Popen([program, "--debug"], stdout=sys.stderr)
    try:
        end = time.monotonic() + 60
        while not UDEV_SOCKET.exists():
            if udevd.poll() is not None or time.monotonic() > end:
                raise RuntimeError("udevd did not start")
            time.sleep(0.01)
        for device in devices:
            send_event(action, os.path.realpath(device).removeprefix("/sys"), "event_source")
        subprocess.run(["udevadm", "control", "--ping"], check=True, timeout=60)
        subprocess.run(["udevadm", "settle", "--timeout=60"], check=True, timeout=90)
    finally:
        udevd.terminate()
        udevd.wait(60)


if __name__ == "__main__":
    main(sys.argv[1:])
