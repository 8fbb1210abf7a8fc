package main

import (
	"bytes"
	"errors"
	"io"
	"os"
)

// A resultFile is the destination of results that are computed for minutes. It is opened
// before the work, so that a wrong path fails at once, and written after it: until then the
// file keeps its old content.
type resultFile struct {
	out     io.Writer // standard output, or io.Discard
	file    *os.File  // in place of out; nil: write to out
	created bool      // by openResultFile, so removed if it is not written
}

// openResultFile opens the file at path without truncating it; "-" is standard output, ""
// discards the results.
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

// writeResult writes what write prints to the file, in place of its old content, and closes
// it. If write fails, the file stays as it was.
func (p *resultFile) writeResult(write func(io.Writer) error) error {
	if p.file == nil {
		return write(p.out)
	}
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return err
	}
	if info, err := p.file.Stat(); err == nil && info.Mode().IsRegular() { // a pipe or device cannot be truncated
		if err := p.file.Truncate(0); err != nil {
			return err
		}
	}
	_, err := p.file.Write(text.Bytes())
	err = errors.Join(err, p.file.Close())
	p.created = p.created && err != nil
	return err
}

// discardIfUnused closes the file, and removes it if openResultFile created it and no result
// was written. It may be called after writeResult.
func (p *resultFile) discardIfUnused() {
	if p.file == nil {
		return
	}
	_ = p.file.Close() // fails if writeResult has closed it
	if p.created {
		_ = os.Remove(p.file.Name())
	}
}
