"""Writes the software bill of materials of an environment (CycloneDX 1.6, JSON), and checks the licences in it.

    PYTHON packaging/sbom.py [--output FILE] [--check]

PYTHON is that of the environment to describe. With --check it ends with 1 if a licence is not in LICENCES.
"""

import argparse
import importlib.metadata
import json
import re
import sys
import uuid
from pathlib import Path

LICENCES = {
    "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "CC0-1.0", "ISC", "MIT", "MIT-0", "MPL-2.0", "PSF-2.0",
    "Python-2.0", "Unlicense", "Zlib",
}  # fmt: skip
"""Those under which karat may be used together with a package, in any product; LGPL only where it stands below."""
KNOWN = {
    "Apache License 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Apache": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "BSD": "BSD-3-Clause",
    "BSD 3-Clause": "BSD-3-Clause",
    "BSD-3": "BSD-3-Clause",
    "3-Clause BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "The MIT License (MIT)": "MIT",
    "ISC License (ISCL)": "ISC",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
"""SPDX names of what metadata and classifiers call licences."""
UNSAID = {"axe-playwright-python": "MIT", "hnswlib": "Apache-2.0"}
"""Of packages whose metadata name none: what the repository of each says."""
EXCEPTIONS = {
    "psycopg": "LGPL-3.0-only",  # an extra; imported as it is, and replaceable, as the LGPL asks for
    "psycopg-binary": "LGPL-3.0-only",
    "krippendorff": "GPL-3.0-or-later",  # an oracle of karat's own tests, which no user gets
}
"""Single packages under other licences, each with its reason."""


def find_licence(package: importlib.metadata.Distribution) -> str:
    """Return the licence of a package as an SPDX expression, or what its metadata says if that is none."""
    data = package.metadata
    if expression := data.get("License-Expression"):
        return str(expression)
    said = (data.get("License") or "").strip()
    classified = [
        line.rpartition(" :: ")[2] for line in data.get_all("Classifier") or () if line.startswith("License ::")
    ]
    for text in (said, *classified):
        if KNOWN.get(text, text) in LICENCES:
            return KNOWN.get(text, text)
    first = said.splitlines()[0].strip() if said else ""
    return KNOWN.get(first, first) or ", ".join(classified) or UNSAID.get(package.metadata["Name"].lower(), "unknown")


def is_allowed(name: str, expression: str) -> bool:
    """Return whether an expression allows a choice of licences that are all in the list."""
    if EXCEPTIONS.get(name) == expression:
        return True
    choices = [choice.strip("() ") for choice in expression.split(" OR ")]
    return any(all(part.strip("() ") in LICENCES for part in choice.split(" AND ")) for choice in choices)


def list_packages() -> list[importlib.metadata.Distribution]:
    """Return all packages of this environment but what only installs others."""
    found = {re.sub(r"[-_.]+", "-", p.metadata["Name"]).lower(): p for p in importlib.metadata.distributions()}
    return [found[name] for name in sorted(found) if name not in ("pip", "setuptools", "wheel")]


def describe(package: importlib.metadata.Distribution) -> dict[str, object]:
    """Return the component of a package."""
    name, version = re.sub(r"[-_.]+", "-", package.metadata["Name"]).lower(), package.version
    licence = find_licence(package)
    is_spdx = all(part in LICENCES for part in re.split(r" (?:OR|AND) ", licence.replace("(", "").replace(")", "")))
    known = {"expression": licence} if is_spdx else {"license": {"name": licence}}
    return {
        "type": "library",
        "bom-ref": f"pkg:pypi/{name}@{version}",
        "name": name,
        "version": version,
        "purl": f"pkg:pypi/{name}@{version}",
        "licenses": [known],
    }


def make_bom() -> dict[str, object]:
    """Return the bill; the same environment gives the same bytes: it has no time, and a number by its content."""
    packages = [describe(package) for package in list_packages()]
    main = next((package for package in packages if package["name"] == "karat"), None)
    others = [package for package in packages if package is not main]
    digest = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(packages, sort_keys=True))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{digest}",
        "version": 1,
        "metadata": {"component": {**main, "type": "application"}} if main else {},
        "components": others,
        "dependencies": [
            {"ref": main["bom-ref"], "dependsOn": [package["bom-ref"] for package in others]},
        ] if main else [],
    }  # fmt: skip


def main() -> int:
    """Write the bill, check the licences, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    text = json.dumps(make_bom(), indent=2) + "\n"
    if options.output:
        options.output.write_text(text, encoding="utf-8")
    elif not options.check:
        sys.stdout.write(text)
    refused = [
        f"{package.metadata['Name']} {package.version}: {licence}"
        for package in list_packages()
        if not is_allowed(re.sub(r"[-_.]+", "-", package.metadata["Name"]).lower(), licence := find_licence(package))
    ]
    if options.check and refused:
        sys.stderr.write("licences that are not in the list of packaging/sbom.py:\n" + "\n".join(refused) + "\n")
    return 1 if options.check and refused else 0


if __name__ == "__main__":
    raise SystemExit(main())
