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
from hypothesis import given
from hypothesis import strategies as st

from annotated_transformer.corpora.generated import builtin_corpus
from annotated_transformer.translation import Translator
from annotated_transformer.writing import Writer

SUPPORT = Path(__file__).parents[1] / "support"
COMPLETIONS = [
    {"prompt": prompt, "max_tokens": length, "temperature": 0.0}
    for prompt in ("", "ROMEO:", "JULIET:\nO", "HAMLET:")
    for length in (1, 20)
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
                self.url, self.port = found[0], int(found[1])
                break

    def batches(self) -> list[list[str]]:
        """The batches that have begun."""
        file = self.folder / "batches"
        lines = file.read_text().splitlines() if file.exists() else []
        return [json.loads(line) for line in lines]

    def hold(self) -> socket.socket:
        """A client whose batch has begun, and ends when there is a "go"."""
        client = self.connect("Hold the door.")
        until(lambda: ["Hold the door."] in self.batches())
        return client

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


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[Server]:
    """A server for all tests, of which the last ends it."""
    server = Server(tmp_path_factory.mktemp("server"))
    yield server
    server.process.kill()
    server.process.communicate()


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load("multi30k-en-de")


def test_each_of_64_clients_at_once_gets_its_own_answer(server, translator):
    texts = [source for source, _ in builtin_corpus(train=56).train]
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
    assert [x["text"] for x in answers[:56]] == translator(texts)
    writer = Writer.load("plays")
    for body, found in zip(COMPLETIONS, answers[56:], strict=True):
        options = {**body, "max_new_tokens": body["max_tokens"]}
        prompt = options.pop("prompt")
        del options["max_tokens"]
        (choice,) = found["choices"]
        assert prompt + choice["text"] == writer(prompt, **options)
    assert len(server.batches()) < 40  # they were computed together


def test_what_a_model_has_never_seen_is_said(server, translator):
    text = "A woman reads https://example.org 📚 in a park."
    (best,) = translator.n_best([text], 1)[0]
    found = httpx2.post(server.url + TRANSLATE, json={"text": text}).json()
    assert len(found["warnings"]) >= 2
    assert found == {"text": best.text, "warnings": [*best.warnings]}
    body = {"model": "plays", "max_tokens": 1}
    for prompt, told in (("ROMEO:", []), ("aßbéß", ["never seen ßé"])):
        found = httpx2.post(
            server.url + COMPLETE, json=body | {"prompt": prompt}
        ).json()
        assert [
            x.removeprefix("the model has ") for x in found["warnings"]
        ] == (told)


def plays(more: str) -> str:
    return f'{{"model": "plays", {more}}}'


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        (TRANSLATE, "no JSON", "body: not JSON from character 1 on"),
        (TRANSLATE, "[1]", "body: must be an object"),
        (COMPLETE, "null", "body: must be an object"),
        (TRANSLATE, "{}", "text: Field required"),
        (TRANSLATE, '{"text": "%s"}' % ("a" * 10_001), "text: .* 10000"),
        (TRANSLATE, r'{"text": "\ud800"}', "text: .* valid string"),
        (COMPLETE, '{"model": "gpt"}', "model: .* 'plays'"),
        (COMPLETE, plays('"stream": true'), "stream: Extra inputs"),
        (COMPLETE, plays('"max_tokens": 0'), "max_tokens: .* equal to 1"),
        (COMPLETE, plays('"temperature": NaN'), "temperature: "),
    ],
)
def test_bad_input_is_refused_with_its_reason(server, path, body, said):
    kind = {"Content-Type": "application/json"}
    found = httpx2.post(server.url + path, content=body, headers=kind)
    assert 400 <= found.status_code < 500
    assert re.search(said, found.json()["detail"])


VALUES = st.recursive(
    st.none() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=4,
)
BODIES = st.dictionaries(
    st.sampled_from(["text", "Text", "beam", "max_tokens", "model"]),
    st.just("A dog runs.") | VALUES,
)


@given(BODIES, st.integers(0, 9))
def test_a_body_is_answered_or_refused_in_words(server, body, less):
    """Every field that is not known is named, and where JSON ends."""
    text = json.dumps(body)
    text = text[: len(text) - less]
    kind = {"Content-Type": "application/json"}
    with httpx2.Client(base_url=server.url, headers=kind) as client:
        found = client.post(TRANSLATE, content=text)
    try:
        body = json.loads(text)
    except ValueError as error:
        place = f"from character {error.pos + 1} on"
        told = f"body: not JSON {place}" if text else "body: must be an object"
    else:
        unknown = body.keys() - {"text"}
        if not unknown and isinstance(body.get("text"), str):
            assert found.status_code == 200
            return
        names = found.json()["detail"]
        assert all(f"{name}: Extra inputs" in names for name in unknown)
        told = ": "
    assert found.status_code == 422
    assert told in found.json()["detail"]


def test_a_slow_client_holds_up_nobody(server, translator):
    slow = server.connect("A dog runs.", length=-5)
    text = "Two men are talking."
    assert answer(server.connect(text)) == translator(text)
    slow.sendall(b'ns."}')
    assert answer(slow) == translator("A dog runs.")


def test_clients_leave_and_the_server_ends(server, translator):
    """Who leaves frees the place; SIGTERM ends what is begun, and no more."""
    holding = server.hold()
    leaves, stays = server.connect("I leave."), server.connect("I stay.")
    time.sleep(1)
    leaves.close()
    time.sleep(1)
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
    said = [answer(holding), answer(stays)]
    assert said == [translator("Hold the door."), translator("I stay.")]
    assert server.process.wait(60) == -signal.SIGTERM
    assert server.batches()[-1] == ["I stay."]
