"""Both databases."""

from dialects import dialect as dialect
from dialects import pytest_generate_tests as pytest_generate_tests
