"""What ptttool keeps of its own: the journal of tune attributes, the text in a lock file, what the self-test has measured."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from pathlib import Path

from campaign.fuzz.targets.contract import Target, add


def checked(data: bytes) -> bytes:
    """Put the right checksum before each line: without it, no change of a line would get past the first check."""
    return b"\n".join(b"%08x %s" % (zlib.crc32(line), line) if line else b"" for line in data.split(b"\n"))


def journal_seeds() -> Iterator[bytes]:
    """Take what a change writes, and what is added to it later."""
    import tempfile

    from ptttool.machine.sources.recorded import DemoSource
    from ptttool.tune.journal.author import Author
    from ptttool.tune.journal.records import Outcome, Step, StepState
    from ptttool.tune.journal.store import Journal

    author = Author.of_this_process(DemoSource(), "tune set", [])
    steps = [Step("hisi_ptt0_2", "qos_tx_p", 1, 2), Step("hisi_ptt0_2", "qos_tx_np", 1, 0)]
    with tempfile.TemporaryDirectory() as name:
        journal = Journal(Path(name))
        writer = journal.begin(author, steps)
        writer.step(0, StepState.WRITTEN)
        lines = next(Path(name).glob("*.open")).read_bytes()
        yield b"\n".join(line[9:] for line in lines.split(b"\n"))
        writer.end(Outcome.DONE)
        lines = next(Path(name).glob("*.closed")).read_bytes()
        yield b"\n".join(line[9:] for line in lines.split(b"\n"))


def run_journal(data: bytes, _place: Path) -> None:
    """Read a change, once with its checksums and once without."""
    from ptttool.errors import InputError
    from ptttool.tune.journal.records import parse_change

    for text in (checked(data), data):
        try:
            parse_change(text, 1, "00000001.open")
        except InputError:
            continue


def lock_seeds() -> Iterator[bytes]:
    """Write what a run writes about itself."""
    yield json.dumps({"pid": 1, "started": 1, "purpose": "tune set", "user": "root", "since": "2026-01-01T00:00:00+00:00"}).encode()


def run_lock(data: bytes, place: Path) -> None:
    """Ask for a lock that another descriptor holds, with a text that another run left."""
    import fcntl

    from ptttool.errors import BusyError
    from ptttool.files.locks import hold

    path = place / "one.lock"
    path.write_bytes(data)
    path.chmod(0o600)
    with path.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        try:
            with hold("one", purpose="nothing", folder=place):
                raise AssertionError("the lock was taken")
        except BusyError as error:
            str(error)


def measured_seeds() -> Iterator[bytes]:
    """Write what the self-test writes."""
    from ptttool.documents import dumps
    from ptttool.machine.measured import MachineKey, Measured, MeasuredClock, MeasuredMachines

    clocks = {name: MeasuredClock("counter", bits, 4.0, 3.9994, 4.0005, 61) for name, bits in (("4dw", 11), ("8dw", 32))}
    keys = (MachineKey("ABC", "6.12.95", "midr_el1 0x481fd010"), MachineKey(None, "5.10.0", None))
    yield dumps(MeasuredMachines(entries=tuple(Measured(key, "2026-01-01T00:00:00+00:00", clocks) for key in keys))).encode()


def run_measured(data: bytes, place: Path) -> None:
    """Read what was measured on machines."""
    from ptttool.machine.measured import parsed

    entries, problem = parsed(place / "machine.json", data)
    assert not (entries and problem)
    for entry in entries:
        assert entry.is_sound
        for name in entry.clocks:
            clock = entry.clock(name)
            assert clock is not None and clock.is_sound and str(clock).isprintable()
    if problem is not None:
        assert problem.message.isprintable()


add(
    Target(
        "journal", journal_seeds, run_journal, words=(b'"record"', b'"begin"', b'"steps"', b"[", b"{", b"-1", b"9" * 30, b"1e999", b"\n")
    )
)
add(Target("lock", lock_seeds, run_lock, words=(b'"pid"', b'"start"', b"{", b"[", b"-1", b"9" * 30, b"null", b"1e999"), most=4096))
add(
    Target(
        "measured", measured_seeds, run_measured, words=(b'"key"', b'"when"', b'"clocks"', b"[", b"{", b"-1", b"9" * 30, b"1e999", b"NaN"),
        most=65536,
    )
)  # fmt: skip
