// Package attack tries to make the house do what it must not: by a judge that
// lies, a model server that misbehaves, hostile names and texts, and bids that
// cannot be true. What holds and what does not is a list of [Row]; gridbid bench
// explain prints it.
//
// What is right is computed here from what was offered, never asked of the code
// under attack.
package attack

import (
	"fmt"
	"io"
)

// A Row is one thing that was tried.
type Row struct {
	ID     string `json:"id"`
	What   string `json:"what"`
	Held   bool   `json:"held"`
	Detail string `json:"detail,omitempty"` // a measure, or what broke
}

// Write writes rows as a table, those that did not hold last and marked.
func Write(w io.Writer, rows []Row) error {
	for _, held := range []bool{true, false} {
		for _, r := range rows {
			if r.Held != held {
				continue
			}
			word := "held  "
			if !held {
				word = "BROKEN"
			}
			if _, err := fmt.Fprintf(w, "%s %-8s %s: %s\n", word, r.ID, r.What, r.Detail); err != nil {
				return err
			}
		}
	}
	return nil
}

// Broken returns how many rows did not hold.
func Broken(rows []Row) (n int) {
	for _, r := range rows {
		if !r.Held {
			n++
		}
	}
	return n
}
