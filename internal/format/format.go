// Package format formats values for people, so that the same figure has the same text
// in a decision's explanation, an answer and a policy's paraphrase.
//
// Names and notes are external input. [CleanText] makes them safe for terminals, pages
// and logs: characters that are not printable or change the direction of text become
// a dot.
package format

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gridbid/gridbid/protocol"
)

// ShellQuoted returns a text as one quoted word of a shell command.
func ShellQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// maxCleanRunes is the maximum number of characters shown of an external text.
const maxCleanRunes = 400

// CleanText returns external text in a safe form, at most 400 characters.
func CleanText(s string) string { return strings.Map(LegibleRune, TruncateText(s, maxCleanRunes)) }

// LegibleRune returns a character of external text, or a dot for one that moves a cursor
// or changes the direction of text.
func LegibleRune(c rune) rune {
	if !unicode.IsPrint(c) || c == unicode.ReplacementChar {
		return '·'
	}
	return c
}

// TruncateText returns s with at most n characters; if it was longer, the last one is an ellipsis.
func TruncateText(s string, n int) string {
	for i := range s {
		if n == 1 && utf8.RuneCountInString(s[i:]) > 1 {
			return s[:i] + "…"
		}
		n--
	}
	return s
}

// FormatAmount formats microdollars as dollars with four decimals, rounded half away from
// zero; zero is "0".
func FormatAmount(m protocol.Microdollars) string {
	sign, n := "", uint64(m)
	if m < 0 {
		sign, n = "-", -n
	}
	n = (n + 50) / 100
	if n == 0 {
		return "0"
	}
	return fmt.Sprintf("%s%d.%04d", sign, n/10_000, n%10_000)
}

// FormatDollars formats an amount with sign and unit: "-$0.0120".
func FormatDollars(m protocol.Microdollars) string {
	if s, negative := strings.CutPrefix(FormatAmount(m), "-"); negative {
		return "-$" + s
	}
	return "$" + FormatAmount(m)
}

// FormatKWh formats energy in kilowatt-hours with four decimals, without the unit.
func FormatKWh(e protocol.Millijoules) string { return strconv.FormatFloat(e.InKWh(), 'f', 4, 64) }

// FormatKilograms formats carbon in kilograms with four decimals, without the unit.
func FormatKilograms(c protocol.Milligrams) string {
	return strconv.FormatFloat(c.InKilograms(), 'f', 4, 64)
}

// FormatThousandths formats n/1000 without trailing zeros: "0.5", "8".
func FormatThousandths(n protocol.Milli) string {
	return strconv.FormatFloat(float64(n)/1000, 'f', -1, 64)
}

// FormatValue formats a value by the name of its unit. One of another unit, such as a count, is its
// number.
func FormatValue(v int64, unit string) string {
	switch unit {
	case "thousandths":
		return FormatThousandths(protocol.Milli(v))
	case "microdollars", "microdollars-per-gpu-hour":
		return FormatDollars(protocol.Microdollars(v))
	case "microdollars-per-kwh":
		return "$" + strconv.FormatFloat(float64(v)/1000, 'f', 2, 64) + "/MWh"
	case "microdollars-per-kg": // as dollars per tonne, to the last digit
		return "$" + FormatThousandths(protocol.Milli(v))
	case "milligrams":
		return FormatKilograms(protocol.Milligrams(v)) + " kg"
	case "milligrams-per-kwh":
		return strconv.FormatFloat(float64(v)/1000, 'f', 1, 64) + " g/kWh"
	case "millijoules":
		return FormatKWh(protocol.Millijoules(v)) + " kWh"
	case "ms":
		return FormatDuration(protocol.Time(v).Sub(0))
	case "gpu-ms":
		return strconv.FormatFloat(float64(v)/3.6e6, 'f', 1, 64)
	case "instant":
		return FormatInstant(protocol.Time(v))
	}
	return strconv.FormatInt(v, 10)
}

// FormatInstant formats an instant in UTC: "13 Apr 12:05", with seconds if they are not 0;
// the zero instant is "never".
func FormatInstant(t protocol.Time) string {
	switch {
	case t == 0:
		return "never"
	case t%60_000 != 0:
		return t.StdTime().Format("2 Jan 15:04:05")
	}
	return t.StdTime().Format("2 Jan 15:04")
}

// FormatDuration formats a duration in its two largest units: "1 h 30 min".
func FormatDuration(d time.Duration) string {
	if d < 0 {
		return "-" + FormatDuration(-max(d, -1<<62)) // avoid the overflow of the smallest duration
	}
	s := int64(d.Round(time.Second) / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 3600:
		return twoUnits(s/60, "min", s%60, "s")
	case s < 48*3600:
		return twoUnits(s/3600, "h", s%3600/60, "min")
	}
	return twoUnits(s/86400, "d", s%86400/3600, "h")
}

// twoUnits formats a duration in two units and leaves out a zero second one.
func twoUnits(a int64, unitA string, b int64, unitB string) string {
	if b == 0 {
		return fmt.Sprintf("%d %s", a, unitA)
	}
	return fmt.Sprintf("%d %s %d %s", a, unitA, b, unitB)
}

// JoinWithAnd joins words: "a", "a and b", "a, b and c".
func JoinWithAnd(words []string) string { return joinWords(words, " and ") }

// JoinNames joins external names, each in a safe form and as a verb of fmt has it: %s, %q.
func JoinNames(verb string, names []string) string {
	var words []string
	for _, n := range names {
		words = append(words, fmt.Sprintf(verb, CleanText(n)))
	}
	return JoinWithAnd(words)
}

// JoinWithOr joins words as alternatives: "a, b or c".
func JoinWithOr(words []string) string { return joinWords(words, " or ") }

// joinWords joins words with commas, and the last one with another separator.
func joinWords(words []string, last string) string {
	n := len(words)
	if n < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:n-1], ", ") + last + words[n-1]
}

// CountWithNoun formats a number with the matching form of a noun: "1 job", "3 jobs".
func CountWithNoun(n int, one, many string) string {
	return fmt.Sprint(n, " ", PluralForm(n, one, many))
}

// PluralForm returns the form of a word that matches a number: "is" for 1, "are" for 3.
func PluralForm(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// WriteColumns writes rows of cells in columns; the first row is their head. layout says of a cell whether
// it widens its column, and whether it stands left in it, as the first of a row does.
func WriteColumns(w io.Writer, indent string, rows [][]string, layout func(row []string, i int) (widens, left bool)) {
	wide := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, c := range row[:min(len(row), len(wide))] {
			if widens, _ := layout(row, i); widens {
				wide[i] = max(wide[i], utf8.RuneCountInString(c))
			}
		}
	}
	for _, row := range rows {
		line := indent
		for i, c := range row[:min(len(row), len(wide))] {
			gap := strings.Repeat(" ", max(0, wide[i]-utf8.RuneCountInString(c)))
			switch _, left := layout(row, i); {
			case i == 0:
				line += c + gap
			case left:
				line += " " + c + gap
			default:
				line += "  " + gap + c
			}
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
}

// WrapText writes text in lines of at most 96 columns, broken between words.
func WrapText(out *bufio.Writer, text string) {
	const columns = 96
	used := 0
	for _, word := range strings.Fields(text) {
		long := utf8.RuneCountInString(word)
		switch {
		case used == 0:
		case used+1+long > columns:
			fmt.Fprintln(out)
			used = 0
		default:
			fmt.Fprint(out, " ")
			used++
		}
		fmt.Fprint(out, word)
		used += long
	}
	fmt.Fprintln(out)
}
