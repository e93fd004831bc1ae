package qta

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// inProcess runs the calling test again in a process of its own and returns
// true there. change may set the process up.
func inProcess(t *testing.T, change func(*exec.Cmd)) bool {
	t.Helper()
	const variable = "QTA_TEST_PROCESS"
	if os.Getenv(variable) == t.Name() {
		return true
	}
	c := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", fmt.Sprint("-test.short=", testing.Short()))
	c.Env = append(os.Environ(), variable+"="+t.Name())
	if change != nil {
		change(c)
	}
	out, err := c.CombinedOutput()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Skipf("a process of its own cannot be started: %v", err)
	}
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	} else if reason, ok := skipReason(out); ok {
		t.Skip(reason)
	}
	return false
}

// skipReason returns what a process's test said when it was skipped.
func skipReason(out []byte) (string, bool) {
	before, _, ok := bytes.Cut(out, []byte("--- SKIP"))
	return strings.TrimSpace(string(before)), ok
}

// threeStates returns a small agent's checkpoints, and the agents.
func threeStates(t *testing.T) (agents []*Agent, data [][]byte) {
	t.Helper()
	for _, steps := range []int{5, 8, 11} {
		a := agentAfter(t, leastParams(), steps)
		agents, data = append(agents, a), append(data, marshal(t, a))
	}
	return agents, data
}

// checkFailedSave holds SaveFile's error and the files that it has left to what
// they have to be where the two older checkpoints were there before.
func checkFailedSave(t *testing.T, path string, err error, cause syscall.Errno, older, newer []byte) {
	t.Helper()
	if !errors.Is(err, cause) || !strings.HasPrefix(err.Error(), "qta: checkpoint not written: ") ||
		!strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), cause.Error()) {
		t.Fatalf("error %v, want %v and the file's name", err, cause)
	}
	a, damage, err := LoadFile(path)
	if damage != nil || err != nil {
		t.Fatalf("damage %v, error %v", damage, err)
	}
	sameState(t, "the newest", newer, a)
	a, err = loadOne(path + Previous)
	if err != nil {
		t.Fatal(err)
	}
	sameState(t, "the one before", older, a)
	if _, err := os.Stat(path + ".tmp"); !os.IsNotExist(err) {
		t.Errorf("the unfinished file is left: %v", err)
	}
}

// TestNoPermission has a checkpoint that may not be read, in a directory that may
// be written: it stays, and the one before it does not take its place.
func TestNoPermission(t *testing.T) {
	if !inProcess(t, nil) {
		return
	}
	agents, data := threeStates(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "agent")
	if err := errors.Join(agents[0].SaveFile(path), agents[1].SaveFile(path), os.Chmod(path, 0), os.Chmod(dir, 0o777), os.Chmod(filepath.Dir(dir), 0o777)); err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	if os.Geteuid() == 0 {
		const nobody = 65534 // root may read everything
		if err := syscall.Setfsuid(nobody); err != nil {
			t.Skipf("root may read everything, and cannot become another user here: %v", err)
		}
	}
	if a, damage, err := LoadFile(path); a != nil || damage != nil || !errors.Is(err, fs.ErrPermission) {
		t.Errorf("loading: agent %v, damage %v, error %v", a != nil, damage, err)
	}
	if err := agents[2].SaveFile(path); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("saving: error %v", err)
	}
	if os.Geteuid() == 0 {
		syscall.Setfsuid(0)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]byte{path: data[1], path + Previous: data[0]} {
		if got, err := os.ReadFile(name); !bytes.Equal(want, got) {
			t.Errorf("%s has changed, error %v", name, err)
		}
	}
}

// TestSaveFileFailsAfter lets writing fail after every number of bytes, by the
// system's limit on the size of a file.
func TestSaveFileFailsAfter(t *testing.T) {
	inMemory := func(c *exec.Cmd) {
		// Thousands of synced files: in memory, where there is such a place.
		const shared = "/dev/shm"
		if d, err := os.MkdirTemp(shared, "qta"); err == nil {
			os.Remove(d)
			c.Env = append(c.Env, "TMPDIR="+shared)
		}
	}
	if !inProcess(t, inMemory) {
		return
	}
	signal.Ignore(syscall.SIGXFSZ)
	agents, data := threeStates(t)
	path := filepath.Join(t.TempDir(), "agent")
	for _, a := range agents[:2] {
		if err := a.SaveFile(path); err != nil {
			t.Fatal(err)
		}
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	limited := func(n uint64, f func() error) error {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: limit.Max}); err != nil {
			t.Skipf("the size of files cannot be limited: %v", err)
		}
		defer syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)
		return f()
	}
	stride := 1
	if testing.Short() {
		stride = 97
	}
	for k := 0; k < len(data[2]); k += stride {
		err := limited(uint64(k), func() error { return agents[2].SaveFile(path) })
		checkFailedSave(t, path, err, syscall.EFBIG, data[0], data[1])
		if t.Failed() {
			t.Fatalf("after %d bytes", k)
		}
	}
	if err := limited(uint64(len(data[2])), func() error { return agents[2].SaveFile(path) }); err != nil {
		t.Error(err)
	}
	if a, damage, err := LoadFile(path); damage != nil || err != nil {
		t.Errorf("damage %v, error %v", damage, err)
	} else {
		sameState(t, "the third", data[2], a)
	}
}

// TestSaveFileFullDisk fills a file system of some pages.
func TestSaveFileFullDisk(t *testing.T) {
	// In its own mount namespace, so that nothing is left whatever happens;
	// who is not root gets one in a user namespace.
	own := func(c *exec.Cmd) {
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
		if id := os.Getuid(); id != 0 {
			c.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
			c.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: id, Size: 1}}
			c.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
		}
	}
	if !inProcess(t, own) {
		return
	}
	dir := t.TempDir()
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		t.Skipf("no mount namespace: %v", err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("a small tmpfs cannot be mounted: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, 0) })

	// Of some pages, so that a disk can be full within one.
	var agents []*Agent
	var data [][]byte
	for _, steps := range []int{5, 8, 11} {
		a := agentAfter(t, tinyPreset(Default()), steps)
		agents, data = append(agents, a), append(data, marshal(t, a))
	}
	path := filepath.Join(dir, "agent")
	for _, a := range agents[:2] {
		if err := a.SaveFile(path); err != nil {
			t.Fatal(err)
		}
	}
	filler := filepath.Join(dir, "filler")
	page := int64(os.Getpagesize())
	fill := func(free int64) { // pages
		t.Helper()
		if err := os.WriteFile(filler, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		var s syscall.Statfs_t
		if err := syscall.Statfs(dir, &s); err != nil {
			t.Fatal(err)
		}
		size := int64(s.Bavail)*int64(s.Bsize) - free*page
		if err := os.WriteFile(filler, make([]byte, size), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	pages := (int64(len(data[2])) + page - 1) / page
	if pages < 2 {
		t.Fatalf("%d bytes are one page", len(data[2]))
	}
	for free := range pages {
		fill(free)
		checkFailedSave(t, path, agents[2].SaveFile(path), syscall.ENOSPC, data[0], data[1])
	}
	fill(pages)
	if err := agents[2].SaveFile(path); err != nil {
		t.Errorf("%d bytes on %d free pages: %v", len(data[2]), pages, err)
	}
	t.Logf("%d bytes, %d pages", len(data[2]), pages)
}
