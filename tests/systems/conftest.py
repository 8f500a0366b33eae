"""Keeps pytest from importing what needs packages that have environments of their own."""

collect_ignore = ["local_models.py", "adapters/real_systems.py"]
