"""Fuzzing: what karat reads, parses and renders, with damaged and hostile input.

A target is a module with ``make_seeds``, which returns the first cases, and ``run``, which takes a case and fails if
karat breaks a promise. ``__main__`` looks for such cases with atheris, guided by the branches that they reach
(``./scripts/fuzz``). ``tests/faults/test_fuzz_targets.py`` runs the same functions on a fixed list of cases in CI.
"""
