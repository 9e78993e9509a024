#!/bin/sh
# Compile a relocatable CPython for one processor against an old glibc.
#
# interpreter.sh ARCH BUILD ZIG
#   ARCH   x86_64 or aarch64
#   BUILD  folder for sources, objects and the result, BUILD/ARCH/python; what is there already is not made again
#   ZIG    the program zig
#
# The sources are Debian's, checked against Debian's signatures by apt. Of Debian's patches to CPython, those that mend faults are taken,
# not those that fit it to Debian. Another processor than this machine's needs the interpreter of this machine first: it runs parts of the build.
set -eu
arch=$1
build=$(readlink -f "$2")
zig=$(readlink -f "$3")
here=$(dirname "$(readlink -f "$0")")
. "$here/settings.sh"
native=$(uname -m)
result=$build/$arch/python
target=$arch-linux-gnu
patches='^(git-updates|CVE-|ssl-|dict-use-after-free|traverse-managed-dicts|gchead-alignment)'

# Download the newest version of a source package. Not every mirror has all that its lists name: then the next older one, which is said.
fetch() {
    for version in $(apt-cache $settings showsrc --only-source "$1" | sed -n 's/^Version: //p' | sort -Vru); do
        if (cd "$build/downloads" && apt-get $settings source --download-only "$1=$version" >/dev/null); then return; fi
        echo "the mirror lacks $1 $version: an older version is taken" >&3
    done
    return 1
}

sources() {
    mkdir -p "$build/apt/lists/partial" "$build/apt/cache/archives/partial" "$build/downloads"
    keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    for suite in "debian $DEBIAN" "debian-security $DEBIAN-security"; do
        echo "deb-src [signed-by=$keyring] http://deb.debian.org/${suite% *} ${suite#* } main"
    done > "$build/apt/sources.list"
    settings="-qq -o Dir::Etc::sourcelist=$build/apt/sources.list -o Dir::Etc::sourceparts=- -o Dir::State::lists=$build/apt/lists
        -o Dir::Cache=$build/apt/cache -o Dir::State::status=/dev/null -o APT::Sandbox::User=root"
    apt-get $settings update
    for name in "python$PYTHON" $LIBRARIES; do
        fetch "$name"
        rm -rf "$build/unpacked"
        case "$name" in python*) skip=--skip-patches ;; *) skip= ;; esac
        # The last of several versions is the one that was fetched now.
        file=$(ls -t "$build/downloads/${name}"_*.dsc | head -n 1)
        dpkg-source --no-check $skip -x "$file" "$build/unpacked" >/dev/null
        rm -rf "$build/sources/$name"
        mkdir -p "$build/sources"
        mv "$build/unpacked" "$build/sources/$name"
        echo "$(basename "$file" .dsc)" > "$build/sources/$name.version"
    done
    cd "$build/sources/python$PYTHON"
    grep -E "$patches" debian/patches/series | while read -r name _; do
        patch --quiet --strip 1 --no-backup-if-mismatch < "debian/patches/$name" || { echo "$name does not apply" >&2; exit 1; }
    done
    cd "$build/sources/libffi"
    autoreconf --force --install >/dev/null 2>&1
    touch "$build/sources/complete"
}

compiler() {
    mkdir -p "$build/$arch/bin"
    printf '#!/bin/sh\nexec %s cc -target %s.%s "$@"\n' "$zig" "$target" "$GLIBC" > "$build/$arch/bin/cc"
    printf '#!/bin/sh\nexec %s ar "$@"\n' "$zig" > "$build/$arch/bin/ar"
    printf '#!/bin/sh\nexec %s ranlib "$@"\n' "$zig" > "$build/$arch/bin/ranlib"
    chmod +x "$build/$arch/bin/"*
    export CC="$build/$arch/bin/cc" AR="$build/$arch/bin/ar" RANLIB="$build/$arch/bin/ranlib"
    export ZIG_GLOBAL_CACHE_DIR="$build/zig-cache" ZIG_LOCAL_CACHE_DIR="$build/zig-cache"
}

libraries() {
    prefix=$build/$arch/libraries
    objects=$build/$arch/objects
    flags="-O2 -fPIC -fno-sanitize=undefined"
    rm -rf "$prefix" "$objects"
    mkdir -p "$prefix/lib" "$prefix/include" "$objects"
    for name in $LIBRARIES; do cp -a "$build/sources/$name" "$objects/$name"; done
    cd "$objects/zlib"
    CHOST=$target CFLAGS=$flags ./configure --static
    make libz.a
    cp libz.a "$prefix/lib"
    cp zlib.h zconf.h "$prefix/include"
    cd "$objects/bzip2"
    make libbz2.a CC="$CC" AR="$AR" RANLIB="$RANLIB" CFLAGS="$flags -D_FILE_OFFSET_BITS=64"
    cp libbz2.a "$prefix/lib"
    cp bzlib.h "$prefix/include"
    cd "$objects/xz-utils"
    ./configure --build="$native-linux-gnu" --host="$target" --prefix="$prefix" --disable-shared --enable-static --disable-xz --disable-xzdec --disable-lzmadec \
        --disable-lzmainfo --disable-scripts --disable-doc --disable-nls --quiet CFLAGS="$flags"
    make -C src/liblzma install
    cd "$objects/libffi"
    ./configure --build="$native-linux-gnu" --host="$target" --prefix="$prefix" --libdir="$prefix/lib" --disable-multi-os-directory --disable-shared \
        --enable-static --disable-docs --quiet CFLAGS="$flags"
    make install
    rm -rf "$objects"
}

# Without what ptttool and its packages do not import: TLS, databases, curses, readline, Tk. Modules are part of the program: it starts faster.
interpreter() {
    # The date in sys.version, which programs parse: the same for the same sources.
    SOURCE_DATE_EPOCH=$(dpkg-parsechangelog -l "$build/sources/python$PYTHON/debian/changelog" -S Timestamp)
    export SOURCE_DATE_EPOCH
    prefix=$build/$arch/libraries
    rm -rf "$build/$arch/cpython" "$build/$arch/installed"
    mkdir -p "$build/$arch/cpython"
    cd "$build/$arch/cpython"
    set -- --build="$native-linux-gnu"
    if [ "$arch" != "$native" ]; then
        set -- "$@" --host="$target" --with-build-python="$build/$native/python/bin/python$PYTHON" \
            ac_cv_file__dev_ptmx=yes ac_cv_file__dev_ptc=no ac_cv_buggy_getaddrinfo=no
    fi
    for name in readline _curses _curses_panel _tkinter _dbm _gdbm _sqlite3 _ssl _hashlib _uuid; do set -- "$@" "py_cv_module_$name=n/a"; done
    for name in ZLIB:z BZIP2:bz2 LIBLZMA:lzma LIBFFI:ffi; do
        set -- "$@" "${name%:*}_CFLAGS=-I$prefix/include" "${name%:*}_LIBS=-L$prefix/lib -l${name#*:}"
    done
    "$build/sources/python$PYTHON/configure" "$@" --prefix=/python --without-ensurepip --disable-test-modules --with-pkg-config=no \
        MODULE_BUILDTYPE=static LDFLAGS=-s OPT="-O3 -DNDEBUG -fwrapv -fno-sanitize=undefined -Wno-date-time -ffile-prefix-map=$build=/build"
    make -j "$(nproc)"
    make install DESTDIR="$build/$arch/installed"
    rm -rf "$result"
    mv "$build/$arch/installed/python" "$result"
    rm -rf "$build/$arch/cpython" "$build/$arch/installed"
}

logged() {
    echo "$arch: $1 (log: $build/$arch/$1.log)"
    # Not "$1" || …: there, a step that fails does not end the function.
    "$1" 3>&2 > "$build/$arch/$1.log" 2>&1 &
    wait $! || { tail -n 20 "$build/$arch/$1.log" >&2; exit 1; }
}

mkdir -p "$build/$arch"
[ -x "$result/bin/python$PYTHON" ] && exit 0
[ "$arch" = "$native" ] || [ -x "$build/$native/python/bin/python$PYTHON" ] || sh "$0" "$native" "$build" "$zig"
[ -e "$build/sources/complete" ] || logged sources
compiler
logged libraries
logged interpreter
