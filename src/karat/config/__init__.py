"""What a project says in karat.toml: where its golden set is, what its pipeline is made of, how it is asked."""

from karat.config._config import ALIASES, Config, dotted, overridden, read_config

__all__ = ["ALIASES", "Config", "dotted", "overridden", "read_config"]
