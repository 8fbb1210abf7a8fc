package main

import (
	"bytes"
	"errors"
	"io"
	"os"
)

// A resultFile is where results go that are there at the end of long work: it is made
// sure of before, and written after. Until then what lay there stays.
type resultFile struct {
	out     io.Writer // standard output, or nowhere
	file    *os.File  // instead of out
	created bool      // nothing lay there
}

// openResultFile returns the place of a path; "-" is standard output, "" nowhere.
func openResultFile(path string, out io.Writer) (*resultFile, error) {
	switch path {
	case "":
		return &resultFile{out: io.Discard}, nil
	case "-":
		return &resultFile{out: out}, nil
	}
	_, err := os.Lstat(path)
	made := errors.Is(err, os.ErrNotExist)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, usageError{err}
	}
	return &resultFile{file: file, created: made}, nil
}

// writeResult puts there what say says, in place of what lay there.
func (p *resultFile) writeResult(say func(io.Writer) error) error {
	if p.file == nil {
		return say(p.out)
	}
	var text bytes.Buffer
	if err := say(&text); err != nil {
		return err
	}
	if info, err := p.file.Stat(); err == nil && info.Mode().IsRegular() { // and no pipe
		if err := p.file.Truncate(0); err != nil {
			return err
		}
	}
	_, err := p.file.Write(text.Bytes())
	err = errors.Join(err, p.file.Close())
	p.created = p.created && err != nil
	return err
}

// discardIfUnused lets go of the place. A file that was made for nothing goes.
func (p *resultFile) discardIfUnused() {
	if p.file == nil {
		return
	}
	_ = p.file.Close() // once more, if it was written
	if p.created {
		_ = os.Remove(p.file.Name())
	}
}
