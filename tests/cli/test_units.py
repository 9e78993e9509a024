"""Durations and sizes as people type them."""

from __future__ import annotations

import pytest

from ptttool.cli.options.units import parse_duration, parse_size
from ptttool.errors import UsageError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10", 10),
        ("1.5s", 1.5),
        (" 500ms ", 0.5),
        ("2m", 120),
        (".5", 0.5),
        ("1h", 3600),
        ("2 s", 2),
        ("10min", 600),
        ("2 Minutes", 120),
        ("1hr", 3600),
    ],
)
def test_duration(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "0", "-1", "1d", "abc", "1e3", "inf", "nan", "0.0001", "99999h", "1,5", "s", "1 2", "10 parsecs"])
def test_no_duration(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_duration(text)
    assert caught.value.code == "bad-duration"


@pytest.mark.parametrize(
    ("text", "size"),
    [("64M", 64 << 20), ("64m", 64 << 20), ("64MiB", 64 << 20), ("16384K", 16 << 20), ("1G", 1 << 30), ("0.5G", 512 << 20),
     ("67108864", 64 << 20)],
)  # fmt: skip
def test_size(text: str, size: int) -> None:
    assert parse_size(text, "--aux-size") == size


@pytest.mark.parametrize("text", ["", "0", "-16M", "64X", "M", "0.3", "1e9", "99999999999G"])
def test_no_size(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_size(text, "--aux-size")
    assert caught.value.code == "bad-size"


@pytest.mark.parametrize("text", ["٣", "9" * 400, "1_0"])
def test_digits_are_plain_and_few(text: str) -> None:
    with pytest.raises(UsageError):
        parse_duration(text)
    with pytest.raises(UsageError):
        parse_size(text, "--aux-size")
