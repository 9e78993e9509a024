#!/bin/sh
# Unpack a Debian package into a folder, without installing it: some tests want its files alone. Usage: PACKAGE FOLDER
set -eu
if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
    echo "$2: unpack the package $1 (Debian's name) there; there is no apt-get here" >&2
    exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
download() { (cd "$work" && apt-get download -qq "$1" >/dev/null 2>&1); }
download "$1" || { apt-get update -qq >/dev/null 2>&1 && download "$1"; } || { echo "the package $1 cannot be downloaded" >&2; exit 1; }
rm -rf "$2"
mkdir -p "$2"
dpkg-deb --extract "$work"/*.deb "$2"
