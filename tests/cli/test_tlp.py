"""``ptttool tlp``: words to fields, as typed or pasted from a log."""

from __future__ import annotations

import json

import pytest

from ptttool.cli.main import main
from ptttool.tlp.log import parse_log

MWR = [0x60000001, 0x01001E0F, 0x00000004, 0x02810040]


@pytest.mark.parametrize(
    "texts",
    [
        ["60000001", "01001e0f", "00000004", "02810040"],
        ["0x60000001", "0x1001E0F", "4", "0x2810040"],
        ["60000001 01001e0f 00000004 02810040"],
        ["60000001,01001e0f,", "00000004,02810040"],
        ["pcieport 0000:00:10.0: AER:   TLP Header: 60000001 01001e0f 00000004 02810040"],
        ["[   12.34] nvme 0000:01:00.0:   TLP Header: 60000001 01001e0f 00000004 02810040"],
        ["HeaderLog:", "60000001", "01001e0f", "00000004", "02810040"],
    ],
)
def test_words(texts: list[str]) -> None:
    assert parse_log(" ".join(texts)) == (MWR, [])


def test_fields_are_shown_with_their_meaning(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tlp", "60000001 01001e0f 00000004 02810040"]) == 0
    said = capsys.readouterr()
    shown = dict(line.split(None, 1) for line in said.out.splitlines())
    assert shown["kind"] == "MWr"
    assert shown["requester"] == "01:00.0"
    assert shown["tag"] == "30"
    assert shown["address"] == "0x402810040"
    assert shown["first_be"] == "0xf  (4 of 4 bytes enabled)"
    assert said.err == ""


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tlp", "--json", "4a000001", "00800004", "01001e40"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["words"] == ["0x4a000001", "0x00800004", "0x01001e40"]
    assert document["fields"]["kind"] == "CplD"
    assert document["fields"]["completer"] == 0x80
    assert document["fields"]["requester"] == 0x100


def test_pattern_and_prefix(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tlp", "--pattern", "v1", "--prefix", "91000123", "--json", "20000001", "01001e0f", "00030004", "02810040"]) == 0
    fields = json.loads(capsys.readouterr().out)["fields"]
    assert fields["prefix"] == 0x91000123
    assert fields["tag"] == 3 << 10 | 0x1E
    assert fields["address"] == 0x402810040


def test_lines_of_newer_kernels(capsys: pytest.CaptureFixture[str]) -> None:
    line = "TLP Header: 0x60000001 0x01001e0f 0x00000004 0x02810040 E-E Prefixes: 0x91000001"
    assert main(["tlp", "--json", line]) == 0
    assert json.loads(capsys.readouterr().out)["prefix"] == "0x91000001"
    assert main(["tlp", "TLP Header (Flit): 0x60000001 0x01001e0f 0x00000004 0x02810040", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "flit-header"


def test_what_is_odd_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["tlp", "00000001", "010000ff", "00001000"]
    assert main(arguments) == 0
    assert capsys.readouterr().err.count("ptttool: warning: ") == 1
    assert main([*arguments, "--json"]) == 0
    assert [each["code"] for each in json.loads(capsys.readouterr().out)["diagnostics"]] == ["last-be"]
    assert main(["tlp", "0", "0", "0", "0"]) == 0
    assert "AER log" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [["zz", "1", "2"], ["1", "2"], ["1"] * 5, ["123456789", "1", "2"], [""], ["60000001", "1", "2"], ["--pattern", "v9", "1", "2", "3"]],
)
def test_what_is_no_header(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    assert main(["tlp", *words]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("ptttool: error: ")
