"""A contract for import-linter: a module whose name begins with an underscore is for its own package alone."""

from __future__ import annotations

from importlinter import Contract, ContractCheck, output


class PrivateModules(Contract):
    type_name = "private"

    def check(self, graph, verbose: bool) -> ContractCheck:
        broken = sorted(
            (importer, imported)
            for importer in graph.modules
            for imported in graph.find_modules_directly_imported_by(importer)
            if not _may_import(importer, imported)
        )
        return ContractCheck(kept=not broken, metadata={"broken": broken})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for importer, imported in check.metadata["broken"]:
            output.print_error(f"- {importer} imports {imported}: import it from the door of its package")


def _may_import(importer: str, imported: str) -> bool:
    parts = imported.split(".")
    private = next((i for i, part in enumerate(parts) if part.startswith("_") and not part.startswith("__")), None)
    if private is None:
        return True
    package = ".".join(parts[:private])
    return importer == package or importer.startswith(f"{package}.")
