# Everything that a person or a build machine does here. `make help` lists it.

SHELL := bash
.DEFAULT_GOAL := help
SOAK_SECONDS ?= 600
export SOAK_SECONDS

.PHONY: help setup run test lint bench soak oracle dist startup

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## install what is missing to build and test (Debian; root or sudo only if something is missing)
	@scripts/setup.sh

run: setup ## build, serve a small world, and show the way through it (DEMO="--dir FOLDER" keeps it)
	@scripts/demo.sh $(DEMO)

test: ## everything that must hold before a commit: format, lints, tests, dependencies
	@scripts/test.sh

lint: setup ## format and lints only
	@scripts/lint.sh

bench: setup ## measure everything, beside the oracle and etcd if Go is installed (takes long)
	@scripts/bench.sh

soak: setup ## fuzz each target for SOAK_SECONDS (600); needs a nightly toolchain
	@scripts/soak.sh

oracle: setup ## compare with the YAML library that Go programs use; needs Go
	@scripts/oracle.sh

dist: setup ## build the program that is published, and an archive with completions and licences
	@scripts/dist.sh

startup: setup ## measure how long commands take to start (the release build)
	source scripts/common.sh; cargo build --locked --release -p lanai
	@scripts/startup.sh
