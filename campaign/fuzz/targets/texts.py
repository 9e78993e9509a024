"""Texts of the command line: events, conditions, TLP headers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from campaign.fuzz.targets.contract import Target, add


def text_of(data: bytes) -> str:
    """Decode an argument as Python decodes those of a process; it ends at a NUL."""
    return data.split(b"\0")[0].decode("utf-8", "surrogateescape")


def event_seeds() -> Iterator[bytes]:
    """Make events and configs."""
    yield b"hisi_ptt0_2/filter=0x80100,type=7,direction=2,format=1/"
    yield b"-e 'hisi_ptt0_0/filter=0x00700,type=1/'"
    yield b"0x107280001"
    yield b"config=0x1,config1=2"


def run_event(data: bytes, _place: Path) -> None:
    """Explain an event."""
    from ptttool.api.capture import explain_event

    text = text_of(data)
    if text.strip() != "-" and not Path(text.strip()[:200]).exists():
        explain_event(text)


def condition_seeds() -> Iterator[bytes]:
    """Make conditions on TLPs."""
    yield b"kind = 'MRd' AND requester = '01:00.0' AND length BETWEEN 4 AND 0x10"
    yield b"address & 0xfff = 0 OR (tag >> 3) XOR 1 > 2 AND NOT status IS NULL"
    yield b"CASE WHEN abs(index - 5) < 3 THEN kind ELSE 'x' END LIKE 'M%' ESCAPE '!'"
    yield b"coalesce(tag, 1)::bigint IN (1, 2, 3) AND CAST(length AS double) / 2 >= 1.5e0"


@cache
def tlps() -> Any:
    """Make a small recording and return its path."""
    import atexit
    import tempfile

    from campaign.fuzz.targets.recordings import small_recording

    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    path = Path(folder.name) / "perf.data"
    path.write_bytes(small_recording())
    return path


def run_condition(data: bytes, _place: Path) -> None:
    """Choose rows by a condition."""
    import ptttool

    with ptttool.open(tlps()) as recording:
        recording.to_polars(["index"], where=text_of(data))


def header_seeds() -> Iterator[bytes]:
    """Make headers as they stand in logs."""
    yield b"TLP Header: 40000001 0000000f 00000000 00000000"
    yield b"60000001 010000ff 00000001 23456780"
    yield b"HeaderLog: 4a000001 01000004 00000000 12345678"
    yield b"34000000 01000050 00000000 00000000"


def run_header(data: bytes, _place: Path) -> None:
    """Decode a TLP header."""
    from ptttool.documents import to_json
    from ptttool.tlp.header import decode_header
    from ptttool.tlp.log import parse_log

    logged = parse_log(text_of(data))
    for pattern in (0, 1):
        header = decode_header(logged.words, pattern=pattern, prefix=logged.prefixes[0] if logged.prefixes else None)
        list(header.texts())
        to_json(header)


def argument(*words: str) -> Any:
    """Make a command whose last argument is the input."""
    return lambda data, _place: [*words, "--", text_of(data)] if text_of(data) not in ("-", "") else None


def condition_command(data: bytes, _place: Path) -> list[str]:
    """Decode with a condition."""
    return ["decode", str(tlps()), "--to", "csv", f"--where={text_of(data)}"]


EVENT_WORDS = (b"filter=", b"hisi_ptt0_0/", b"type=", b"config", b",", b"/")
CONDITION_WORDS = tuple(b" AND | OR |NOT |(|)|abs(|::bigint| IN (| BETWEEN |CASE WHEN | LIKE |'|index|<<".split(b"|"))
HEADER_WORDS = (b"TLP Header: ", b"ffffffff ", b"00000000 ", b"Prefix")
add(Target("event", event_seeds, run_event, argument("explain", "--demo"), EVENT_WORDS, 512))
add(Target("condition", condition_seeds, run_condition, condition_command, CONDITION_WORDS, 1024))
add(Target("tlp-header", header_seeds, run_header, argument("tlp"), HEADER_WORDS, 512))
