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
func begin(t *testing.T, dir string, needed func(protocol.Message) bool) (*FileLog, []protocol.Message) {
	t.Helper()
	var facts []protocol.Message
	l, err := OpenFileLog(dir, func(m protocol.Message) error { facts = append(facts, m); return nil }, needed)
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
		t.Fatalf("life %d begins with %d facts", first.Incarnation(), len(facts))
	}
	for i := range 5 {
		if err := first.AppendEvents(ms[2*i : 2*i+2]); err != nil {
			t.Fatal(err)
		}
	}
	_ = first.Close() // as a kill would: nothing more is written
	second, facts := begin(t, dir, func(m protocol.Message) bool { return m.Seq > 7 })
	if !reflect.DeepEqual(facts, ms) || second.Incarnation() <= first.Incarnation() {
		t.Fatalf("life %d begins with %d facts", second.Incarnation(), len(facts))
	}
	_ = second.Close()
	third, facts := begin(t, dir, all)
	if !reflect.DeepEqual(facts, ms[7:]) || third.Incarnation() <= second.Incarnation() {
		t.Errorf("incarnation %d begins with %v; want the events still needed", third.Incarnation(), facts)
	}
}

// However many bytes of the last write reached the disk, the facts before it are
// there, and whole ones of it; whether the file ends there or was given more room.
func TestAWriteThatWasTornLeavesTheFactsBefore(t *testing.T) {
	ms := messages(4)
	dir := filepath.Join(t.TempDir(), "whole")
	l, _ := begin(t, dir, all)
	if err := l.AppendEvents(ms[:2]); err != nil {
		t.Fatal(err)
	}
	path := l.journalPath(l.Incarnation())
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.AppendEvents(ms[2:]); err != nil {
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
	if err := l.AppendEvents(ms); err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	for _, name := range []string{l.journalPath(l.Incarnation()) + ".new", l.journalPath(l.Incarnation()+1) + ".new", l.journalPath(l.Incarnation() - 1), filepath.Join(dir, "notes")} {
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
	if want := []string{filepath.Base(l.journalPath(l.Incarnation())), "lock", "notes"}; !slices.Equal(names, want) {
		t.Errorf("in the folder are %v; want %v", names, want)
	}
}

// Where a folder is lost, or an older copy of it is restored, the next messages have
// higher numbers than all sent before: receivers drop lower ones as duplicates.
func TestALifeIsAboveAllBeforeItThoughItsFolderWasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, sent := filepath.Join(t.TempDir(), "agent"), uint64(0)
		for range 3 {
			for range 5 { // within a second
				l, _ := begin(t, dir, all)
				if first := protocol.SequenceNumber(uint64(l.Incarnation()), 1); first <= sent {
					t.Fatalf("incarnation %d begins with number %d; %d was sent before", l.Incarnation(), first, sent)
				}
				sent = protocol.SequenceNumber(uint64(l.Incarnation()), 1_000_000)
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
	_, err := OpenFileLog(dir, func(protocol.Message) error { return nil }, all)
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
	l, err := OpenFileLog(dir, func(protocol.Message) error { return nil }, needed)
	if err != nil {
		t.Fatal(err)
	}
	mouth, most := protocol.Sender{Party: protocol.Submitter}, int64(0)
	fact := func(id string) protocol.Message {
		return mouth.NewMessage(1, protocol.Coordinator, protocol.Submit{Job: protocol.Job{ID: protocol.JobID(id)}, Task: protocol.Task(strings.Repeat("x", 10_000))})
	}
	for i := range 40 {
		many := []protocol.Message{fact("job-0")}
		for k := range 100 {
			many = append(many, fact(fmt.Sprint("job-", 1+100*i+k)))
		}
		if err := l.AppendEvents(many); err != nil {
			t.Fatal(err)
		}
		is, err := os.Stat(l.journalPath(l.incarnation))
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, is.Size())
	}
	if most > minCompactBytes+2<<20 {
		t.Errorf("40 MB were written, and the journal was %d bytes long", most)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	var read []protocol.Message
	if l, err = OpenFileLog(dir, func(m protocol.Message) error { read = append(read, m); return nil }, needed); err != nil {
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
