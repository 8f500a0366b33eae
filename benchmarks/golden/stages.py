"""One process that reads a set, applies the rules one by one, and prints CPU seconds and peak memory as JSON."""

from __future__ import annotations

import json
import resource
import sys
from typing import Any

NEAR_DUPLICATES = ("near-duplicate-document", "near-duplicate-query")


def usage() -> tuple[float, float]:
    """Return the CPU seconds and the peak MB of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main() -> None:
    from karat.golden import read
    from karat.golden.lint._capacity_rules import Capacity
    from karat.golden.lint._check import rules

    start, _ = usage()
    golden = read(sys.argv[1])
    seconds, peak = usage()
    stages: list[dict[str, Any]] = [{"stage": "read", "seconds": seconds - start, "megabytes": peak}]
    subject = Capacity(golden=golden)
    # Near-duplicates last: peak memory never falls, and theirs is the one to see.
    for rule in sorted(rules(), key=lambda rule: rule.name in NEAR_DUPLICATES):
        start, _ = usage()
        findings = [finding.message for finding in rule.check(subject)]
        seconds, peak = usage()
        stages.append({"stage": rule.name, "seconds": seconds - start, "megabytes": peak, "findings": findings})
    print(json.dumps(stages))


if __name__ == "__main__":
    main()
