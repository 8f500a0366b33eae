"""What Spark raises, as one message that says what to do."""

from __future__ import annotations

import re

from karat.core import InputError, SystemFailed

_MISSING = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
_VERSIONS = re.compile(r"PYTHON_VERSION_MISMATCH|Python in worker has different version")
_CAUSE = re.compile(r"^(?:Caused by: )?(?:[\w.$]+(?:Exception|Error)): (.+)$", re.MULTILINE)
_INSTALL = "install karat with the same version of Python on every worker, and set PYSPARK_PYTHON to that Python"


def explain_failure(error: BaseException, paths: tuple[str, ...], log: str) -> BaseException:
    """Return the error to raise for one of Spark: InputError for files, SystemFailed for the cluster, or a bug."""
    if isinstance(error, TypeError | ValueError | AttributeError):
        return error  # a call that Spark does not understand
    text, condition = str(error), _condition(error)
    where = ", ".join(paths)
    if condition == "PATH_NOT_FOUND":
        return InputError("no such file or folder", source=where)
    if condition.startswith("UNABLE_TO_INFER_SCHEMA"):
        hint = "files end in .parquet, in this folder or in folders named column=value"
        return InputError("there are no Parquet files", source=where, hint=hint)
    if "FAILED_READ_FILE" in text or "CANNOT_READ_FILE" in text or "is not a Parquet file" in text:
        return InputError(f"cannot be read as Parquet: {_cause(text)}", source=where)
    if condition.startswith(("CAST_INVALID_INPUT", "CAST_OVERFLOW", "CANNOT_MERGE")):
        return InputError(f"cannot be read: {text.strip().splitlines()[0]}", source=where)
    if missing := _MISSING.search(text):
        return SystemFailed(f"the Python of the workers has no {missing[1]}; {_INSTALL}")
    if _VERSIONS.search(text):
        return SystemFailed(f"the workers run another version of Python; {_INSTALL}")
    if "MemoryError" in text:
        hint = "raise spark.executor.pyspark.memory in spark-defaults.conf"
        return SystemFailed(f"a worker's Python had too little memory; {hint}")
    if type(error).__name__ == "PythonException":
        return RuntimeError(text)  # a kernel is wrong; Python shows where
    return SystemFailed(f"Spark failed: {_cause(text)}{f' ({log})' if log and log not in text else ''}")


def _condition(error: BaseException) -> str:
    get = getattr(error, "getCondition", None)
    return (get() if get is not None else None) or ""


def _cause(text: str) -> str:
    """Return the innermost cause of a message of Java."""
    causes = _CAUSE.findall(text)
    lines = [line for line in text.splitlines() if line.strip()]
    return (causes or lines or ["it does not say why"])[-1 if causes else 0].strip()
