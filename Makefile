# One word per habit; CI uses the same words. CONTRIBUTING.md explains them.
BIN = .venv/bin
READY = .venv/.stamp
BENCH = benchmarks/.venv
PYTEST = $(BIN)/python -m pytest -q -rs $(if $(filter none,$(BROWSER)),--no-browser)
BOOK = _build/html/.stamp
SOURCES = _config.yml _toc.yml pyproject.toml $(shell find book \
	annotated_transformer tools -type f -not -path '*/.*' \
	-not -path '*/__pycache__/*' -not -path '*/node_modules/*')
PYTHONS = python3 python3.14 python3.13 python3.12 python3.11 python
WEB = tools/web/node_modules
RECENT = import sys; sys.exit(sys.version_info < (3, 11))
# what eslint needs
NODE = node -e 'const [a, b] = process.versions.node.split("."); \
	process.exit(Number(a < 20 || (a == 20 && b < 19)))' 2> /dev/null

export OMP_NUM_THREADS ?= 1
# as `train` does: glibc keeps what is freed, for what is allocated next
export MALLOC_MMAP_MAX_ ?= 0
export MALLOC_TRIM_THRESHOLD_ ?= 4294967296
.PHONY: setup book serve pdf run package pull bundle translate test fresh measure \
	soak shake bench gpu gpu-kit translators lint web check named clean browser

setup: $(READY)  ## a fresh .venv with everything that the book needs

book: $(BOOK)  ## build the book as HTML, every warning an error
	@echo "The book: $(CURDIR)/_build/html/index.html"

serve: book  ## show the book at http://localhost:8000
	$(BIN)/python -m http.server 8000 --directory _build/html

pdf: browser book  ## print the book as one PDF, with Chromium
	$(BIN)/python tools/print_book.py _build/html \
	  _build/annotated-transformer.pdf

package: $(READY)  ## write the modules from their chapters
	$(BIN)/python tools/export.py

run: package  ## run every chapter and store its outputs
	$(BIN)/python tools/run_chapters.py

translate: $(BOOK)  ## what the Chinese pages lack, into book/locale
	$(BIN)/python tools/translate.py

bundle: $(READY) $(WEB)/.stamp  ## the models' program, from book/in_page; takes node
	$(BIN)/python tools/bundle.py

pull: $(READY)  ## bring edits back: make pull MODULE=attention
	$(BIN)/python tools/export.py --pull $(MODULE)

lint: $(READY) web
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

web: $(WEB)/.stamp  # JavaScript and style sheets, where node is
	@if $(NODE) && [ -e $(WEB)/.stamp ]; then \
	  $(WEB)/.bin/prettier --cache --cache-location $(WEB)/.prettier \
	    --check 'book/_static/**/*.{css,js}' 'book/in_page/*.js' \
	    '!**/minisearch.js' '!book/_static/in_page/*.js' \
	    'tools/web/*.{json,mjs,ts}' && \
	  $(WEB)/.bin/eslint --cache --cache-location $(WEB)/.eslint \
	    -c tools/web/eslint.config.mjs book/_static book/in_page tools/web && \
	  $(WEB)/.bin/tsc -p tools/web && \
	  $(BIN)/python tools/bundle.py --check --esbuild $(WEB)/.bin/esbuild; \
	else \
	  echo "JavaScript and style sheets are not linted: that takes node" \
	    "20.19 or newer and what npm ci installs in tools/web"; \
	  [ -z "$$GITHUB_ACTIONS" ]; \
	fi

browser: $(READY)  # before all else: who has none is told at once
ifneq ($(BROWSER),none)
	@$(BIN)/python tools/chromium.py
endif

check: named lint  ## one chapter, within a minute: make check CHAPTER=10
	$(BIN)/python tools/export.py --check
	$(PYTEST) -n 2 --dist loadfile \
	  $$($(BIN)/python tools/tests_of.py $(CHAPTER))

named: $(READY)  # before all else: who has mistyped it is told at once
	@$(BIN)/python tools/tests_of.py $(CHAPTER)

test: browser lint book  ## all of it; BROWSER=none leaves out the pages
	$(BIN)/python tools/export.py --check
	$(BIN)/python tools/check_html.py _build/html
	@$(PYTEST) -n 2 --dist loadfile --no-loadscope-reorder; status=$$?; \
	  echo "processor time, user and system; of the tests in the second row:"; \
	  times; exit $$status

fresh:  ## the README's two commands in a clone, by a stranger; with 3.13 too
	for name in python3 python3.13; do \
	  python=$$($$name -c 'import sys; print(sys.executable)') || continue; \
	  folder=$$(mktemp -d) && git clone -q . $$folder/clone || exit 1; \
	  for word in book test; do \
	    env -i HOME=$$folder PATH=/usr/local/bin:/usr/bin:/bin \
	      make -C $$folder/clone $$word PYTHON=$$python || exit 1; \
	  done; \
	  rm -rf $$folder; \
	done

translators: $(READY)  ## train what the package comes with; UPDATES=5 each
	$(BIN)/python tools/train_translators.py \
	  $(if $(UPDATES),--updates $(UPDATES))

measure: $(READY)  ## the trained experiments, 24 hours of a core; ONLY=one
	$(BIN)/python -m experiments $(if $(ONLY),--only $(ONLY))

soak: $(READY)  ## faults at length: 50 kills, 1,000 mutants; models' scores
	SOAK=1 $(BIN)/python -m pytest -q tests/test_faults.py tests/system/test_processes.py \
	  tests/planted.py tests/storage/test_shipped.py

shake: $(READY)  ## other processors: what moves if sums are in another order
	$(BIN)/python tools/shake.py

bench: $(BENCH)/.stamp  ## beside others: RECORD=x.json, ONLY=pairs, SMOKE=1
	$(BENCH)/bin/python -m benchmarks$(if $(ONLY),.$(ONLY)) $(RECORD) \
	  $(if $(SMOKE),--rounds 1 --smoke)

# What a machine with a GPU and no network needs beside its own PyTorch.
gpu-kit: $(READY)  ## what make gpu needs, into .gpu: DATA=multi30k's PY=3.12
	$(BIN)/python -m pip install -q --no-deps --target .gpu/site platformdirs \
	  $(if $(PY),--only-binary=:all: --python-version $(PY)) \
	  $$(grep -E '^(sacremoses|pooch|beartype|filelock|sentencex)==' \
	  requirements.txt)
	mkdir -p .gpu/multi30k
	cp $(DATA)/*.gz .gpu/multi30k

gpu:  ## one GPU: tests, task and speed; SMOKE=1, REHEARSE=1, STEPS="task"
	PYTHONPATH=.gpu/site ANNOTATED_TRANSFORMER_DATA=.gpu/multi30k \
	  $(or $(PYTHON),python3) -m benchmarks.gpu $(RECORD) \
	  $(if $(SMOKE),--scale smoke) $(if $(REHEARSE),--scale rehearsal) \
	  $(if $(STEPS),--steps $(STEPS))

clean:  ## remove the built book
	rm -rf _build

$(READY): requirements.txt pyproject.toml
	@if [ ! -x $(BIN)/python ]; then \
	  for python in $(PYTHON) $(PYTHONS); do \
	    if $$python -c '$(RECENT)' 2>/dev/null; then break; fi; python=; \
	  done; \
	  if [ -z "$$python" ]; then \
	    echo "Python 3.11 or newer is needed and none was found. Install" \
	      "it, or name it: make setup PYTHON=/path/to/python3" >&2; \
	    exit 1; \
	  fi; \
	  $$python -m venv .venv || { rm -rf .venv; exit 1; }; \
	fi
	@echo "Installing what the book needs into .venv; PyTorch takes minutes"
	$(BIN)/python -m pip install -q --disable-pip-version-check --use-pep517 \
	  -r requirements.txt
	@touch $@

$(WEB)/.stamp: tools/web/package-lock.json
	@rm -f $@
	@$(NODE) && (cd tools/web && npm ci --silent) 2> /dev/null && touch $@ || :

$(BENCH)/.stamp: $(wildcard benchmarks/requirements*.txt) | $(READY)
	$(BIN)/python -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install -q --disable-pip-version-check \
	  -r benchmarks/requirements.txt
	$(BENCH)/bin/python -m pip install -q --disable-pip-version-check \
	  --no-deps -r benchmarks/requirements-joeynmt.txt
	@touch $@

$(BOOK): $(READY) $(SOURCES)
	$(BIN)/python tools/build_book.py
	@touch $@
