# The five questions of docs/notebook, run by DuckDB over the export of a small day.
NOTEBOOK ?= .gridbid/notebook
DUCKDB ?= .gridbid/duckdb
DUCKDB_VERSION := 1.5.6-r.1
DUCKDB_PACKAGE := $(DUCKDB)/node_modules/@duckdb/node-api

# npm's package has DuckDB itself in it. Its licence is MIT; it is no part of what is shipped.
$(DUCKDB_PACKAGE):
	npm install --silent --fetch-retries 1 --no-audit --no-fund --prefix $(DUCKDB) @duckdb/node-api@$(DUCKDB_VERSION)

# Compiles the notebook's Python, which only opens the tables and runs the files of SQL.
define COMPILE_CELLS
import json, sys
cells = [c for c in json.load(open(sys.argv[1]))["cells"] if c["cell_type"] == "code"]
compile("\n".join("".join(c["source"]) for c in cells), sys.argv[1], "exec")
print("%s: %d cells compile" % (sys.argv[1], len(cells)))
endef
export COMPILE_CELLS

## notebook: run five questions in SQL with DuckDB over an export in each format, and compare their sums with the replay's table (needs node, npm and, the first time, network; skipped with a message without)
.PHONY: notebook
notebook:
	@if ! command -v node >/dev/null || ! command -v npm >/dev/null; then echo "notebook: skipped: it needs node and npm (nodejs.org)"; \
	elif ! $(MAKE) --no-print-directory $(DUCKDB_PACKAGE); then echo "notebook: skipped: npm cannot fetch @duckdb/node-api@$(DUCKDB_VERSION): is there a network?"; \
	else set -e; \
		$(GO) run ./cmd/gridbid replay --quiet --policy auction,home-fifo --bus mem --no-bound --max-jobs 150 --run $(NOTEBOOK)/run >/dev/null; \
		for format in csv json parquet; do $(GO) run ./cmd/gridbid export --quiet --run $(NOTEBOOK)/run --table jobs,sites,rounds,bids,signals --format $$format --out $(NOTEBOOK)/tables; done; \
		node docs/notebook/check.mjs $(NOTEBOOK)/run $(NOTEBOOK)/tables $(abspath $(DUCKDB)); \
		if command -v python3 >/dev/null; then python3 -c "$$COMPILE_CELLS" docs/notebook/five-questions.ipynb; fi; \
	fi
