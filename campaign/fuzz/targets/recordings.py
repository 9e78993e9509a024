"""Recordings: perf.data as a file, from a pipe and as a folder; raw dumps; sidecars."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from campaign.fuzz import archive
from campaign.fuzz.targets.contract import Target, add, saved
from tests.support.recordings import build_directory, build_perfdata, words_4dw, words_8dw

# The magic, a zstd frame, an event, headers of records: AUXTRACE, COMPRESSED, AUXTRACE_INFO.
WORDS = (
    b"PERFILE2",
    b"\x28\xb5\x2f\xfd",
    b"hisi_ptt0_0/",
    b"\x47\x00\x00\x00\x00\x00\x30\x00",
    b"\x51\x00\x00\x00\x00\x00",
    b"\x46\x00\x00\x00",
)
CHUNKS = [(0, 0, words_8dw(12)), (1, 0, words_8dw(4)), (0, 384, words_8dw(3))]


def read_recording(path: Path, **options: Any) -> None:
    """Open a recording, decode some rows, and have it analyzed."""
    import ptttool

    with ptttool.open(path, **options) as recording:
        recording.to_polars(limit=20)
        if recording.protocol == "hisi-ptt":
            recording.analyze("summary")
            recording.analyze("loss")
        _ = recording.diagnostics


@cache
def small_recording() -> bytes:
    """Make a perf.data of a few TLPs."""
    return build_perfdata([(0, 0, words_8dw(2))])


def files() -> Iterator[bytes]:
    """Make whole recordings."""
    yield build_perfdata(CHUNKS)
    yield build_perfdata([(0, 0, words_4dw(20))], config=0x0_0728_0001)
    yield build_perfdata(CHUNKS, compressed=81)
    yield build_perfdata(CHUNKS, compressed=83)
    yield build_perfdata([])


def pipes() -> Iterator[bytes]:
    """Make recordings as they come through a pipe."""
    yield build_perfdata(CHUNKS, mode="pipe")
    yield build_perfdata(CHUNKS, mode="pipe", compressed=81)


def folders() -> Iterator[bytes]:
    """Make recordings of ``perf record --threads``."""
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "perf.data"
        build_directory(folder, CHUNKS)
        yield archive.pack({path.name: path.read_bytes() for path in sorted(folder.iterdir())})


def run_folder(data: bytes, place: Path) -> None:
    """Read a folder of ``perf record``."""
    folder = place / "perf.data"
    folder.mkdir()
    archive.write(data, folder)
    read_recording(folder)


def command_folder(data: bytes, place: Path) -> list[str]:
    """Read a folder of ``perf record`` with ``info``."""
    folder = place / "perf.data"
    folder.mkdir()
    archive.write(data, folder)
    return ["info", str(folder), "--jobs", "1"]


def dumps() -> Iterator[bytes]:
    """Make raw trace of the PTT device."""
    yield words_8dw(20)
    yield words_4dw(20)
    yield words_8dw(3) + bytes(96) + words_8dw(2)


def sidecars() -> Iterator[bytes]:
    """Make sidecars; the recording they belong to is always the same."""
    import tempfile

    from ptttool.capture import sidecar
    from ptttool.machine.discovery import require_machine
    from ptttool.machine.measured import ClockSource, KeptClock
    from ptttool.machine.sources.recorded import DemoSource

    machine = require_machine(DemoSource(), tune=False)
    with tempfile.TemporaryDirectory() as name:
        recording = saved(small_recording(), Path(name), "perf.data")
        part = sidecar.part_of(machine, machine.devices[0])
        clock = KeptClock("counter", 32, 4.0, 3.9994, 4.0005, 61, ClockSource.SELF_TEST, "2026-01-01T00:00:00+00:00")
        command = ("perf", "record", "-e", "hisi_ptt0_0/filter=0x80001/")
        path = sidecar.save(recording, sidecar.Sidecar(machine=part, command=command, clock=clock))
        text = path.read_bytes()
    yield text
    yield json.dumps(json.loads(text), separators=(",", ":")).encode()


def run_sidecar(data: bytes, place: Path) -> None:
    """Read the sidecar of a recording."""
    from ptttool.capture import sidecar
    from ptttool.capture.names import sidecar_path

    recording = saved(small_recording(), place, "perf.data")
    sidecar_path(recording).write_bytes(data)
    sidecar.find(recording)


def command_sidecar(data: bytes, place: Path) -> list[str]:
    """Show a recording that has the sidecar."""
    from ptttool.capture.names import sidecar_path

    recording = saved(small_recording(), place, "perf.data")
    sidecar_path(recording).write_bytes(data)
    return ["info", str(recording), "--jobs", "1"]


add(
    Target(
        "recording-file",
        files,
        lambda data, place: read_recording(saved(data, place)),
        lambda data, place: ["info", str(saved(data, place)), "--jobs", "1"],
        WORDS,
    )
)
add(
    Target(
        "recording-pipe",
        pipes,
        lambda data, place: read_recording(saved(data, place)),
        lambda data, place: ["decode", str(saved(data, place)), "--jobs", "1", "--to", "csv"],
        WORDS,
    )
)
add(Target("recording-folder", folders, run_folder, command_folder, (*WORDS, b"\n=== data.0\n", b"\n=== header\n")))
add(
    Target(
        "raw-dump",
        dumps,
        lambda data, place: read_recording(saved(data, place), protocol="hisi-ptt", form="raw"),
        lambda data, place: ["decode", str(saved(data, place)), "--input", "raw", "--protocol", "hisi-ptt", "--to", "jsonl"],
    )
)
SIDECAR_WORDS = (b'"machine"', b"null", b"[[[[[[", b'"\\u001b"', b"1e400", b'{"version":1}')
add(Target("sidecar", sidecars, run_sidecar, command_sidecar, SIDECAR_WORDS, 65536))
