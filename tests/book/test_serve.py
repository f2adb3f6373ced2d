"""The server of the page about it: a process, and clients."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import chapters
import httpx2
import pytest

from annotated_transformer.corpora.generated import builtin_corpus
from annotated_transformer.translation import Translator
from annotated_transformer.writing import Writer

SUPPORT = Path(__file__).parents[1] / "support"
PROMPTS = ["", "ROMEO:", "JULIET:\nO", "HAMLET:"]
COMPLETIONS = [
    {"prompt": prompt, "max_tokens": 20, "temperature": 0.0}
    for prompt in PROMPTS
] + [
    {"prompt": prompt, "max_tokens": 9, "top_p": 0.9, "seed": seed}
    for prompt in PROMPTS
    for seed in range(3)
]
TRANSLATE, COMPLETE = "/translate", "/v1/completions"


class Server:
    """A process of uvicorn in a folder of its own."""

    def __init__(self, folder: Path):
        self.folder = folder
        paths = [chapters.ROOT, chapters.BOOK, SUPPORT]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "uvicorn", "held_server:app", "--port=0"],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": ":".join(map(str, paths))},
            stderr=subprocess.PIPE,
            text=True,
        )
        for line in self.process.stderr:
            if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                self.port = int(found[1])
                break

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def post(self, path: str, content: str | bytes) -> httpx2.Response:
        kind = {"Content-Type": "application/json"}
        return httpx2.post(
            self.url + path, content=content, headers=kind, timeout=60
        )

    def begun(self, text: str) -> bool:
        """Whether a batch with this text has begun."""
        file = self.folder / "batches"
        lines = file.read_text().splitlines() if file.exists() else []
        return any(text in json.loads(line) for line in lines)

    def connect(self, text: str, length: int | None = None) -> socket.socket:
        """A client that sends a request for a translation, or its start."""
        body = json.dumps({"text": text}).encode()
        head = (
            f"POST {TRANSLATE} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}"
        )
        client = socket.create_connection(("127.0.0.1", self.port), 60)
        client.sendall((head.encode() + b"\r\n\r\n" + body)[:length])
        return client


def answer(client: socket.socket) -> str:
    """The translation that a client gets."""
    with client, client.makefile("rb") as file:
        head, _, body = file.read().partition(b"\r\n\r\n")
    assert b" 200 OK" in head
    return json.loads(body)["text"]


def until(true) -> None:
    """Wait for a minute at most until something is true."""
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def started(folder: Path) -> Iterator[Server]:
    server = Server(folder)
    yield server
    server.process.kill()
    server.process.communicate()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server for one test."""
    yield from started(tmp_path)


@pytest.fixture(scope="module")
def shared(tmp_path_factory) -> Iterator[Server]:
    """A server for tests that leave it as it was."""
    yield from started(tmp_path_factory.mktemp("server"))


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load("multi30k-en-de")


def test_each_of_64_clients_at_once_gets_its_own_answer(server, translator):
    texts = [source for source, _ in builtin_corpus(train=48).train]
    asked = [(TRANSLATE, {"text": text}) for text in texts]
    asked += [(COMPLETE, {"model": "plays"} | x) for x in COMPLETIONS]
    assert len(asked) == 64

    async def everybody() -> list[httpx2.Response]:
        limits = httpx2.Limits(max_connections=64)
        async with httpx2.AsyncClient(
            base_url=server.url, limits=limits, timeout=120
        ) as client:
            return await asyncio.gather(
                *(client.post(path, json=body) for path, body in asked)
            )

    answers = [response.json() for response in asyncio.run(everybody())]
    assert [x["text"] for x in answers[:48]] == [translator(x) for x in texts]
    writer = Writer.load("plays")
    for body, found in zip(COMPLETIONS, answers[48:], strict=True):
        options = {**body, "max_new_tokens": body["max_tokens"]}
        prompt = options.pop("prompt")
        del options["max_tokens"]
        (choice,) = found["choices"]
        assert prompt + choice["text"] == writer(prompt, **options)
    batches = (server.folder / "batches").read_text().splitlines()
    assert len(batches) < 40  # they were computed together


def plays(more: str) -> str:
    return f'{{"model": "plays", {more}}}'


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        (TRANSLATE, "no JSON", "JSON decode error"),
        (TRANSLATE, b'{"text": "\xff"}', "error parsing the body"),
        (TRANSLATE, "{}", "text: Field required"),
        (TRANSLATE, '{"text": 5}', "text: .* valid string"),
        (TRANSLATE, '{"text": "%s"}' % ("a" * 10_001), "text: .* 10000"),
        (TRANSLATE, r'{"text": "\ud800"}', "text: .* valid string"),
        (TRANSLATE, r'{"text": "", "\ud800": 1}', "body: .* valid string"),
        (COMPLETE, '{"model": "gpt"}', "model: .* 'plays'"),
        (COMPLETE, plays('"stream": true'), "stream: Extra inputs"),
        (COMPLETE, plays('"max_tokens": 0'), "max_tokens: .* equal to 1"),
        (COMPLETE, plays('"temperature": NaN'), "temperature: "),
        (COMPLETE, plays('"seed": 1e999'), "seed: "),
    ],
)
def test_bad_input_is_refused_with_its_reason(shared, path, body, said):
    response = shared.post(path, content=body)
    assert 400 <= response.status_code < 500
    assert re.search(said, response.json()["detail"])


def test_a_slow_client_holds_up_nobody(shared, translator):
    slow = shared.connect("A dog runs.", length=-5)
    text = "Two men are talking."
    assert answer(shared.connect(text)) == translator(text)
    slow.sendall(b'ns."}')
    assert answer(slow) == translator("A dog runs.")


def test_a_client_that_leaves_frees_its_place(server):
    holding = server.connect("Hold the door.")
    until(lambda: server.begun("Hold the door."))
    leaves, stays = server.connect("I leave."), server.connect("I stay.")
    time.sleep(0.5)
    leaves.close()
    time.sleep(0.5)
    (server.folder / "go").touch()
    assert answer(holding) and answer(stays)
    assert server.begun("I stay.") and not server.begun("I leave.")


def test_sigterm_ends_what_is_begun_and_refuses_what_is_new(
    server, translator
):
    texts = ["Hold the door.", "A dog runs."]
    begun = server.connect(texts[0])
    until(lambda: server.begun(texts[0]))
    waiting = server.connect(texts[1])
    time.sleep(0.5)
    server.process.send_signal(signal.SIGTERM)

    def refused() -> bool:
        try:
            server.connect("A cat sleeps.").close()
        except ConnectionRefusedError:
            return True
        return False

    until(refused)
    assert server.process.poll() is None
    (server.folder / "go").touch()
    assert [answer(begun), answer(waiting)] == [*map(translator, texts)]
    assert server.process.wait(60) == -signal.SIGTERM
