"""Files that xz, gzip, zstd or bzip2 have packed, read as what is in them."""
