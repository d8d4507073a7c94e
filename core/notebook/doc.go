// Package notebook reads, runs, checks and writes Jupyter notebooks with Tengo
// cells, without Jupyter.
//
// Here are: the file format, nbformat 4.5 ([Read], [Notebook.Write]), strict in
// what the format fixes and lossless in what it leaves open; running the cells
// with their outputs kept ([Notebook.Run]); comparing outputs ([Stale]); and
// one self-contained page of HTML ([Notebook.HTML]). How a cell runs is the
// business of core/script/cells, Jupyter's protocol that of core/kernel.
//
// The source of the format is the nbformat documentation of Project Jupyter and
// its JSON schema, version 4.5.
//
// # Decisions
//
// What is written has the layout that Jupyter's own writer makes (keys sorted,
// an indent of one blank, texts as lists of lines), so that version control
// shows what changed and nothing else. No times are stored: the same notebook
// gives the same bytes, which is what makes outputs that can be checked.
//
// The page shows pictures through img elements with data addresses, so that no
// script of an SVG runs, and forbids everything else with a content security
// policy; foreign HTML is cut down to tables and plain text marks.
package notebook
