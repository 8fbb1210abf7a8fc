package wal

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// begin begins a life in dir, and returns it with the facts that it was handed.
func begin(t *testing.T, dir string, needed func(protocol.Message) bool) (*Lives, []protocol.Message) {
	t.Helper()
	var facts []protocol.Message
	l, err := Begin(dir, func(m protocol.Message) error { facts = append(facts, m); return nil }, needed)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l, facts
}

func all(protocol.Message) bool { return true }

func TestALifeBeginsWithTheFactsOfTheLast(t *testing.T) {
	dir, ms := filepath.Join(t.TempDir(), "agent"), messages(10)
	first, facts := begin(t, dir, all)
	if len(facts) != 0 {
		t.Fatalf("life %d begins with %d facts", first.Life(), len(facts))
	}
	for i := range 5 {
		if err := first.Append(ms[2*i : 2*i+2]); err != nil {
			t.Fatal(err)
		}
	}
	_ = first.Close() // as a kill would: nothing more is written
	second, facts := begin(t, dir, func(m protocol.Message) bool { return m.Seq > 7 })
	if !reflect.DeepEqual(facts, ms) || second.Life() <= first.Life() {
		t.Fatalf("life %d begins with %d facts", second.Life(), len(facts))
	}
	_ = second.Close()
	third, facts := begin(t, dir, all)
	if !reflect.DeepEqual(facts, ms[7:]) || third.Life() <= second.Life() {
		t.Errorf("incarnation %d begins with %v; want the events still needed", third.Life(), facts)
	}
}

// However many bytes of the last write reached the disk, the facts before it are
// there, and whole ones of it; whether the file ends there or was given more room.
func TestAWriteThatWasTornLeavesTheFactsBefore(t *testing.T) {
	ms := messages(4)
	dir := filepath.Join(t.TempDir(), "whole")
	l, _ := begin(t, dir, all)
	if err := l.Append(ms[:2]); err != nil {
		t.Fatal(err)
	}
	path := l.path(l.Life())
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Append(ms[2:]); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for size := len(before); size <= len(text); size++ {
		for _, room := range []int{0, 1, len(text) - size, 4096} {
			torn := filepath.Join(t.TempDir(), "torn")
			if err := os.MkdirAll(torn, 0o700); err != nil {
				t.Fatal(err)
			}
			bytes := append(slices.Clone(text[:size]), make([]byte, room)...)
			if err := os.WriteFile(filepath.Join(torn, filepath.Base(path)), bytes, 0o600); err != nil {
				t.Fatal(err)
			}
			again, facts := begin(t, torn, all)
			if n := len(facts); n < 2 || n > 4 || !reflect.DeepEqual(facts, ms[:n]) || size == len(text) && n != 4 {
				t.Fatalf("of %d bytes and %d zeros %d facts are left", size, room, n)
			}
			_ = again.Close()
		}
	}
}

func TestALifeThatDidNotComeToBeLeavesTheLast(t *testing.T) {
	dir, ms := t.TempDir(), messages(3)
	l, _ := begin(t, dir, all)
	if err := l.Append(ms); err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	for _, name := range []string{l.path(l.Life()) + ".new", l.path(l.Life()+1) + ".new", l.path(l.Life() - 1), filepath.Join(dir, "notes")} {
		if err := os.WriteFile(name, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, facts := begin(t, dir, all)
	if len(facts) != 3 {
		t.Errorf("%d facts are left", len(facts))
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
	}
	if want := []string{filepath.Base(l.path(l.Life())), "lock", "notes"}; !slices.Equal(names, want) {
		t.Errorf("in the folder are %v; want %v", names, want)
	}
}

// Where a folder is lost, or an older copy of it is restored, the next messages have
// higher numbers than all sent before: receivers drop lower ones as duplicates.
func TestALifeIsAboveAllBeforeItThoughItsFolderWasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, said := filepath.Join(t.TempDir(), "agent"), uint64(0)
		for range 3 {
			for range 5 { // within a second
				l, _ := begin(t, dir, all)
				if first := protocol.Lives(uint64(l.Life()), 1); first <= said {
					t.Fatalf("incarnation %d begins with number %d; %d was sent before", l.Life(), first, said)
				}
				said = protocol.Lives(uint64(l.Life()), 1_000_000)
				_ = l.Close()
			}
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second)
		}
	})
}

func TestAFolderIsHeldByOne(t *testing.T) {
	dir := t.TempDir()
	begin(t, dir, all)
	_, err := Begin(dir, func(protocol.Message) error { return nil }, all)
	if err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("a second holder: %v", err)
	}
}

// The file of a long incarnation is rewritten without unneeded events: it does not
// grow with the facts that were written, and the next life reads what is needed,
// in order.
func TestALongLifesJournalDoesNotGrow(t *testing.T) {
	dir := t.TempDir()
	open := protocol.JobID("job-0")
	needed := func(m protocol.Message) bool { return m.Body.(protocol.Submit).Job.ID == open }
	l, err := Begin(dir, func(protocol.Message) error { return nil }, needed)
	if err != nil {
		t.Fatal(err)
	}
	mouth, most := protocol.Mouth{Who: protocol.Submitter}, int64(0)
	fact := func(id string) protocol.Message {
		return mouth.Say(1, protocol.Coordinator, protocol.Submit{Job: protocol.Job{ID: protocol.JobID(id)}, Task: protocol.Task(strings.Repeat("x", 10_000))})
	}
	for i := range 40 {
		many := []protocol.Message{fact("job-0")}
		for k := range 100 {
			many = append(many, fact(fmt.Sprint("job-", 1+100*i+k)))
		}
		if err := l.Append(many); err != nil {
			t.Fatal(err)
		}
		is, err := os.Stat(l.path(l.life))
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, is.Size())
	}
	if most > small+2<<20 {
		t.Errorf("40 MB were written, and the journal was %d bytes long", most)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	var read []protocol.Message
	if l, err = Begin(dir, func(m protocol.Message) error { read = append(read, m); return nil }, needed); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	n, last := 0, uint64(0)
	for _, m := range read {
		if needed(m) {
			n++
		}
		if m.Seq <= last {
			t.Fatalf("number %d was read after %d", m.Seq, last)
		}
		last = m.Seq
	}
	if n != 40 || len(read) > 1200 {
		t.Errorf("read %d facts, of them %d that are needed", len(read), n)
	}
}
