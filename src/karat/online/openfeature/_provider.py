"""Flags of karat behind OpenFeature: code that asks an OpenFeature client needs no other."""
# ruff: noqa: ARG002 (the signatures are those of OpenFeature)

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from karat.net import require_package
from karat.online.flags import CONTROL, EVERY, Flag, LiveFlags

require_package("openfeature.api", extra="openfeature", purpose="the provider of OpenFeature")

from openfeature.evaluation_context import EvaluationContext  # noqa: E402 (what lacks is told by its extra)
from openfeature.exception import (  # noqa: E402
    FlagNotFoundError,
    ProviderNotReadyError,
    TargetingKeyMissingError,
    TypeMismatchError,
)
from openfeature.flag_evaluation import FlagResolutionDetails, Reason  # noqa: E402
from openfeature.provider import AbstractProvider, Metadata  # noqa: E402

if TYPE_CHECKING:
    from openfeature.flag_evaluation import FlagValueType


class KaratProvider(AbstractProvider):
    """A provider for ``openfeature.api.set_provider``: booleans and texts from the flags of a store.

    A boolean is whether the unit gets the feature; a text is the variant that it gets, ``control`` if none. The unit is
    the targeting key of the context. Whatever cannot be answered is an error of OpenFeature, for which its client
    returns the default of the caller.
    """

    def __init__(self, flags: LiveFlags | str | os.PathLike[str] = "karat.db", *, every: float = EVERY) -> None:
        super().__init__()
        self._own = not isinstance(flags, LiveFlags)
        self._given, self._every = flags, every
        self._flags: LiveFlags | None = flags if isinstance(flags, LiveFlags) else None

    def get_metadata(self) -> Metadata:
        """Return the name of the provider."""
        return Metadata(name="karat")

    def initialize(self, evaluation_context: EvaluationContext) -> None:
        """Read the flags, and follow them from now on. A store that cannot be read raises, as OpenFeature wants it."""
        if self._flags is None:
            assert not isinstance(self._given, LiveFlags)
            self._flags = LiveFlags(self._given, every=self._every)
        if self._flags.age is None:
            raise ProviderNotReadyError(self._flags.error)

    def shutdown(self) -> None:
        """Stop following the flags, unless they are the caller's own."""
        if self._own and self._flags is not None:
            self._flags.close()
            self._flags = None

    def resolve_boolean_details(
        self, flag_key: str, default_value: bool, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[bool]:
        """Return whether the unit gets the feature."""
        variant, reason = self._resolve(flag_key, evaluation_context)
        return FlagResolutionDetails(value=variant != CONTROL, variant=variant, reason=reason)

    def resolve_string_details(
        self, flag_key: str, default_value: str, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[str]:
        """Return the variant that the unit gets."""
        variant, reason = self._resolve(flag_key, evaluation_context)
        return FlagResolutionDetails(value=variant, variant=variant, reason=reason)

    def resolve_integer_details(
        self, flag_key: str, default_value: int, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[int]:
        """Refuse: no flag is a number."""
        self._refuse(flag_key, "an integer")

    def resolve_float_details(
        self, flag_key: str, default_value: float, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[float]:
        """Refuse: no flag is a number."""
        self._refuse(flag_key, "a number")

    def resolve_object_details(
        self,
        flag_key: str,
        default_value: Sequence[FlagValueType] | Mapping[str, FlagValueType],
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[Any]:
        """Refuse: no flag is an object."""
        self._refuse(flag_key, "an object")

    def _resolve(self, key: str, context: EvaluationContext | None) -> tuple[str, Reason]:
        flag = self._find(key)
        unit = "" if context is None else context.targeting_key or ""
        reason = _find_reason(flag, unit)
        if reason is Reason.SPLIT and not unit:
            raise TargetingKeyMissingError(f"flag {key!r} is for some units: the context needs a targeting key")
        return flag.assign(unit), reason

    def _find(self, key: str) -> Flag:
        if self._flags is None or self._flags.age is None:
            raise ProviderNotReadyError("it was not initialised" if self._flags is None else self._flags.error)
        flag = self._flags.get(key)
        if flag is None:
            raise FlagNotFoundError(f"there is no flag {key!r}")
        return flag

    def _refuse(self, key: str, kind: str) -> NoReturn:
        self._find(key)
        raise TypeMismatchError(f"flag {key!r} is a boolean or the name of a variant, and not {kind}")


def _find_reason(flag: Flag, unit: str) -> Reason:
    """Return why a unit gets its variant."""
    if not flag.enabled:
        return Reason.DISABLED
    if unit in flag.overrides:
        return Reason.TARGETING_MATCH
    if flag.percent <= 0 or (flag.percent >= 100 and len(flag.variants) == 1):
        return Reason.STATIC
    return Reason.SPLIT
