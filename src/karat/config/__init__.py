"""The configuration of a project (karat.toml) as a typed value."""

from karat.config._config import (
    ALIASES,
    RESERVED,
    Config,
    EvalConfig,
    check_parameters,
    override,
    read_config,
    resolve_key,
)
from karat.config._settings import IDENTIFYING, Settings, setting_types

__all__ = [
    "ALIASES",
    "IDENTIFYING",
    "RESERVED",
    "Config",
    "EvalConfig",
    "Settings",
    "check_parameters",
    "override",
    "read_config",
    "resolve_key",
    "setting_types",
]
