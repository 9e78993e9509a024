"""The README stays short and has every command; its examples are run by ``tests/test_docs.py``."""

import re

from ptttool.cli.app import app
from ptttool.cli.main import load_commands
from tests import ROOT
from tests.generated import manpages

README = ROOT / "README.md"
LONGEST = 10 * 1024


def test_the_readme_is_short() -> None:
    assert len(README.read_bytes()) <= LONGEST


def test_the_readme_has_every_command() -> None:
    load_commands()
    text = README.read_text(encoding="utf-8")
    table = text[text.index("## Commands") : text.index("## Documentation")]
    listed = set()
    for row in re.findall(r"(?m)^\| `(.+?)` \|", table):
        group, _, names = row.replace("\\", "").partition(" ")
        listed |= {f"{group} {name}" for name in names.split("|")} if names else {group}
    walked = {path.removeprefix("ptttool ") for path, _ in manpages.walk(app.tree, "ptttool")}
    known = walked - {"ptttool", "tune", "wireshark"}
    assert listed == known
