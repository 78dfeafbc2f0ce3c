# Millrace. `make run` and `make test` need Go and nothing else.
GO       ?= go
BIN      := bin/millrace
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS  := -s -w -X main.version=$(VERSION)
BINARY   := $(BIN)
FUZZTIME ?= 30s
COUNT    ?= 1
WORKLOAD ?= produce
MINUTES  ?= 2

.PHONY: build run demo test race lint fuzz sim mutants bench bench-micro bench-smoke bench-guard bench-replication profile check docs e2e chaos cross clean

build: ## the one static binary
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/millrace

run: build ## three brokers on 127.0.0.1:9092-9094 and the console
	$(BIN) server --brokers 3

demo: build ## a tour that prints what it does
	$(BIN) demo

test: ## the Go tests
	$(GO) test ./...

race: ## the Go tests under the race detector
	$(GO) test -race ./...

lint:
	$(GO) vet ./...
	$(GO) tool -modfile=tools/go.mod staticcheck ./...

lint-all: lint ## everything in .golangci.yml; building the linter takes minutes
	$(GO) tool -modfile=tools/go.mod golangci-lint run

fuzz: ## every fuzz target: for FUZZTIME what comes from a socket, for a third of it the rest
	./.ci/fuzz $(FUZZTIME)

sim: ## a simulated cluster: SEED=17 STEPS=500 does that run again, FOR=2m goes on for so long (from SEED on, if it is given)
	$(GO) test -count=1 -timeout 0 -run TestSim -v ./broker/sim $(if $(SEED),-sim.seed $(SEED) -sim.runs 1) \
		$(if $(STEPS),-sim.steps $(STEPS)) $(if $(FOR),-sim.for $(FOR))

mutants: ## the test of the tests: every rule of replication switched off, and other bugs, must be found
	$(GO) test -count=1 -tags mutants -run TestMutants -v ./broker/replica ./broker/sim

bench: build ## every workload against the floor and the peers; writes docs/performance.md
	$(BIN) bench suite --targets all --calm --out bench-results --docs docs/performance.md

bench-micro: ## the micro-benchmarks beside the code; for benchstat: COUNT=10, then go tool -modfile=tools/go.mod benchstat
	$(GO) test -run '^$$' -bench . -benchmem -count $(COUNT) ./...

bench-smoke: build ## each workload for a second against Millrace and kfake
	MILLRACE_BIN=$(CURDIR)/$(BIN) $(GO) test -count=1 -run Smoke ./bench

bench-guard: build ## the CPU ratios to the floor against the committed ones
	$(BIN) bench guard --quiet

bench-replication: build ## what replicas cost, and how long deaths are felt: each figure with its target; FLAGS=--short takes a minute and a half
	$(BIN) bench replication --out bench-results/replication $(FLAGS)

profile: build ## CPU, heap, block and trace profiles of WORKLOAD in the folder profiles/
	$(BIN) bench profile $(WORKLOAD) --dir profiles

docs: ## rewrite the generated pages under docs/
	$(GO) test . -run TestDocs -update
	$(GO) test ./config -run Reference -update

e2e: build ## real clients against a three-broker server; needs what .ci/setup-clients.sh installs
	cd e2e && MILLRACE_BIN=$(CURDIR)/$(BIN) $(GO) test -count=1 -timeout 20m -v ./...

chaos: build ## kill, stop, cut off and drain real processes for MINUTES, then read everything back; SEED replays a schedule
	cd e2e && $(GO) build -o ../bin/chaos ./chaos
	bin/chaos -millrace $(BIN) -minutes $(MINUTES) $(if $(SEED),-seed $(SEED))

cross: ## what Millrace must compile for; without the embedded etcd, which takes minutes and has no such differences
	GOOS=linux GOARCH=arm64 $(GO) build -tags noembed ./...
	GOOS=darwin GOARCH=arm64 $(GO) build -tags noembed ./...
	GOOS=freebsd GOARCH=amd64 $(GO) build -tags noembed ./...

check: lint race cross

clean:
	rm -rf bin

$(BIN): build

include deploy/install.mk
