"""Names and values of tune attributes, as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptttool.errors import DeviceError, UsageError
from ptttool.tune.attributes import (
    ALIASES,
    MEANINGS,
    UNCERTAIN,
    clamped_value,
    find_attribute,
    is_clamped,
    meaning,
    parse_assignments,
    resolve_attributes,
    stored_value,
    value_problem,
)

DEVICE = "hisi_ptt0_0"
NAMES = sorted(MEANINGS)


def parse(*texts: str) -> dict[str, int]:
    return {attribute: stored_value(asked) for attribute, asked in parse_assignments(DEVICE, NAMES, texts).items()}


@pytest.mark.parametrize(
    ("text", "value", "clamped"),
    [
        ("0", 0, False),
        ("1", 1, False),
        ("2", 2, False),
        ("3", 2, True),
        ("02", 2, False),
        ("00", 0, False),
        ("010", 2, True),
        ("65535", 2, True),
        ("65536", 2, True),
        ("70000", 2, True),
        ("99999999999999999999", 2, True),
        ("1" + "0" * 10000, 2, True),
        ("0" * 10000 + "1", 1, False),
    ],
)
def test_values(text: str, value: int, clamped: bool) -> None:
    assert parse_assignments(DEVICE, NAMES, [f"qos_tx_p={text}"]) == {"qos_tx_p": text}
    assert (stored_value(text), is_clamped(text)) == (value, clamped)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no value"),
        ("-1", "negative"),
        ("-0", "negative"),
        ("0x1", "hexadecimal"),
        ("0X", "hexadecimal"),
        ("abc", "not a decimal number"),
        ("1.5", "not a decimal number"),
        ("1e0", "not a decimal number"),
        ("+1", "not a decimal number"),
        (" 1", "not a decimal number"),
        ("1 ", "not a decimal number"),
        ("1\n", "not a decimal number"),
        ("1_0", "not a decimal number"),
        ("²", "not a decimal number"),
        ("٢", "not a decimal number"),
        ("2=2", "not a decimal number"),
    ],
)
def test_wrong_values(text: str, reason: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(f"qos_tx_p={text}")
    assert caught.value.details["problems"] == {f"qos_tx_p={text}": reason}


@given(st.text())
def test_only_plain_digits_are_values(text: str) -> None:
    assert (value_problem(text) is None) == (text != "" and set(text) <= set("0123456789"))


def test_every_wrong_assignment_is_named() -> None:
    with pytest.raises(UsageError) as caught:
        parse("qos_tx_cpl=1", "qos_tx_p=-1", "qos_tx_q=1", "nothing", "=2", "x=y", "qos_tx_np=1", "qos_tx_np=2")
    assert caught.value.details["problems"] == {
        "qos_tx_p=-1": "negative",
        "qos_tx_q=1": "no such attribute",
        "nothing": "not ATTRIBUTE=VALUE",
        "=2": "not ATTRIBUTE=VALUE",
        "x=y": "no such attribute, not a decimal number",
        "qos_tx_np=2": "qos_tx_np is also to be 1",
    }
    for text in caught.value.details["problems"]:
        assert repr(text) in caught.value.message
    assert "qos_tx_p" in (caught.value.hint or "")


def test_an_attribute_twice() -> None:
    assert parse("qos_tx_p=1", "qos_tx_p=1") == {"qos_tx_p": 1}
    assert parse("qos_tx_p=7", "qos_tx_p=2") == {"qos_tx_p": 2}
    with pytest.raises(UsageError) as caught:
        parse("rx_alloc_buf_level=1", "tx_path_rx_req_alloc_buf_level=2")
    assert list(caught.value.details["problems"]) == ["tx_path_rx_req_alloc_buf_level=2"]


@pytest.mark.parametrize(("long", "short"), ALIASES.items())
def test_aliases_work_both_ways(long: str, short: str) -> None:
    assert find_attribute([short], long) == short
    assert find_attribute([long], short) == long
    assert find_attribute([long, short], long) == long
    assert find_attribute([long, short], short) == short
    assert find_attribute(["qos_tx_p"], long) is None
    assert meaning(long) == meaning(short) is not None


def test_the_documents_uncertain_name_is_explained_and_not_guessed_at() -> None:
    with pytest.raises(UsageError) as caught:
        resolve_attributes(DEVICE, NAMES, ["qos_tx_dp"])
    assert caught.value.details["unknown"] == {"qos_tx_dp": []}
    assert caught.value.hint == UNCERTAIN["qos_tx_dp"]
    assert resolve_attributes(DEVICE, [*NAMES, "qos_tx_dp"], ["qos_tx_dp"]) == ["qos_tx_dp"]


def test_unknown_attributes() -> None:
    with pytest.raises(UsageError) as caught:
        resolve_attributes(DEVICE, NAMES, ["qos", "qos_tx_p", "QOS_TX_P"])
    assert caught.value.code == "unknown-attribute"
    assert caught.value.details["unknown"]["QOS_TX_P"][0] == "qos_tx_p"
    assert list(caught.value.details["unknown"]) == ["qos", "QOS_TX_P"]
    assert meaning("new_attribute") is None


def test_a_device_without_attributes() -> None:
    with pytest.raises(DeviceError) as caught:
        resolve_attributes(DEVICE, [], [])
    assert caught.value.code == "no-tune-attributes"
    with pytest.raises(DeviceError):
        parse_assignments(DEVICE, [], ["qos_tx_p=1"])


@pytest.mark.parametrize(
    ("asked", "accepted"), [("3", True), ("65535", True), ("010", True), ("65536", False), ("70000", False), ("9" * 30, False)]
)
def test_a_clamped_value_says_what_the_driver_would_do(asked: str, accepted: bool) -> None:
    found = clamped_value("qos_tx_p", asked)
    assert (found.code, found.details["taken"], found.details["driver_accepts"]) == ("clamped-value", 2, accepted)
    assert ("decimal, so 10)" in found.message) == (asked == "010")
    assert len(found.message) < 160
