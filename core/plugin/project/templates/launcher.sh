#!/bin/sh
# Starts the Python plugin {{NAME}} of lab, whose files are in the folder beside it.
python={{PYTHON}}
if [ ! -x "$python" ]; then
	echo "$python, with which this plugin was installed, is gone; install the plugin again" >&2
	exit 127
fi
exec "$python" "$0.d/"{{FILE}}
