#!/bin/sh
'''exec' "$(dirname "$(dirname "$(readlink -f "$0")")")/python/bin/python3" -I "$0" "$@"
' '''
# The lines above are for sh: it starts the bundle's own Python, wherever the bundle lies, with this same file. Python takes them for a string.
from ptttool.__main__ import run

run()
