package main

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/gridbid/gridbid/protocol"
)

// writeJSON writes a value for programs, indented, with nothing in it that would
// move a terminal's cursor.
func writeJSON(out io.Writer, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = out.Write(append(protocol.EscapeUnprintable(text), '\n'))
	return err
}

// writeBuffered writes what say says, and tells whether all of it could be written.
func writeBuffered(out io.Writer, say func(io.Writer)) error {
	var text bytes.Buffer
	say(&text)
	_, err := out.Write(text.Bytes())
	return err
}
