"""The text that ``udevadm info --export-db`` prints: the udev database of a whole machine.

One block a device, an empty line between blocks; the first letter of a line says what it is (udevadm(8)): ``P:`` the device's path
below /sys, ``E:`` one property. Other lines (names, links, priorities) repeat what the properties say.
"""

from __future__ import annotations


def parse_export_db(text: str) -> dict[str, dict[str, str]]:
    """Sysfs path (with the leading /sys) to properties; lines that are neither path nor property are passed over."""
    devices: dict[str, dict[str, str]] = {}
    properties: dict[str, str] = {}
    for line in text.splitlines():
        if line.startswith("P: /"):
            properties = devices.setdefault("/sys" + line[3:].rstrip(), {})
        elif line.startswith("E: "):
            name, equals, value = line[3:].partition("=")
            if equals:
                properties[name] = value
        elif not line.strip():
            properties = {}
    return devices
