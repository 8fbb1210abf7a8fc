package main

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/gridbid/gridbid/protocol"
)

// writeJSON writes a value as indented JSON. Characters that would move a terminal's cursor
// are escaped, as names in a ledger come from other parties.
func writeJSON(out io.Writer, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = out.Write(append(protocol.EscapeUnprintable(text), '\n'))
	return err
}

// writeBuffered writes what write prints in one go, so that errors of out need one check.
func writeBuffered(out io.Writer, write func(io.Writer)) error {
	var text bytes.Buffer
	write(&text)
	_, err := out.Write(text.Bytes())
	return err
}
