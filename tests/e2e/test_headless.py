"""`rho run`: the answer on standard output, the rest on standard error, and honest exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess

import pytest

from tests.e2e.bench import Bench, family, wait_dead
from tests.e2e.terminal import RHO, wait_until
from tests.servers import Call, Turn

WRITE = Call("write", {"path": "made.txt", "content": "made\n"})
SHELL = Call("bash", {"command": "echo from-the-shell"})


@pytest.mark.clause("APP8.3", "APP3.2")
def test_supervised_denies_what_needs_approval_and_answers_all_the_same(bench: Bench) -> None:
    model = bench.model([Turn(text="I try.", calls=(WRITE, SHELL)), Turn(text="It was denied.")])
    done = bench.headless("make", "a file")
    assert (done.returncode, done.stdout) == (0, "It was denied.\n")
    assert "made.txt" in done.stderr
    assert not (bench.workspace / "made.txt").exists()
    request = model.request(1)
    assert request.prompts == ["make a file"]
    assert len(request.results) == 2
    assert all("denied" in result for result in request.results), request.results
    assert not list(bench.home.glob("sessions/**/*.jsonl"))


@pytest.mark.clause("APP3.2", "case:F1")
def test_allow_edits_writes_but_runs_no_commands(bench: Bench) -> None:
    model = bench.model([Turn(calls=(WRITE, SHELL)), Turn(text="Half done.")], "anthropic")
    done = bench.headless("--permission-mode", "allow_edits", "go on")
    assert (done.returncode, done.stdout) == (0, "Half done.\n")
    assert (bench.workspace / "made.txt").read_text("utf-8") == "made\n"
    write, shell = model.request(1).results
    assert "made.txt" in write
    assert "denied" in shell
    tools = json.dumps(model.request(0).body["tools"])
    assert '"questionnaire"' not in tools  # nobody could answer


@pytest.mark.clause("APP8.1")
def test_the_prompt_can_come_from_standard_input(bench: Bench) -> None:
    model = bench.model(Turn(text="[/red] plain text"))
    done = bench.headless("--stdin", "explain", stdin="piped text\n")
    assert (done.returncode, done.stdout) == (0, "[/red] plain text\n")
    (prompt,) = model.request(0).prompts
    assert prompt.startswith("explain")
    assert "piped text" in prompt


@pytest.mark.parametrize(("wire", "finish"), [("chat", "length"), ("anthropic", "max_tokens")])
def test_an_answer_that_was_cut_off_says_so_on_standard_error(
    bench: Bench, wire: str, finish: str
) -> None:
    bench.model(Turn(text="half of it", finish=finish), wire)
    done = bench.headless("tell me")
    assert (done.returncode, done.stdout) == (0, "half of it\n")
    assert 'output limit; say "go on" to continue' in done.stderr


@pytest.mark.clause("APP8.6")
def test_failures_have_their_codes_and_leave_standard_output_empty(bench: Bench) -> None:
    no_provider = bench.headless("hello")
    assert (no_provider.returncode, no_provider.stdout) == (2, "")
    assert "no provider is configured" in no_provider.stderr
    wrong_flag = bench.headless("--permission-mode", "yolo", "hello")
    assert (wrong_flag.returncode, wrong_flag.stdout) == (2, "")
    bench.model(Turn(status=401, error="bad key"))
    refused = bench.headless("hello")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "rho: " in refused.stderr
    bench.configure("[model]\nmax_steps = \n")
    broken = bench.headless("hello")
    assert (broken.returncode, broken.stdout) == (2, "")
    assert "config.toml: not valid TOML" in broken.stderr
    assert "line 2" in broken.stderr


@pytest.mark.clause("case:J2", "case:J3", "APP6.4")
def test_a_faulty_key_is_named_and_the_rest_of_the_file_applies(bench: Bench) -> None:
    model = bench.model(Turn(calls=(SHELL,)), use=False)
    bench.configure(
        f"""
        aproval = "ask"
        [model]
        provider = "mine"
        [behavior]
        permission_mode = "bypas"
        [providers.custom.mine]
        base_url = "{model.base_url}"
        model = "my-model"
        [providers.custom.other]
        base_url = "http://127.0.0.1:9/v1"
        context_window = "x"
        args = "x"
        """
    )
    done = bench.headless("--max-steps", "1", "hello")
    assert model.request(0).body["model"] == "my-model"
    warnings = [line for line in done.stderr.split("\n") if line.startswith("warning: ")]
    assert len(warnings) == 4, done.stderr
    assert all("config.toml:" in warning for warning in warnings)
    for named in ("key aproval", "permission_mode", "other.context_window", "other.args"):
        assert any(named in warning for warning in warnings), (named, warnings)
    assert "process capability denied" in done.stderr  # the mode fell to supervised


@pytest.mark.clause("L7", "APP8.3", "case:H11", "case:H12")
def test_arguments_that_are_no_valid_text_are_told_to_the_model_and_the_user(bench: Bench) -> None:
    bench.file("\ufffd", "what nobody asked for\n")
    odd = Call("read_file", raw_arguments='{"path": "\\ud800"}')
    model = bench.model([Turn(calls=(odd,)), Turn(text="I see.")])
    done = bench.headless("hello")
    assert (done.returncode, done.stdout) == (0, "I see.\n")
    (result,) = model.request(1).results
    assert result.startswith("invalid arguments: 'path' holds half of a surrogate pair")
    assert "what nobody asked for" not in result
    assert "'path' holds half of a surrogate pair" in done.stderr
    assert len(model.requests) == 2


@pytest.mark.clause("C81", "APP8.3", "case:H11")
def test_why_an_answer_is_asked_for_again_is_said(bench: Bench) -> None:
    bad = Call("bash", raw_arguments='{"command":"echo \\"a')
    model = bench.model([Turn(calls=(bad,)), Turn(text="Better.")])
    done = bench.headless("hello")
    assert (done.returncode, done.stdout) == (0, "Better.\n")
    assert "arguments that are not an object; it is asked again" in done.stderr
    assert len(model.requests) == 2


@pytest.mark.clause("C77", "APP8.3", "case:H14")
def test_why_a_provider_is_waited_for_is_said(bench: Bench) -> None:
    bench.model([Turn(status=503, error="overloaded [/red]\x1b[31m"), Turn(text="At last.")])
    done = bench.headless("hello")
    assert (done.returncode, done.stdout) == (0, "At last.\n")
    (line,) = [line for line in done.stderr.split("\n") if "attempt 1 of 4" in line]
    assert "overloaded" in line
    assert line.endswith("; again in 1s")
    assert "\x1b" not in done.stderr


@pytest.mark.clause("APP8.6")
@pytest.mark.parametrize(
    "limit", [("--timeout", "1s"), ("--timeout", "0.0001s"), ("--max-steps", "1")]
)
def test_a_limit_ends_with_124(bench: Bench, limit: tuple[str, str]) -> None:
    sleeping = Call("bash", {"command": "sleep 300 & sleep 300"})
    looking = Call("list_dir", {"path": "."})
    bench.model(Turn(calls=(sleeping if limit[0] == "--timeout" else looking,)))
    done = bench.headless("--permission-mode", "bypass", *limit, "hello")
    assert done.returncode == 124
    assert done.stdout == ""
    assert "limit reached" in done.stderr
    assert not bench.survivors()


@pytest.mark.clause("APP8.6", "T16.11")
def test_an_interrupt_ends_with_130_and_leaves_no_command(bench: Bench) -> None:
    command = "touch started; sleep 300 & sleep 300"
    bench.model(Turn(text="So far.", calls=(Call("bash", {"command": command}),)))
    process = subprocess.Popen(
        [*RHO, "run", "--permission-mode", "bypass", "hello"],
        cwd=bench.workspace,
        env=bench.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        started = bench.workspace / "started"
        wait_until(started.exists, seconds=30, what="the command")
        children = family(process.pid)
        process.send_signal(signal.SIGINT)
        _stdout, stderr = process.communicate(timeout=10)
    assert process.returncode == 130
    assert "interrupted" in stderr
    wait_dead(children)
    assert not bench.survivors()


@pytest.mark.clause("APP8.6")
def test_a_closed_standard_output_is_a_failure_and_no_traceback(bench: Bench) -> None:
    bench.model(Turn(text="nobody hears this"))
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [*RHO, "run", "hello"],
            cwd=bench.workspace,
            env=bench.environment,
            stdin=subprocess.DEVNULL,
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    finally:
        os.close(writer)
    assert done.returncode == 1
    assert "could not be written" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
