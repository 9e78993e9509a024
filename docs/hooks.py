"""What the site's build adds to MkDocs: pages of whole folders in the navigation, and roles of docstrings as plain code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

# :func:`name` and its like come out of Markdown as :func:<code>name</code>; ~ asks for the last part of the name alone.
_ROLE = re.compile(r":(?:attr|class|data|exc|func|meth|mod|obj|option):<code>(?:~[\w.]*\.|\.)?")


def on_config(config: Any) -> Any:
    """Replace entries of the navigation such as ``protocols/*.md`` by the pages; drop pages that are not there yet."""
    folder = Path(config["docs_dir"])
    named = set(_pages(config["nav"]))
    config["nav"] = _expanded(config["nav"], folder, named)
    return config


def on_page_content(html: str, **_: Any) -> str:
    """Show the names that docstrings refer to without their roles."""
    return _ROLE.sub("<code>", html)


def _pages(entries: list[Any]) -> list[str]:
    found: list[str] = []
    for entry in entries:
        if isinstance(entry, dict):
            for value in entry.values():
                found += _pages(value) if isinstance(value, list) else [value]
        else:
            found.append(entry)
    return found


def _expanded(entries: list[Any], folder: Path, named: set[str]) -> list[Any]:
    found: list[Any] = []
    for entry in entries:
        if isinstance(entry, dict):
            found += [{title: _expanded(value, folder, named) if isinstance(value, list) else value} for title, value in entry.items()]
        elif "*" in entry:
            pages = sorted(str(path.relative_to(folder)) for path in folder.glob(entry))
            found += [page for page in pages if page not in named]
        elif (folder / entry).exists():
            found.append(entry)
    return found
