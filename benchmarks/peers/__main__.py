"""Karat beside the newest of its peers: what each does with the same golden set, tried and not looked up.

``./scripts/bench peers`` installs each into a folder that is removed again, gives it the workload (workload.py) in a
network namespace without a network, and prints four tables: what it takes to have it (packages, size, CPU seconds of
the first two queries, whom it asks for), what it makes of the hotel's questions and of a run that lost a fifth of
them, how often its gate fires when nothing changed, and how often when something did. ``--only`` names some of them,
``--quick`` draws 20 worlds instead of 300, ``--folder`` keeps what was installed, and uses what is there.
docs/peers.md has what it printed.
"""

from __future__ import annotations

import argparse
import datetime
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from installs import HERE, PEERS, Finished, Installed, Peer
from probes import THRESHOLD
from workload import MEASURES, NOISES, make_workload

FEW = 5
"""In how many worlds of each kind a gate that decides by rows is run itself; the rest follows its rule."""


def probe_promptfoo(installed: Installed, task: str, workload: Path, world: dict[str, Any] | None = None) -> Finished:
    """Write a configuration of promptfoo for a task, and let it evaluate."""
    from probes import list_rows, read

    if world is None:
        qrels, run = read(workload / "qrels.txt", 3), read(workload / ("lost.txt" if task == "lost" else "run.txt"), 4)
        rows = list_rows(qrels, run)[: 2 if task == "small" else None]
        tests = [{"vars": {"query": q, "hits": hits, "good": good, "failed": not hits}} for q, hits, good in rows]
    else:
        green = [after for before, after in zip(*world["values"]["nDCG@10"], strict=True) if before >= THRESHOLD]
        tests = [{"vars": {"query": str(i), "hits": [], "good": [], "score": after}} for i, after in enumerate(green)]
    scorer = f"file://{HERE / 'promptfoo.cjs'}"
    check = {"type": "javascript", "value": f"{scorer}:assertPrecision"}
    usual = {"options": {"disableVarExpansion": True}, "assert": [check]}
    config = {"prompts": ["{{query}}"], "providers": [scorer], "tests": tests, "defaultTest": usual}
    (installed.home / "config.json").write_text(json.dumps(config), encoding="utf-8")
    hosts, output = installed.home / "hosts.txt", installed.home / "output.json"
    for path in (hosts, output):
        path.unlink(missing_ok=True)
    environment = {"KARAT_HOSTS": str(hosts), "NODE_OPTIONS": f"--require {HERE / 'promptfoo.cjs'}"}
    program = installed.packages / ".bin" / "promptfoo"
    done = installed.run(program, "eval", "--no-cache", "-c", "config.json", "-o", output, environment=environment)
    document: dict[str, Any] = {"hosts": sorted(set(hosts.read_text().split())) if hosts.exists() else []}
    if output.exists():
        results = json.loads(output.read_text(encoding="utf-8"))["results"]
        values = {row["vars"]["query"]: row["score"] for row in results["results"]}
        document |= {"values": {"P@5": values}, "stats": results["stats"], "own": ["P@5"]}
    else:
        document["error"] = done.error
    return Finished(done.code, document, done.error, done.cpu, done.seconds)


class Tried:
    """Everything that was tried of one peer."""

    def __init__(self, peer: Peer, folder: Path, workload: Path) -> None:
        self.peer, self.workload = peer, workload
        self.installed = Installed(peer, folder)
        self.note = ""

    def probe(self, task: str, **options: Any) -> Finished:
        if self.installed.is_node:
            return probe_promptfoo(self.installed, task, self.workload, **options)
        return self.installed.probe(task, self.workload, **options)

    def install(self) -> str:
        """Install the peer as its own requirements say, and with pins if it cannot be used like that."""
        if error := self.installed.install():
            return f"cannot be installed here: {error}"
        first = self.probe("small")
        if first.document is None or "error" in first.document:
            said = first.error if first.document is None else first.document["error"]
            if not self.peer.pins:
                return f"cannot be used as installed: {said}"
            self.note = f"as installed: {said}; tried with {', '.join(self.peer.pins)}"
            self.installed.install(self.peer.pins)
            self.probe("small")
        return ""

    def describe_cost(self) -> list[str]:
        version, packages, size = self.installed.measure()
        runs = [self.probe("small") for _ in range(2)]
        hosts = sorted({host for run in runs for host in run.document["hosts"]})
        cpu = min(run.cpu for run in runs)
        wanted = f"yes; contacts {len(hosts)} host{'s' * (len(hosts) > 1)}" if hosts else "yes; contacts no host"
        if hosts:
            print(f"{self.peer.name} contacts {', '.join(hosts)}", file=sys.stderr)
        return [self.peer.name, version, str(packages), f"{size:,.0f}", f"{cpu:.1f}", wanted]

    def describe_scores(self, reference: dict[str, dict[str, float]]) -> list[str]:
        scored = self.probe("score").document
        own = set(scored.get("own", ()))
        cells = [self.peer.name]
        for measure in MEASURES:
            values = scored["values"].get(measure)
            unlike = [q for q, v in reference[measure].items() if values is not None and not _is_near(values.get(q), v)]
            cells.append("-" if values is None else f"{len(unlike)} of {len(values)}{' (own code)' * (measure in own)}")
        return [*cells, self.describe_losses(scored["values"]["P@5"])]

    def describe_losses(self, whole: dict[str, float]) -> str:
        """Say what became of the queries that failed: compare the tool's mean with its values of the whole run."""
        lost = self.probe("lost")
        document = lost.document
        if "error" in document:
            return f"it stops: {document['error'].split(':')[0]}"
        if "stats" in document:
            stats = document["stats"]
            return f"{stats['errors']} counted as errors, exit code {lost.code}"
        if document["single"]:
            return "it scores single queries: the mean is yours"
        values = [value for value in document["values"]["P@5"].values() if value == value]
        mean = document["mean"] if document["mean"] is not None else sum(values) / len(values)
        kept = [value for number, value in enumerate(whole.values()) if number % 5]
        left_out, as_zero = sum(kept) / len(kept), sum(kept) / len(whole)
        if _is_near(mean, left_out, 1e-3):
            return f"left out: {mean:.3f}, where 0 gives {as_zero:.3f}"
        return f"count as 0: {mean:.3f}" if _is_near(mean, as_zero, 1e-3) else f"something else: {mean:.3f}"


def _is_near(value: float | None, other: float, tolerance: float = 1e-4) -> bool:
    return value is not None and abs(value - other) <= tolerance


def fire_by_mean(world: dict[str, Any]) -> str:
    """Return what a threshold on means says: fail if any of them is more than 5 % below the run before."""
    drops = (sum(after) < 0.95 * sum(before) for before, after in world["values"].values())
    return "fail" if any(drops) else "pass"


def fire_by_row(world: dict[str, Any]) -> str:
    """Return what a suite of rows says, of which those are in it that were green before: fail if one is red."""
    pairs = zip(*world["values"]["nDCG@10"], strict=True)
    return "fail" if any(before >= THRESHOLD > after for before, after in pairs) else "pass"


def describe_gates(tried: dict[str, Tried], worlds: dict[str, list[dict[str, Any]]]) -> list[list[str]]:
    """Return a row for each kind of gate, with how often it fires in each kind of world, and how that was checked."""
    rows = [("your own: no mean 5 % below the last run's", {k: [*map(fire_by_mean, w)] for k, w in worlds.items()}, "")]
    for name, rule in (("MLflow", fire_by_mean), ("deepeval", fire_by_row), ("promptfoo", fire_by_row)):
        if name in tried:
            outcomes = {kind: [*map(rule, drawn)] for kind, drawn in worlds.items()}
            rows.append((GATES[name], outcomes, check_rule(tried[name], worlds, outcomes)))
    for name in ("ranx", "karat"):
        if name in tried:
            document = tried[name].probe("gate").document
            rows.append((GATES[name], {kind: document[kind] for kind in worlds}, "all by the tool"))
            if name == "karat":
                rows.append((STRICT, {kind: [*map(_stop, document[kind])] for kind in worlds}, "all by the tool"))
    return [
        [
            title,
            *(_share(outcomes, "same", noise) for noise in NOISES),
            *(_share(outcomes, "worse", noise) for noise in NOISES),
            checked,
        ]
        for title, outcomes, checked in rows
    ]


GATES = {
    "MLflow": "MLflow: validation with thresholds 5 % below the last run",
    "deepeval": "deepeval: `assert_test`, each row at 0.5",
    "promptfoo": "promptfoo: each row at 0.5",
    "ranx": "ranx: `compare`, significantly worse in any measure",
    "karat": "karat: policy `default`; inconclusive is exit code 0",
}
STRICT = 'karat: the same with `on_inconclusive = "fail"`, exit code 4'


def check_rule(tool: Tried, worlds: dict[str, list[dict[str, Any]]], outcomes: dict[str, list[str]]) -> str:
    """Let the tool itself decide on a few worlds, and say how often it says what its rule says."""
    if tool.installed.is_node:
        chosen = {kind: drawn[:1] for kind, drawn in worlds.items()}
        said = {
            kind: ["fail" if tool.probe("gate", world=world).code == 100 else "pass" for world in drawn]
            for kind, drawn in chosen.items()
        }
    else:
        said = tool.probe("gate", environment={"WORLDS": str(FEW)}).document
    pairs = [(a, b) for kind in worlds for a, b in zip(said[kind], outcomes[kind], strict=False)]
    return f"the tool agrees in {sum(a == b for a, b in pairs)} of {len(pairs)}"


def _stop(outcome: str) -> str:
    """Return the outcome where inconclusive runs fail, too."""
    return "pass" if outcome == "pass" else "fail"


def _share(outcomes: dict[str, list[str]], world: str, noise: float) -> str:
    drawn = outcomes[f"{world} {noise}"]
    fails, unsure = (100 * drawn.count(outcome) / len(drawn) for outcome in ("fail", "inconclusive"))
    return f"{fails:.0f} %" + (f" ({unsure:.0f} % inconclusive)" if unsure else "")


def print_table(heads: list[str], rows: list[list[str]]) -> None:
    print(f"\n| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=[peer.name for peer in PEERS], help="these alone, beside karat")
    parser.add_argument("--quick", action="store_true", help="20 worlds instead of 300")
    parser.add_argument("--folder", type=Path, help="where to install, and to keep it")
    options = parser.parse_args()
    names = {"karat", "pytrec_eval", *(options.only or [peer.name for peer in PEERS])}
    folder = options.folder or Path(tempfile.mkdtemp(prefix="karat-peers-"))
    try:
        compare_peers([peer for peer in PEERS if peer.name in names], folder, 20 if options.quick else 300)
    finally:
        if options.folder is None:
            shutil.rmtree(folder)


def compare_peers(peers: list[Peer], folder: Path, count: int) -> None:
    workload = folder / "workload"
    workload.mkdir(parents=True, exist_ok=True)
    make_workload(workload, count)
    tried, notes = {}, []
    for peer in peers:
        tool = Tried(peer, folder / peer.name, workload)
        print(f"installing {peer.name}", file=sys.stderr, flush=True)
        if error := tool.install():
            notes.append(f"{peer.name}: {error}")
        else:
            tried[peer.name] = tool
            notes += [f"{peer.name}: {tool.note}"] * bool(tool.note)
    print(f"{datetime.datetime.now(datetime.UTC).date()}, Python {sys.version.split()[0]}, {sys.platform}")
    heads = ["tool", "version", "packages", "MB on disk", "CPU s of two queries", "works without a network"]
    print_table(heads, [tool.describe_cost() for tool in tried.values()])
    reference = tried["pytrec_eval"].probe("score").document["values"]
    print_table(
        ["values unlike trec_eval's", *MEASURES, "a fifth of the queries failed"],
        [tool.describe_scores(reference) for tool in tried.values()],
    )
    worlds = json.loads((workload / "worlds.json").read_text(encoding="utf-8"))
    gates, kinds = describe_gates(tried, worlds), [f"noise {100 * noise:.0f} %" for noise in NOISES]
    same = 1 + len(NOISES)
    print_table(["nothing changed: stopped by mistake", *kinds, "checked"], [[*row[:same], row[-1]] for row in gates])
    print_table(["a real loss: stopped", *kinds], [[row[0], *row[same:-1]] for row in gates])
    print("\n" + "\n".join(notes))


if __name__ == "__main__":
    main()
