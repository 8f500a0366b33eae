"""The configuration of a project (karat.toml) as a typed value."""

from karat.config._config import (
    ALIASES,
    RESERVED,
    Config,
    EvalConfig,
    FrontMatter,
    check_parameters,
    find_configured,
    override,
    read_config,
    resolve_key,
)
from karat.config._judges import JudgesConfig, read_judges_file
from karat.config._model import ModelOptions
from karat.config._online import ALERTS, AlertLimit, CanaryConfig, OnlineConfig
from karat.config._scoring import CHOICES, SCORING, Scoring, choose_scoring
from karat.config._settings import IDENTIFYING, Settings, setting_types
from karat.config._telemetry import TelemetryConfig, read_telemetry

__all__ = [
    "ALERTS",
    "ALIASES",
    "CHOICES",
    "IDENTIFYING",
    "RESERVED",
    "SCORING",
    "AlertLimit",
    "CanaryConfig",
    "Config",
    "EvalConfig",
    "FrontMatter",
    "JudgesConfig",
    "ModelOptions",
    "OnlineConfig",
    "Scoring",
    "Settings",
    "TelemetryConfig",
    "check_parameters",
    "choose_scoring",
    "find_configured",
    "override",
    "read_config",
    "read_judges_file",
    "read_telemetry",
    "resolve_key",
    "setting_types",
]
