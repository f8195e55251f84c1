# make demo and make test are the two commands of the README. Everything needs Go, git, bash and make, nothing else.
GO       ?= go
BIN      ?= bin/cotalctl
FUZZTIME ?= 10s

.DEFAULT_GOAL := build
.PHONY: build test test-long doctor-faults lint fuzz bench mutants demo interop fixtures drift check clean

# A static binary: the net and os/user resolvers of libc are not needed.
build:
	CGO_ENABLED=0 $(GO) build -trimpath -o $(BIN) ./cmd/cotalctl

# The tests of every push. The long differential runs skip themselves under -short and belong to test-long.
test:
	$(GO) test -short ./...

test-long:
	$(GO) test -timeout 60m ./...
	$(GO) test -timeout 60m ./internal/subject -run TestDecisionsAgainstBroker -long

# Injects every fault of docs/doctor/faults.md into live clusters, in one process and as stock servers.
doctor-faults:
	$(GO) test -count=1 -timeout 20m -v ./doctor -run TestFault

lint:
	@out=$$(gofmt -l .); test -z "$$out" || { echo "gofmt: not formatted:" >&2; echo "$$out" >&2; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

# Every Fuzz target of the module for FUZZTIME each; it fails when it finds no target, or fuzzed nothing.
fuzz:
	GO="$(GO)" .ci/fuzz $(FUZZTIME)

# Mints, compiles and provisions beside what they are made of, in one run; BENCH takes flags, such as BENCH='-d 1m'.
# The doctor is measured beside the stock client, which the other module has.
bench:
	$(GO) run ./internal/bench -o docs/performance.md $(BENCH)
	cd interop && $(GO) test -count=1 -run TestDoctorTiming -timing ../docs/performance.md .

# Puts one fault at a time into what the contracts give and counts those that the audit finds; it fails where one survives.
# MUTANTS takes flags, such as MUTANTS='-class token-widened -v'.
mutants:
	$(GO) run ./internal/mutants $(MUTANTS)

demo: build
	./$(BIN) demo

# The stock nats client lives in a module of its own, so that its dependencies stay out of go.mod.
interop: build
	cd interop && $(GO) test ./...

# Rewrites fixtures/jwt after a change of the contract or the compiler; the diff says by how many bytes.
fixtures:
	$(GO) run ./cmd/cotalctl fixtures update

drift:
	GO="$(GO)" .ci/drift

check: lint test drift

clean:
	rm -rf bin
