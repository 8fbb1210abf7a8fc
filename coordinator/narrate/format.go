package narrate

import (
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
	for _, c := range cut(s, 200) {
		if !unicode.IsPrint(c) || c == unicode.ReplacementChar {
			c = '·'
		}
		b.WriteRune(c)
	}
	return b.String()
}

// cut returns s with at most n characters, the last of them a sign that there
// were more.
func cut(s string, n int) string {
	for i := range s {
		if n == 1 && utf8.RuneCountInString(s[i:]) > 1 {
			return s[:i] + "…"
		}
		n--
	}
	return s
}

// amount returns microdollars as dollars with four decimals, rounded half away
// from zero.
func amount(m protocol.Microdollars) string {
	sign, n := "", int64(m)
	if n < 0 {
		sign, n = "-", -n
	}
	n = (n + 50) / 100
	if n == 0 {
		return "0"
	}
	return fmt.Sprintf("%s%d.%04d", sign, n/10_000, n%10_000)
}

func dollars(m protocol.Microdollars) string {
	if s, negative := strings.CutPrefix(amount(m), "-"); negative {
		return "-$" + s
	}
	return "$" + amount(m)
}

func kWh(e protocol.Millijoules) string { return strconv.FormatFloat(e.KWh(), 'f', 4, 64) }

func kg(c protocol.Milligrams) string { return strconv.FormatFloat(c.Kilograms(), 'f', 4, 64) }

// watts returns a cap, or "none".
func watts(p protocol.Milliwatts) string {
	if p == 0 {
		return "none"
	}
	return strconv.FormatInt(int64(p+500)/1000, 10) + " W"
}

// thousandths returns n/1000 without trailing zeros: "0.5", "8".
func thousandths(n protocol.Milli) string { return strconv.FormatFloat(float64(n)/1000, 'f', -1, 64) }

// clock returns an instant for a sentence: "13 Apr 12:05".
func clock(t protocol.Time) string {
	if t == 0 {
		return "never"
	}
	return t.Go().Format("2 Jan 15:04")
}

// stamp returns an instant for a table: "13 Apr 12:05:07".
func stamp(t protocol.Time) string { return t.Go().Format("02 Jan 15:04:05") }

// span returns a length of time in its two largest units: "1 h 30 min".
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
