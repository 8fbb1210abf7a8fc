package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
	"pgregory.net/rapid"
)

func mustEncode(t testing.TB, m Message) []byte {
	t.Helper()
	data, err := Encode(m)
	if err != nil {
		t.Fatalf("Encode(%s): %v", m.KindName(), err)
	}
	return data
}

func TestWhatIsSaidIsHeard(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMessage(t)
		data, err := Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(data)
		if err != nil {
			t.Fatalf("Decode(Encode(m)): %v", err)
		}
		if !reflect.DeepEqual(got, m) {
			t.Fatalf("Decode(Encode(m)) differs:\n got %+v\nwant %+v", got, m)
		}
		again, err := AppendEncode([]byte("before"), got)
		if err != nil || !bytes.Equal(again, append([]byte("before"), data...)) {
			t.Fatalf("second Encode differs: %v\n got %x\nwant %x", err, again, data)
		}
		text, err := MessageJSON(m)
		if err != nil || !json.Valid(text) {
			t.Fatalf("MessageJSON(m) = %s, %v; want valid JSON", text, err)
		}
	})
}

// The struct tags are what a reader of this package sees, so the walks of rows and the plans of
// bodies, which do the work, must agree with them. A new column has to be added to its walk in rowwalks.go.
func TestWalksWriteWhatTheTagsSay(t *testing.T) {
	for _, kind := range kindNames() { // what is zero may be left out: random bodies are hardly ever
		empty := reflect.New(bodyPlansByKind[kind].typ).Elem()
		fillColumns(empty)
		checkWalkOf(t, Message{Version: Current, From: Coordinator, Seq: 1, Body: empty.Interface().(Body)})
	}
	rapid.Check(t, func(t *rapid.T) { checkWalkOf(t, drawMessage(t)) })
}

// checkWalkOf compares the bytes of a message's body with those that its tags say.
func checkWalkOf(t rapid.TB, m Message) {
	t.Helper()
	data, err := Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	var plain bytes.Buffer
	enc := msgpack.NewEncoder(&plain)
	enc.UseCompactInts(true)
	if err := enc.EncodeValue(mirror(reflect.ValueOf(m.Body), false)); err != nil {
		t.Fatal(err)
	}
	if !bytes.HasSuffix(data, plain.Bytes()) {
		t.Fatalf("%s differs from its tags:\nwalks %x\n tags %x", m.KindName(), data, plain.Bytes())
	}
}

// mirror copies v into a type that msgpack knows nothing of but its tags.
func mirror(v reflect.Value, inRow bool) reflect.Value {
	out := reflect.New(mirrorType(v.Type())).Elem()
	switch v.Kind() {
	case reflect.Struct:
		_, row := v.Type().FieldByName("_msgpack")
		for i := range v.NumField() {
			f := v.Type().Field(i)
			switch to := out.Field(i); {
			case !f.IsExported():
			case to.Kind() != reflect.Pointer:
				to.Set(mirror(v.Field(i), inRow || row))
			case !v.Field(i).Interface().(zeroer).IsZero():
				to.Set(reflect.New(to.Type().Elem()))
				to.Elem().Set(mirror(v.Field(i), inRow || row))
			}
		}
	case reflect.Slice:
		if v.Len() == 0 && !inRow && v.Type().Elem().Kind() != reflect.Struct {
			return out // nil travels as nil where msgpack walks
		}
		out.Set(reflect.MakeSlice(out.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(mirror(v.Index(i), inRow))
		}
	default:
		out.Set(v)
	}
	return out
}

// A zeroer says itself whether it is left out where its tag says omitempty. Its mirror, which has no methods, is
// then nil.
type zeroer interface{ IsZero() bool }

func mirrorType(t reflect.Type) reflect.Type {
	switch t.Kind() {
	case reflect.Slice:
		return reflect.SliceOf(mirrorType(t.Elem()))
	case reflect.Struct:
		fields := make([]reflect.StructField, t.NumField())
		for i := range fields {
			f := t.Field(i)
			fields[i] = reflect.StructField{Name: f.Name, PkgPath: f.PkgPath, Type: mirrorType(f.Type), Tag: f.Tag}
			if f.Type.Kind() == reflect.Struct && f.Type.Implements(reflect.TypeFor[zeroer]()) && strings.Contains(f.Tag.Get("msgpack"), ",omitempty") {
				fields[i].Type = reflect.PointerTo(fields[i].Type)
			}
		}
		return reflect.StructOf(fields)
	}
	return t
}

// Rows grow at their end: what an older sender does not send is zero, and
// what a newer one sends besides is not read.
func TestRowsOfOtherVersionsAreRead(t *testing.T) {
	for _, typ := range rowTypes() {
		t.Run(typ.Name(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				full := reflect.New(typ).Elem()
				draw(t, full)
				columns := splitRow(t, full)
				want := reflect.New(typ).Elem()
				for n := range len(columns) + 3 {
					if n > 0 && n <= len(columns) {
						want.Field(n).Set(full.Field(n)) // field 0 is _msgpack
					}
					w := wire{writing: true}
					w.putCount(n, 0x90)
					for _, c := range columns[:min(n, len(columns))] {
						w.data = append(w.data, c...)
					}
					for range n - len(columns) {
						w.data = append(w.data, 0x93, 1, 0xa1, 'x', 0xc0) // some future column
					}
					got := reflect.New(typ).Elem()
					r := &wire{data: w.data}
					if got.Addr().Interface().(walker).walkWire(r); r.err != nil || r.at != len(w.data) {
						t.Fatalf("%d of %d columns: %v, %d bytes left", n, len(columns), r.err, len(w.data)-r.at)
					}
					if !reflect.DeepEqual(got.Interface(), want.Interface()) {
						t.Fatalf("%d of %d columns:\n got %+v\nwant %+v", n, len(columns), got, want)
					}
				}
			})
		})
	}
}

// A walker is a row.
type walker interface{ walkWire(*wire) }

func splitRow(t *rapid.T, row reflect.Value) [][]byte {
	w := &wire{writing: true}
	row.Addr().Interface().(walker).walkWire(w)
	r := &wire{data: w.data}
	f, n := r.readHead()
	columnCount := 0
	for i := range row.NumField() {
		if row.Type().Field(i).IsExported() {
			columnCount++
		}
	}
	if f != formList || n != columnCount {
		t.Fatalf("%s has %d columns on the wire; want %d", row.Type().Name(), n, columnCount)
	}
	var columns [][]byte
	for range n {
		from := r.at
		r.skipValue(0)
		columns = append(columns, r.data[from:r.at])
	}
	return columns
}

// Writers of other programs may write the fields of a body in another order, and newer ones write more of them.
func TestFieldsComeInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMessage(t)
		plan := bodyPlansByKind[m.KindName()]
		w := &wire{writing: true}
		plan.writeBody(w, m.Body)
		r := &wire{data: w.data}
		_, n := r.readHead()
		var pairs []string
		for range n {
			from := r.at
			r.skipValue(0)
			r.skipValue(0)
			pairs = append(pairs, string(r.data[from:r.at]))
		}
		pairs = append(pairs, "\xa5newer\x91\x01", "\xa6newest\xc3") // of a newer version
		pairs = rapid.Permutation(pairs).Draw(t, "order")
		shuffled := &wire{writing: true}
		shuffled.putCount(len(pairs), 0x80)
		shuffled.data = append(shuffled.data, strings.Join(pairs, "")...)
		read := &wire{data: shuffled.data}
		got := plan.readBody(read)
		if read.err != nil || read.at != len(read.data) || !reflect.DeepEqual(got, m.Body) {
			t.Fatalf("%s with fields %q: %v\n got %+v\nwant %+v", m.KindName(), pairs, read.err, got, m.Body)
		}
	})
}

func TestScribesServeManyAtOnce(t *testing.T) {
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			m := offer(i+1, 3)
			for range 50 {
				got, err := Decode(mustEncode(t, m))
				if err != nil || !reflect.DeepEqual(got, m) {
					t.Errorf("Decode(Encode(m)) = %+v, %v; want %+v", got, err, m)
					return
				}
			}
		})
	}
	all.Wait()
}

func TestEncodeRefusesWhatDecodeWould(t *testing.T) {
	long := Party(strings.Repeat("x", 129))
	for _, tc := range []struct {
		name, want string
		m          Message
	}{
		{"a message without a body", "no body", Message{Version: Current, From: "a", Seq: 1}},
		{"a body by pointer", "want a struct by value", Message{Version: Current, From: "a", Seq: 1, Body: &Started{}}},
		{"a body that is a nil pointer", "want a struct by value", Message{Version: Current, From: "a", Seq: 1, Body: (*Started)(nil)}},
		{"a message without a number", "seq 0", Message{Version: Current, From: "a", Body: Started{}}},
		{"a message without a version", "version 0", Message{From: "a", Seq: 1, Body: Started{}}},
		{"a message without a sender", "no sender", Message{Version: Current, Seq: 1, Body: Started{}}},
		{"a listener with an endless name", "longer than 128 bytes", Message{Version: Current, From: "a", To: long, Seq: 1, Body: Started{}}},
		{"a message over the limit", "split it into several", Message{Version: Current, From: "a", Seq: 1,
			Body: Launch{Devices: make([]int, MaxMessage)}}},
		{"an endless task", "text of 65537 bytes", Message{Version: Current, From: "a", Seq: 1, Body: Submit{Task: Task(strings.Repeat("x", MaxText+1))}}},
		{"an endless name in a job", "text of 65537 bytes", Message{Version: Current, From: "a", Seq: 1, Body: Submit{Job: Job{ID: JobID(strings.Repeat("x", MaxText+1))}}}},
		{"an endless model in a list", "text of 65537 bytes", Message{Version: Current, From: "a", Seq: 1,
			Body: CallForBids{Jobs: []Job{{Models: []string{strings.Repeat("x", MaxText+1)}}}}}},
		{"an endless site in a rule", "text of 65537 bytes", Message{Version: Current, From: "a", Seq: 1,
			Body: Policy{Rules: []Rule{{Sites: []string{strings.Repeat("x", MaxText+1)}}}}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			data, err := AppendEncode([]byte("kept"), tc.m)
			if err == nil || !strings.Contains(err.Error(), tc.want) || string(data) != "kept" {
				t.Errorf("AppendEncode = %q, %v; want an error with %q", data, err, tc.want)
			}
		})
	}
}

func TestTheLongestTextIsHeard(t *testing.T) {
	want := sent(Submit{Job: Job{ID: "a"}, Task: Task(strings.Repeat("x", MaxText))})
	if got, err := Decode(mustEncode(t, want)); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Decode(Encode(m)) = %v", err)
	}
}

func TestHostileBytesAreErrors(t *testing.T) {
	good := mustEncode(t, offer(2, 2))
	started := "\x87\xa1v\x03\xa2at\x01\xa1f\xa1a\xa1s\x01\xa1t\xa0\xa1k\xa7started\xa1b"
	call := "\x87\xa1v\x03\xa2at\x01\xa1f\xa1a\xa1s\x01\xa1t\xa0\xa1k\xa4call\xa1b"
	inventory := "\x87\xa1v\x03\xa2at\x01\xa1f\xa1a\xa1s\x01\xa1t\xa0\xa1k\xa9inventory\xa1b"
	policy := "\x87\xa1v\x03\xa2at\x01\xa1f\xa1a\xa1s\x01\xa1t\xa0\xa1k\xa6policy\xa1b"
	nested := strings.Repeat("\x91", 4<<20)
	for _, tc := range []struct{ name, data, want string }{
		{"nothing", "", "ends too early"},
		{"a list", "\x90", "want a map"},
		{"bytes after the end", string(good) + "\x00", "1 extra bytes"},
		{"67 million elements in five bytes", "\xdd\x04\x00\x00\x00", "want a map"},
		{"67 million elements in a body", call + "\x81\xa1j\xdd\x04\x00\x00\x00", "more memory than bytes"},
		{"4 billion keys", "\xdf\xff\xff\xff\xff", "ends too early"},
		{"4 GB of text", "\x81\xa1k\xdb\xff\xff\xff\xff", "ends too early"},
		{"text over the limit", "\x81\xa1x\xdb\x00\x01\x00\x01" + strings.Repeat("x", 65537), "the limit is 65536"},
		{"nested without end", "\x81\xa1x" + nested, "nested more than 16 deep"},
		{"a body nested without end", started + "\x81\xa1x" + nested, "nested more than 16 deep"},
		{"a million jobs in a million bytes", call + "\x81\xa1j\xdd\x00\x10\x00\x00" + strings.Repeat("\xc0", 1<<20), "more memory than bytes"},
		{"a million jobs held in a million bytes", inventory + "\x81\xa1h\xdd\x00\x10\x00\x00" + strings.Repeat("\x80", 1<<20), "more memory than bytes"},
		{"a million rules in a million bytes", policy + "\x81\xa1r\xdd\x00\x10\x00\x00" + strings.Repeat("\xc0", 1<<20), "more memory than bytes"},
		{"a byte that begins nothing", "\x81\xa1x\xc1", "0xc1 begins no value"},
		{"a key twice", "\x82\xa1v\x03\xa1v\x03", `"v" comes twice`},
		{"a key that is no text", "\x81\x01\x01", "want a key"},
		{"a body that is a list", started + "\x92\x01\x02", "body is not a map"},
		{"a body that is nothing", started + "\xc0", "body is not a map"},
		{"no body", "\x86" + started[1:len(started)-2], "no body"},
		{"a fraction where an integer goes", started + "\x81\xa1e\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00", "want an integer"},
		{"a fraction in a row", call + "\x81\xa1w\x91\xca\x00\x00\x00\x00", "want an integer"},
		{"text in a list of jobs", call + "\x81\xa1j\x91\xa1x", "want a map"},
		{"a sender without a name", strings.Replace(started, "\xa1f\xa1a", "\xa1f\xa0", 1) + "\x80", "no sender"},
		{"seq 0", strings.Replace(started, "\xa1s\x01", "\xa1s\x00", 1) + "\x80", "seq 0"},
		{"version 0", strings.Replace(started, "\xa1v\x03", "\xa1v\x00", 1) + "\x80", "version 0"},
		{"more than a message", strings.Repeat("\x00", MaxMessage+1), "the limit is"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			m, err := Decode([]byte(tc.data))
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Decode = %+v, %v; want an error with %q", m, err, tc.want)
			}
			if taken := after.TotalAlloc - before.TotalAlloc; taken > 24*uint64(len(tc.data))+512<<10 {
				t.Errorf("Decode of %d bytes took %d bytes of memory", len(tc.data), taken)
			}
		})
	}
	for n := range good {
		if m, err := Decode(good[:n]); err == nil {
			t.Errorf("Decode of %d of %d bytes = %+v; want an error", n, len(good), m)
		}
	}
}

func TestAKindOfANewerSpeakerIsNamed(t *testing.T) {
	data := bytes.Replace(mustEncode(t, sent(Started{Job: "a"})), []byte("\xa7started"), []byte("\xa7teleprt"), 1)
	_, err := Decode(data)
	var unknown *UnknownKindError
	if !errors.As(err, &unknown) || *unknown != (UnknownKindError{"teleprt", Current, "agent/oslo"}) {
		t.Errorf("Decode = %v; want an UnknownKindError of teleprt", err)
	}
}
