package wal

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

var header = map[string]string{"scenario": "six-regions", "seed": "7", "policy": "auction"}

func messages(n int) []protocol.Message {
	mouth := protocol.Sender{Party: protocol.AgentParty("oslo")}
	var ms []protocol.Message
	for i := range n {
		ms = append(ms, mouth.NewMessage(protocol.Time(1000*i), protocol.Coordinator,
			protocol.Reject{Job: protocol.JobID(strings.Repeat("j", 1+i%5)), Why: protocol.Reason{Code: protocol.NoCapacity}}))
	}
	return ms
}

func write(t testing.TB, header map[string]string, ms []protocol.Message) ([]byte, string) {
	t.Helper()
	var buf bytes.Buffer
	w, err := NewWriter(&buf, "test", header)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range ms {
		if err := w.AppendMessage(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes(), w.ChainDigest()
}

// read returns the messages before err, which is nil at a good end.
func read(data []byte) ([]protocol.Message, error) {
	r, err := NewReader(bytes.NewReader(data), "test.journal")
	if err != nil {
		return nil, err
	}
	var ms []protocol.Message
	for {
		m, err := r.ReadMessage()
		if err == io.EOF {
			return ms, nil
		}
		if err != nil {
			if _, again := r.ReadMessage(); again.Error() != err.Error() {
				return ms, errors.New("the reader went on after its end")
			}
			return ms, err
		}
		ms = append(ms, m)
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.journal")
	w, err := CreateFile(path, header)
	if err != nil {
		t.Fatal(err)
	}
	want := messages(100)
	for _, m := range want {
		if err := w.AppendMessage(m); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.AppendMessage(want[0]); err == nil {
		t.Error("Append after Close worked")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := read(data)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read %d messages, %v; want %d as they were written", len(got), err, len(want))
	}
	r, err := OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if !maps.Equal(r.Header(), header) {
		t.Errorf("header %v; want %v", r.Header(), header)
	}
	if _, err := CreateFile(path, nil); !errors.Is(err, os.ErrExist) {
		t.Errorf("Create over a journal: %v; want %v", err, os.ErrExist)
	}
}

func TestSameMessagesSameBytes(t *testing.T) {
	first, digest := write(t, header, messages(50))
	second, same := write(t, map[string]string{"policy": "auction", "seed": "7", "scenario": "six-regions"}, messages(50))
	if !bytes.Equal(first, second) || digest != same {
		t.Error("the same run has other bytes")
	}
	for name, other := range map[string]func() ([]byte, string){
		"another seed":   func() ([]byte, string) { return write(t, map[string]string{"seed": "8"}, messages(50)) },
		"a message less": func() ([]byte, string) { return write(t, header, messages(49)) },
	} {
		if _, d := other(); d == digest {
			t.Errorf("%s has the same digest", name)
		}
	}
}

func TestAnyChangeIsFound(t *testing.T) {
	want := messages(20)
	data, _ := write(t, header, want)
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.IntRange(0, len(data)-1).Draw(t, "at")
		n := rapid.IntRange(1, min(80, len(data)-at)).Draw(t, "n")
		part := bytes.Clone(data[at : at+n])
		var bad []byte
		switch rapid.SampledFrom([]string{"change", "lose", "add", "move"}).Draw(t, "what") {
		case "change":
			part[0] ^= byte(rapid.IntRange(1, 255).Draw(t, "by"))
			bad = append(append(bytes.Clone(data[:at]), part...), data[at+n:]...)
		case "lose":
			bad = append(bytes.Clone(data[:at]), data[at+n:]...)
		case "add":
			bad = append(append(bytes.Clone(data[:at+n]), part...), data[at+n:]...)
		case "move":
			rest := append(bytes.Clone(data[:at]), data[at+n:]...)
			to := rapid.IntRange(0, len(rest)).Draw(t, "to")
			bad = append(append(bytes.Clone(rest[:to]), part...), rest[to:]...)
		}
		if bytes.Equal(bad, data) {
			return
		}
		got, err := read(bad)
		if err == nil {
			t.Fatalf("the reader did not notice the change")
		}
		if len(got) > len(want) || len(got) > 0 && !reflect.DeepEqual(got, want[:len(got)]) {
			t.Fatalf("read %d messages that were never written", len(got))
		}
	})
}

func TestDamageIsNamed(t *testing.T) {
	data, _ := write(t, header, messages(3))
	frame := bytes.Index(data, []byte("\x87\xa1v")) - 1 // of the first message
	size := 1 + int(data[frame]) + linkSize
	change := func(at int) []byte {
		bad := bytes.Clone(data)
		bad[at] ^= 1
		return bad
	}
	swap := bytes.Clone(data)
	second := frame + size
	third := second + 1 + int(data[second]) + linkSize
	copy(swap[copy(swap[frame:], data[second:third])+frame:], data[frame:second])
	for _, tc := range []struct {
		name string
		data []byte
		kept int
		want string
		is   error
	}{
		{"a byte of the first message", change(frame + 20), 0, "damaged at byte ", ErrDamaged},
		{"a byte of the second message", change(frame + size + 20), 1, "damaged at byte ", ErrDamaged},
		{"a byte of a link", change(frame + size - 1), 0, "does not fit the chain", ErrDamaged},
		{"two messages swapped", swap, 0, "does not fit the chain", ErrDamaged},
		{"the end's count", change(len(data) - 33), 3, "3 messages, but the end says 2", ErrDamaged},
		{"the end's chain", change(len(data) - 1), 3, "the end does not fit", ErrDamaged},
		{"bytes after the end", append(bytes.Clone(data), 0), 3, "bytes after the end", ErrDamaged},
		{"an endless length", append(bytes.Clone(data[:frame]), bytes.Repeat([]byte{0xff}, 20)...), 0, "the limit is", ErrDamaged},
		{"no end", data[:len(data)-34], 3, "torn at byte ", ErrTorn},
		{"half an end", data[:len(data)-9], 3, "torn at byte ", ErrTorn},
		{"half a message", data[:frame+size+9], 1, "the 1 messages before are valid", ErrTorn},
		{"half a header", data[:len(magic)+9], 0, "torn at byte ", ErrTorn},
		{"half a line", data[:5], 0, "torn at byte ", ErrTorn},
		{"another file", []byte("PK\x03\x04 and so on"), 0, "not a ledger", nil},
		{"an empty file", nil, 0, "not a ledger", nil},
		{"a newer format", append([]byte("gridbid journal 2\n"), data[len(magic):]...), 0, "of the version that wrote it", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := read(tc.data)
			if err == nil || len(got) != tc.kept || !strings.Contains(err.Error(), tc.want) || tc.is != nil && !errors.Is(err, tc.is) {
				t.Errorf("read %d messages, %v; want %d, and an error with %q", len(got), err, tc.kept, tc.want)
			}
			if err != nil && !strings.Contains(err.Error(), "test.journal") {
				t.Errorf("%v does not name the file", err)
			}
		})
	}
}

func TestAMessageOfANewerWriterIsPassedOver(t *testing.T) {
	ms := messages(3)
	var buf bytes.Buffer
	w, err := NewWriter(&buf, "test", nil)
	if err != nil {
		t.Fatal(err)
	}
	data, err := protocol.Encode(ms[1])
	if err != nil {
		t.Fatal(err)
	}
	w.writeFrame(bytes.Replace(data, []byte("\xa6refuse"), []byte("\xa6reform"), 1))
	w.count++
	_ = w.AppendMessage(ms[2])
	_ = w.Close()
	r, err := NewReader(&buf, "test")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.ReadMessage(); !errors.As(err, new(*protocol.UnknownKindError)) {
		t.Errorf("a message of a kind that is not known: %v", err)
	}
	if m, err := r.ReadMessage(); err != nil || !reflect.DeepEqual(m, ms[2]) {
		t.Errorf("the one after it: %+v, %v; want %+v", m, err, ms[2])
	}
	if _, err := r.ReadMessage(); err != io.EOF {
		t.Errorf("the end: %v", err)
	}
}

func TestAFullDiskIsTold(t *testing.T) {
	w, err := NewWriter(full{}, "disk", nil)
	if err != nil {
		t.Fatal(err) // still in the buffer
	}
	big := messages(1)[0]
	big.Body = protocol.Reject{Why: protocol.Reason{Note: strings.Repeat("x", 60_000)}}
	for range 3 {
		err = w.AppendMessage(big)
	}
	if err == nil || w.Close() == nil {
		t.Errorf("Append = %v, Close = %v; want errors", err, w.Close())
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func FuzzReader(f *testing.F) {
	data, _ := write(f, header, messages(3))
	f.Add(data)
	f.Add(data[:len(data)-10])
	f.Add([]byte(magic + "\xff\xff\xff\x03"))
	packed, _ := writeCompressed(f, header, messages(3))
	f.Add(packed)
	f.Fuzz(func(t *testing.T, data []byte) {
		ms, err := read(data)
		if err != nil {
			return
		}
		r, err := NewReader(bytes.NewReader(data), "again")
		if err != nil {
			t.Fatal(err)
		}
		// A file that is read without an error can be written anew with the same content.
		again, _ := write(t, r.Header(), ms)
		if got, err := read(again); err != nil || !reflect.DeepEqual(got, ms) {
			t.Fatalf("written anew, it reads %v", err)
		}
	})
}

// offers is a day of offers of six sites, as large as real ones.
func offers(n int) []protocol.Message {
	mouth := protocol.Sender{Party: protocol.AgentParty("oslo")}
	var ms []protocol.Message
	seed := uint64(1)
	random := func(n uint64) int64 {
		seed = seed*6364136223846793005 + 1442695040888963407
		return int64(seed >> 33 % n)
	}
	for i := range n {
		o := protocol.Bids{Round: uint64(i)}
		for range 16 {
			menu := protocol.JobBids{Job: protocol.JobID("philly-" + time.Duration(random(1e6)).String())}
			for k := range 8 {
				start := protocol.Time(1_649_851_200_000 + int64(k)*3_600_000)
				menu.Options = append(menu.Options, protocol.BidOption{Start: start, Finish: start + protocol.Time(random(4e6)), Model: "V100",
					Cap: 250_000, Energy: protocol.Millijoules(random(9e8)), Carbon: protocol.Milligrams(random(4e7)),
					Money: protocol.Microdollars(random(90_000)), FragmentationDelta: protocol.Milli(random(500)), Score: 7})
			}
			o.Jobs = append(o.Jobs, menu)
		}
		ms = append(ms, mouth.NewMessage(protocol.Time(i), protocol.Coordinator, o))
	}
	return ms
}

func BenchmarkJournal(b *testing.B) {
	ms := offers(100)
	data, _ := write(b, header, ms)
	packed, _ := writeCompressed(b, header, ms)
	for name, write := range map[string]func(testing.TB, map[string]string, []protocol.Message) ([]byte, string){"append": write, "append/compressed": writeCompressed} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				write(b, header, ms)
			}
			b.ReportMetric(float64(len(data))/float64(len(ms)), "bytes/offer")
			b.ReportMetric(float64(len(data))/float64(len(packed)), "compression-ratio")
		})
	}
	for name, data := range map[string][]byte{"read": data, "read/compressed": packed} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, err := read(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestAnInputThatCannotBeReadIsNotTakenForAnother(t *testing.T) {
	gone := errors.New("the disk is gone")
	if _, err := NewReader(iotest.ErrReader(gone), "run"); !errors.Is(err, gone) {
		t.Errorf("NewReader: %v; want %v", err, gone)
	}
}

func TestARunThatWasGivenUpHasNoEnd(t *testing.T) {
	var out bytes.Buffer
	w, err := NewWriter(&out, "run", header)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range messages(3) {
		if err := w.AppendMessage(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.CloseWithoutEnd(), w.Close()); err != nil { // too late for an end
		t.Fatal(err)
	}
	r, err := NewReader(&out, "run")
	for range 3 {
		if err == nil {
			_, err = r.ReadMessage()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.ReadMessage(); !errors.Is(err, ErrTorn) {
		t.Errorf("after its messages: %v; want ErrTorn", err)
	}
}
