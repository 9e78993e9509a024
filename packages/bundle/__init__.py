"""The bundle: one folder with CPython, ptttool and all that it imports, for machines without Python and without network."""
