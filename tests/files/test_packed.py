"""Packed files: what is in them is there, bounded, and damage is said."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from ptttool.errors import InputError, OutputError
from ptttool.files.packed import unpack
from ptttool.files.packed.look import first_bytes

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "xz": lzma.compress,
    "gzip": gzip.compress,
    "zstd": lambda data: zstandard.ZstdCompressor(write_checksum=True).compress(data),
    "bzip2": bz2.compress,
}
CONTENT = b"PERFILE2" + bytes(range(256)) * 9000


def read(path: Path) -> unpack.Unpacked | None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return unpack.unpacked(descriptor, str(path))
    finally:
        os.close(descriptor)


def content_of(found: unpack.Unpacked) -> bytes:
    return os.pread(found.file.fileno(), 1 << 30, 0)


@pytest.mark.parametrize("kind", PACKERS)
def test_what_is_in_it(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "packed"
    path.write_bytes(PACKERS[kind](CONTENT))
    found = read(path)
    assert found is not None
    assert (found.kind, found.problem) == (kind, None)
    assert content_of(found) == CONTENT
    assert read(path) is found
    with path.open("rb") as file:
        assert first_bytes(file, 8) == b"PERFILE2"


@pytest.mark.parametrize("kind", PACKERS)
def test_one_behind_the_other(kind: str, tmp_path: Path) -> None:
    """As ``cat a.xz b.xz`` gives it."""
    path = tmp_path / "packed"
    path.write_bytes(PACKERS[kind](CONTENT[:1000]) + PACKERS[kind](CONTENT[1000:]))
    found = read(path)
    assert found is not None
    assert content_of(found) == CONTENT


@pytest.mark.parametrize("kind", PACKERS)
def test_a_cut_file_gives_what_is_there(kind: str, tmp_path: Path) -> None:
    noise = os.urandom(3 << 20)
    whole = PACKERS[kind](noise)
    path = tmp_path / "packed"
    path.write_bytes(whole[: len(whole) // 2])
    found = read(path)
    assert found is not None
    assert found.problem is not None
    held = content_of(found)
    assert noise.startswith(held)
    assert len(held) > 1 << 20 or kind == "bzip2"


@pytest.mark.parametrize("kind", PACKERS)
def test_damage_in_the_middle_is_said(kind: str, tmp_path: Path) -> None:
    whole = bytearray(PACKERS[kind](os.urandom(1 << 20)))
    whole[len(whole) // 2] ^= 0xFF
    path = tmp_path / "packed"
    path.write_bytes(whole)
    try:
        found = read(path)
    except InputError as error:
        assert error.code == "damaged-archive"
    else:
        assert found is not None
        assert found.problem is not None


def test_a_file_that_expands_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpack, "UNPACKED_FREE", 1 << 20)
    path = tmp_path / "bomb.zst"
    path.write_bytes(PACKERS["zstd"](bytes(64 << 20)))
    with pytest.raises(InputError) as raised:
        read(path)
    assert raised.value.code == "over-budget"


def test_a_disk_without_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpack, "LEFT_ON_DISK", 1 << 60)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    path = tmp_path / "packed"
    path.write_bytes(lzma.compress(CONTENT))
    with pytest.raises(OutputError) as raised:
        read(path)
    assert raised.value.code == "disk-full"
    monkeypatch.setenv("TMPDIR", str(tmp_path / "nowhere"))
    with pytest.raises(OutputError) as raised:
        read(path)
    assert raised.value.code == "cannot-write"
    assert [*tmp_path.iterdir()] == [path]


@pytest.mark.parametrize("kind", ["xz", "bzip2", "zstd", "gzip"])
def test_streams_with_nothing_in_them_end_it(kind: str, tmp_path: Path) -> None:
    """A few are of packers that work in parallel; of more, what came before is given."""
    path, empty, whole = tmp_path / "packed", PACKERS[kind](b""), PACKERS[kind](b"before")
    path.write_bytes(whole + empty * 1000 + whole)
    few = read(path)
    assert few is not None
    assert (content_of(few), few.problem) == (b"beforebefore", None)
    path.write_bytes(whole + empty * 10_000 + whole)
    many = read(path)
    assert many is not None
    assert content_of(many) == b"before"
    assert many.problem is not None


@pytest.mark.parametrize("head", [b"\xfd7zXZ\0", b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"BZh"])
def test_nothing_but_a_beginning(head: bytes, tmp_path: Path) -> None:
    path = tmp_path / "packed"
    path.write_bytes(head + b"no such thing")
    with pytest.raises(InputError) as raised:
        read(path)
    assert raised.value.code == "damaged-archive"


def test_a_file_that_is_not_packed(tmp_path: Path) -> None:
    path = tmp_path / "plain"
    path.write_bytes(CONTENT)
    assert read(path) is None
