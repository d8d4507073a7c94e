package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"lab/core/fault"
)

// Merge makes one run of the parts of a sweep, in a new folder: the same bytes as
// those of a run that was never split, but for its sessions, which are those of
// the parts. Parts of different sweeps, parts that are missing or there twice, and
// parts that lack samples are errors that name them; then nothing is made.
func Merge(dir string, parts []string) error {
	const op = "merge"
	if len(parts) == 0 {
		return fault.New(fault.Usage, op, dir, "no shards are given")
	}
	if _, err := os.Stat(filepath.Join(dir, manifestFile)); err == nil {
		return fault.New(fault.Usage, op, dir, "there is a run in it already").Fix("choose another folder")
	}
	if err := leftovers(dir, logFile); err != nil {
		return err
	}
	var whole *Manifest
	var first string
	at := map[int]string{}
	var logs []string
	var sessions []Session
	for _, p := range parts {
		s, err := Open(p)
		if err != nil {
			return err
		}
		m := *s.Manifest
		if m.Part == nil {
			return fault.New(fault.Usage, op, p, "it is no shard but a whole run")
		}
		if old, twice := at[m.Part.Index]; twice {
			return fault.New(fault.Usage, op, p, "it is shard %d of %d, as %s is", m.Part.Index+1, m.Part.Of, old)
		}
		records, failures, state, err := s.Progress()
		switch {
		case err != nil:
			return err
		case state == Running:
			return fault.New(fault.Usage, op, p, "a process is writing it").Fix("wait until it ends")
		case records < m.Total():
			return fault.New(fault.Usage, op, p, "it lacks %d of %d samples", m.Total()-records, m.Total()).Fix("run the shard again, it goes on where it stopped")
		case failures > 0:
			return fault.New(fault.Usage, op, p, "%d samples failed", failures).Fix("run the shard again with --retry-failed")
		}
		part := *m.Part
		at[part.Index] = p
		m.Part = nil
		if whole == nil {
			whole, first = &m, p
			whole.Part = nil
		} else if differ, err := Differences(whole, &m); err != nil || len(differ) > 0 {
			if err != nil {
				return err
			}
			return fault.New(fault.Usage, op, p, "it is not a shard of the sweep that %s is of: its %s", first, differ[0]).Fix("merge the shards of one sweep")
		}
		if len(parts) != part.Of {
			missing := ""
			if len(parts) < part.Of {
				missing = fmt.Sprintf(", %d of them are missing", part.Of-len(parts))
			}
			return fault.New(fault.Usage, op, dir, "%d shards are given, and the sweep has %d%s", len(parts), part.Of, missing)
		}
		logs = append(logs, filepath.Join(p, logFile))
		sessions = append(sessions, s.Sessions...)
	}
	return merge(dir, whole, first, logs, sessions)
}

// merge makes the run; run.json comes last, so that a folder with it is whole, and
// who dies before can merge again.
func merge(dir string, m *Manifest, first string, logs []string, sessions []Session) (err error) {
	data, err := m.encode()
	if err != nil {
		return err
	}
	cells, err := os.ReadFile(filepath.Join(first, CellsFile))
	if err != nil {
		return fault.Wrap(err, fault.Data, "merge", first)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return unwritable(dir, err)
	}
	held, err := lock(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock(held)) }()
	if err := writeTables(dir, m, recordsOf(logs, m)); err != nil {
		return err
	}
	var lines bytes.Buffer
	for _, s := range sessions {
		if err := json.NewEncoder(&lines).Encode(s); err != nil {
			return fault.Wrap(err, fault.Internal, "merge", dir)
		}
	}
	for _, f := range []struct {
		name string
		data []byte
	}{{sessionsFile, lines.Bytes()}, {CellsFile, cells}, {manifestFile, data}} {
		err := replaceFile(filepath.Join(dir, f.name), func(to *os.File) error {
			_, err := to.Write(f.data)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
