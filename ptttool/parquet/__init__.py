"""Parquet files straight from arrays: most columns of a trace are small codes, which are a dictionary's indexes as they stand."""
