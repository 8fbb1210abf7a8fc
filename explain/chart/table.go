package chart

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// WriteText writes the table as plain text with aligned columns: the first to the left,
// others to the right. Rows with another number of cells do not affect column widths.
func (t FigureTable) WriteText(w io.Writer) {
	wide := make([]int, len(t.Head))
	lines := append([][]string{t.Head}, t.Rows...)
	for _, cells := range lines {
		for i, c := range cells[:min(len(cells), len(wide))] {
			if len(cells) == len(wide) {
				wide[i] = max(wide[i], utf8.RuneCountInString(c))
			}
		}
	}
	for _, cells := range lines {
		line := ""
		for i, c := range cells[:min(len(cells), len(wide))] {
			gap := strings.Repeat(" ", max(0, wide[i]-utf8.RuneCountInString(c)))
			if i == 0 {
				line += c + gap
			} else {
				line += "  " + gap + c
			}
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
}
