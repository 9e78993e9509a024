from __future__ import annotations

from ptttool.machine.sources.recorded import parse_export_db


def test_blocks_and_properties() -> None:
    text = "P: /devices/a\nM: a\nE: DEVPATH=/devices/a\nE: NAME=x=y\n\nP: /devices/b\nN: b\nE: SUBSYSTEM=net\n"
    assert parse_export_db(text) == {"/sys/devices/a": {"DEVPATH": "/devices/a", "NAME": "x=y"}, "/sys/devices/b": {"SUBSYSTEM": "net"}}


def test_whatever_else_is_passed_over() -> None:
    assert parse_export_db("") == {}
    assert parse_export_db("root:x:0:0:\nE: STRAY=1\n\nP: relative\nE: A=1\n\nP: /a\nE: no equals sign\nE: B=\n") == {"/sys/a": {"B": ""}}
