package main

import (
	"io"

	"github.com/gridbid/gridbid/internal/printer"
)

// writeJSON writes a value as indented JSON, as -o json does.
func writeJSON(out io.Writer, v any) error { return printer.WriteJSON(out, v) }
