"""Parameters: what may be written, in options and in files, and what an error says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from ptttool.decoders.parameters import Given, Parameter, Type, parse_options, read_file, settle
from ptttool.errors import InputError, UsageError

WIDTH = Parameter(name="width", type=Type.INT, meaning="bits", default=32, minimum=1, maximum=64)
SOME = (
    WIDTH,
    Parameter(name="full", type=Type.BOOL, meaning="all of it", default=False),
    Parameter(name="version", type=Type.CHOICE, meaning="of the specification", default="2.0", choices=("2019", "2.0")),
    Parameter(name="must", type=Type.INT, meaning="no default"),
    Parameter(name="may", type=Type.TEXT, meaning="or not", optional=True),
    Parameter(name="comparators_p", type=Type.INT, meaning="of the encoder alone", used=False),
)


def settled(**given: str) -> Mapping[str, object]:
    return settle(SOME, {name: Given(text, "-p") for name, text in given.items()}, "toy")


def test_defaults() -> None:
    assert settled(must="3") == {"width": 32, "full": False, "version": "2.0", "must": 3, "may": None}


@pytest.mark.parametrize(("text", "value"), [("10", 10), ("0x10", 16), ("0b11", 3), (" 8 ", 8), ("1_0", 10), ("010", 10), ("+7", 7)])
def test_numbers(text: str, value: int) -> None:
    assert settled(must="0", width=text)["width"] == value


@pytest.mark.parametrize("text", ["", "x", "0", "65", "-1", "1.5", "0x", "0x_", "1__0", "1_", "_1", "10 20", "９", "1" * 5000])
def test_numbers_that_cannot_be(text: str) -> None:
    with pytest.raises(UsageError, match="width=") as caught:
        settled(must="0", width=text)
    assert "1 to 64" in str(caught.value.hint)


def test_words() -> None:
    assert settled(must="0", full="YES", version="2019")["full"] is True
    assert settled(must="0", full="0")["full"] is False
    for name, text in (("full", "2"), ("version", "3")):
        with pytest.raises(UsageError, match=name):
            settled(must="0", **{name: text})


def test_missing_and_unknown_ones_are_named() -> None:
    with pytest.raises(UsageError) as caught:
        settled()
    assert caught.value.code == "missing-parameter"
    assert caught.value.details["parameters"] == ["must"]
    with pytest.raises(UsageError) as caught:
        settled(must="0", widht="3")
    assert caught.value.code == "unknown-parameter"
    assert "widht" in caught.value.message
    assert "width" in str(caught.value.hint)


def test_what_decoding_does_not_need_is_no_error() -> None:
    assert "comparators_p" not in settled(must="0", comparators_p="whatever")


def test_options() -> None:
    assert parse_options(["a=1", "b=x=y", "a=2"]) == {"a": Given("2", "-p"), "b": Given("x=y", "-p")}
    for word in ("a", "=1"):
        with pytest.raises(UsageError) as caught:
            parse_options([word])
        assert caught.value.code == "bad-parameter"


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text(
        "\ufeff# remark\n[unit]  # heading\na=1\n b = \"x # y\" # remark\nc = 'z'\n\n; remark\n// remark\nd=0x10 ; remark\ne =\n"
    )
    found = {name: given.text for name, given in read_file(path).items()}
    assert found == {"a": "1", "b": "x # y", "c": "z", "d": "0x10", "e": ""}
    assert read_file(path)["d"].where == f"{path}: line 9"


@pytest.mark.parametrize(
    ("content", "code", "detail"),
    [
        (b"\na 1\n", "bad-parameter-file", "line 2"),
        (b"a\xff\xfe", InputError.code, "0x1"),
        (b"\n" * (1 << 20) + b"a=1", "over-budget", ""),
        (b"a" + b" " * (1 << 19) + b"x\n", "bad-parameter-file", "line 1"),
    ],
)
def test_files_that_cannot_be(tmp_path: Path, content: bytes, code: str, detail: str) -> None:
    path = tmp_path / "x.scf"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_file(path)
    assert caught.value.code == code
    assert detail in str(caught.value)


def test_long_lines_of_blanks(tmp_path: Path) -> None:
    path = tmp_path / "x.scf"
    path.write_bytes(b"a =" + b" " * (1 << 19) + b"x" + b" " * (1 << 18) + b"y # z\n")
    assert read_file(path)["a"].text.split() == ["x", "y"]


def test_a_name_twice(tmp_path: Path) -> None:
    path = tmp_path / "x.scf"
    path.write_text("a=1\na=1\n")
    assert read_file(path)["a"].text == "1"
    path.write_text("a=1\na=2\n")
    with pytest.raises(UsageError, match="line 2: a") as caught:
        read_file(path)
    assert caught.value.code == "bad-parameter"


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_file(tmp_path / "none")


def test_a_path_with_a_zero_byte() -> None:
    """Another file can name it."""
    with pytest.raises(InputError) as caught:
        read_file("a\0b")
    assert caught.value.code == "bad-path"
