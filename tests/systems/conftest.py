"""Keeps pytest from importing what needs torch, which has an environment of its own."""

collect_ignore = ["local_models.py"]
