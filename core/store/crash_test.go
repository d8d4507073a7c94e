package store

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// cut is a log that fails after so many bytes, having written a part.
type cut struct {
	*os.File
	left *int64
}

var errNoSpace = errors.New("no space left on device")

func (c cut) WriteAt(p []byte, off int64) (int, error) {
	if *c.left -= int64(len(p)); *c.left < 0 {
		n := max(0, len(p)+int(*c.left))
		_, err := c.File.WriteAt(p[:n], off)
		return n, errors.Join(errNoSpace, err)
	}
	return c.File.WriteAt(p, off)
}

func (c cut) Truncate(size int64) error {
	if *c.left < 0 {
		return errNoSpace // the torn frame stays
	}
	return c.File.Truncate(size)
}

// Wherever the disk is full, what was kept before is kept, and the run can be
// finished when there is room again.
func TestFullDiskAtEveryByte(t *testing.T) {
	const cells, samples = 3, 2
	want := undisturbed(t, cells, samples)
	size := int64(0)
	for i := range cells * samples {
		var e encoder
		r := made(i/samples, i%samples)
		b, err := e.frame(&r)
		if err != nil {
			t.Fatal(err)
		}
		size += int64(len(b))
	}
	plain := openToWrite
	t.Cleanup(func() { openToWrite = plain })
	for at := int64(0); at < size; at += 1 + size/200 {
		dir := t.TempDir()
		left := at
		openToWrite = func(path string) (file, error) {
			f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
			return cut{f, &left}, err
		}
		r := create(t, dir, cells, samples)
		var err error
		kept := 0
		for i := range cells * samples {
			if err = r.Put(made(i/samples, i%samples)); err != nil {
				break
			}
			kept++
		}
		if !errors.Is(err, errNoSpace) {
			t.Fatalf("byte %d: %v", at, err)
		}
		if err := r.Put(made(0, 0)); !errors.Is(err, errNoSpace) {
			t.Fatalf("byte %d: it went on: %v", at, err)
		}
		_ = r.Close(Session{})
		openToWrite = plain
		r, err = Resume(dir)
		if err != nil {
			t.Fatal(err)
		}
		if n, _ := r.Stored(); n != kept || len(r.Problems) > 0 {
			t.Fatalf("byte %d: %d records, %d were kept; %v", at, n, kept, r.Problems)
		}
		fill(t, r)
		sameFiles(t, contents(t, dir), want)
	}
}

// Damage in the middle of a log costs the records it hit and is named.
func TestDamagedLog(t *testing.T) {
	const cells, samples = 8, 3
	want := undisturbed(t, cells, samples)
	rng := rand.New(rand.NewPCG(3, 4))
	for round := range 40 {
		dir := t.TempDir()
		r := create(t, dir, cells, samples)
		for i := range cells * samples {
			if err := r.Put(made(i/samples, i%samples)); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Close(Session{}); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, logFile)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		last := bytes.LastIndex(data, mark)
		at := rng.IntN(last) // in a frame with a whole one behind it
		data[at] ^= 1 << rng.IntN(8)
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		if r, err = Resume(dir); err != nil {
			t.Fatal(err)
		}
		n, _ := r.Stored()
		if len(r.Problems) == 0 || n != cells*samples-1 {
			t.Fatalf("round %d, byte %d: %d records, problems %v", round, at, n, r.Problems)
		}
		fill(t, r)
		sameFiles(t, contents(t, dir), want)
	}
}

func TestMain(m *testing.M) {
	if dir := os.Getenv("LAB_STORE_CHILD"); dir != "" {
		child(dir)
		return
	}
	os.Exit(m.Run())
}

const childCells, childSamples = 60, 20

// child works at a run until it is done or killed.
func child(dir string) {
	r, err := Resume(dir)
	if err != nil {
		r, err = Create(dir, manifest(childCells, childSamples), columns(childCells))
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for cell := range childCells {
		for sample := range childSamples {
			if !r.Has(cell, sample) {
				if err := r.Put(made(cell, sample)); err != nil {
					fmt.Println(err)
					os.Exit(1)
				}
			}
		}
	}
	if _, err := r.Finish(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	_ = r.Close(Session{})
}

// A process that is killed at any moment, while it makes the folder, puts, writes
// tables or removes the log, and is started again until it ends by itself, leaves
// the bytes of one that was not.
func TestKilledAtAnyMoment(t *testing.T) {
	want := undisturbed(t, childCells, childSamples)
	dir := filepath.Join(t.TempDir(), "run")
	rng := rand.New(rand.NewPCG(5, 6))
	kills := 0
	for start := 0; ; start++ {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "LAB_STORE_CHILD="+dir)
		var out bytes.Buffer
		cmd.Stdout = &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		wait := time.Duration(rng.IntN(5+start*2)) * time.Millisecond
		if start > 200 {
			wait = time.Minute
		}
		timer := time.AfterFunc(wait, func() { _ = cmd.Process.Kill() })
		err := cmd.Wait()
		timer.Stop()
		if out.Len() > 0 {
			t.Fatal(out.String())
		}
		if err == nil {
			if kills >= 20 {
				break
			}
			if err := os.RemoveAll(dir); err != nil { // it was quicker than we are: again
				t.Fatal(err)
			}
			continue
		}
		kills++
	}
	t.Logf("%d kills", kills)
	sameFiles(t, contents(t, dir), want)
}

func TestSecondWriterIsRefused(t *testing.T) {
	dir := t.TempDir()
	r := create(t, dir, 2, 2)
	host, _ := os.Hostname()
	if _, err := Resume(dir); err == nil || !strings.Contains(err.Error(), fmt.Sprint("process ", os.Getpid())) || !strings.Contains(err.Error(), host) {
		t.Errorf("got %v", err)
	}
	if w := writer(dir); w == nil || w.PID != os.Getpid() {
		t.Errorf("the writer is %+v", w)
	}
	if err := r.Close(Session{}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, lockFile), []byte(`{"host":"elsewhere","pid":7}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Resume(dir); err == nil || !strings.Contains(err.Error(), "process 7 on \"elsewhere\"") {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, lockFile), fmt.Appendf(nil, `{"host":%q,"pid":7}`, host), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := Resume(dir)
	if err != nil { // it died
		t.Fatal(err)
	}
	fill(t, r)
}
