"""Makes a release: the version in the code, the changelog's section with its date, a commit and a tag.

    scripts/release 0.2.0             says what it would do, and changes nothing
    scripts/release 0.2.0 --really    does it, in the working tree and its repository; nothing is pushed or uploaded

It refuses a version that is not newer, a working tree with changes, a branch other than main, a tag that exists, and a
changelog without entries. What is left, ./scripts/package and the upload of dist/, is printed.
"""

import argparse
import datetime
import os
import re
import subprocess
import sys
from pathlib import Path

VERSION = Path("src/karat/core/_version.py")
CHANGELOG = Path("CHANGELOG.md")
_NUMBER = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:(a|b|rc)(\d+))?")
_NEWEST = re.compile(r"^## \[(?P<version>[^\]]+)\] - (?P<day>\S+)$", re.MULTILINE)


class Refused(Exception):
    """A release that cannot be made, with the reason."""


def git(*arguments):
    """Return what git prints."""
    process = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
    if process.returncode:
        raise Refused(f"git {arguments[0]}: {process.stderr.strip()}")
    return process.stdout.strip()


def order(version):
    """Return the key by which versions are ordered; releases come after their candidates."""
    match = _NUMBER.fullmatch(version)
    if not match:
        raise Refused(f"{version} is no version; write one such as 0.2.0 or 0.2.0rc1")
    return (*map(int, match.group(1, 2, 3)), match[4] or "z", int(match[5] or 0))


def read_version():
    """Return the version of the code."""
    return re.search(r'__version__ = "(.+)"', VERSION.read_text(encoding="utf-8"))[1]


def date_changelog(text, version, day):
    """Return the changelog with the unreleased section under the version and its day."""
    newest = _NEWEST.search(text)
    if not newest or newest["day"] != "Unreleased":
        raise Refused("CHANGELOG.md: the first section is not unreleased; write '## [VERSION] - Unreleased' above it")
    end = _NEWEST.search(text, newest.end())
    if not re.search(r"^- ", text[newest.end() : end.start() if end else len(text)], re.MULTILINE):
        raise Refused("CHANGELOG.md: the unreleased section has no entry")
    return f"{text[: newest.start()]}## [{version}] - {day}{text[newest.end() :]}"


def check_repository(version, branch):
    """Refuse a repository from which this version cannot be released."""
    if git("status", "--porcelain"):
        raise Refused("there are changes that are not committed")
    if (now := git("branch", "--show-current")) != branch:
        raise Refused(f"the branch is {now}, not {branch}")
    if git("tag", "--list", f"v{version}"):
        raise Refused(f"the tag v{version} exists")
    current = read_version()
    tags = git("tag", "--list", f"v{current}")
    if order(version) < order(current) or (version == current and tags):
        raise Refused(f"{version} is not newer than {current}")


def release(version, *, really, branch, day):
    """Make a release, or say what it would do."""
    check_repository(version, branch)
    changelog = date_changelog(CHANGELOG.read_text(encoding="utf-8"), version, day)
    code = VERSION.read_text(encoding="utf-8").replace(f'"{read_version()}"', f'"{version}"')
    steps = [
        f"{VERSION}: {read_version()} -> {version}",
        f"{CHANGELOG}: [{version}] - {day}",
        f"commit and tag v{version}",
    ]
    for step in steps:
        print(step if really else f"would change {step}" if ":" in step else f"would {step}")
    if not really:
        print("nothing was changed; --really does it")
        return
    VERSION.write_text(code, encoding="utf-8")
    CHANGELOG.write_text(changelog, encoding="utf-8")
    git("commit", "--quiet", "--message", f"karat {version}", str(VERSION), str(CHANGELOG))
    git("tag", "--annotate", "--message", f"karat {version}", f"v{version}")
    print(f"next: ./scripts/package PYTHON..., then push {branch} and v{version}, and upload dist/")


def main():
    """Return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("version")
    parser.add_argument("--really", action="store_true", help="change files, commit and tag")
    parser.add_argument("--branch", default="main", help="the branch to release from")
    parser.add_argument("--day", default=datetime.datetime.now(datetime.UTC).date().isoformat(), help="of the release")
    options = parser.parse_args()
    os.chdir(Path(__file__).resolve().parents[1])
    try:
        release(options.version, really=options.really, branch=options.branch, day=options.day)
    except Refused as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
