"""Runs what standard input has, as ``python -`` does."""

import sys

if __name__ == "__main__":
    exec(compile(sys.stdin.read(), "<stdin>", "exec"), {"__name__": "__main__"})
