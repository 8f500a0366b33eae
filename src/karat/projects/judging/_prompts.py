"""What a judge is sent."""

from __future__ import annotations

from karat.judges import Item, fence, find_judge, load_prompt
from karat.projects._project import Project

_EXAMPLE = Item(
    query="example",
    question="Is Wi-Fi free?",
    answer="Yes, in all rooms.",
    reference="Wi-Fi is free in all rooms.",
    texts=("Wi-Fi is free in all rooms and in the lobby.",),
)


def show_prompt(project: Project | None, name: str) -> str:
    """Return the prompts of a judge as they will be sent, with the marks around the texts of an example."""
    judge = find_judge(name)
    replaced = project.config.judges.prompts if project is not None else {}
    prompts = [load_prompt(prompt, replaced) for prompt in judge.prompts]
    if not prompts:
        return f"{name} asks no model: {(judge.function.__doc__ or '').strip()}"
    parts = [("question", _EXAMPLE.question), ("answer", _EXAMPLE.answer), ("text 1", _EXAMPLE.texts[0])]
    shown = [f"# {prompt.name}, version {prompt.version}, {prompt.digest}\n\n{prompt.text}" for prompt in prompts]
    return "\n\n".join([*shown, f"# the texts, for example\n\n{fence(parts)}"])
