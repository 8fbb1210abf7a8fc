package shadow

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Schema is the version of a stream of choices.
const Schema = 1

// A Header is the first line of a stream of choices: JSON, as are the choices on the lines after it.
type Header struct {
	Schema  int    `json:"schema"`
	Policy  string `json:"policy"`  // that chose
	Weights string `json:"weights"` // its SHA-256
}

// ParseStream reads a stream of choices. A last line without an end is left out: it is still being
// written. An error names the line.
func ParseStream(text []byte) (h Header, all []Choice, err error) {
	lines := bytes.Split(text, []byte("\n"))
	for i, line := range lines[:len(lines)-1] {
		if i == 0 {
			err = json.Unmarshal(line, &h)
			if err == nil && h.Schema != Schema {
				err = fmt.Errorf("schema %d: this program reads %d: run gridbid shadow anew", h.Schema, Schema)
			}
		} else {
			var c Choice
			if err = json.Unmarshal(line, &c); err == nil && c.Would == nil && c.Did == nil {
				err = fmt.Errorf("would, did: both are missing: run gridbid shadow anew")
			}
			all = append(all, c)
		}
		if err != nil {
			return h, nil, fmt.Errorf("shadow: line %d: %w", i+1, err)
		}
	}
	if h.Schema == 0 {
		return h, nil, fmt.Errorf("shadow: line 1: want a header: run gridbid shadow anew")
	}
	return h, all, nil
}
