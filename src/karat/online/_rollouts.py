"""What is on its way to people: trials that run, flags in rollout, and alerts that are open."""

from __future__ import annotations

from typing import Any

from karat.online._times import format_time
from karat.schema.watch import OnlineAlert, OnlineFlag, OnlineTrial
from karat.store import Store


def list_rollouts(store: Store) -> dict[str, Any]:
    """Return the fields of a log's health that are about features: trials, flags and alerts."""
    return {
        "trials": tuple(
            OnlineTrial(feature=feature, number=number, status=status, samples=samples, started=format_time(started))
            for _, feature, number, status, _, _, _, samples, started, *_ in store.trials.all()
            if status in ("running", "paused")
        ),
        "flags": tuple(_list_flags(store)),
        "alerts": tuple(
            OnlineAlert(name=name, opened=format_time(opened)) for _, name, opened, *_ in store.alerts.list_open()
        ),
    }


def _list_flags(store: Store) -> list[OnlineFlag]:
    """Return the flags that are on, and have a share of sessions between none and all, or run in the shadow."""
    from karat.online.flags import collect_flags

    changed = {key: time for key, _, time, _ in store.flags()}
    return [
        OnlineFlag(key=key, percent=flag.percent, shadow_percent=flag.shadow_percent, changed=format_time(changed[key]))
        for key, (flag, _) in collect_flags(store).items()
        if flag.enabled and (0 < flag.percent < 100 or flag.shadow_percent)
    ]
