"""A model backend for lab: an n-gram model over bytes, fitted when it is opened.

It reads a text, each line a document of its own, and counts which byte follows
each context of up to "order" bytes. The probability of a byte is interpolated
from the longest context down to the empty one and to equal probabilities, so
every byte is possible everywhere. It is small and honest: good for trying lab
out and for seeing how long contexts sharpen a distribution, not for writing.
"""

import hashlib
import math
import os

from lab_plugin import Fault, Info, Model, param, serve

END = 256  # the token between documents: it begins and ends each
VOCAB = 257
LONGEST = 1 << 24  # bytes of a text; counts of longer ones would not fit a small machine


class ByteNgram(Model):
    name = "byte_ngram"
    summary = "An interpolated n-gram model over bytes, fitted when it is opened on a text with one document a line."
    source = (
        "Witten, Bell 1991, The zero-frequency problem: p(b|h) = (c(h b) + T(h) p(b|h')) / (c(h) + T(h)), "
        "T the number of different bytes seen after h, h' the context without its oldest byte"
    )
    patterns = ["*.ngram.txt"]
    params = [
        param.whole("order", default=5, min=0, max=16, unit="bytes", meaning="the longest context that is counted; 0 knows frequencies only"),
    ]

    def open(self, ref, *, order):
        path = ref if ref != self.name else os.path.join(os.path.dirname(os.path.abspath(__file__)), "harbour.txt")
        with open(path, "rb") as file:
            text = file.read(LONGEST + 1)
        if len(text) > LONGEST:
            raise Fault("limit", f"{path} has more than {LONGEST} bytes")
        documents = [line for line in text.splitlines() if line]
        if not documents:
            raise Fault("model", f"{path} has no text to count", cure="give a file with one document a line")
        self.order, self.counts = order, {}
        for document in documents:
            self.count([END, *document, END])
        return Info(
            name=os.path.basename(path), architecture="n-gram", description=f"bytes, order {order}, {len(documents)} documents",
            pieces=[bytes([b]) for b in range(256)] + [b""], context_length=1 << 16, begin=END, end_of_text=(END,), control=(END,),
            parameters=sum(map(len, self.counts.values())), weight_bytes=len(text), deterministic=True)

    def count(self, tokens):
        """Counts what follows each context of a document, of every length up to the order."""
        for at in range(1, len(tokens)):
            for length in range(min(self.order, at) + 1):
                followers = self.counts.setdefault(tuple(tokens[at - length:at]), {})
                followers[tokens[at]] = followers.get(tokens[at], 0) + 1

    def digest(self):
        """Returns the SHA-256 of the order and of every count, in order."""
        hashed = hashlib.sha256(b"byte_ngram 1 %d\n" % self.order)
        for context in sorted(self.counts):
            followers = self.counts[context]
            hashed.update(repr((context, [(b, followers[b]) for b in sorted(followers)])).encode())
        return hashed.hexdigest()

    def next_scores(self, context):
        """Returns the natural logarithms of the probabilities, from the empty context
        up: what is counted nowhere keeps a share of the shorter contexts'."""
        p = [1 / VOCAB] * VOCAB
        newest = tuple(context[max(0, len(context) - self.order):])
        for length in range(len(newest) + 1):
            followers = self.counts.get(newest[len(newest) - length:])
            if followers is None:
                break  # nor was any longer one seen
            seen, different = sum(followers.values()), len(followers)
            share = different / (seen + different)
            p = [share * x for x in p]
            for b, c in followers.items():
                p[b] += c / (seen + different)
        return [math.log(x) for x in p]


if __name__ == "__main__":
    serve("ngram", version="0.1.0", models=[ByteNgram])
