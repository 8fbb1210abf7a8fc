package main

import (
	"bytes"
	"errors"
	"io"
	"os"
)

// A place is where results go that are there at the end of long work: it is made
// sure of before, and written after. Until then what lay there stays.
type place struct {
	out  io.Writer // standard output, or nowhere
	file *os.File  // instead of out
	made bool      // nothing lay there
}

// reserve returns the place of a path; "-" is standard output, "" nowhere.
func reserve(path string, out io.Writer) (*place, error) {
	switch path {
	case "":
		return &place{out: io.Discard}, nil
	case "-":
		return &place{out: out}, nil
	}
	_, err := os.Lstat(path)
	made := errors.Is(err, os.ErrNotExist)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, badInput{err}
	}
	return &place{file: file, made: made}, nil
}

// write puts there what say says, in place of what lay there.
func (p *place) write(say func(io.Writer) error) error {
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
	p.made = p.made && err != nil
	return err
}

// leave lets go of the place. A file that was made for nothing goes.
func (p *place) leave() {
	if p.file == nil {
		return
	}
	_ = p.file.Close() // once more, if it was written
	if p.made {
		_ = os.Remove(p.file.Name())
	}
}
