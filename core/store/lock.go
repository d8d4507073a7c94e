package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"lab/core/fault"
)

// owner is what the lock file says of who writes the run.
type owner struct {
	Host    string    `json:"host"`
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
}

// lock takes the lock of a run folder. A second process is refused with the
// owner's name. The file of an owner that died on this machine is taken over;
// that of one on another machine is not, since locks do not reach across every
// shared file system.
func lock(dir string) (*os.File, error) {
	path := filepath.Join(dir, lockFile)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, unwritable(dir, err)
	}
	free, err := take(f)
	for wait := time.Duration(0); err == nil && !free && wait < lockPatience; wait += lockPatience / 20 {
		time.Sleep(lockPatience / 20)
		free, err = take(f)
	}
	was := readOwner(f)
	host, _ := os.Hostname()
	switch {
	case err != nil:
		return nil, errors.Join(fault.Wrap(err, fault.Data, op, path), f.Close())
	case !free && was.PID == 0: // it has not written its name yet
		return nil, errors.Join(fault.New(fault.Usage, op, dir, "another process writes it").Fix("wait until it ends, or stop it"), f.Close())
	case !free:
		return nil, errors.Join(fault.New(fault.Usage, op, dir, "process %d on %s writes it since %s", was.PID, fault.Quote(was.Host, 60), was.Started.Format(time.DateTime)).
			Fix("wait until it ends, or stop it"), f.Close())
	case was.PID != 0 && was.Host != host:
		return nil, errors.Join(fault.New(fault.Usage, op, dir, "process %d on %s took it at %s and has not given it back", was.PID, fault.Quote(was.Host, 60), was.Started.Format(time.DateTime)).
			Fix("when that process is gone, remove %s", path), f.Close())
	}
	me, err := json.Marshal(owner{Host: host, PID: os.Getpid(), Started: time.Now().UTC()})
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt(me, 0)
	}
	if err != nil {
		return nil, errors.Join(unwritable(dir, err), f.Close())
	}
	return f, nil
}

// lockPatience is how long a lock that is held is waited for: who looks whether
// a run is being written holds it for a moment.
var lockPatience = 200 * time.Millisecond

// unlock gives the lock back.
func unlock(f *os.File) error {
	return errors.Join(f.Truncate(0), f.Close())
}

func readOwner(f *os.File) (o owner) {
	data, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<12))
	if err != nil || json.Unmarshal(data, &o) != nil {
		return owner{}
	}
	return o
}

// writer returns who writes a run now, nil when nobody does.
func writer(dir string) *owner {
	f, err := os.Open(filepath.Join(dir, lockFile))
	if err != nil {
		return nil
	}
	defer f.Close()
	o := readOwner(f)
	if o.PID == 0 {
		return nil
	}
	host, _ := os.Hostname()
	if free, err := take(f); err == nil && free && o.Host == host {
		return nil // it died
	}
	return &o
}

// unwritable says that a folder cannot be written to.
func unwritable(dir string, err error) error {
	e := fault.Wrap(err, fault.Data, op, dir)
	switch {
	case errors.Is(err, fs.ErrPermission):
		e.Cure = "choose another folder or change its permissions"
	case errors.Is(err, errFull):
		e.Cure = fmt.Sprintf("make room on the disk and run the same command again; what is in %s is kept", dir)
	}
	return e
}
