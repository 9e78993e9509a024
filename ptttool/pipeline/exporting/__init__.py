"""Rows for exporters that need more than the rows: their time, and the transactions that they are part of."""
