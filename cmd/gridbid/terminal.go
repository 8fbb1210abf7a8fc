package main

import (
	"io"
	"os"

	"golang.org/x/term"
)

// isTerminal reports whether a file is a terminal.
func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// terminalOf returns out as a terminal, and whether it is one whose cursor can be moved.
func terminalOf(out io.Writer) (*os.File, bool) {
	f, ok := out.(*os.File)
	return f, ok && isTerminal(f) && os.Getenv("TERM") != "dumb"
}
