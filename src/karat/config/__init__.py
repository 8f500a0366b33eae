"""The configuration of a project (karat.toml) as a typed value."""

from karat.config._config import ALIASES, Config, EvalConfig, override, read_config, resolve_key
from karat.config._settings import IDENTIFYING, Settings, setting_types

__all__ = [
    "ALIASES",
    "IDENTIFYING",
    "Config",
    "EvalConfig",
    "Settings",
    "override",
    "read_config",
    "resolve_key",
    "setting_types",
]
