"""Runs a script with its coverage measured: ``traced.py CONFIGURATION DATA PACKAGES SCRIPT ARGUMENTS...``.

The packages are imported before: ``coverage run`` would trace their imports, which then take twice as long.
"""

from __future__ import annotations

import runpy
import sys
import warnings
from importlib import import_module

import coverage

if __name__ == "__main__":
    configuration, data, packages, *sys.argv = sys.argv[1:]
    warnings.simplefilter("ignore")
    for package in packages.split(","):
        import_module(package)
    coverage.Coverage(config_file=configuration, data_file=data).start()
    runpy.run_path(sys.argv[0], run_name="__main__")
