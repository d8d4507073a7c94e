// Package kernel is a Jupyter kernel for Tengo cells: it speaks Jupyter's messaging
// protocol over ZeroMQ, so that Jupyter Notebook, JupyterLab, VS Code and nbconvert
// run the cells of a core/script/cells session.
//
// Here are: the connection file ([ReadConnection]), the five sockets and their
// signed messages ([New], [Kernel.Serve]), and the specification that tells Jupyter
// about the kernel ([Install]). Not here: how cells run (core/script/cells) and
// what they can import (cmd/lab).
//
// The source is "Messaging in Jupyter", version 5.3 of the protocol, and "Making
// kernels for Jupyter", both in the documentation of jupyter_client.
//
// # Decisions
//
// The sockets bind to the loopback interface only. A message whose signature does
// not match is dropped without an answer. Sizes that a peer announces are
// checked before memory is taken for them, and a peer that connects and says
// nothing is let go (wire.go): the ZeroMQ library does neither.
//
// Requests on the shell socket are served one at a time, those on the control
// socket at once, so that a cell can be interrupted. After a cell that fails, the
// execute requests that had arrived by then are answered as aborted, which is
// what "run all" of a notebook needs. Asking the user for input is not offered: a
// notebook is to give the same output whenever it runs. Input that a frontend
// sends is ignored.
package kernel
