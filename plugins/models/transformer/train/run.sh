#!/bin/sh
# Makes tiny.gguf and its reference logits from nothing but this repository: corpora, training, export.
#
#   sh plugins/models/transformer/train/run.sh [FOLDER]
#
# FOLDER (default .train at the root) receives the Python environment, the corpora (0.6 GB) and the checkpoints. A run
# that was cut short goes on from its last checkpoint. Settings: settings.toml beside this file, or $SETTINGS.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../../.." && pwd)
out=${1:-$root/.train}
settings=${SETTINGS:-$here/settings.toml}
grammar=$root/plugins/models/grammar

train_tokens=${TRAIN_TOKENS:-22000000}      # seed 1; a little more than the steps of settings.toml use, so none repeats
held_out_tokens=${HELD_OUT_TOKENS:-300000}  # seed 2; other documents of the same language

mkdir -p "$out"
if [ ! -x "$out/venv/bin/python" ]; then
	python3 -m venv "$out/venv"
	"$out/venv/bin/pip" install --quiet -r "$here/requirements.txt"
fi
cd "$root"
[ -f "$out/train.bin" ] || go run ./plugins/models/grammar/corpus --seed 1 --tokens "$train_tokens" --targets -o "$out/train.bin"
[ -f "$out/held-out.bin" ] || go run ./plugins/models/grammar/corpus --seed 2 --tokens "$held_out_tokens" --targets -o "$out/held-out.bin"

# Corpora that were kept from an earlier run must be of the grammar as it is now: their header carries its digest.
now=$(cat "$grammar/english.pcfg" "$grammar/vocab.json" | sha256sum | cut -c1-64)
for corpus in "$out/train.bin" "$out/held-out.bin"; do
	was=$(od -An -v -tx1 -j32 -N32 "$corpus" | tr -d ' \n')
	if [ "$was" != "$now" ]; then
		echo "run.sh: $corpus: written from another grammar ($was, now $now); delete the folder's *.bin and *.pt" >&2
		exit 1
	fi
done

resume=
[ -f "$out/checkpoint.pt" ] && resume=--resume
"$out/venv/bin/python" "$here/train.py" "$out" --settings "$settings" $resume
"$out/venv/bin/python" "$here/export.py" "$out/weights.pt" "${MODEL:-$here/../tiny.gguf}" \
	--vocabulary "$grammar/vocab.json" --held-out "$out/held-out.bin" --logits "${LOGITS:-$here/../testdata/tiny-logits.json}"
cp "$out/loss.csv" "${CURVE:-$here/loss.csv}"
