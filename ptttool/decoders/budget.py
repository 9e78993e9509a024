"""Budgets of what decoders read besides the trace: files of parameters, snapshots, images of memory, programs."""

from __future__ import annotations

from typing import Final

from ptttool.budget import Budget

MAX_DESCRIPTION_BYTES: Final = 1 << 20
MAX_SNAPSHOT_DEVICES: Final = 1 << 12
MAX_SNAPSHOT_BYTES: Final = 16 << 20
MAX_FILES: Final = 1 << 12
MAX_IMAGES: Final = 1 << 12
MAX_CHANNELS: Final = 1 << 10
MAX_PROGRAMS: Final = 1 << 6
MAX_CODE_BYTES: Final = 512 << 20
MAX_SYMBOLS: Final = 1 << 22
MAX_NAME: Final = 1 << 12
MAX_SECTION_BYTES: Final = 512 << 20
EXPANDED_FREE: Final = 1 << 20
EXPANDED_RATIO: Final = 64
MAX_LINE_WORK_FREE: Final = 1 << 20
MAX_LINE_WORK_RATIO: Final = 4
MAX_RANGES_FREE: Final = 1 << 9
MAX_RANGES_RATIO: Final = 32
MAX_RANGES_BRANCH: Final = 16
MAX_RANGES_SAVED: Final = 1 << 17
MAX_WORKERS: Final = 384  # each takes two of the usual 1,024 descriptors
WORKER_BYTES: Final = 2 << 30

BUDGETS: Final = (
    Budget("MAX_DESCRIPTION_BYTES", MAX_DESCRIPTION_BYTES, "bytes", "A file of parameters, and each file of a snapshot."),
    Budget("MAX_SNAPSHOT_DEVICES", MAX_SNAPSHOT_DEVICES, "devices", "Devices of a snapshot."),
    Budget("MAX_SNAPSHOT_BYTES", MAX_SNAPSHOT_BYTES, "bytes", "The files of a snapshot's devices together."),
    Budget("MAX_FILES", MAX_FILES, "files", "Files that one parameter names (`memory=`, `elf=`)."),
    Budget("MAX_IMAGES", MAX_IMAGES, "images", "Images of memory that the cores of a snapshot have together."),
    Budget("MAX_CHANNELS", MAX_CHANNELS, "channels", "Source IDs of a stream that are decoded; packets of others are shown raw."),
    Budget("MAX_PROGRAMS", MAX_PROGRAMS, "programs", "Programs of one trace (`elf=`)."),
    Budget("MAX_CODE_BYTES", MAX_CODE_BYTES, "bytes", "The code of a program; bytes of the file that several segments share count once."),
    Budget("MAX_SYMBOLS", MAX_SYMBOLS, "symbols", "Symbols of a program; a Linux kernel has some 200,000."),
    Budget("MAX_NAME", MAX_NAME, "bytes", "Names of functions, files and folders in a program; longer ones are cut."),
    Budget("MAX_SECTION_BYTES", MAX_SECTION_BYTES, "bytes", "Any other section of a program that is read."),
    Budget("EXPANDED_FREE", EXPANDED_FREE, "bytes", "What packed sections of a program may expand to, whatever their size."),
    Budget(
        "EXPANDED_RATIO",
        EXPANDED_RATIO,
        "bytes per byte",
        "Further expanded bytes for each byte of a packed section; zlib reaches about 5.",
    ),
    Budget(
        "MAX_LINE_WORK_FREE", MAX_LINE_WORK_FREE, "steps", "Steps to find lines of source, whatever the size of the debugging information."
    ),
    Budget("MAX_LINE_WORK_RATIO", MAX_LINE_WORK_RATIO, "steps per byte", "Further steps for each byte of the debugging information."),
    Budget(
        "MAX_RANGES_FREE",
        MAX_RANGES_FREE,
        "ranges",
        "Ranges of instructions that `flow` finds of each source, however short the trace, and of one packet (31 branches at most).",
    ),
    Budget("MAX_RANGES_BRANCH", MAX_RANGES_BRANCH, "ranges", "Further ranges for each branch and each packet; programs have up to 5."),
    Budget(
        "MAX_RANGES_RATIO",
        MAX_RANGES_RATIO,
        "ranges per byte",
        "Further ranges for each byte of trace, whatever its branches; the shortest loop has 16, a loop with a jump besides 31.",
    ),
    Budget("MAX_RANGES_SAVED", MAX_RANGES_SAVED, "ranges", "Further ranges that earlier trace of few ranges leaves to later trace."),
    Budget("MAX_WORKERS", MAX_WORKERS, "processes", "Processes that run libopencsd at a time: one for each source of trace."),
    Budget("WORKER_BYTES", WORKER_BYTES, "bytes", "Address space of a process that runs libopencsd, besides the images of memory."),
)
"""All budgets of this subpackage."""
