VENV ?= .venv
PY := $(VENV)/bin/python
RUN := sample_runs/02a-killed-mid-batch

.PHONY: demo test check lab samples bench soak fidelity shots clean

$(VENV)/.ready: pyproject.toml constraints.txt
	python3 -m venv $(VENV)
	$(PY) -m pip install -q --upgrade pip
	$(PY) -m pip install -q -c constraints.txt -e '.[report,lab,serve,dev]'
	touch $@

demo: $(VENV)/.ready  ## the verdict of a killed run, and its report as one HTML file
	-$(VENV)/bin/recovery-kit why $(RUN)
	$(VENV)/bin/recovery-kit report $(RUN) -o postmortem.html

test: $(VENV)/.ready  ## all tests
	$(PY) -m pytest

check: $(VENV)/.ready  ## lint, types, the import rule
	$(VENV)/bin/ruff check recovery_kit tests benchmarks
	$(VENV)/bin/mypy
	$(PY) -m pytest -q tests/test_import_rule.py

lab: $(VENV)/.ready  ## JupyterLab on the tour
	$(VENV)/bin/recovery-kit lab

samples: $(VENV)/.ready  ## the table of the sample runs
	$(VENV)/bin/recovery-kit ls sample_runs

bench: $(VENV)/.ready  ## ratios against a peer in the same run
	$(PY) -m benchmarks

soak: $(VENV)/.ready  ## a thousand kills each, counted: docs/soak.md
	$(PY) -m tests.soak --kills 1000
	$(PY) tests/looms/kill_soak.py 1000

fidelity: $(VENV)/.ready  ## mirrors and written runs held against a stock engine (LEV, or lev on the PATH)
	$(PY) tests/fidelity

shots: $(VENV)/.ready  ## the pictures of the docs, made by a real browser
	$(PY) tests/shots.py

clean:
	rm -rf $(VENV) postmortem.html
