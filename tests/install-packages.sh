#!/bin/sh
# Install system packages with apt, as root or through sudo; say what to do where neither is possible.
set -eu
if ! command -v apt-get >/dev/null; then
    echo "these packages (Debian's names) are needed and there is no apt-get here: $*" >&2
    exit 1
fi
if [ "$(id -u)" -eq 0 ]; then as_root=""; elif command -v sudo >/dev/null; then as_root="sudo"; else
    echo "run this as root: apt-get install $*" >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update -qq
$as_root apt-get install -y -qq --no-install-recommends "$@" >/dev/null
