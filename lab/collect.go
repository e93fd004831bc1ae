package lab

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"qta/internal/words"
)

// A Recorded is a run as its record tells it.
type Recorded struct {
	Path string // the run's directory, or the file where the record stands alone
	*Record
}

// A Skip is a file that was not used, and why.
type Skip struct{ Path, Why string }

// A Collection is all runs that are found in several directories.
type Collection struct {
	Runs    []*Recorded
	Skipped []Skip
}

// Collect reads the records of all runs within directories: run.json in a run's
// directory, inside of which it looks no further, and files NAME.json elsewhere.
// What is damaged or of another version is listed as skipped; only a directory
// that cannot be read is an error.
func Collect(dirs []string) (*Collection, error) {
	c := &Collection{}
	seen := map[string]bool{}
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err != nil {
			return nil, words.BadFile(err, "%s cannot be read: %w", dir, words.Cause(err))
		} else if !info.IsDir() {
			return nil, words.BadInput("%s is no directory", dir)
		}
		if target, err := filepath.EvalSymlinks(dir); err == nil {
			dir = target
		}
		filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				c.skip(path, words.Cause(err))
				return nil
			}
			if entry.IsDir() {
				if path != dir && strings.HasPrefix(entry.Name(), ".") {
					return filepath.SkipDir
				}
				if _, err := os.Lstat(filepath.Join(path, RecordFile)); err != nil {
					return nil
				}
				c.read(path, filepath.Join(path, RecordFile), seen)
				return filepath.SkipDir
			}
			if filepath.Ext(path) == ".json" {
				c.read(path, path, seen)
			}
			return nil
		})
	}
	return c, nil
}

// read reads a record unless it was seen before.
func (c *Collection) read(path, file string, seen map[string]bool) {
	if at, err := filepath.Abs(file); err == nil {
		if seen[at] {
			return
		}
		seen[at] = true
	}
	r, err := ReadRecord(file)
	if err != nil {
		c.skip(file, err)
		return
	}
	c.Runs = append(c.Runs, &Recorded{path, r})
}

func (c *Collection) skip(path string, err error) {
	c.Skipped = append(c.Skipped, Skip{path, words.Plain(fmt.Sprint(err))})
}
