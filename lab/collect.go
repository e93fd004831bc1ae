package lab

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"qta/internal/files"
	"qta/internal/words"
)

// A Skip is a file that was not used, and why.
type Skip struct{ Path, Why string }

// A Collection is all runs that are found in several directories.
type Collection struct {
	Runs    []*Record
	Skipped []Skip
}

// Collect reads the records of all runs within directories: run.json in a run's
// directory, inside of which it looks no further, and files NAME.json elsewhere.
// What is damaged or of another version is listed as skipped; only a directory
// that cannot be read is an error.
func Collect(dirs []string) (*Collection, error) {
	c := &Collection{}
	for _, dir := range dirs {
		target, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return nil, words.BadFile(err, "%s cannot be read: %w", dir, words.Cause(err))
		} else if info, err := os.Stat(target); err == nil && !info.IsDir() {
			return nil, words.BadInput("%s is no directory", dir)
		}
		filepath.WalkDir(target, func(path string, entry fs.DirEntry, err error) error {
			record := filepath.Join(path, RecordFile)
			switch {
			case err != nil:
				c.Skipped = append(c.Skipped, Skip{path, words.Cause(err).Error()})
			case entry.IsDir() && files.Exists(record):
				c.read(path, record)
				return filepath.SkipDir
			case entry.IsDir() && path != target && strings.HasPrefix(entry.Name(), "."):
				return filepath.SkipDir
			case !entry.IsDir() && filepath.Ext(path) == ".json":
				c.read(path, path)
			}
			return nil
		})
	}
	return c, nil
}

// read reads the record of a run.
func (c *Collection) read(path, file string) {
	if r, err := ReadRecord(file); err != nil {
		c.Skipped = append(c.Skipped, Skip{file, words.Bare(err)})
	} else {
		r.Path = path
		c.Runs = append(c.Runs, r)
	}
}
