"""Budgets of the readers of machines: sysfs, copies of it, udev databases, lists of CPUs."""

from __future__ import annotations

from typing import Final

from ptttool.budget import Budget

MAX_CPUS: Final = 1 << 13
MAX_DEVICES: Final = 1 << 8
MAX_FUNCTIONS: Final = 1 << 16
MAX_FILTERS: Final = 1 << 17
MAX_BUSES_ABOVE: Final = 1 << 8
MAX_WALKED: Final = 1 << 17
MAX_PATH: Final = 1 << 12
MAX_ATTRIBUTE_BYTES: Final = 1 << 16
MAX_CONFIG_BYTES: Final = 1 << 8
MAX_MEMORY_BYTES: Final = 1 << 20
MAX_MEMORY_RANGES: Final = 1 << 8
MAX_DATABASE_BYTES: Final = 64 << 20
MAX_DATABASE_DEVICES: Final = 1 << 17
MAX_DATABASE_PROPERTIES: Final = 1 << 20
MAX_NAMES_BYTES: Final = 16 << 20
EXPANDED_FREE: Final = 16 << 20
MAX_ARCHIVE_BYTES: Final = 2 << 30
ARCHIVE_FREE: Final = 64 << 20
ARCHIVE_RATIO: Final = 256
MAX_ARCHIVE_MEMBERS: Final = 1 << 20
MAX_ARCHIVE_KEPT: Final = 128 << 20
EXPANDED_RATIO: Final = 64

BUDGETS: Final = (
    Budget("MAX_CPUS", MAX_CPUS, "CPUs", "CPUs of a machine: the largest number in a list of CPUs is one less. Linux has 8,192 at most."),
    Budget("MAX_DEVICES", MAX_DEVICES, "devices", "PTT devices of a machine."),
    Budget("MAX_FUNCTIONS", MAX_FUNCTIONS, "functions", "PCI functions of a machine: all that one PCI domain can have."),
    Budget("MAX_FILTERS", MAX_FILTERS, "filters", "Filters of all PTT devices together; each device has its own list."),
    Budget("MAX_BUSES_ABOVE", MAX_BUSES_ABOVE, "bridges", "Bridges above a PCI function; a PCI domain has 256 buses."),
    Budget("MAX_WALKED", MAX_WALKED, "folders", "Folders that are looked into where a copy of a machine lacks the lists of its devices."),
    Budget("MAX_PATH", MAX_PATH, "bytes", "A path in sysfs, links followed; Linux has the same limit."),
    Budget("MAX_ATTRIBUTE_BYTES", MAX_ATTRIBUTE_BYTES, "bytes", "A file of sysfs; what follows is not read. The kernel writes a page."),
    Budget("MAX_CONFIG_BYTES", MAX_CONFIG_BYTES, "bytes", "Configuration space that is read of a function: all of its capability list."),
    Budget("MAX_MEMORY_BYTES", MAX_MEMORY_BYTES, "bytes", "The text of /proc/iomem; what follows is not read."),
    Budget("MAX_MEMORY_RANGES", MAX_MEMORY_RANGES, "ranges", "Ranges of /proc/iomem that are kept; further ones are counted."),
    Budget("MAX_DATABASE_BYTES", MAX_DATABASE_BYTES, "bytes", "The text of a udev database."),
    Budget("MAX_DATABASE_DEVICES", MAX_DATABASE_DEVICES, "devices", "Devices in a udev database."),
    Budget("MAX_DATABASE_PROPERTIES", MAX_DATABASE_PROPERTIES, "properties", "Properties of all devices in a udev database."),
    Budget("MAX_NAMES_BYTES", MAX_NAMES_BYTES, "bytes", "The system's list of PCI names (pci.ids), expanded; a longer one is not used."),
    Budget("EXPANDED_FREE", EXPANDED_FREE, "bytes", "Text that a packed udev database may expand to, whatever its size."),
    Budget("EXPANDED_RATIO", EXPANDED_RATIO, "bytes per byte", "Further text for each packed byte; real databases reach about 20."),
    Budget("MAX_ARCHIVE_BYTES", MAX_ARCHIVE_BYTES, "bytes", "Bytes of an archive of a machine that are read, once expanded."),
    Budget("ARCHIVE_FREE", ARCHIVE_FREE, "bytes", "What a packed archive of a machine may expand to, whatever its size."),
    Budget("ARCHIVE_RATIO", ARCHIVE_RATIO, "bytes per byte", "Further bytes for each packed byte; sosreports reach about 20."),
    Budget("MAX_ARCHIVE_MEMBERS", MAX_ARCHIVE_MEMBERS, "files", "Files, folders and links in an archive of a machine."),
    Budget("MAX_ARCHIVE_KEPT", MAX_ARCHIVE_KEPT, "bytes", "What is kept of an archive: paths, links, starts of files."),
)
"""All budgets of this subpackage."""
