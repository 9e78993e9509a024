# The C types of kinds.py.
cimport cython


@cython.locals(used=Py_ssize_t, row=Py_ssize_t, key=Py_ssize_t)
cpdef Py_ssize_t count_kinds(
    int bits, const unsigned char[::1] kinds, const unsigned char[::1] valid, const unsigned short[::1] requesters,
    const unsigned short[::1] lengths, long long[:, ::1] sums, long long[::1] keys,
) except -1
