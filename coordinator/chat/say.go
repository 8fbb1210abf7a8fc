package chat

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gridbid/gridbid/protocol"
)

// clean returns outside text as a terminal may show it: what is not printable,
// or turns the direction of text, becomes a dot; long text is cut.
func clean(s string) string {
	var b strings.Builder
	n := 0
	for _, c := range s {
		if n++; n > 400 {
			b.WriteRune('…')
			break
		}
		if !unicode.IsPrint(c) || c == unicode.ReplacementChar {
			c = '·'
		}
		b.WriteRune(c)
	}
	return b.String()
}

// dollars prints money with four decimals, rounded half away from zero.
func dollars(m protocol.Microdollars) string {
	sign, n := "", int64(m)
	if n < 0 {
		sign, n = "-", -n
	}
	n = (n + 50) / 100
	return fmt.Sprintf("%s$%d.%04d", sign, n/10_000, n%10_000)
}

func kWh(e protocol.Millijoules) string {
	return strconv.FormatFloat(e.KWh(), 'f', 4, 64) + " kWh"
}

func kg(c protocol.Milligrams) string {
	return strconv.FormatFloat(c.Kilograms(), 'f', 4, 64) + " kg"
}

// grams prints an intensity in milligrams per kWh as grams.
func grams(c protocol.Milligrams) string {
	return strconv.FormatFloat(float64(c)/1000, 'f', 1, 64) + " g/kWh"
}

// perMWh prints a price in microdollars per kWh as dollars per MWh.
func perMWh(p protocol.Microdollars) string {
	return "$" + strconv.FormatFloat(float64(p)/1000, 'f', 2, 64) + "/MWh"
}

// percent prints part of whole; "–" without a whole.
func percent(part, whole int64) string {
	if whole == 0 {
		return "–"
	}
	return strconv.FormatFloat(float64(part)*100/float64(whole), 'f', 1, 64) + " %"
}

func gpus(n protocol.Milli) string { return strconv.FormatFloat(float64(n)/1000, 'f', -1, 64) }

// clock prints an instant: "11 Mar 13:45 UTC" without the zone, which every
// answer names once.
func clock(t protocol.Time) string {
	if t == 0 {
		return "never"
	}
	if t%60_000 != 0 {
		return t.Go().Format("2 Jan 15:04:05")
	}
	return t.Go().Format("2 Jan 15:04")
}

// span prints a length of time in its two largest units.
func span(d time.Duration) string {
	if d < 0 {
		return "-" + span(-d)
	}
	s := int64(d.Round(time.Second) / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 3600:
		return two(s/60, "min", s%60, "s")
	case s < 48*3600:
		return two(s/3600, "h", s%3600/60, "min")
	}
	return two(s/86400, "d", s%86400/3600, "h")
}

func two(a int64, unitA string, b int64, unitB string) string {
	if b == 0 {
		return fmt.Sprintf("%d %s", a, unitA)
	}
	return fmt.Sprintf("%d %s %d %s", a, unitA, b, unitB)
}

// list joins words: "a", "a and b", "a, b and c".
func list(words []string) string {
	n := len(words)
	if n < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// wrap writes text in lines that end between words.
func wrap(out *bufio.Writer, text string) {
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
