"""ptttool with the rights of root on a server, whatever the rights of the tests (a container's root has fewer).

``STANDIN_RIGHTS``: ``user`` for somebody with none, kernel.perf_event_paranoid being 2.
"""

from __future__ import annotations

import os
import sys

from ptttool.__main__ import run
from ptttool.host import preflight
from ptttool.host.preflight import Rights


def read_rights(online: object = None) -> Rights:
    capabilities = 0 if os.environ.get("STANDIN_RIGHTS") == "user" else (1 << 41) - 1
    return Rights(capabilities, paranoid=2, mlock_kb=516, memlock=8 << 20, cpus=4)


if __name__ == "__main__":
    preflight.read_rights = read_rights
    sys.exit(run())
