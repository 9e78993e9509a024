"""Budgets of the readers of machines: sysfs, copies of it, udev databases, lists of CPUs."""

from __future__ import annotations

from typing import Final

from ptttool.budget import Budget

MAX_CPUS: Final = Budget(1 << 13, "CPUs", "CPUs of a machine: the largest number in a list of CPUs is one less. Linux has 8,192 at most.")
MAX_DEVICES: Final = Budget(1 << 8, "devices", "PTT devices of a machine.")
MAX_FUNCTIONS: Final = Budget(1 << 16, "functions", "PCI functions of a machine: all that one PCI domain can have.")
MAX_FILTERS: Final = Budget(1 << 17, "filters", "Filters of all PTT devices together; each device has its own list.")
MAX_BUSES_ABOVE: Final = Budget(1 << 8, "bridges", "Bridges above a PCI function; a PCI domain has 256 buses.")
MAX_WALKED: Final = Budget(1 << 17, "folders", "Folders that are looked into where a copy of a machine lacks the lists of its devices.")
MAX_PATH: Final = Budget(1 << 12, "bytes", "A path in sysfs, links followed; Linux has the same limit.")
MAX_ATTRIBUTE_BYTES: Final = Budget(1 << 16, "bytes", "A file of sysfs; what follows is not read. The kernel writes a page.")
MAX_CONFIG_BYTES: Final = Budget(1 << 8, "bytes", "Configuration space that is read of a function: all of its capability list.")
MAX_MEMORY_BYTES: Final = Budget(1 << 20, "bytes", "The text of /proc/iomem; what follows is not read.")
MAX_MEMORY_RANGES: Final = Budget(1 << 8, "ranges", "Ranges of /proc/iomem that are kept; further ones are counted.")
MAX_DATABASE_BYTES: Final = Budget(64 << 20, "bytes", "The text of a udev database.")
MAX_DATABASE_DEVICES: Final = Budget(1 << 17, "devices", "Devices in a udev database.")
MAX_DATABASE_PROPERTIES: Final = Budget(1 << 20, "properties", "Properties of all devices in a udev database.")
MAX_NAMES_BYTES: Final = Budget(16 << 20, "bytes", "The system's list of PCI names (pci.ids), expanded; a longer one is not used.")
EXPANDED_FREE: Final = Budget(16 << 20, "bytes", "Text that a packed udev database may expand to, whatever its size.")
EXPANDED_RATIO: Final = Budget(64, "bytes per byte", "Further text for each packed byte; real databases reach about 20.")
MAX_ARCHIVE_BYTES: Final = Budget(2 << 30, "bytes", "Bytes of an archive of a machine that are read, once expanded.")
ARCHIVE_FREE: Final = Budget(64 << 20, "bytes", "What a packed archive of a machine may expand to, whatever its size.")
ARCHIVE_RATIO: Final = Budget(256, "bytes per byte", "Further bytes for each packed byte; sosreports reach about 20.")
MAX_ARCHIVE_MEMBERS: Final = Budget(1 << 20, "files", "Files, folders and links in an archive of a machine.")
MAX_ARCHIVE_KEPT: Final = Budget(128 << 20, "bytes", "What is kept of an archive: paths, links, starts of files.")
MAX_MEASURED_BYTES: Final = Budget(1 << 18, "bytes", "What the self-test has measured (machine.json); each entry takes some 700 bytes.")
MAX_MEASURED_ENTRIES: Final = Budget(1 << 5, "entries", "Drivers, kernels and systems on chip in that file; the oldest go first.")
