# Every target is one command a contributor may run; CI runs .ci/run.

# Versions of the tools that generate code; changing one regenerates.
PROTOC_GEN_GO      = google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
PROTOC_GEN_GO_GRPC = google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2
GRPCIO_TOOLS       = grpcio-tools==1.76.0
PROTO              = core/plugin/internal/wire/lab.proto
PROTO_ROOT        ?= .
GOLANGCI           = github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

.PHONY: all test ci lint bench proto proto-check golden fuzz train-tiny

all: test

test: ## the README's test command
	go test ./...

ci: ## what CI runs
	.ci/run

lint: ## the pinned linter with .golangci.yml
	go run $(GOLANGCI) run ./...

bench: ## benchmarks beside the hot paths; read the ratios, not the times
	go test -run '^$$' -bench . -benchmem ./core/... ./plugins/... ./plots/... ./cmd/...

proto: ## regenerate the wire code from its contract (python3 with venv supplies protoc)
	@tmp=$$(mktemp -d) && trap 'rm -rf "$$tmp"' EXIT && \
	GOBIN="$$tmp/bin" go install $(PROTOC_GEN_GO) && \
	GOBIN="$$tmp/bin" go install $(PROTOC_GEN_GO_GRPC) && \
	python3 -m venv "$$tmp/py" && "$$tmp/py/bin/pip" install --quiet --disable-pip-version-check $(GRPCIO_TOOLS) && \
	PATH="$$tmp/bin:$$PATH" "$$tmp/py/bin/python" -m grpc_tools.protoc -I . \
		--go_out="$(PROTO_ROOT)" --go_opt=module=lab \
		--go-grpc_out="$(PROTO_ROOT)" --go-grpc_opt=module=lab $(PROTO) && \
	if [ "$(PROTO_ROOT)" = . ]; then PYTHON="$$tmp/py/bin/python" plugins/python/generate; fi

proto-check: ## fail when the committed wire code is not what "make proto" writes
	@out=$$(mktemp -d) && trap 'rm -rf "$$out"' EXIT && \
	$(MAKE) --no-print-directory proto PROTO_ROOT="$$out" && \
	for f in lab.pb.go lab_grpc.pb.go; do \
		cmp "$$out/$(dir $(PROTO))$$f" "$(dir $(PROTO))$$f" || exit 1; \
	done

golden: ## rewrite golden files; look at every picture that changed
	go test ./plots/... ./cmd/... -update

fuzz: ## a minute of fuzzing for every target that reads bytes from outside
	.ci/fuzz

train-tiny: ## train the embedded model again: Python, about 40 minutes on one core
	sh plugins/models/transformer/train/run.sh
