"""The tables of the documents that are made of the code."""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Iterator, Mapping
from itertools import groupby

import ptttool
from ptttool.analyses.contract import ANALYSES
from ptttool.analyses.errors.kinds import KINDS as ERROR_KINDS
from ptttool.budget import Budget
from ptttool.decoders.contract import PROTOCOLS, RecordProtocol
from ptttool.errors import ExitCode
from ptttool.exporters.contract import EXPORTERS
from ptttool.generate.profiles import PROFILES
from ptttool.metrics.catalogue import METRICS
from ptttool.table.where.functions import FUNCTIONS, Function
from ptttool.tlp.columns import DW_COLUMNS, TLP_SCHEMA
from tests import ROOT
from tests.generated.schemas import schemas
from tests.support.examples import table


def columns() -> Iterator[str]:
    for column in TLP_SCHEMA:
        values = f": {' '.join(column.values)}" if column.values else ""
        asked = " (with `--words`)" if column.name in DW_COLUMNS else " (where it is named)" if column.on_request else ""
        yield f"`{column.name}`{' *' if column.default else ''} | {column.dtype} | {column.meaning}{values}{asked}"


def functions() -> Iterator[str]:
    for name, function in FUNCTIONS.items():
        yield f"`{name.lower()}({', '.join(_arguments(function))})` | {_TYPES[function.result]}"


_TYPES = {"number": "number", "text": "text", "truth": "condition", "null": "null", None: "as the arguments"}


def _arguments(function: Function) -> list[str]:
    names = {"number": "number", "text": "text", "truth": "condition", "null": "null", None: "value"}
    arguments = [names[one] for one in function.arguments]
    first_optional = len(arguments) - function.optional
    shown = [f"[{one}]" if at >= first_optional else one for at, one in enumerate(arguments)]
    return [*shown, "…"] if function.most is not None else shown


def documents() -> Iterator[str]:
    for name, schema in schemas().items():
        if not name.startswith("test-"):
            yield f"[`{name}`](schemas/{name}.json) | {schema['description']}"


def exit_codes() -> Iterator[str]:
    for code in ExitCode:
        yield f"{int(code)} | {code.meaning}"


def profiles() -> Iterator[str]:
    for profile in PROFILES:
        yield f"`{profile.name}` | {profile.text}"


def protocols() -> Iterator[str]:
    pages = {"coresight-16": "coresight.md", "hisi-ptt": "../columns.md"}
    for protocol in PROTOCOLS:
        if not type(protocol).__module__.startswith("ptttool."):  # of the tests
            continue
        rows = "TLPs: [columns](../columns.md)" if isinstance(protocol, RecordProtocol) else "[elements](../elements.md)"
        yield f"[`{protocol.name}`]({pages.get(protocol.name, f'{protocol.name}.md')}) | {protocol.meaning} | {rows}"


def analyses() -> Iterator[str]:
    for analysis in ANALYSES:
        yield f"`{analysis.name}` | {analysis.meaning}"


def _has_schema(analysis: str) -> bool:
    """Return whether an analysis is one of ptttool, not of a test."""
    return (ROOT / "docs" / "schemas" / f"{analysis}.json").exists()


def needs() -> Iterator[str]:
    for analysis in ANALYSES:
        found: dict[str, list[str]] = {}
        for need in analysis.needs:
            found.setdefault(need.options, []).append(need.what)
        for options, what in found.items():
            yield f"`{analysis.name}` | {'; '.join(what)} | `{options}`"


def keys(analysis: str) -> Iterator[str]:
    """Yield the keys of an analysis' document; keys with one meaning stand in one row."""
    schema = json.loads((ROOT / "docs" / "schemas" / f"{analysis}.json").read_text(encoding="utf-8"))
    for meaning, found in groupby(schema["properties"].items(), key=lambda item: item[1]["description"]):
        yield f"{', '.join(f'`{key}`' for key, _ in found)} | {meaning.replace('None', 'null')}"


def error_kinds() -> Iterator[str]:
    for kind in ERROR_KINDS.values():
        yield f"`{kind.code}` | {kind.meaning} | {kind.of.value}"


def exporters() -> Iterator[str]:
    for exporter in EXPORTERS:
        yield f"`{exporter.name}` | {', '.join(f'`{suffix}`' for suffix in exporter.suffixes)} | {exporter.meaning}"


def budgets() -> Iterator[str]:
    """Yield the rows of every module ``budget`` of a subpackage."""
    for path in sorted((ROOT / "ptttool").rglob("*/budget.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        for budget in vars(importlib.import_module(".".join(parts))).values():
            if isinstance(budget, Budget):
                yield f"`{'/'.join(parts[1:-1])}` | {budget.meaning} | {budget:,} {budget.unit}"


def public() -> Iterator[str]:
    # Constants, classes, functions.
    for name in sorted(ptttool.__all__, key=lambda name: (not name.isupper(), not name[0].isupper(), name)):
        thing = getattr(ptttool, name)
        yield f"`{name}` | {_REGISTRIES.get(name) or _first_sentence(thing)}"


_REGISTRIES = {
    "ANALYSES": "The analyses, by name: `names()`, `get(name)`, `add(name, class)`.",
    "EXPORTERS": "The output formats, by name: `names()`, `get(name)`, `add(name, exporter)`.",
    "PROTOCOLS": "The protocols, by name: `names()`, `get(name)`, `add(name, protocol)`.",
    "__version__": "The version of the package.",
}


def _first_sentence(thing: object) -> str:
    lines = inspect.getdoc(thing) or ""
    return " ".join(lines.split("\n\n")[0].split()).replace("``", "`").replace("|", "\\|")


def metrics(*, of_recordings: bool) -> Iterator[str]:
    for name, metric in METRICS.items():
        if name.startswith("ptttool_recording_") is of_recordings:
            yield f"`{name}` | {metric.help.rstrip('.')}"


TABLES: Mapping[str, str] = {
    "analyses": table("analysis | what it computes", list(analyses())),
    "budgets": table("subpackage | what is limited | limit", list(budgets())),
    "columns": table("column | type | meaning", list(columns())),
    "documents": table("document | what it is", list(documents())),
    "error-kinds": table("kind | what it is | counted among", list(error_kinds())),
    "exit-codes": table("code | meaning", list(exit_codes())),
    "exporters": table("format | suffixes | what it is", list(exporters())),
    "functions": table("function | result", list(functions())),
    "protocols": table("protocol | what it decodes | records are", list(protocols())),
    "public": table("name | what it is", list(public())),
    "metrics-of-machines": table("metric | what it says", list(metrics(of_recordings=False))),
    "metrics-of-recordings": table("metric | what it says", list(metrics(of_recordings=True))),
    "needs": table("analysis | to see | options of `trace`", list(needs())),
    **{f"keys-{each.name}": table("key | meaning", list(keys(each.name))) for each in ANALYSES if _has_schema(each.name)},
    "profiles": table("profile | what goes over the link", list(profiles())),
}
