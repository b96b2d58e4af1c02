# `make` lists what there is. Needs only Node 20 or newer, npm and make; everything else comes with the first target
# that needs it.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# The Node that the project pins, whatever the host has.
NODE := node scripts/n.mjs
# npm writes this file at the end of an installation. Older than the lock file means: install again.
SETUP := node_modules/.package-lock.json
# Compiled modules are kept, which saves a third of what a small test file takes.
COMPILE_CACHE := $(CURDIR)/node_modules/.cache/compile

# Runs a ring of tests, or the test files of some globs. TEST_LIMIT_S=1800 ends a file that hangs.
test = @NODE_COMPILE_CACHE=$(COMPILE_CACHE) $(NODE) test/run/main.ts $(foreach glob,$(1),'$(glob)')

# Runs one of the programs of the repository: $(call run,scripts/demo/main.ts). ARGS="…" is passed on.
run = @test -f $(1) || { echo "make $@: $(1) is not there yet" >&2; exit 1; }; exec $(NODE) $(1) $(ARGS)

.PHONY: help demo playground test proofs check alerts chart build image e2e e2e-long sim fuzz attack soak bench fmt
.PHONY: clean

help: ## Show this list
	@awk 'BEGIN { FS = ":.*## " } /^[a-z0-9-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(SETUP) ## Show a disaster in three clusters with and without Podseidon (90 seconds); ARGS=--keep stays open
	$(call run,scripts/demo/main.ts)

playground: $(SETUP) ## A guarded fleet for your own kubectl, without a cluster, until Ctrl-C
	$(call run,scripts/playground/main.ts)

test: $(SETUP) ## Find mistakes (110 seconds on two cores); TESTS="test/unit/webhook/**/*.test.ts" runs only some
	$(call test,$(or $(TESTS),test)) $(ARGS)

proofs: $(SETUP) ## Run what proves or explores (4 minutes on two cores); TESTS="test/sim/*.proof.ts" runs only some
	$(call test,$(or $(TESTS),proofs)) $(ARGS)

check: $(SETUP) ## Types, lint, format, import direction, dead code, repository rules; GATES="types …" runs only some
	@$(NODE) scripts/check.ts $(GATES)

alerts: $(SETUP) ## Check and play the rules of manifests/monitoring with promtool (needs Go, or PROMTOOL=FILE)
	$(call run,scripts/alerts.ts)

chart: $(SETUP) ## Lint and render manifests/chart with helm, beside kustomize's objects (needs Go, or HELM=FILE)
	$(call test,test/chart/*.helm.ts)

build: $(SETUP) ## Build dist/podseidon, one file that runs without node_modules
	@$(NODE) scripts/build.ts

image: dist/podseidon ## Assemble the image from pinned Debian packages (needs apt; ARGS="--architecture arm64")
	$(call run,scripts/image/main.ts)

e2e: dist/podseidon ## Test dist/podseidon on real API servers, and the double beside one; ARGS="--case=TEXT --keep"
	@$(NODE) test/e2e/main.ts $(ARGS)
	@$(if $(ARGS),,$(NODE) test/conformance/real.ts)

e2e-long: dist/podseidon ## Run the e2e cases over a minute, a hunt of MINUTES=30, mutations and fuzzing
	@$(NODE) test/e2e/main.ts --long $(ARGS)
	@MINUTES=$(or $(MINUTES),30) $(NODE) test/sim/main.ts
	@MUTATIONS=1 $(NODE) test/sim/main.ts
	@INPUTS=$(or $(INPUTS),200000) CONNECTIONS=$(or $(CONNECTIONS),20000) $(NODE) test/fuzz/main.ts

sim: $(SETUP) ## Run randomized simulations and check the invariants; MINUTES=30; SEED=7 MINUTES=0 repeats one
	$(call run,test/sim/main.ts)

fuzz: dist/podseidon ## Send generated reviews and raw bytes to the webhook; INPUTS=1000000, CONNECTIONS=200000, SEED=7
	$(call run,test/fuzz/main.ts)

attack: dist/podseidon ## Attack a webhook while API servers ask it (15 minutes); SECONDS=60 each, ATTACKS="S2 S5"
	@SECONDS=$(or $(SECONDS),60) $(NODE) test/attack/main.ts

soak: dist/podseidon ## Two hours of a fleet in 15 minutes: nothing may grow, fail or be miscounted; HOURS=2
	@SECONDS=$(or $(SECONDS),900) HOURS=$(HOURS) $(NODE) test/soak/main.ts

# The sources, as in all measurements, and not dist/podseidon.
bench: export PODSEIDON_E2E_DEV := 1
bench: $(SETUP) ## Measure speed; BASE=COMMIT measures that commit and this one in turns, ONLY=hot,cell TURNS=5
	$(call run,test/bench/main.ts)

fmt: $(SETUP) ## Format all sources
	@$(NODE) node_modules/.bin/oxfmt .

clean: ## Remove everything that was built (keeps node_modules)
	rm -rf dist test-results demo-report.html

dist/podseidon: $(SETUP) package.json scripts/build.ts $(shell find src assets manifests -type f)
	@$(NODE) scripts/build.ts

$(SETUP): package-lock.json
	npm ci --loglevel=error --no-update-notifier </dev/null
	@touch $@
