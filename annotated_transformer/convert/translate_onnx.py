"""Translate with onnxruntime and numpy alone: greedy or beam search."""

import json

import numpy as np
from onnxruntime import InferenceSession
from sentencepiece import SentencePieceProcessor

PAD, BOS, EOS = 0, 1, 2


def bar_repeats(log_p, tokens, n):
    """Rule out tokens with which an output would have an n-gram twice."""
    for place in np.ndindex(tokens.shape[:2]):
        row = tokens[place]
        grams = np.lib.stride_tricks.sliding_window_view(row, n)
        again = (grams[:, :-1] == row[len(row) - n + 1 :]).all(1)
        log_p[place][grams[again, -1]] = -np.inf


class Translator:
    """A folder that annotated-transformer has exported for ONNX."""

    def __init__(self, folder):
        self.encoder = InferenceSession(f"{folder}/encoder.onnx")
        self.decoder = InferenceSession(f"{folder}/decoder.onnx")
        self.pieces = SentencePieceProcessor(f"{folder}/tokenizer.model")
        with open(f"{folder}/search.json") as file:
            self.options = json.load(file)  # of a search, if not given

    def __call__(self, texts, **options):
        """The best translation of each text; of a blank one it is empty.

        For options see beam_search.
        """
        rows = [[*ids, EOS] for ids in self.pieces.encode(texts)]
        source = np.full((len(rows), max(map(len, rows))), PAD)
        for i, ids in enumerate(rows):
            source[i, : len(ids)] = ids
        found = self.search(source, **options)
        return [
            self.pieces.decode(tokens) if text.strip() else ""
            for text, (_, tokens) in zip(texts, found, strict=True)
        ]

    def search(self, source, **options):
        """The best output for each row of ids: its score and its tokens."""
        return self.beam_search(source, **self.options | options)

    def beam_search(self, source, width, alpha, no_repeat, longest, stretch):
        """As search; an output is limited by longest and by its source."""
        found, free = [(-np.inf, [])] * len(source), [width] * len(source)
        limits = (source != PAD).sum(1) * round(100 * stretch) // 100 + 50
        limits = np.minimum(limits, longest)
        going = np.arange(len(source))  # the rows that are not finished
        tokens = np.full((len(source), 1, 1), BOS)
        live = np.zeros((len(source), 1), np.float32)
        keys, values, mask = self.encoder.run(None, {"source": source})
        past = [x[:, :, None, :, :0] for x in (keys, values)]  # of no tokens
        names = [x.name for x in self.decoder.get_inputs()]
        while len(going):
            inputs = tokens[:, :, -1], keys, values, mask, *past
            feed = dict(zip(names, inputs, strict=True))
            log_p, *past = self.decoder.run(None, feed)
            length = tokens.shape[2]  # of the outputs, with the next token
            if 0 < no_repeat <= length:
                bar_repeats(log_p, tokens, no_repeat)
            total = (live[:, :, None] + log_p).reshape(len(going), -1)
            rows, best = np.arange(len(going)), []
            live = np.empty((len(going), width), np.float32)
            for j in range(width):
                best.append(total.argmax(1))
                live[:, j] = total[rows, best[j]]
                total[rows, best[j]] = -np.inf
            parent, token = np.divmod(np.stack(best, 1), log_p.shape[2])
            tokens = np.take_along_axis(tokens, parent[:, :, None], 1)
            tokens = np.concatenate([tokens, token[:, :, None]], 2)
            for i, k in enumerate(going):
                live[i, free[k] :] = -np.inf  # what ended keeps its place
                ends = (token[i] == EOS) | (length == limits[k])
                for j in np.flatnonzero(ends & (live[i] > -np.inf)):
                    score = float(live[i, j]) / ((5 + length) / 6) ** alpha
                    ids = tokens[i, j, 1:].tolist()
                    ended = score, ids[:-1] if ids[-1] == EOS else ids
                    found[k] = max(found[k], ended, key=lambda x: x[0])
                    free[k] -= 1
                live[i, ends] = -np.inf
            bound = live.max(1) / ((5 + limits[going]) / 6) ** alpha
            keep = np.flatnonzero(bound > [found[k][0] for k in going])
            going, tokens, live = going[keep], tokens[keep], live[keep]
            past = [x[:, keep[:, None], parent[keep]] for x in past]
            keys, values, mask = keys[:, keep], values[:, keep], mask[keep]
        return found
