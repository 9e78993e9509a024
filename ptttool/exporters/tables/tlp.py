"""TLPs as lines for people: one line each."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from ptttool.exporters.tables.columns import Cell, TableLayout, aligned
from ptttool.machine.details.registers import NamedRegisters
from ptttool.machine.model import Machine
from ptttool.machine.topology import kernel_names_by_id
from ptttool.pci import format_id
from ptttool.table.text import hex_text, id_text
from ptttool.tlp import codes
from ptttool.tlp.columns import DW_COLUMNS
from ptttool.wording import clean

# What the line of a TLP is made of.
LINE_COLUMNS = (
    "index", "time", "kind", "class", "direction", "length_dw", "payload_bytes", "requested_bytes", "requester", "completer", "tag",
    "address", "first_be", "last_be", "destination", "register", "status", "byte_count", "lower_address", "message", "th", "ep", "ph",
    "st", "prefix", *DW_COLUMNS,
)  # fmt: skip
_AS_THEY_ARE = (
    "index", "time", "kind", "class", "direction", "length_dw", "payload_bytes", "requested_bytes", "tag", "byte_count", "lower_address",
    "status", "th", "ep", "ph", "first_be", "last_be",
)  # fmt: skip
# Widths of terminals from which on a line has its number, its tag, its direction, the names of devices.
WITH_INDEX, WITH_TAG, WITH_DIRECTION, WITH_NAMES = 70, 60, 74, 80
_BOLD, _RED, _PLAIN = "\x1b[1m", "\x1b[31m", "\x1b[0m"
_SUCCESS = "SC"
# ERR_COR, ERR_NONFATAL, ERR_FATAL.
_ERROR_MESSAGES = [0x30, 0x31, 0x33]
_MEMORY_REQUESTS = ("MRd", "MRdLk", "MWr", "DMWr", "FetchAdd", "Swap", "CAS")
_DIRECTIONS = {"inbound": "in", "outbound": "out", "unknown": "?"}


class TlpLayout(TableLayout):
    """One line a TLP.

    Parameters
    ----------
    machine : Machine or None
        For names of requesters; names must be safe for a terminal.
    width : int or None
        Columns of the terminal; None for a pipe, where nothing is left out or cut.
    dws : bool
        Whether the header DWs are shown, too.
    files : sequence of str
        The recordings, where there are several: each line has its own.
    coloured : bool
        Whether the header is bold and lines of errors are red, by escape sequences.
    """

    def __init__(
        self, machine: Machine | None, width: int | None, *, dws: bool = False, files: Sequence[str] = (), coloured: bool = False
    ) -> None:
        self._coloured = coloured
        self._files = files
        self._machine = machine
        self._registers = None if machine is None else NamedRegisters(machine)
        self._width = width
        self._dws = dws

    def table(self, frame: pl.DataFrame) -> tuple[str, pl.Series]:
        """Return the header line and the lines of TLPs; `frame` has :data:`LINE_COLUMNS`, and ``file`` where there are several."""
        prepared = pl.DataFrame(
            [
                *(frame.get_column(name) for name in _AS_THEY_ARE),
                *(id_text(frame.get_column(name)) for name in ("completer", "destination")),
                *(hex_text(frame.get_column(name)) for name in ("address", "register", "st", "prefix", *DW_COLUMNS)),
                _names(frame.get_column("requester"), self._machine if self._width is None or self._width >= WITH_NAMES else None),
                _messages().gather(frame.get_column("message").cast(pl.UInt32)).alias("message"),
                register_names(frame, self._registers),
            ]
        )
        cells = [
            Cell("index", pl.col("index"), 8, right=True),
            Cell("time", pl.col("time"), 10, right=True),
            Cell("dir", pl.col("direction").cast(pl.String).replace(_DIRECTIONS), 3),
            Cell("kind", pl.col("kind").cast(pl.String), 8),
            Cell("requester", pl.col("requester"), 9 if self._machine is None else _longest_name(self._machine)),
            Cell("tag", pl.col("tag"), 5, right=True),
            Cell("bytes", _bytes(), 5, right=True),
            Cell("target", _target(), 18),
            Cell("details", _details(), 0),
        ]
        if self._dws:
            digits = [pl.col(name).str.slice(2).str.pad_start(8, "0") for name in DW_COLUMNS]
            cells[-1:-1] = [Cell("header DWs", pl.concat_str(digits, separator=" "), 35)]
        if self._files:
            prepared = prepared.with_columns(
                frame.get_column("file").cast(pl.String).replace(self._files, [clean(name) for name in self._files])
            )
            cells.insert(0, Cell("file", pl.col("file"), max(map(len, self._files))))
        if self._width is not None:
            gone = {title for title, least in (("index", WITH_INDEX), ("tag", WITH_TAG), ("dir", WITH_DIRECTION)) if self._width < least}
            cells = [cell for cell in cells if cell.title not in gone]
        header, lines = aligned(prepared, cells, self._width)
        if self._coloured:
            header = f"{_BOLD}{header}{_PLAIN}"
            lines = pl.select(pl.when(are_errors(frame)).then(_RED + lines + _PLAIN).otherwise(lines)).to_series()
        return header, lines


def are_errors(frame: pl.DataFrame) -> pl.Series:
    """Return which TLPs are completions without success, poisoned, or messages of an error."""
    status = frame.get_column("status").cast(pl.String).fill_null(_SUCCESS) != _SUCCESS
    poisoned = frame.get_column("ep").fill_null(0).cast(pl.Int64) != 0
    return status | poisoned | frame.get_column("message").is_in(_ERROR_MESSAGES).fill_null(value=False)


def _names(requesters: pl.Series, machine: Machine | None) -> pl.Series:
    """Format requester IDs, each followed by the kernel's name if there is one."""
    text = id_text(requesters)
    named = {format_id(number): f"{format_id(number)} {name}" for number, name in kernel_names_by_id(machine).items()}
    return text.replace(list(named), list(named.values())) if named else text


def register_names(frame: pl.DataFrame, registers: NamedRegisters | None) -> pl.Series:
    """Return the names of the registers that outbound memory requests address; null for all others."""
    limits = None if registers is None else registers.limits
    if registers is None or limits is None:
        return pl.Series("register name", [None] * frame.height, dtype=pl.String)
    kinds, addresses = frame.get_column("kind").cast(pl.String), frame.get_column("address")
    is_request = (
        kinds.is_in(_MEMORY_REQUESTS) & (frame.get_column("direction").cast(pl.String) == "outbound") & addresses.is_between(*limits)
    )
    found = [(address, registers.name(address)) for address in addresses.filter(is_request).unique().to_list()]
    named = {address: name for address, name in found if name is not None}
    texts = addresses.replace_strict(list(named), list(named.values()), default=None, return_dtype=pl.String)
    return pl.select(pl.when(is_request).then(texts)).to_series().alias("register name")


def _longest_name(machine: Machine) -> int:
    return max([9, *(8 + len(function.kernel_names[0]) for function in machine.functions.values() if function.kernel_names)])


def _messages() -> pl.Series:
    """Name Message Codes by their values; unknown codes are numbers."""
    return pl.Series([codes.message_name(code) if code in codes.MESSAGES else f"message {code:#04x}" for code in range(256)])


def _bytes() -> pl.Expr:
    """Describe what a TLP carries or, for a read, asks for."""
    asks = (pl.col("class") == "NP") & (pl.col("payload_bytes") == 0)
    return pl.when(asks).then(pl.col("requested_bytes")).otherwise(pl.col("payload_bytes"))


def _target() -> pl.Expr:
    """Address, register, completer or message; the raw words of what is Unknown, as ``ptttool tlp`` takes them."""
    words = pl.concat_str([pl.lit("words"), *(pl.col(name).str.slice(2).str.zfill(8) for name in DW_COLUMNS)], separator=" ")
    return (
        pl.when(pl.col("kind") == "Unknown")
        .then(words)
        .when(pl.col("register").is_not_null())
        .then(pl.concat_str("destination", pl.lit(" reg "), "register"))
        .when(pl.col("completer").is_not_null())
        .then(pl.concat_str(pl.lit("by "), "completer"))
        .when(pl.col("message").is_not_null())
        .then(pl.concat_str(["message", pl.lit("to ") + pl.col("destination")], separator=" ", ignore_nulls=True))
        .otherwise(pl.col("address"))
    )


def _details() -> pl.Expr:
    """List what else is notable: the register, status, bytes that are still to come, partial byte enables, hints, poison, a prefix."""
    # The Byte Count holds the bytes of this completion, too, and its first DW may begin with bytes that were not asked for.
    carried = pl.col("payload_bytes").cast(pl.Int32) - (pl.col("lower_address") % 4).cast(pl.Int32)
    left = pl.col("byte_count").cast(pl.Int32) - carried
    to_come = (
        pl.when(left > 0).then(pl.concat_str([pl.lit(", "), left.cast(pl.String), pl.lit(" bytes to come")])).otherwise(pl.lit(", last"))
    )
    has_data = (pl.col("status") == "SC") & (pl.col("payload_bytes") > 0)
    status = pl.when(pl.col("status").is_not_null()).then(
        pl.concat_str([pl.col("status").cast(pl.String), pl.when(has_data).then(to_come).otherwise(pl.lit(""))])
    )
    partial = (pl.col("first_be") != 0xF) | ((pl.col("length_dw") > 1) & (pl.col("last_be") != 0xF))
    enables = pl.when(partial & (pl.col("class").is_not_null())).then(
        pl.concat_str([pl.lit("BE "), _binary("last_be"), pl.lit(" "), _binary("first_be")])
    )
    hint = pl.when(pl.col("th") == 1).then(
        pl.concat_str([pl.lit("TH"), pl.lit(" ST ") + pl.col("st"), pl.lit(" PH ") + pl.col("ph").cast(pl.String)], ignore_nulls=True)
    )
    poison = pl.when(pl.col("ep") == 1).then(pl.lit("poisoned"))
    prefix = pl.lit("prefix ") + pl.col("prefix")
    return pl.concat_str([pl.col("register name"), status, enables, hint, poison, prefix], separator=", ", ignore_nulls=True)


def _binary(name: str) -> pl.Expr:
    """Four bits as digits."""
    bits = [((pl.col(name) // (1 << place)) % 2).cast(pl.String) for place in (3, 2, 1, 0)]
    return pl.concat_str(bits)
