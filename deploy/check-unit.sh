#!/bin/sh
# Holds the systemd unit to its promises: systemd-analyze verify has nothing to say, and its exposure is at most 2.0.
# Installs into a temporary root with a stand-in for the binary, so that the paths in the unit are checked as well.
# Needs systemd-analyze (Debian: systemd) and man (man-db). Usage: deploy/check-unit.sh
set -eu

cd "$(dirname "$0")/.."
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT INT TERM

printf '#!/bin/sh\nexit 0\n' >"$root/millrace"
chmod +x "$root/millrace"
make -s -f deploy/install.mk install DESTDIR="$root" BINARY="$root/millrace"

# verify loads what the unit leans on; the temporary root has none of it.
for target in sysinit basic shutdown network-online multi-user; do
	printf '[Unit]\nDescription=%s\n' "$target" >"$root/lib/systemd/system/$target.target"
done

# An unknown key is only a warning with exit code 0, so silence is what counts.
said=$(MANPATH="$root/usr/share/man" systemd-analyze verify --root="$root" millrace.service 2>&1) || said="$said (failed)"
if [ -n "$said" ]; then
	echo "systemd-analyze verify: $said" >&2
	exit 1
fi

# The threshold is in tenths.
if ! exposure=$(systemd-analyze security --offline=true --no-pager --threshold=20 deploy/millrace.service); then
	echo "$exposure" >&2
	exit 1
fi
echo "$exposure" | tail -n 1

said=$(LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=100 man --warnings -E UTF-8 -l -Tutf8 -Z deploy/millrace.1 2>&1 >/dev/null)
if [ -n "$said" ]; then
	echo "deploy/millrace.1: $said" >&2
	exit 1
fi
echo "unit and man page are fine"
