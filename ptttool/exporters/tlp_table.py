"""TLPs as lines for people: one line each, made column by column for whole frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from ptttool.machine.model import Machine
from ptttool.machine.topology import functions_by_id
from ptttool.pci import format_id
from ptttool.table.text import as_shown, hex_text, id_text
from ptttool.tlp import codes
from ptttool.tlp.columns import BY_NAME, ENUMS, WORD_COLUMNS

# What the line of a TLP is made of.
LINE_COLUMNS = (
    "index", "time", "kind", "class", "length_dw", "payload_bytes", "requester", "completer", "tag", "address", "first_be", "last_be",
    "destination", "register", "status", "byte_count", "lower_address", "message", "th", "ep", "ph", "st", "prefix", *WORD_COLUMNS,
)  # fmt: skip
# Widths of terminals from which on a line has its number, its tag, the names of devices.
WITH_INDEX, WITH_TAG, WITH_NAMES = 70, 60, 76
_DIGITS = {"u8": 3, "u16": 5, "u32": 10, "u64": 12, "i32": 5}
_HEX_DIGITS = {"u8": 4, "u16": 6, "u32": 10, "u64": 18}


@dataclass(frozen=True)
class _Cell:
    """One column of the lines. ``width``: at least; ``right``: numbers."""

    title: str
    text: pl.Expr
    width: int
    right: bool = False


def tlp_lines(frame: pl.DataFrame, machine: Machine | None, width: int | None, *, words: bool = False) -> tuple[str, pl.Series]:
    """Headline and lines of TLPs. ``frame``: with :data:`LINE_COLUMNS`. ``machine``: for names, which are shown as they are.
    ``width``: of the terminal, None for a pipe, where nothing is left out or cut. ``words``: the header words, too."""
    prepared = pl.DataFrame(
        [
            *(frame.get_column(name) for name in ("index", "time", "kind", "class", "length_dw", "payload_bytes", "tag", "byte_count")),
            *(frame.get_column(name) for name in ("status", "th", "ep", "ph", "first_be", "last_be")),
            *(id_text(frame.get_column(name)) for name in ("completer", "destination")),
            *(hex_text(frame.get_column(name)) for name in ("address", "register", "st", "prefix", *WORD_COLUMNS)),
            _names(frame.get_column("requester"), machine if width is None or width >= WITH_NAMES else None),
            _messages().gather(frame.get_column("message").cast(pl.UInt32)).alias("message"),
        ]
    )
    cells = [
        _Cell("index", pl.col("index"), 8, right=True),
        _Cell("time", pl.col("time"), 10, right=True),
        _Cell("kind", pl.col("kind").cast(pl.String), 8),
        _Cell("requester", pl.col("requester"), 9 if machine is None else _longest_name(machine)),
        _Cell("tag", pl.col("tag"), 5, right=True),
        _Cell("bytes", _bytes(), 5, right=True),
        _Cell("target", _target(), 18),
        _Cell("details", _details(), 0),
    ]
    if words:
        digits = [pl.col(name).str.slice(2).str.pad_start(8, "0") for name in WORD_COLUMNS]
        cells[-1:-1] = [_Cell("header words", pl.concat_str(digits, separator=" "), 35)]
    if width is not None:
        gone = {title for title, least in (("index", WITH_INDEX), ("tag", WITH_TAG)) if width < least}
        cells = [cell for cell in cells if cell.title not in gone]
    return _lines(prepared, cells, width)


def column_lines(frame: pl.DataFrame, width: int | None) -> tuple[str, pl.Series]:
    """Headline and lines of a frame with columns of :mod:`ptttool.tlp.columns`, as they are."""
    text = as_shown(frame)
    cells = [_Cell(name, pl.col(name).cast(pl.String), _width(name), right=BY_NAME[name].style == "int") for name in frame.columns]
    return _lines(text, cells, width)


def _width(name: str) -> int:
    column = BY_NAME[name]
    match column.style:
        case "enum":
            return max(map(len, ENUMS[name]))
        case "id":
            return 7
        case "hex":
            return _HEX_DIGITS[column.dtype]
        case _:
            return _DIGITS[column.dtype]


def _lines(frame: pl.DataFrame, cells: Sequence[_Cell], width: int | None) -> tuple[str, pl.Series]:
    """``width``: of a terminal, which shows a page: columns are as wide as it needs. In a pipe all frames have the same widths."""
    shown = frame.select(cell.text.cast(pl.String).fill_null("").alias(f"{number}") for number, cell in enumerate(cells))
    texts, titles = [], []
    for number, cell in enumerate(cells):
        wide = cell.width if width is None else shown.select(pl.col(f"{number}").str.len_chars().max().fill_null(0)).item()
        wide = max(wide, len(cell.title))
        text = pl.col(f"{number}")
        texts.append(text.str.pad_start(wide) if cell.right else text.str.pad_end(wide))
        titles.append(cell.title.rjust(wide) if cell.right else cell.title.ljust(wide))
    line = pl.concat_str(texts, separator="  ").str.strip_chars_end()
    head = "  ".join(titles).rstrip()
    if width is not None:
        line = pl.when(line.str.len_chars() > width).then(line.str.slice(0, width - 1) + "…").otherwise(line)
        head = head[:width]
    return head, shown.select(line.alias("line")).to_series()


def _names(requesters: pl.Series, machine: Machine | None) -> pl.Series:
    """Requester IDs, with the kernel's name behind where there is one."""
    text = id_text(requesters)
    if machine is None:
        return text
    named = {
        format_id(routing_id): f"{format_id(routing_id)} {function.kernel_names[0]}"
        for routing_id, function in functions_by_id(machine).items()
        if function.kernel_names
    }
    return text.replace(list(named), list(named.values())) if named else text


def _longest_name(machine: Machine) -> int:
    return max([9, *(8 + len(function.kernel_names[0]) for function in machine.functions.values() if function.kernel_names)])


def _messages() -> pl.Series:
    """What a Message Code is called, by its value; codes that nobody named as numbers."""
    return pl.Series([codes.message_name(code) if code in codes.MESSAGES else f"message {code:#04x}" for code in range(256)])


def _bytes() -> pl.Expr:
    """What a TLP carries, or, for a read, asks for."""
    asks = pl.col("kind").is_in(["MRd", "MRdLk", "IORd", "CfgRd0", "CfgRd1", "TCfgRd"])
    return pl.when(asks).then(pl.col("length_dw").cast(pl.UInt32) * 4).otherwise(pl.col("payload_bytes").cast(pl.UInt32))


def _target() -> pl.Expr:
    """Address, register, completer or message; the raw words of what is Unknown, as ``ptttool tlp`` takes them."""
    words = pl.concat_str([pl.lit("words"), *(pl.col(name).str.slice(2).str.zfill(8) for name in WORD_COLUMNS)], separator=" ")
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
    """What else deserves a look: status and bytes left, partial byte enables, hints, poison, a prefix."""
    status = pl.when(pl.col("status").is_not_null()).then(
        pl.concat_str([pl.col("status").cast(pl.String), pl.lit(" "), pl.col("byte_count").cast(pl.String), pl.lit(" left")])
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
    return pl.concat_str([status, enables, hint, poison, prefix], separator=", ", ignore_nulls=True)


def _binary(name: str) -> pl.Expr:
    """Four bits as digits."""
    bits = [((pl.col(name) // (1 << place)) % 2).cast(pl.String) for place in (3, 2, 1, 0)]
    return pl.concat_str(bits)
