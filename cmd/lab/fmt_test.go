package main

import (
	"bytes"
	"context"
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
