#!/bin/sh
# Install every wheel and source archive of a folder in a virtual environment of its own, and do the main job with it on the demo machine.
# try-dist.sh PYTHON FOLDER
set -eu
python=$1
folder=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# uv takes no archive with a colon in a name.
! tar -tzf "$folder"/*.tar.gz | grep : || { echo "a colon in a name of the source archive" >&2; exit 1; }
for file in "$folder"/*.whl "$folder"/*.tar.gz; do
    rm -rf "$work"/*
    "$python" -m venv "$work/env"
    "$work/env/bin/python" -m pip install --quiet --disable-pip-version-check "$file"
    (
        file=$(basename "$file")
        unset PYTHONPATH
        cd "$work"
        PATH="$work/env/bin:$PATH"
        version=$(ptttool --version)
        version=${version% (*}
        case "$file" in
            ptttool-"${version#ptttool }"[.-]*) ;;
            *) echo "$file says that it is $version" >&2; exit 1 ;;
        esac
        ptttool list --demo >/dev/null
        ptttool tune show --demo >/dev/null
        ptttool trace --demo --rootport 0000:00:10.0 -o perf.data >/dev/null 2>&1
        ptttool info perf.data >/dev/null
        ptttool decode perf.data -o out.parquet 2>/dev/null
        test -s out.parquet
        ptttool report perf.data -o report.html 2>/dev/null
        grep -q 'The MIT License' report.html
        test -s env/share/man/man1/ptttool.1
        python -c "import pathlib, ptttool; assert (pathlib.Path(ptttool.__file__).parent / 'py.typed').exists()"
        echo "$file: $version works"
    )
done
