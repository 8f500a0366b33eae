#!/bin/sh
# A week of live traffic in one command: simulated guests ask, what they do is logged, and a report says what became of it.
#   ./examples/week/week.sh [STORE]
# From the folder of a clone; the store is week.db by default, and must not exist.
set -eu
unset CDPATH
cd -P -- "$(dirname -- "$0")/../.."
store=${1:-week.db}
if [ -e "$store" ]; then
    echo "week.sh: $store is there already; remove it, or name another store" >&2
    exit 2
fi
./karat --version >/dev/null # makes .venv, if it is not there
.venv/bin/python examples/week/guests.py "$store"
./karat online ingest "$store"
./karat online report "$store" --golden examples/hotel --shown 6
