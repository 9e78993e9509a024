"""Budgets of what decoders read besides the trace: files of parameters, snapshots, images of memory, programs."""

from __future__ import annotations

from typing import Final

from ptttool.budget import Budget

MAX_DESCRIPTION_BYTES: Final = Budget(1 << 20, "bytes", "A file of parameters, and each file of a snapshot.")
MAX_SNAPSHOT_DEVICES: Final = Budget(1 << 12, "devices", "Devices of a snapshot.")
MAX_SNAPSHOT_BYTES: Final = Budget(16 << 20, "bytes", "The files of a snapshot's devices together.")
MAX_FILES: Final = Budget(1 << 12, "files", "Files that one parameter names (`memory=`, `elf=`).")
MAX_IMAGES: Final = Budget(1 << 12, "images", "Images of memory that the cores of a snapshot have together.")
MAX_CHANNELS: Final = Budget(1 << 10, "channels", "Source IDs of a stream that are decoded; packets of others are shown raw.")
MAX_PROGRAMS: Final = Budget(1 << 6, "programs", "Programs of one trace (`elf=`).")
MAX_CODE_BYTES: Final = Budget(512 << 20, "bytes", "The code of a program; bytes of the file that several segments share count once.")
MAX_SYMBOLS: Final = Budget(1 << 22, "symbols", "Symbols of a program; a Linux kernel has some 200,000.")
MAX_NAME: Final = Budget(1 << 12, "bytes", "Names of functions, files and folders in a program; longer ones are cut.")
MAX_SECTION_BYTES: Final = Budget(512 << 20, "bytes", "Any other section of a program that is read.")
EXPANDED_FREE: Final = Budget(1 << 20, "bytes", "What packed sections of a program may expand to, whatever their size.")
EXPANDED_RATIO: Final = Budget(64, "bytes per byte", "Further expanded bytes for each byte of a packed section; zlib reaches about 5.")
MAX_LINE_WORK_FREE: Final = Budget(1 << 20, "steps", "Steps to find lines of source, whatever the size of the debugging information.")
MAX_LINE_WORK_RATIO: Final = Budget(4, "steps per byte", "Further steps for each byte of the debugging information.")
MAX_RANGES_FREE: Final = Budget(
    1 << 9,
    "ranges",
    "Ranges of instructions that `flow` finds of each source, however short the trace, and of one packet (31 branches at most).",
)
MAX_RANGES_BRANCH: Final = Budget(16, "ranges", "Further ranges for each branch and each packet; programs have up to 5.")
MAX_RANGES_RATIO: Final = Budget(
    32,
    "ranges per byte",
    "Further ranges for each byte of trace, whatever its branches; the shortest loop has 16, a loop with a jump besides 31.",
)
MAX_RANGES_SAVED: Final = Budget(1 << 17, "ranges", "Further ranges that earlier trace of few ranges leaves to later trace.")
# each takes two of the usual 1,024 descriptors
MAX_WORKERS: Final = Budget(384, "processes", "Processes that run libopencsd at a time: one for each source of trace.")
WORKER_BYTES: Final = Budget(2 << 30, "bytes", "Address space of a process that runs libopencsd, besides the images of memory.")
