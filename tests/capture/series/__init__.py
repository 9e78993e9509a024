"""Tests of series of recordings."""
