# The C types of lines.py.
cimport cython

cdef long long _UNSIGNED, _SIGNED, _HEX, _LISTED, _CSV_TEXT, _JSON_TEXT, _DIGITS
cdef Py_ssize_t _FORM, _BEFORE, _NULL, _FIRST, _SLOT, _QUOTED
cdef unsigned char _SPACE, _QUOTE, _COMMA, _MINUS, _ZERO, _X, _U, _BACKSLASH, _LINE_FEED, _RETURN
cdef const unsigned char[::1] _HEX_DIGITS, _LETTERS
cdef unsigned long long _WORD
cdef Py_ssize_t _LONGEST, _LONGEST_BYTE


@cython.locals(
    row=Py_ssize_t, column=Py_ssize_t, count=Py_ssize_t, end=Py_ssize_t, at=Py_ssize_t, form="long long", value="long long",
    text="long long", place=Py_ssize_t, length=Py_ssize_t, has_value=bint, number="unsigned long long", rest="unsigned long long",
)
cpdef Py_ssize_t write_rows(
    unsigned char[::1] out, Py_ssize_t last, const long long[:, ::1] columns, const long long[:, ::1] places,
    const unsigned char[::1] listed, const long long[:, ::1] values, const unsigned char[:, ::1] valid, const long long[:, ::1] lengths,
    const unsigned char[::1] data,
) except -1

@cython.locals(at=Py_ssize_t, code="unsigned char")
cdef Py_ssize_t _text(
    unsigned char[::1] out, Py_ssize_t end, const unsigned char[::1] data, Py_ssize_t place, Py_ssize_t length, long long form,
    long long quoted,
) except -1

@cython.locals(letter="unsigned char")
cdef Py_ssize_t _escaped(unsigned char[::1] out, Py_ssize_t end, unsigned char code) except -1
