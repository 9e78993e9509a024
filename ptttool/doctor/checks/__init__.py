"""The checks, one a file; a file registers its check with :func:`~ptttool.doctor.contract.check` when it is imported."""
