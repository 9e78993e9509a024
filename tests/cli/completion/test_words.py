"""The committed words are those of the commands."""

from __future__ import annotations

import json
import subprocess
import sys

from ptttool.cli.completion.values import _LISTS, _MACHINE
from ptttool.cli.completion.words import FOLDER, command_of, values
from tests import ROOT
from tests.generated import words as generate


def test_files_are_up_to_date() -> None:
    """In a process of its own: other tests add commands, analyses and targets to the registries."""
    script = (
        "import json; from tests.generated import words as w; print(json.dumps({name: w.text_of(one) for name, one in w.words().items()}))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, check=True)
    held = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.json")}
    assert held == json.loads(done.stdout), "run `make man`"


def test_every_kind_has_values() -> None:
    """A kind that nothing answers would be silence at every Tab."""
    known = values().keys() | _MACHINE.keys() | {one.removesuffix(",") for one in _LISTS} | _LISTS | {"", "any", "file", "command"}
    for name in (path.stem for path in FOLDER.glob("ptttool*.json")):
        command = command_of(tuple(name.split("-")[1:]))
        assert command is not None
        kinds = {one.kind for one in command.options} | {one.kind for one in command.arguments}
        assert not [kind for kind in kinds if kind not in known and not kind.startswith("=")], name


def test_help_is_a_sentence() -> None:
    assert generate.sentence("Do this.\nAnd that. Or not.\n\nMore.") == "Do this"
    assert generate.sentence("One sentence.") == "One sentence"
    assert generate.sentence("'quoted' words: kind = 'MRd', and 1.5 of it") == "'quoted' words: kind = 'MRd', and 1.5 of it"
