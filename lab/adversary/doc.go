// Package adversary attacks the system: with a judge that lies, a model server that
// misbehaves, hostile names and texts, and impossible bids. The result is a list of
// [AttackResult], one for each attack on each surface; `gridbid bench explain` prints it.
//
// The expected results are computed here from the inputs, never by the code under
// attack.
package adversary

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// An AttackResult is the result of one attack on one surface.
type AttackResult struct {
	ID      string `json:"id"`
	Surface string `json:"surface,omitempty"` // "" if the attack has a single surface
	Checks  int    `json:"looked_at,omitempty"`
	What    string `json:"what"`
	Held    bool   `json:"held"`
	Detail  string `json:"detail,omitempty"` // a measurement, or what broke
}

// WriteResults writes the matrix of attacks and surfaces, and each row that has no surface
// or did not hold; rows that did not hold come last and are marked.
func WriteResults(w io.Writer, rows []AttackResult) error {
	var b strings.Builder
	writeSurfaceMatrix(&b, rows)
	for _, held := range []bool{true, false} {
		for _, r := range rows {
			if r.Held != held || held && r.Surface != "" && r.Surface != string(surfaceOutcome) {
				continue
			}
			word := "held  "
			if !held {
				word = "BROKEN"
			}
			where := ""
			if r.Surface != "" && r.Surface != string(surfaceOutcome) {
				where = " on " + r.Surface
			}
			fmt.Fprintf(&b, "%s %-8s %s%s: %s\n", word, r.ID, r.What, where, r.Detail)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeSurfaceMatrix writes the number of checked texts: a line for each attack, a column for
// each surface, "!" where the attack succeeded.
func writeSurfaceMatrix(b *strings.Builder, rows []AttackResult) {
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
		cells[[2]string{r.ID, r.Surface}] = fmt.Sprint(r.Checks) + mark
		sums[r.Surface] += r.Checks
	}
	for _, s := range allSurfaces {
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

// CountBroken returns the number of rows that did not hold.
func CountBroken(rows []AttackResult) (n int) {
	for _, r := range rows {
		if !r.Held {
			n++
		}
	}
	return n
}
