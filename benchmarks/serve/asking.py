"""Asks a server for its pages, each time for other runs and queries, and prints how long each answer took.

It reads a plan as JSON: how many runs and queries there are, and either ``each`` (so many requests for each page, one
after the other, perhaps for one ``page`` only) or ``rate`` and ``seconds``.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from collections import defaultdict
from urllib.parse import quote

from httpx2 import AsyncClient
from workload import START


def list_pages(runs: int, queries: int, rng: random.Random) -> dict[str, str]:
    """Return an address for each kind of request."""
    query, other = (f"q{rng.randrange(queries):06}" for _ in range(2))
    run = f"run-{rng.randrange(runs):03}"
    pair = f"a=run-000&b=run-{runs - 1:03}"
    part = rng.choice(("badel", "fogan", "no. 12", "zan", f"no. {rng.randrange(queries)}"))
    measure = quote(rng.choice(("nDCG@10", "RR@10", "AP@10")))
    return {
        "overview": "/",
        "runs": "/runs",
        "runs, searched": f"/runs?q=system&sort=-{measure}",
        "run": f"/runs/{run}",
        "run, later page": f"/runs/{run}?measure={measure}&after={other}",
        "run, filtered": f"/runs/{run}?show=failed&category=category+{rng.randrange(12)}&order=slowest",
        "run, searched": f"/runs/{run}?q={quote(part)}",
        "run as JSON": f"/runs/{run}.json",
        "run as CSV": f"/runs/{run}.csv?limit=500",
        "comparison": f"/compare?{pair}&measure={measure}",
        "comparison, later page": f"/compare?{pair}&order=gains&after={other}",
        "rankings": f"/compare/{query}?{pair}",
        "query": f"/queries/{query}",
        "golden set": "/golden",
        "golden set, searched": f"/golden?q={quote(part)}",
        "golden query": f"/golden/{query}",
        "judge": "/judge",
        "proposals": "/proposals",
        "live": "/live",
        "live, filtered": "/live?outcome=asked+again",
        "session": f"/sessions/sv{rng.randrange(runs)}?at={START + 0.5}",
        "trials": "/trials",
        "experiments": "/experiments",
        "work": "/jobs",
    }


async def ask(client: AsyncClient, page: str, address: str, found: dict[str, dict[str, list[float]]]) -> None:
    begin = time.perf_counter()
    answer = await client.get(address)
    took = time.perf_counter() - begin
    for _ in range(600):  # a comparison is computed at its first request
        if answer.status_code != 202:
            break
        await asyncio.sleep(1)
        answer = await client.get(address)
    if answer.status_code != 200:
        raise SystemExit(f"{address}: {answer.status_code} {answer.text[:300]}")
    found[page]["times"].append(took)
    found[page]["bytes"].append(float(len(answer.content)))


async def run(address: str, plan: dict[str, float | str]) -> dict[str, dict[str, list[float]]]:
    rng = random.Random(7)
    runs, queries = int(plan["runs"]), int(plan["queries"])
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: {"times": [], "bytes": []})
    async with AsyncClient(base_url=address, timeout=120) as client:
        if "each" in plan:
            for _ in range(int(plan["each"])):
                for page, path in list_pages(runs, queries, rng).items():
                    if plan.get("page") in (None, page):
                        await ask(client, page, path, found)
            return found
        begin, tasks, number = time.perf_counter(), [], 0
        while number < float(plan["rate"]) * float(plan["seconds"]):
            for page, path in list_pages(runs, queries, rng).items():
                # At fixed times, whether or not earlier answers have come: a slow server is not asked less.
                await asyncio.sleep(max(0.0, begin + number / float(plan["rate"]) - time.perf_counter()))
                tasks.append(asyncio.create_task(ask(client, page, path, found)))
                number += 1
        await asyncio.gather(*tasks)
    return found


if __name__ == "__main__":
    print(json.dumps(asyncio.run(run(sys.argv[1], json.loads(sys.stdin.read())))))
