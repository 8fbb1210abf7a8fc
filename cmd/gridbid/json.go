package main

import (
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
