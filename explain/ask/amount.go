package ask

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// An amountUnit is a unit in which a bound is said, with the size of one in the unit of figures.
type amountUnit struct {
	name string
	kind string // what is measured: "time", "carbon", "energy", "cost", ...
	one  int64  // in milliseconds, milligrams, millijoules, microdollars, thousandths or pieces
	said string // other words for it, joined by "|"
}

// amountUnits are all units. The first of each kind is the one that a query in words has; of times
// it is the first in which the time is whole.
var amountUnits = []amountUnit{
	{"h", "time", 3_600_000, "hour|hours|hr|hrs"},
	{"min", "time", 60_000, "minute|minutes|mins"},
	{"day", "time", 86_400_000, "days|d"},
	{"kg", "carbon", 1_000_000, "kilo|kilos|kilogram|kilograms|kilogrammes"},
	{"g", "carbon", 1_000, "gram|grams|gramme|grammes"},
	{"t", "carbon", 1_000_000_000, "tonne|tonnes|ton|tons"},
	{"kWh", "energy", 3_600_000_000, "kilowatt hours|kilowatt-hours"},
	{"MWh", "energy", 3_600_000_000_000, "megawatt hours|megawatt-hours"},
	{"Wh", "energy", 3_600_000, "watt hours|watt-hours"},
	{"dollars", "cost", 1_000_000, "dollar|usd|bucks|$"},
	{"cent", "cost", 10_000, "cents"},
	{"g/kWh", "intensity", 1_000, "gco2/kwh|gco2e/kwh|g per kwh|grams per kwh|gram per kwh|g a kwh|grams a kwh|gco2 per kwh"},
	{"dollars/MWh", "price", 1_000, "$/mwh|usd/mwh|dollars per mwh|dollars a mwh|dollar per mwh|usd per mwh|dollars per megawatt hour"},
	{"kW", "power", 3_600_000_000, "kilowatt|kilowatts"},
	{"%", "share", 10, "percent|per cent|pct"},
	{"GPUs", "gpus", 1_000, "gpu|cards|card|accelerators|accelerator"},
	{"jobs", "jobs", 1, "job"},
	{"times", "times", 1, "time"},
}

// unitsByName are the units by each word for them, in small letters.
var unitsByName = func() map[string]amountUnit {
	all := make(map[string]amountUnit)
	for _, u := range amountUnits {
		for _, name := range append(strings.Split(u.said, "|"), strings.ToLower(u.name)) {
			all[name] = u
		}
	}
	return all
}()

// timeUnit returns the unit of time that a word stands for; 0 for another word.
func timeUnit(word string) time.Duration {
	if u := unitsByName[word]; u.kind == "time" {
		return time.Duration(u.one) * time.Millisecond
	}
	return 0
}

// formatAmount words a value of a kind, in the first of its units in which it is whole, or else in
// the first of all: "2 h", "90 min", "0.3 kg".
func formatAmount(value int64, kind string) string {
	ofKind := func(u amountUnit) bool { return u.kind == kind }
	whole := slices.IndexFunc(amountUnits, func(u amountUnit) bool { return ofKind(u) && kind == "time" && value%u.one == 0 })
	if whole >= 0 {
		return fmt.Sprintf("%d %s", value/amountUnits[whole].one, amountUnits[whole].name)
	}
	first := amountUnits[slices.IndexFunc(amountUnits, ofKind)]
	return strconv.FormatFloat(float64(value)/float64(first.one), 'f', -1, 64) + " " + first.name
}

// maxAmount bounds an amount, in thousandths of its unit, so that sums with it do not overflow.
const maxAmount = 1e15

// ParseAmount reads an amount with its unit, as [Query.Amount] has it: "10 kWh". It returns the
// value in the unit of figures, and what is measured.
func ParseAmount(text string) (value int64, kind string, err error) {
	number, unit, _ := strings.Cut(text, " ")
	u, ok := unitsByName[strings.ToLower(unit)]
	v, bad := strconv.ParseFloat(number, 64)
	if !ok || bad != nil || v < 0 || v*float64(u.one) > maxAmount || math.IsNaN(v) {
		return 0, "", fmt.Errorf("amount %q: want a number and a unit, such as 2 h, 10 kWh, 5 kg, 3 dollars, 300 g/kWh, 50 dollars/MWh, 80 %%, 8 GPUs", text)
	}
	return int64(math.Round(v * float64(u.one))), u.kind, nil
}

// normalizeAmount returns an amount in its canonical words, so that equal ones are equal; a text
// that is no amount stays as it is.
func normalizeAmount(text string) string {
	if value, kind, err := ParseAmount(text); err == nil {
		return formatAmount(value, kind)
	}
	return text
}

// readAmount reads an amount at the start of words: "10 kwh", "2h", "8-hour", "half an hour", "2 h and 30
// min"; "two and a half hours" is not read. A number before a noun that is not far ("20 free gpus") has the noun's
// unit, and the noun is not taken. used is 0 if there is none.
func readAmount(words []string) (value int64, kind string, used int) {
	if len(words) == 0 {
		return 0, "", 0
	}
	number, at := 0.0, 1
	glued := strings.TrimLeft(words[0], "0123456789.")
	digits := words[0][:len(words[0])-len(glued)]
	switch n, word := numberWords[words[0]]; {
	case word:
		number, glued = float64(n), ""
	case words[0] == "a" || words[0] == "an":
		number, glued = 1, ""
	case words[0] == "half" && len(words) > 1 && (words[1] == "a" || words[1] == "an"):
		number, glued, at = 0.5, "", 2
	default:
		v, err := strconv.ParseFloat(digits, 64)
		if err != nil {
			return 0, "", 0
		}
		number = v
	}
	rest := words[at:]
	if glued != "" {
		rest, at = append([]string{strings.TrimPrefix(glued, "-")}, rest...), at-1
	}
	for n := min(4, len(rest)); n > 0; n-- {
		if u, ok := unitsByName[strings.Join(rest[:n], " ")]; ok && number*float64(u.one) <= maxAmount {
			value, kind, used = int64(math.Round(number*float64(u.one))), u.kind, at+n
			next := used
			if next < len(words) && words[next] == "and" {
				next++
			}
			if more, of, also := readAmount(words[next:]); of == "time" && kind == "time" && more < u.one && more > 0 {
				value, used = value+more, next+also // "2 h 30 min"
			}
			return value, kind, used
		}
	}
	for _, w := range rest[:min(2, len(rest))] {
		if u, ok := unitsByName[w]; ok && (u.kind == "gpus" || u.kind == "jobs") && glued == "" && number < maxNumber {
			return int64(number * float64(u.one)), u.kind, at
		}
	}
	return 0, "", 0
}
