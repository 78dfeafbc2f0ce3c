#!/usr/bin/env bash
# Installs what the real clients need, on a machine that has Go, Java with Maven, Python 3, Node, Rust and a C++ compiler: kcat and
# librdkafka from Debian, a Python venv, Node's modules, the Java jars and classes, the C++ and Rust programs. Quick when it is all
# there. Prints the versions. The venv and the Rust program are in $MILLRACE_CLIENTS (default ~/.cache/millrace-clients), where the
# tests look for them.
set -euo pipefail
cd "$(dirname "$0")/.."
clients=${MILLRACE_CLIENTS:-${XDG_CACHE_HOME:-$HOME/.cache}/millrace-clients}
mkdir -p "$clients"

debian() { # what is missing of Debian's packages
  local missing=() package
  for package in kcat librdkafka-dev g++ make iproute2; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  apt-get -qq update
  DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "${missing[@]}" >/dev/null
}

# A stamp holds the checksum of what a step was made from; the step is left out while it fits.
fresh() { # STAMP FILE…
  local stamp=$1; shift
  [ -e "$stamp" ] && [ "$(cat "$@" | sha256sum)" = "$(cat "$stamp")" ]
}
stamp() { # STAMP FILE…
  local stamp=$1; shift
  cat "$@" | sha256sum >"$stamp"
}

python_venv() {
  local wanted=examples/python/requirements.txt
  ! fresh "$clients/venv/stamp" $wanted || return 0
  rm -rf "$clients/venv"
  python3 -m venv "$clients/venv"
  "$clients/venv/bin/pip" install --quiet --disable-pip-version-check -r $wanted
  stamp "$clients/venv/stamp" $wanted
}

node_modules() {
  local at=examples/node
  ! fresh $at/node_modules/.stamp $at/package-lock.json || return 0
  npm ci --prefix $at --prefer-offline --no-audit --no-fund --silent
  stamp $at/node_modules/.stamp $at/package-lock.json
}

java_classes() {
  local at=examples/java
  ! fresh $at/target/.stamp $at/pom.xml $at/src/main/java/example/*.java || return 0
  # Offline when the jars are there: Maven would ask the registry for each.
  mvn -q -B -o -f $at/pom.xml package >/dev/null 2>&1 || mvn -q -B -f $at/pom.xml package
  stamp $at/target/.stamp $at/pom.xml $at/src/main/java/example/*.java
}

debian
python_venv
node_modules
java_classes
make --silent -C examples/cpp
cargo build --quiet --locked --manifest-path e2e/clients/rust/Cargo.toml --target-dir "$clients/rust"

kcat -V | sed -n 's/^Version/kcat/p'
echo "librdkafka $(dpkg-query -W -f '${Version}' librdkafka-dev)"
"$clients/venv/bin/pip" freeze --disable-pip-version-check | grep -i kafka
node -p '"node " + process.version + ", kafkajs " + require("./examples/node/node_modules/kafkajs/package.json").version'
java -version 2>&1 | head -n 1
sed -n 's/^rskafka = .*version = "=\([^"]*\)".*/rskafka \1/p' e2e/clients/rust/Cargo.toml
basename examples/java/target/lib/kafka-clients-*.jar .jar
