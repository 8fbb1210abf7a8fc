// Package adversary tries to make the house do what it must not: by a judge that
// lies, a model server that misbehaves, hostile names and texts, and bids that
// cannot be true. What holds and what does not is a list of [Row], one for each
// attack on each surface; gridbid bench explain prints it.
//
// What is right is computed here from what was offered, never asked of the code
// under attack.
package adversary

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// A Row is one thing that was tried, on one surface.
type Row struct {
	ID      string `json:"id"`
	Surface string `json:"surface,omitempty"` // "" where there is but one
	Looks   int    `json:"looked_at,omitempty"`
	What    string `json:"what"`
	Held    bool   `json:"held"`
	Detail  string `json:"detail,omitempty"` // a measure, or what broke
}

// Write writes how much was looked at by attack and surface, and each row that is
// not of a surface, or did not hold; those last, and marked.
func Write(w io.Writer, rows []Row) error {
	var b strings.Builder
	matrix(&b, rows)
	for _, held := range []bool{true, false} {
		for _, r := range rows {
			if r.Held != held || held && r.Surface != "" && r.Surface != string(onOutcome) {
				continue
			}
			word := "held  "
			if !held {
				word = "BROKEN"
			}
			where := ""
			if r.Surface != "" && r.Surface != string(onOutcome) {
				where = " on " + r.Surface
			}
			fmt.Fprintf(&b, "%s %-8s %s%s: %s\n", word, r.ID, r.What, where, r.Detail)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// matrix writes what was looked at: a line for each attack, a column for each
// surface, "!" where it did not hold.
func matrix(b *strings.Builder, rows []Row) {
	cells, sums := make(map[[2]string]string), make(map[string]int)
	var ids, columns []string
	for _, r := range rows {
		if r.Surface == "" {
			continue
		}
		if !slices.Contains(ids, r.ID) {
			ids = append(ids, r.ID)
		}
		mark := ""
		if !r.Held {
			mark = "!"
		}
		cells[[2]string{r.ID, r.Surface}] = fmt.Sprint(r.Looks) + mark
		sums[r.Surface] += r.Looks
	}
	for _, s := range surfaces {
		if sums[string(s)] > 0 {
			columns = append(columns, string(s))
		}
	}
	if len(ids) == 0 {
		return
	}
	line := func(head string, cell func(string) string) {
		fmt.Fprintf(b, "%-8s", head)
		for _, c := range columns {
			fmt.Fprintf(b, " %8s", cell(c))
		}
		b.WriteByte('\n')
	}
	line("attack", func(c string) string { return c })
	for _, id := range ids {
		line(id, func(c string) string {
			if n, ok := cells[[2]string{id, c}]; ok {
				return n
			}
			return "-"
		})
	}
	line("in all", func(c string) string { return fmt.Sprint(sums[c]) })
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
