#!/usr/bin/env bash
# Usage: client.sh roundtrip|partition-of [KEY …] [--bootstrap HOST:PORT,…] [--topic T] [--console HOST:PORT] [--records N]
#
# kcat from the shell. roundtrip produces, consumes in a group of three of which one is killed, consumes again in a second group,
# and checks all of it. kcat makes no topics: with --console the server's console makes one of 6 partitions; without it topic T must
# be there. kcat shows no lag either: the groups are T-first and T-second.
set -euo pipefail

bootstrap=${BOOTSTRAP:-127.0.0.1:9092} topic=example-kcat-$$ console='' plain=100000 compressed=2000 words=()
while [ $# -gt 0 ]; do
  case $1 in
    --bootstrap) bootstrap=$2; shift 2 ;;
    --topic) topic=$2; shift 2 ;;
    --console) console=$2; shift 2 ;;
    --records) plain=$2; shift 2 ;;
    *) words+=("$1"); shift ;;
  esac
done
codecs=(gzip snappy lz4 zstd)
total=$((plain + compressed * ${#codecs[@]}))
start=$(date +%s.%N)
work=$(mktemp -d)
pids=()
finish() {
  for pid in "${pids[@]}"; do kill -9 "$pid" 2>/dev/null || true; done
  rm -rf "$work"
}
trap finish EXIT

die() { echo "failed client=kcat: $*"; exit 1; }

create_topic() {
  [ -n "$console" ] || return 0
  exec 3<>"/dev/tcp/${console%:*}/${console##*:}"
  printf 'CREATE_TOPIC %s 6\nQUIT\n' "$topic" >&3
  cat <&3 >"$work/console"
  exec 3>&-
}

# Sends lines of KEY, tab, VALUE. murmur2_random places a key where the Java client would.
produce() { # CODEC
  kcat -P -q -b "$bootstrap" -t "$topic" -K "\t" -z "$1" -X partitioner=murmur2_random -X acks=all -X enable.idempotence=true -X linger.ms=5
}

# The lines of records FROM up to TO: each key's values count on from set to set.
records() { # FROM TO
  awk -v from="$1" -v to="$2" 'BEGIN {
    for (i = 1; i <= 80; i++) dots = dots "."
    for (i = from; i < to; i++) printf "key-%d\t%d %s\n", i % 997, int(i / 997), dots
  }'
}

produce_all() {
  records 0 "$plain" | produce none
  local at=$plain codec
  for codec in "${codecs[@]}"; do
    records "$at" $((at + compressed)) | produce "$codec"
    at=$((at + compressed))
  done
}

# Joins the group; the records go to the first file, what kcat says of its assignments to the second.
member() { # GROUP NUMBER
  kcat -G "$1" -u -b "$bootstrap" -X auto.offset.reset=earliest -X session.timeout.ms=6000 -X heartbeat.interval.ms=500 \
    -X fetch.wait.max.ms=50 -f "%p %o %k %s\n" "$topic" >"$work/$1.$2.out" 2>"$work/$1.$2.err" &
  pids[$2]=$!
}

until_true() { # SECONDS COMMAND…
  local end=$((SECONDS + $1)); shift
  until "$@"; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.05
  done
}

settled() { # GROUP: does each of the three own two?
  local i
  for i in 0 1 2; do
    [ "$(grep -a assigned: "$work/$1.$i.err" 2>/dev/null | tail -n 1 | grep -o '\[[0-9]*\]' | wc -l)" = 2 ] || return 1
  done
}

# "PARTITION OFFSET KEY NUMBER MEMBER" of each record; a line that a kill cut short is none.
readings() { # GROUP
  local i
  for i in 0 1 2; do
    [ ! -e "$work/$1.$i.out" ] || awk -v member="$i" 'NF == 5 && length($5) == 80 { print $1, $2, $3, $4, member }' "$work/$1.$i.out"
  done
}

read_at_least() { # GROUP COUNT: are there so many different records?
  [ "$(cat "$work/$1".*.out 2>/dev/null | wc -l)" -ge "$2" ] && [ "$(readings "$1" | cut -d' ' -f1,2 | sort -u | wc -l)" -ge "$2" ]
}

# All came; a record came twice only if its first reader, member 0 of the first group, was killed (kcat commits every 5 s); within a
# key the numbers rise with the offset. Prints how often something came twice.
check() { # GROUP
  readings "$1" | sort -k1,1n -k2,2n -k5,5n | awk -v total="$total" '
    function problem(text) { if (++bad <= 5) print text > "/dev/stderr" }
    NR > 1 && $1 == partition && $2 == offset {
      twice++
      if (first != 0 || $5 == 0) problem("partition " $1 " offset " $2 " came to member " first " and again to " $5)
      next
    }
    {
      partition = $1; offset = $2; first = $5; count++
      if ($4 != next_of[$3] + 0) problem("key " $3 " is out of order at " $1 "/" $2)
      next_of[$3] = $4 + 1
    }
    END {
      if (count != total) problem(count + 0 " of " total " records arrived")
      print twice + 0
      exit bad > 0
    }'
}

roundtrip() {
  local group=$topic-first i duplicates
  create_topic
  for i in 0 1 2; do member "$group" $i; done
  until_true 20 settled "$group" || die "the group did not settle: $(cat "$work"/*.err)"
  produce_all &
  local producer=$!
  until_true 40 read_at_least "$group" $((total / 2)) || die "half of the records did not arrive"
  { kill -9 "${pids[0]}"; wait "${pids[0]}"; } 2>/dev/null || true
  wait $producer || die "producing failed"
  until_true 40 read_at_least "$group" $total || true # check tells what is missing
  kill "${pids[1]}" "${pids[2]}"
  wait "${pids[1]}" "${pids[2]}" || true
  pids=()
  duplicates=$(check "$group") || die "the first group"

  group=$topic-second
  member "$group" 0
  until_true 40 read_at_least "$group" $total || true
  kill "${pids[0]}"
  wait "${pids[0]}" || true
  check "$group" >/dev/null || die "the second group"
  echo "ok client=kcat records=$total groups=2 duplicates=$duplicates seconds=$(awk -v a="$start" -v b="$(date +%s.%N)" 'BEGIN { printf "%.1f", b - a }')"
}

# Produces one record for each key, reads them back, and prints {"KEY": PARTITION, …}.
partition_of() {
  create_topic
  printf '%s\t0\n' "$@" | produce none
  kcat -C -q -e -b "$bootstrap" -t "$topic" -o beginning -f '%k\t%p\n' |
    awk -F'\t' '{ gsub(/["\\]/, "\\\\&", $1); printf("%s\"%s\": %s", (NR > 1 ? ", " : "{"), $1, $2) } END { print "}" }'
}

case ${words[0]:-} in
  roundtrip) roundtrip ;;
  partition-of) partition_of "${words[@]:1}" ;;
  *) sed -n '2,6p' "$0" | cut -c3-; exit 2 ;;
esac
