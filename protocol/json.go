package protocol

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// MessageJSON returns m as one line for display: field names as in this package but in lower
// case, times as RFC 3339, durations as "1h30m0s", To "all" for a broadcast. Fields that
// the encoding omits when zero are omitted here. No program parses it back.
func MessageJSON(m Message) ([]byte, error) {
	out := []byte(`{"kind":`)
	out = appendQuoted(out, m.KindName())
	out = appendQuoted(append(out, `,"at":`...), m.At.String())
	out = appendQuoted(append(out, `,"from":`...), string(m.From))
	out = strconv.AppendUint(append(out, `,"seq":`...), m.Seq, 10)
	to := string(m.To)
	if to == "" {
		to = "all"
	}
	out = appendQuoted(append(out, `,"to":`...), to)
	out = strconv.AppendInt(append(out, `,"version":`...), int64(m.Version), 10)
	out = append(out, `,"body":`...)
	return append(appendJSON(out, reflect.ValueOf(m.Body)), '}'), nil
}

// appendQuoted appends s as a JSON string that is safe for a terminal: names are untrusted.
func appendQuoted(out []byte, s string) []byte {
	text, _ := json.Marshal(s) // a string always has a JSON form
	return append(out, EscapeUnprintable(text)...)
}

// EscapeUnprintable returns JSON with all unprintable characters in its strings escaped: the same
// value, and safe for a terminal.
func EscapeUnprintable(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for _, r := range string(text) {
		switch {
		case unicode.IsPrint(r) || r == '\n':
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

// appendJSON appends a value in the form that MessageJSON describes.
func appendJSON(out []byte, v reflect.Value) []byte {
	switch x := v.Interface().(type) {
	case Time:
		return appendQuoted(out, x.String())
	case time.Duration:
		return appendQuoted(out, x.String())
	}
	switch v.Kind() {
	case reflect.Struct:
		return appendFields(out, v)
	case reflect.Slice:
		out = append(out, '[')
		for i := range v.Len() {
			if i > 0 {
				out = append(out, ',')
			}
			out = appendJSON(out, v.Index(i))
		}
		return append(out, ']')
	case reflect.String:
		return appendQuoted(out, v.String())
	case reflect.Bool:
		return strconv.AppendBool(out, v.Bool())
	case reflect.Uint64:
		return strconv.AppendUint(out, v.Uint(), 10)
	}
	return strconv.AppendInt(out, v.Int(), 10) // the remaining types are integers: a test walks every kind
}

// printedKey returns the key of a field: its tag `name`, or its name in lower case. The
// tag keeps a key that people and scripts know when the Go name changes.
func printedKey(f reflect.StructField) string {
	return cmp.Or(f.Tag.Get("name"), strings.ToLower(f.Name))
}

// appendFields appends the fields of a struct as a JSON object, without zero fields tagged
// omitempty.
func appendFields(out []byte, v reflect.Value) []byte {
	out = append(out, '{')
	first := true
	for i := range v.NumField() {
		f := v.Type().Field(i)
		mayLeave := strings.HasSuffix(f.Tag.Get("msgpack"), ",omitempty")
		if !f.IsExported() || mayLeave && v.Field(i).IsZero() {
			continue
		}
		if !first {
			out = append(out, ',')
		}
		first = false
		out = append(appendQuoted(out, printedKey(f)), ':')
		out = appendJSON(out, v.Field(i))
	}
	return append(out, '}')
}
