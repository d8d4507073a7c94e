"""The grammar's vocabulary as the exporter needs it: what goes into the GGUF file, and text to tokens and back.

Here: reading vocab.json, SentencePiece-style merging for a handful of prompts. Not here: training a vocabulary (the
grammar's vocab command did that) and the tokenizer in use (Go, package spm); the two must agree, which the Go side tests
on the golden prompts.
"""

import json

SPACE = "\u2581"
NORMAL, BYTE = 1, 6


class Vocabulary:
    """pieces (bytes), scores and types per token id, and the ids of the three control tokens."""

    def __init__(self, path):
        with open(path) as file:
            stored = json.load(file)
        self.texts, self.scores, self.types = (list(column) for column in zip(*stored["tokens"]))
        self.pieces = [text.encode() for text in self.texts]
        self.bos, self.eos, self.unknown = stored["bos"], stored["eos"], stored["unknown"]
        self.known = {text: i for i, text in enumerate(self.texts) if self.types[i] == NORMAL}
        self.byte = {int(text[3:5], 16): i for i, text in enumerate(self.texts) if self.types[i] == BYTE}

    def encode(self, text):
        """BOS and the tokens of a text: the best-scored neighbours merge first, of equal ones the leftmost."""
        parts = list(SPACE + text.replace(" ", SPACE))
        while True:
            best = None
            for i in range(len(parts) - 1):
                token = self.known.get(parts[i] + parts[i + 1])
                if token is not None and (best is None or self.scores[token] > self.scores[best[0]]):
                    best = (token, i)
            if best is None:
                break
            parts[best[1] : best[1] + 2] = [self.texts[best[0]]]
        out = [self.bos]
        for part in parts:
            out += [self.known[part]] if part in self.known else [self.byte[b] for b in part.encode()]
        return out

    def decode(self, ids):
        """The text of the tokens, control tokens left out; broken UTF-8 shows as a replacement character."""
        raw = b""
        for i in ids:
            if self.types[i] == BYTE:
                raw += bytes([int(self.texts[i][3:5], 16)])
            elif self.types[i] == NORMAL:
                raw += self.pieces[i].replace(SPACE.encode(), b" ")
        return raw.decode("utf-8", "replace")
