# shellcheck shell=sh
# What a bundle is made from. GLIBC is the oldest version that the wheels of numpy still work with.
DEBIAN=trixie
PYTHON=3.13
GLIBC=2.28
# Of the same systems: libstdc++ of GCC 7.
GLIBCXX=3.4.24
# Debian's names of the source packages.
LIBRARIES="zlib bzip2 xz-utils libffi"
