"""The scripts in tools run in the environments of the tools that they call, and have no tests."""

collect_ignore = ["tools"]
