//go:build unix

package child

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// keeperScript is told on its standard input which process groups there are and
// which folders are theirs. At the end of the input, which comes with the end of
// this process however it ended, it gives them as long as the contract does and
// then kills and removes what is left. Where there is /proc it also kills what
// was given a path in one of the folders: a program that was started so shortly
// before the end that nobody could tell of it, or one that left its group. It is
// a shell script because a shell is there wherever plugins run, and starts in a
// millisecond.
const keeperScript = `
trap '' HUP INT QUIT TERM TSTP
set -f
groups=' '
while read -r op what; do
	case $op in
	+) groups="$groups$what " ;;
	-) left=' '
	   for g in $groups; do [ "$g" = "$what" ] || left="$left$g "; done
	   groups=$left ;;
	/) set -- "$@" "$what" ;;
	.) exit 0 ;;
	esac
done
sleep 2
for g in $groups; do kill -s KILL -- "-$g" 2>/dev/null; done
set +f
for folder do
	for p in $(grep -lsF -e "=$folder/" /proc/[0-9]*/environ); do
		p=${p#/proc/}
		kill -s KILL "${p%/environ}" 2>/dev/null
	done
done
[ $# -eq 0 ] || rm -rf -- "$@"
`

// Keeper is a process that outlives this one by seconds, to end the children
// that do not end by themselves: ones that are stopped, hang, or do not know the
// lifeline. Its methods do nothing on a nil Keeper, and are safe for concurrent
// use.
type Keeper struct {
	mu      sync.Mutex
	in      *os.File
	process *os.Process
	done    chan struct{}
}

// StartKeeper starts a keeper in a session of its own, so that no signal from
// the terminal reaches it.
func StartKeeper() (*Keeper, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("/bin/sh", "-c", keeperScript, "lab-keeper")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH") + ":/usr/bin:/bin"}
	cmd.Dir = "/" // it must not keep a folder busy
	cmd.Stdin = r
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	_ = r.Close()
	if err != nil {
		_ = w.Close()
		return nil, err
	}
	k := &Keeper{in: w, process: cmd.Process, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(k.done)
	}()
	return k, nil
}

// Folder has a folder removed, with all that is in it, when this process ends
// before [Keeper.Close]. The path is absolute.
func (k *Keeper) Folder(path string) {
	if !strings.Contains(path, "\n") {
		k.tell("/ " + path)
	}
}

func (k *Keeper) watch(pid int)   { k.tell(fmt.Sprintf("+ %d", pid)) }
func (k *Keeper) release(pid int) { k.tell(fmt.Sprintf("- %d", pid)) }

// tell writes one line. A keeper that was killed, or does not read, is done
// without: it is the second line of defence. The latter is killed, lest it wake
// up later and take the end of its input for that of this process.
func (k *Keeper) tell(line string) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.in == nil {
		return
	}
	_ = k.in.SetWriteDeadline(time.Now().Add(time.Second))
	if _, err := k.in.WriteString(line + "\n"); err != nil {
		_ = k.process.Kill()
		_ = k.in.Close()
		k.in = nil
	}
}

// Close ends the keeper, which then kills and removes nothing, and waits for its
// end. Closing again does nothing.
func (k *Keeper) Close() {
	if k == nil {
		return
	}
	k.tell(".")
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.in != nil {
		_ = k.in.Close()
		k.in = nil
	}
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select {
	case <-k.done:
	case <-timer.C: // stopped, or the machine is busy: it has nothing to do any more
		_ = k.process.Kill()
		<-k.done
	}
}
