package printer

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gridbid/gridbid/internal/nearest"
	"github.com/gridbid/gridbid/protocol"
)

// A Selection says which rows of a listing are printed, and in which order. The zero value
// is all rows as they are.
type Selection struct {
	Selector string // KEY=VALUE,KEY!=VALUE,KEY>VALUE: rows for which all terms hold
	Sort     string // KEY, or -KEY for the greatest first
	Limit    int    // rows at most; 0 is all
}

// A term is one condition of a selector.
type term struct{ key, op, value string }

var termPattern = regexp.MustCompile(`^([a-z0-9_]+)(==|!=|>=|<=|=|>|<)(.*)$`)

// Apply returns the listing with the rows of a selection, and how many more the limit left
// out.
func (l Listing[T]) Apply(s Selection) (out Listing[T], more int, err error) {
	out = l
	out.Rows = slices.Clone(l.Rows)
	if s.Limit < 0 {
		return l, 0, fmt.Errorf("--limit %d: want a number from 1, or 0 for all", s.Limit)
	}
	if s.Selector != "" {
		for text := range strings.SplitSeq(s.Selector, ",") {
			m := termPattern.FindStringSubmatch(strings.TrimSpace(text))
			if m == nil {
				return l, 0, fmt.Errorf("--selector %q: want COLUMN=VALUE, or another of != < > <= >=, joined by commas", text)
			}
			c, err := l.columnOf("--selector", m[1])
			if err != nil {
				return l, 0, err
			}
			cond := term{m[1], m[2], m[3]}
			if err := cond.check(); err != nil {
				return l, 0, err
			}
			out.Rows = slices.DeleteFunc(out.Rows, func(row T) bool { return !cond.holds(c.Value(row)) })
		}
	}
	if s.Sort != "" {
		key, down := strings.CutPrefix(s.Sort, "-")
		c, err := l.columnOf("--sort", key)
		if err != nil {
			return l, 0, err
		}
		slices.SortStableFunc(out.Rows, func(a, b T) int { return compareValues(c.Value(a), c.Value(b), down) })
	}
	if s.Limit > 0 && len(out.Rows) > s.Limit {
		more = len(out.Rows) - s.Limit
		out.Rows = out.Rows[:s.Limit]
	}
	return out, more, nil
}

// ColumnKeys returns the keys that selectors and --sort know.
func (l Listing[T]) ColumnKeys() []string { return l.keys() }

// columnOf returns the column of a key.
func (l Listing[T]) columnOf(flag, key string) (c Column[T], err error) {
	for _, c := range l.Columns {
		if c.Key() == key {
			return c, nil
		}
	}
	return c, fmt.Errorf("%s: no column %q%s: the columns are %s", flag, key, nearest.DidYouMean(key, l.keys()), strings.Join(l.keys(), ", "))
}

// check returns an error for a term that can hold for no row.
func (c term) check() error {
	if strings.ContainsAny(c.op, "<>") {
		if _, ok := orderedValue(c.value); !ok {
			return fmt.Errorf("--selector %s%s%s: want a number or an instant such as 2026-03-11T14:00:00Z", c.key, c.op, c.value)
		}
	}
	return nil
}

// holds reports whether a value meets a term. A value that is not known equals "" only, and
// is neither below nor above anything.
func (c term) holds(value any) bool {
	text := dataCell(value)
	want, numeric := orderedValue(c.value)
	got, isNumber := orderedValue(text)
	equal := text == c.value || numeric && isNumber && got == want
	switch c.op {
	case "!=":
		return !equal
	case "=", "==":
		return equal
	}
	if !isNumber {
		return false
	}
	switch c.op {
	case ">":
		return got > want
	case ">=":
		return got >= want
	case "<":
		return got < want
	}
	return got <= want
}

// orderedValue returns a number, or an instant as its seconds since 1970.
func orderedValue(text string) (float64, bool) {
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		return v, true
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04", time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return float64(at.UnixMilli()) / 1000, true
		}
	}
	return 0, false
}

// compareValues orders two values of a column; those that are not known come last, whichever
// way the others go.
func compareValues(a, b any, down bool) int {
	x, y := dataCell(a), dataCell(b)
	if x == "" || y == "" {
		return cmp.Compare(btoi(x == ""), btoi(y == ""))
	}
	order := strings.Compare(x, y)
	if isOrdered(a) && isOrdered(b) {
		v, _ := orderedValue(x)
		w, _ := orderedValue(y)
		order = cmp.Compare(v, w)
	}
	if down {
		return -order
	}
	return order
}

// isOrdered reports whether a value is a number or an instant, and not a text that may look
// like one.
func isOrdered(value any) bool {
	if _, ok := value.(protocol.Time); ok {
		return true
	}
	k := reflect.ValueOf(value).Kind()
	return k >= reflect.Int && k <= reflect.Float64
}

// btoi returns 1 for true.
func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
