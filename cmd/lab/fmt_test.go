package main

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"
)

// treeSources are the folders whose scripts and notebooks are written for people.
var treeSources = []string{"../../scripts", "../../notebooks", "../../plugins"}

// The scripts and notebooks of the tree have the layout of lab fmt.
func TestScriptsAndNotebooksAreLaidOut(t *testing.T) {
	var out, errOut bytes.Buffer
	if code := execute(context.Background(), append([]string{"fmt", "--check"}, treeSources...), &out, &errOut); code != 0 {
		t.Errorf("exit code %d: run lab fmt scripts notebooks plugins\n%s%s", code, &out, &errOut)
	}
}

// lab check has nothing to say about them, not even a warning.
func TestScriptsAndNotebooksAreClean(t *testing.T) {
	var out, errOut bytes.Buffer
	if code := execute(context.Background(), append([]string{"check", "--strict"}, treeSources...), &out, &errOut); code != 0 {
		t.Errorf("exit code %d\n%s%s", code, &out, &errOut)
	}
}

// The notebook that lab notebook new makes is laid out and clean.
func TestTheFirstNotebookIsLaidOutAndClean(t *testing.T) {
	path := filepath.Join(t.TempDir(), "first.ipynb")
	for _, args := range [][]string{{"notebook", "new", path}, {"fmt", "--check", path}, {"check", "--strict", path}} {
		var out, errOut bytes.Buffer
		if code := execute(context.Background(), args, &out, &errOut); code != 0 {
			t.Errorf("%v: exit code %d\n%s%s", args, code, &out, &errOut)
		}
	}
}
