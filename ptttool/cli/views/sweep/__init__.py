"""Show the plan, the progress and the findings of a sweep, for ``ptttool tune sweep``."""
