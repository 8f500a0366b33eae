"""One tool a process: judges the faithfulness of some answers: ``python tools.py TOOL``.

It reads lines of an address, a number of answers and how many at once. For each it judges one answer, says that it is
ready, waits for an empty line, and prints the values and the CPU seconds of judging as JSON: those of imports and of
the first answer do not count. To a line ``formulas`` it prints what its formulas make of fixed verdicts.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import tempfile
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import formulas

Judge = Callable[[int, int], list[float | None]]
"""Judges so many answers, so many at once."""


def texts(number: int) -> tuple[str, str, list[str]]:
    """Return a question, its answer and what was retrieved for it."""
    fact = f"Fact {number} is true."
    return f"Is fact {number} true?", fact, [f"{fact} So is another." * 4] * 5


def karat(address: str, replies: Path | None = None) -> Judge:
    from karat.judges import JUDGES, Asker, Bench, Budget, Chat, Item, Model, Pace, Replies, judge_items, load_prompts

    model = Model(url=address, model="m")
    kept = None if replies is None else Replies(replies)
    bench = Bench(asker=Asker(Chat(model), Budget(model), kept, Pace()), prompts=load_prompts())

    def judge(count: int, at_once: int) -> list[float | None]:
        items = []
        for number in range(count):
            question, answer, contexts = texts(number)
            items.append(Item(query=str(number), question=question, answer=answer, texts=tuple(contexts)))
        return [opinion.value for opinion in judge_items(bench, items, [JUDGES["faithfulness"]], concurrency=at_once)]

    return judge


def karat_kept(address: str) -> Judge:
    """Karat as ``karat judge`` runs it: each reply is on disk before the next question."""
    return karat(address, Path(tempfile.mkdtemp(prefix="karat-bench-"), "replies.db"))


def bare(address: str) -> Judge:
    """Nothing but the posts: two for an answer, with bodies as long as karat's, by httpx2 alone."""
    import httpx2

    fields = {"type": "object", "properties": {"claims": {"type": "array", "items": {"type": "string"}}}}
    schema = {"type": "json_schema", "json_schema": {"name": "Claims", "strict": True, "schema": fields}}
    said = [{"role": "system", "content": "x" * 1200}, {"role": "user", "content": "y" * 900}]
    body = {"model": "m", "temperature": 0.0, "max_tokens": 2048, "messages": said, "response_format": schema}
    client = httpx2.Client(timeout=120)

    def post(_: int) -> float:
        for _ in range(2):
            client.post(f"{address}/chat/completions", json=body).json()
        return 1.0

    def judge(count: int, at_once: int) -> list[float | None]:
        with ThreadPoolExecutor(at_once) as pool:
            return list(pool.map(post, range(count)))

    return judge


def ragas(address: str) -> Judge:
    from openai import AsyncOpenAI
    from ragas.llms.base import llm_factory
    from ragas.metrics.collections import Faithfulness

    metric = Faithfulness(llm=llm_factory("gpt-4o-mini", client=AsyncOpenAI(base_url=address, api_key="none")))

    async def judge_one(number: int, free: asyncio.Semaphore) -> float:
        question, answer, contexts = texts(number)
        async with free:
            result = await metric.ascore(user_input=question, response=answer, retrieved_contexts=contexts)
        return float(result.value)

    async def judge_all(count: int, at_once: int) -> list[float | None]:
        free = asyncio.Semaphore(at_once)
        return list(await asyncio.gather(*(judge_one(number, free) for number in range(count))))

    loop = asyncio.new_event_loop()  # its client belongs to the loop in which it was used first
    return lambda count, at_once: loop.run_until_complete(judge_all(count, at_once))


def deepeval(address: str) -> Judge:
    from deepeval.metrics import FaithfulnessMetric
    from deepeval.models import GPTModel
    from deepeval.test_case import LLMTestCase

    model = GPTModel(model="gpt-4o-mini", base_url=address, api_key="none")

    async def judge_one(number: int, free: asyncio.Semaphore) -> float | None:
        question, answer, contexts = texts(number)
        metric = FaithfulnessMetric(model=model, include_reason=False)
        case = LLMTestCase(input=question, actual_output=answer, retrieval_context=contexts)
        async with free:
            await metric.a_measure(case, _show_indicator=False)
        return metric.score

    async def judge_all(count: int, at_once: int) -> list[float | None]:
        free = asyncio.Semaphore(at_once)
        return list(await asyncio.gather(*(judge_one(number, free) for number in range(count))))

    loop = asyncio.new_event_loop()
    return lambda count, at_once: loop.run_until_complete(judge_all(count, at_once))


def cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    warnings.simplefilter("ignore")
    os.environ |= {"RAGAS_DO_NOT_TRACK": "true", "DEEPEVAL_TELEMETRY_OPT_OUT": "YES"}
    tool = globals()[sys.argv[1]]
    while task := sys.stdin.readline().split():
        if task == ["formulas"]:
            print(json.dumps(getattr(formulas, f"compute_{sys.argv[1]}")()), flush=True)
            continue
        judge: Judge = tool(task[0])
        judge(1, 1)
        print("ready", flush=True)
        sys.stdin.readline()
        start = cpu()
        values = judge(int(task[1]), int(task[2]))
        print(json.dumps({"seconds": cpu() - start, "values": values}), flush=True)


if __name__ == "__main__":
    main()
