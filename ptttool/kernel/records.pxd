# The C types of records.py.
cimport cython


@cython.locals(size=Py_ssize_t, used=Py_ssize_t, at=Py_ssize_t, kind="long long", length=Py_ssize_t)
cpdef Py_ssize_t find_records(const unsigned char[::1] data, Py_ssize_t start, long long last, long long[:, ::1] found) except -1
