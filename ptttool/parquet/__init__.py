"""A Parquet writer for columns of small codes, straight from numpy arrays.

The package imports nothing of ptttool: it needs numpy and zstandard only. It is fast and its files are small because most columns of a
trace are codes with few different values, and such an array *is* the index part of a dictionary page: it is written as it stands, at a
width that numpy has (1, 4, 8 or 16 bits), and zstd does the rest.

What it does
    - flat tables; every column is optional (any row may be null);
    - unsigned and signed integers, booleans, enums, texts of which there are few, byte strings;
    - dictionaries, delta encodings for evenly spaced and for neighbouring numbers, delta-length byte strings, plain values;
    - zstd, level 1; minimum, maximum and null count of every column chunk;
    - an Arrow schema in the footer, so that pyarrow, polars and DuckDB see enums and integer widths as they are.

What it does not do
    - nested columns, floats, decimals, dates, lists;
    - page indexes, bloom filters, encryption, checksums; a column chunk is one data page, so readers skip row groups but not pages;
    - texts of which there are many different ones (write them as bytes, or use another writer);
    - reading.

Examples
--------
>>> import io
>>> import numpy as np
>>> file = io.BytesIO()
>>> columns = (Column("tag", "u8"), Column("kind", "enum", ("MRd", "MWr")))
>>> writer = ParquetFile(file, columns, {}, created_by="example")
>>> tag = chunk_of(columns[0], Cells(np.array([7, 9], np.uint8), levels_of(np.array([True, False, True]))), 3)
>>> kind = chunk_of(columns[1], Cells(np.array([0, 1, 1], np.uint8)), 3)
>>> writer.add(RowGroup(3, (tag, kind)))
>>> writer.close()
>>> file.getvalue()[:4]
b'PAR1'
"""

from ptttool.parquet.file import ParquetFile, RowGroup
from ptttool.parquet.pages import ABSENT, Cells, Chunk, Strings, Texts, chunk_of, levels_of
from ptttool.parquet.schema import Column, DType

__all__ = ["ABSENT", "Cells", "Chunk", "Column", "DType", "ParquetFile", "RowGroup", "Strings", "Texts", "chunk_of", "levels_of"]
