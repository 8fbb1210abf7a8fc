package main

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/gridbid/gridbid/protocol"
)

// tellJSON writes a value for programs, indented, with nothing in it that would
// move a terminal's cursor.
func tellJSON(out io.Writer, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = out.Write(append(protocol.Escaped(text), '\n'))
	return err
}

// printed writes what say says, and tells whether all of it could be written.
func printed(out io.Writer, say func(io.Writer)) error {
	var text bytes.Buffer
	say(&text)
	_, err := out.Write(text.Bytes())
	return err
}
