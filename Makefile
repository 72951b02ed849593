# One command for each thing to do here; `make help` lists them. Needs GNU make and a POSIX shell.

.DEFAULT_GOAL := help
# What was left half-made by an error or a Ctrl-C is made again.
.DELETE_ON_ERROR:
.PHONY: help app test lint bench attack paper versions docs clean chromium kernels

VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check --quiet
# By uv in a tenth of the time; by pip where uv cannot (it does not read pip's settings).
install = $(PY) -m uv pip install --quiet --python $(PY) $(1) 2>/dev/null || $(PIP) install $(1)

# The environment is made again when a requirement changes or the checkout moves, else never: its
# stamps carry a checksum in their names, so a mere `git checkout` (new times) costs nothing.
KEY := $(shell { pwd; cat requirements.txt pyproject.toml; } | cksum | tr -d ' ')
DEV_KEY := $(shell { pwd; cat requirements.txt requirements-dev.txt pyproject.toml; } | cksum | tr -d ' ')
INSTALLED := $(VENV)/.app-$(KEY)
DEV_INSTALLED := $(VENV)/.dev-$(DEV_KEY)

# Only from the command line: a DATA or PORT that happens to be exported is not meant for us.
given = $(if $(filter command,$(firstword $(origin $(1)))),$($(1)))
export LORE_MAKE_DATA := $(call given,DATA)
export LORE_MAKE_PORT := $(call given,PORT)
export LORE_MAKE_TESTS := $(call given,TESTS)
export LORE_MAKE_RUNS := $(call given,RUNS)
export LORE_MAKE_IMAGES := $(call given,IMAGES)
export LORE_MAKE_COMPAS := $(call given,COMPAS)

help: ## Print this list.
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo "  make app DATA=predictions.npz   open a file (or DATA='calibration.npz test.npz') instead of the demo"
	@echo "  make app PORT=8600 HEADLESS=1   another port; do not open a browser"
	@echo "  make test TESTS=tests/packaging only these tests"
	@echo "  make paper RUNS=directory IMAGES='calibration.npz test.npz' [COMPAS='calibration.npz test.npz']"
	@echo "  make app PYTHON=/path/to/python use this Python (3.11 or newer)"

app: $(INSTALLED) ## Set everything up and open the dashboard on the demo.
	@set -- $$LORE_MAKE_DATA; \
	if [ -e "$$LORE_MAKE_DATA" ] || ! [ -e "$$1" ]; then set -- "$$LORE_MAKE_DATA"; fi; \
	if [ -n "$$1" ]; then set -- --data "$$@"; else set --; fi; \
	[ -z "$$LORE_MAKE_PORT" ] || set -- "$$@" --port "$$LORE_MAKE_PORT"; \
	case "$(HEADLESS)" in ''|0) ;; *) set -- "$$@" --headless ;; esac; \
	exec $(PY) -m lore_core.cli app "$$@"

# One run, so that pytest's last line counts every test. Tests of one module, or of one `xdist_group`,
# share a worker; not reordered, so that the longest (tests/browser) come first.
# Some hundred processes are started: none compiles all modules anew.
test: $(DEV_INSTALLED) chromium kernels ## Set everything up and run all tests.
	@PYTHONDONTWRITEBYTECODE= exec $(PY) -m pytest -n 2 --dist loadgroup --no-loadscope-reorder $(if $(JUNIT),--junit-xml="$(JUNIT)") $${LORE_MAKE_TESTS:-tests}

lint: $(DEV_INSTALLED) ## Check style, formatting and types.
	@failed=0; \
	for check in 'ruff check .' 'ruff format --check .' mypy; do $(PY) -m $$check || failed=1; done; \
	exit $$failed

bench: $(DEV_INSTALLED) chromium kernels ## Run the benchmarks (benchmarks/*.py).
	@set -- benchmarks/[!_]*.py; \
	if [ ! -e "$$1" ]; then echo "There are no benchmarks yet: benchmarks/ holds no .py file."; exit 0; fi; \
	for script; do echo "== $$script"; $(PY) "$$script" || exit 1; done

# Some seconds; COUNT=100000 takes some minutes, and so do READERS=20 MINUTES=5, CYCLES=200 and
# KILLS=30, which attack a server. With a number, docs/reliability.md is written.
attack: $(INSTALLED) kernels ## Attack what reads files with damaged ones, bombs and edited models.
	@exec $(PY) -m benchmarks.attack $(if $(COUNT),--count $(COUNT)) $(if $(READERS),--readers $(READERS)) \
	  $(if $(MINUTES),--minutes $(MINUTES)) $(if $(CYCLES),--cycles $(CYCLES)) $(if $(KILLS),--kills $(KILLS)) \
	  $(if $(COUNT)$(READERS)$(CYCLES)$(KILLS),--write)

# The data are not ours to pass on: what is missing is said by the script.
paper: $(DEV_INSTALLED) kernels ## Write docs/paper.md: the paper's figures and tables on your data.
	@exec $(PY) -m benchmarks.paper --runs "$$LORE_MAKE_RUNS" --images $$LORE_MAKE_IMAGES --compas $$LORE_MAKE_COMPAS

# Some ten minutes, and 3 GB for that long: two environments that are thrown away.
CORE := data metrics reading recalibration shipping mergeable regions view embedding figures report
# (Numbers saved by other versions differ in their last bit, and old libraries warn of themselves.)
versions: ## Test the core with the lowest and the newest versions that are allowed.
	@set -e; folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; python=$(or $(PYTHON),python3); failed=0; \
	"$$python" .ci/lowest.py > "$$folder/lowest.txt"; cp requirements.txt "$$folder/newest.txt"; \
	for which in lowest newest; do \
	  "$$python" -m venv "$$folder/$$which"; \
	  "$$folder/$$which/bin/python" -m pip install --quiet -r "$$folder/$$which.txt" pytest hypothesis openpyxl duckdb pypdf anywidget; \
	  NUMBA_CACHE_DIR="$$folder/$$which/kernels" "$$folder/$$which/bin/python" -m pytest -q -p no:cacheprovider \
	    -W default -k "not same_numbers" $(addprefix tests/,$(CORE)) || failed=1; \
	done; exit $$failed

docs: $(DEV_INSTALLED) ## Write docs/api.md from the docstrings.
	@$(PY) docs/build_api.py

clean: ## Remove the environment, caches and build results.
	@rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .cache build dist test-results ./*.egg-info
	@find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +

kernels: $(INSTALLED)
	@$(PY) -m lore_core.cli warmup

# The newest Python that is new enough and can make environments. On Debian that second part is a
# package of its own (python3-venv), which root gets at once and anyone else is told about.
$(PY):
	@set -e; \
	pick() { for candidate in $(PYTHON) python3.14 python3.13 python3.12 python3.11 python3; do \
	  if "$$candidate" -c "import sys, $$1; sys.exit(sys.version_info < (3, 11))" >/dev/null 2>&1; \
	  then echo "$$candidate"; return; fi; done; }; \
	usable=$$(pick 'ensurepip, venv'); \
	if [ -z "$$usable" ]; then \
	  bare=$$(pick sys); \
	  if [ -z "$$bare" ]; then \
	    echo "LoRe Lens needs Python 3.11 or newer and found none. On Debian or Ubuntu: apt install python3 python3-venv; elsewhere: make app PYTHON=/path/to/python." >&2; exit 1; fi; \
	  package=$$("$$bare" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])'); \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "$$bare cannot make environments yet: installing $$package with apt …"; \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y $$package >/dev/null \
	      || { echo "apt could not install $$package." >&2; exit 1; }; \
	  else \
	    echo "$$bare cannot make environments. On Debian or Ubuntu run: sudo apt install $$package; then run make again." >&2; exit 1; fi; \
	  usable=$$bare; \
	fi; \
	echo "Making the environment $(VENV) with $$("$$usable" --version) …"; \
	"$$usable" -m venv --clear $(VENV)

$(INSTALLED): $(PY)
	@echo "Installing LoRe Lens and what it needs into $(VENV) (under a minute, once) …"
	@$(PIP) install uv || true
	@$(call install,-r requirements.txt)
	@$(call install,--no-deps -e .)
	@rm -f $(VENV)/.app-*
	@touch $@

$(DEV_INSTALLED): $(INSTALLED)
	@echo "Installing the test and lint tools (under a minute, once) …"
	@$(call install,-r requirements-dev.txt)
	@rm -f $(VENV)/.dev-*
	@touch $@

# For the browser tests. BROWSER_PATH names another Chrome or Chromium.
chromium:
	@for browser in "$$BROWSER_PATH" chromium chromium-browser google-chrome; do \
	  if [ -n "$$browser" ] && command -v "$$browser" >/dev/null; then exit 0; fi; done; \
	if ! command -v apt-get >/dev/null; then sudo=none; \
	elif [ "$$(id -u)" = 0 ]; then sudo=; \
	elif command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then sudo=sudo; \
	else sudo=none; fi; \
	if [ "$$sudo" = none ]; then \
	  echo "No Chromium was found, so the browser tests will be skipped. Install it (Debian: sudo apt install chromium) or set BROWSER_PATH to run them."; \
	else \
	  echo "Installing Chromium for the browser tests with apt (about a minute, once) …"; \
	  $$sudo apt-get update -qq && $$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y chromium >/dev/null \
	    || echo "apt could not install Chromium, so the browser tests will be skipped."; \
	fi
