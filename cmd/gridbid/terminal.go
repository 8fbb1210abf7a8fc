package main

import (
	"io"
	"os"

	"golang.org/x/term"
)

// terminal reports whether a file is a terminal.
func terminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// screenOf returns the terminal that out is, if its cursor can be moved.
func screenOf(out io.Writer) (*os.File, bool) {
	f, ok := out.(*os.File)
	return f, ok && terminal(f) && os.Getenv("TERM") != "dumb"
}
