# `make` lists what there is. Needs only Node 20 or newer, npm and make; everything else comes with the first target that needs it.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# The Node that the project pins, whatever the host has.
NODE := node scripts/n.mjs
# npm writes this file at the end of an installation. Older than the lock file means: install again.
SETUP := node_modules/.package-lock.json
# A test file that takes longer than this hangs; the slowest needs seconds.
TEST_TIMEOUT_MS := 120000
ALL_TESTS := test/**/*.test.ts
# One test file a core. Node's own default leaves one core free, which is half of a machine with two.
TEST_CONCURRENCY = $$($(NODE) -p 'require("node:os").availableParallelism()')

# Runs one of the programs of the repository: $(call run,scripts/demo/main.ts). ARGS="…" is passed on.
run = @test -f $(1) || { echo "make $@: $(1) is not there yet" >&2; exit 1; }; exec $(NODE) $(1) $(ARGS)

.PHONY: help demo test check build e2e sim fuzz bench fmt clean

help: ## Show this list
	@awk 'BEGIN { FS = ":.*## " } /^[a-z0-9-]+:.*## / { printf "  make %-7s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(SETUP) ## Watch a disaster in three clusters with and without Podseidon (90 seconds)
	$(call run,scripts/demo/main.ts)

test: $(SETUP) ## Run all tests except e2e (under 3 minutes); TESTS="test/unit/webhook/**/*.test.ts" runs only some
	@$(NODE) --test --test-timeout=$(TEST_TIMEOUT_MS) --test-concurrency=$(TEST_CONCURRENCY) --test-reporter=spec $(foreach glob,$(or $(TESTS),$(ALL_TESTS)),'$(glob)')

check: $(SETUP) ## Types, lint, format, import direction, dead code, repository rules; GATES="types …" runs only some
	@$(NODE) scripts/check.ts $(GATES)

build: $(SETUP) ## Build dist/podseidon, one file that runs without node_modules
	@$(NODE) scripts/build.ts

e2e: dist/podseidon ## Prove dist/podseidon on real API servers, and the double against one; ARGS="--case=TEXT --keep"
	@$(NODE) test/e2e/main.ts $(ARGS)
	@$(if $(ARGS),,$(NODE) test/conformance/real.ts)

sim: $(SETUP) ## Live random worlds and look for a broken floor; MINUTES=30; SEED=7 MINUTES=0 replays one; more in docs/simulation.md
	$(call run,test/sim/main.ts)

fuzz: $(SETUP) ## Throw generated reviews and PodProtectors at the webhook; INPUTS=1000000, SEED=7
	$(call run,test/fuzz/main.ts)

bench: $(SETUP) ## Measure speed, each figure beside what it is compared with
	$(call run,test/bench/main.ts)

fmt: $(SETUP) ## Format all sources
	@$(NODE) node_modules/.bin/oxfmt .

clean: ## Remove everything that was built (keeps node_modules)
	rm -rf dist test-results demo-report.html

dist/podseidon: $(SETUP) package.json scripts/build.ts $(shell find src -name '*.ts')
	@$(NODE) scripts/build.ts

$(SETUP): package-lock.json
	npm ci --loglevel=error --no-update-notifier </dev/null
	@touch $@
