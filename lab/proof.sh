#!/usr/bin/env bash
# Proves that one build of gridbid decides as another does: both replay six-regions at
# three seeds and two recorded days, and lab/ledgerdiff compares their ledgers.
#
#   lab/proof.sh OLD NEW [FOLDER]
#
# OLD and NEW are gridbid binaries, which may speak different protocol versions: each
# prints its own ledgers (with `gridbid messages`, or `gridbid tap` in a build from before
# that name). IGNORE names the keys that NEW added to messages (KEY of the
# envelope or KIND.KEY of a body, with commas between); DATA is the folder of recorded
# data. Exits with 1 if any ledger differs.
set -euo pipefail
[ $# -ge 2 ] || { sed -n '2,11s/^# \{0,1\}//p' "$0" >&2; exit 2; }
old=$(realpath "$1") new=$(realpath "$2")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=${3:-$(mktemp -d)}
ignore=${IGNORE-version,call.planning}
data=${DATA:-../shared/data}
mkdir -p "$out"
go build -o "$out/ledgerdiff" ./lab/ledgerdiff

# print_ledger BINARY LEDGER: prints a ledger as JSON lines. Help is asked for first, so
# that an error of the command itself is not taken for a build that lacks it.
print_ledger() {
	local command=messages
	"$1" messages --help >/dev/null 2>&1 || command=tap
	"$1" "$command" "$2"
}

differ=0
# compare NAME SCENARIO...: has both binaries replay a scenario, and compares.
compare() {
	local name=$1 policies=$2 ledger side
	shift 2
	for side in old new; do
		"${!side}" replay "$@" --policy "$policies" --bus mem --no-bound --run "$out/$side/$name" >"$out/$side-$name.txt" 2>&1 ||
			{ echo "$name: the $side binary failed; see $out/$side-$name.txt" >&2; exit 2; }
	done
	for ledger in "$out/old/$name"/*.ledger; do
		echo "== $name $(basename "$ledger")"
		print_ledger "$old" "$ledger" >"$out/old.jsonl"
		print_ledger "$new" "$out/new/$name/$(basename "$ledger")" >"$out/new.jsonl"
		"$out/ledgerdiff" -ignore "$ignore" "$out/old.jsonl" "$out/new.jsonl" || differ=1
	done
}

mkdir -p "$out/old" "$out/new"
for seed in 1 2 3; do
	compare "six-regions-$seed" auction,home-fifo --seed "$seed"
done
for day in ordinary_2022-04-13 uri_texas_2021-02-16; do
	if [ -d "$data" ]; then
		compare "$day" auction "real-days/$day" --data "$data"
	else
		echo "== $day: skipped: there is no folder $data with recorded data; set DATA"
	fi
done
[ "$differ" = 0 ] && echo "all ledgers are equal" || { echo "ledgers differ; they are in $out" >&2; exit 1; }
