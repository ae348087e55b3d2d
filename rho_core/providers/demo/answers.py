"""The demo's answer to each request: which tool comes next, and what to say about its result."""

from __future__ import annotations

from rho_core.providers.demo.conversation import Conversation, Step
from rho_core.providers.demo.intents import (
    AskMe,
    Find,
    Help,
    ListDir,
    Plan,
    Read,
    Replace,
    Run,
    Tour,
    parse_intent,
)
from rho_core.providers.demo.reply import (
    Reply,
    answer_source,
    answers_in,
    calling,
    fenced,
    file_text,
    language_of,
    plural,
    quoted,
    refusal,
)
from rho_core.providers.demo.tour import tour_reply

NOT_A_MODEL = (
    "I am Rho's built-in **demo**. I am *not a language model*: I follow a few fixed rules, and I "
    "work offline. The tools, approvals and diffs you see are real."
)
_REQUESTS = """\
| say | what happens |
|---|---|
| `tour` | a guided tour: read, question, edit with approval, command |
| `read FILE` | shows a file |
| `list [DIR]` | lists a folder |
| `find TEXT` | searches all files |
| `replace A with B in FILE` | edits a file; you see the diff first |
| `run COMMAND` | runs a shell command, if you approve it |
| `ask me` | opens a questionnaire |
| `plan` | a sample plan in Markdown |
"""


def next_reply(conversation: Conversation) -> Reply:
    """What the demo says and does next."""
    match parse_intent(conversation.prompt):
        case Read(path=path):
            return _read(conversation, path)
        case ListDir(path=path):
            return _list(conversation, path)
        case Find(text=text):
            return _find(conversation, text)
        case Replace() as wanted:
            return _replace(conversation, wanted)
        case Run(command=command):
            return _run(conversation, command)
        case AskMe():
            return _ask(conversation)
        case Plan(what=what):
            return Reply(_plan(what))
        case Tour():
            return tour_reply(conversation)
        case Help():
            return Reply(help_text())


def help_text() -> str:
    """Who the demo is and what it understands."""
    return (
        f"{NOT_A_MODEL}\n\nThis is what I understand:\n\n{_REQUESTS}\n"
        "For real work, connect a provider with `/model`, or start Rho with `OPENAI_API_KEY` or "
        "`ANTHROPIC_API_KEY` set."
    )


def _read(conversation: Conversation, path: str) -> Reply:
    step = conversation.newest("read_file")
    if step is None:
        return calling(conversation, f"I'll read `{path}`.", "read_file", {"path": path})
    if not step.result.ok:
        return Reply(refusal(step, f"reading `{path}`"))
    text = file_text(step.result.content)
    count = plural(len(text.split("\n")) if text else 0, "line")
    return Reply(f"`{path}` came back with **{count}**:\n\n{fenced(text, language_of(path))}")


def _list(conversation: Conversation, path: str) -> Reply:
    step = conversation.newest("list_dir")
    if step is None:
        return calling(conversation, f"Looking into `{path}`.", "list_dir", {"path": path})
    if not step.result.ok:
        return Reply(refusal(step, f"listing `{path}`"))
    names = step.result.content.split("\n") if step.result.content else []
    folders = [name for name in names if name.endswith("/")]
    lines = "\n".join(f"- `{name}`" for name in names[:20])
    more = f"\n- … and {len(names) - 20} more" if len(names) > 20 else ""
    files = plural(len(names) - len(folders), "file")
    return Reply(f"`{path}` holds {plural(len(folders), 'folder')} and {files}.\n\n{lines}{more}")


def _find(conversation: Conversation, text: str) -> Reply:
    step = conversation.newest("grep")
    if step is None:
        arguments = {"pattern": text, "literal": True, "case_sensitive": False}
        return calling(conversation, f"Searching for `{text}`.", "grep", arguments)
    if not step.result.ok:
        return Reply(refusal(step, "the search"))
    found = step.result.content.strip()
    summary = found.rsplit("\n", 1)[-1] or f"nothing for `{text}`"
    if "\n" not in found:
        return Reply(f"**{summary}**")
    return Reply(f"**{summary}**\n\n{fenced(found.rpartition(chr(10))[0].rstrip(), lines=20)}")


def _replace(conversation: Conversation, wanted: Replace) -> Reply:
    name = "str_replace"
    edit = conversation.newest(name)
    if edit is not None:
        return Reply(_after_edit(edit, wanted))
    look = conversation.newest("read_file")
    if look is None and conversation.tool("read_file") is not None:
        text = f"First I look at `{wanted.path}`, then I'll propose the change."
        return calling(conversation, text, "read_file", {"path": wanted.path})
    if look is not None and not look.result.ok:
        return Reply(refusal(look, f"reading `{wanted.path}`"))
    arguments: dict[str, object] = {
        "path": wanted.path,
        "old_string": wanted.old,
        "new_string": wanted.new,
    }
    if wanted.everywhere:
        arguments["replace_all"] = True
    text = f"Replacing `{wanted.old}` with `{wanted.new}`. You'll see the diff before it happens."
    return calling(conversation, text, name, arguments)


def _after_edit(edit: Step, wanted: Replace) -> str:
    if edit.result.ok:
        first = edit.result.content.partition("\n")[0]
        return f"Done: **{first}**. The diff is in the card above."
    if "ambiguous" in edit.result.content:
        return (
            f"`{wanted.old}` occurs more than once, so nothing was changed.\n\n"
            f"{quoted(edit.result.content, 3)}\n\n"
            f"Say `replace all {wanted.old} with {wanted.new} in {wanted.path}` to change them all."
        )
    return refusal(edit, f"the edit of `{wanted.path}`")


def _run(conversation: Conversation, command: str) -> Reply:
    step = conversation.newest("bash")
    if step is None:
        text = "I'd like to run this. Look at it before you allow it."
        return calling(conversation, text, "bash", {"command": command})
    if step.denied:
        return Reply(refusal(step, "the command"))
    said = step.result.content.strip()
    head = "The command **succeeded**." if step.result.ok else "The command **failed**."
    return Reply(f"{head}\n\n{fenced(said, 'text', 20)}")


def _ask(conversation: Conversation) -> Reply:
    step = conversation.newest("questionnaire")
    if step is None:
        text = "Here is a form. Arrow keys move, Enter confirms, Esc dismisses it."
        return calling(conversation, text, "questionnaire", QUESTIONS)
    if not step.result.ok:
        return Reply(f"No answers then, that's fine.\n\n{quoted(step.result.content, 3)}")
    rows = "\n".join(
        f"| {key} | {value} |" for key, value in answers_in(step.result.content).items()
    )
    if answer_source(step.result.content) == "timeout_fallback":
        head = "The form **timed out**, so its fallback answers were used:"
    else:
        head = "You answered:"
    return Reply(f"{head}\n\n| question | answer |\n|---|---|\n{rows}")


QUESTIONS = {
    "title": "A sample questionnaire",
    "questions": [
        {
            "id": "language",
            "header": "Language",
            "question": "Which language do you write most?",
            "type": "choice",
            "choices": [
                {"label": "Python", "description": "the language Rho is written in"},
                {"label": "TypeScript"},
                {"label": "Rust"},
            ],
            "allow_other": True,
        },
        {
            "id": "wishes",
            "header": "Wishes",
            "question": "What should an agent do for you?",
            "type": "multi_select",
            "choices": ["Write tests", "Fix bugs", "Explain code", "Review changes"],
            "required": False,
        },
        {
            "id": "tour",
            "header": "Tour",
            "question": "Have you taken the tour?",
            "type": "confirm",
        },
    ],
    "on_timeout": {
        "answers": {"language": "Python", "tour": False},
        "reason": "Sample answers; nothing depends on them.",
    },
}


def _plan(what: str) -> str:
    goal = f"**{what}**" if what else "a change to your project"
    return f"""\
This is a *sample* plan for {goal}. I am a rule-based demo, so I cannot think one up; a real model \
would look like this:

1. **Understand** — read the code that matters
   - `list`, `find`, `read`
2. **Change** — small edits, each shown as a diff before it happens
3. **Prove** — run the tests

```python
def plan(goal: str) -> list[str]:
    return [f"understand {{goal}}", f"change {{goal}}", f"prove {{goal}}"]
```

> `/mode plan` lets a model look around without being able to change anything.
"""
