"""Views of plans, and of the series of runs that they take."""
