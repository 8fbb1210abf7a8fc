package journal

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

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
	if len(facts) != 0 || first.Life() != 1 {
		t.Fatalf("life %d begins with %d facts", first.Life(), len(facts))
	}
	for i := range 5 {
		if err := first.Append(ms[2*i : 2*i+2]); err != nil {
			t.Fatal(err)
		}
	}
	_ = first.Close() // as a kill would: nothing more is written
	second, facts := begin(t, dir, func(m protocol.Message) bool { return m.Seq > 7 })
	if !reflect.DeepEqual(facts, ms) || second.Life() != 2 {
		t.Fatalf("life %d begins with %d facts", second.Life(), len(facts))
	}
	_ = second.Close()
	third, facts := begin(t, dir, all)
	if !reflect.DeepEqual(facts, ms[7:]) || third.Life() != 3 {
		t.Errorf("life %d begins with %v; want what is still needed", third.Life(), facts)
	}
}

// However many bytes of the last write reached the disk, the facts before it are
// there, and whole ones of it.
func TestAWriteThatWasTornLeavesTheFactsBefore(t *testing.T) {
	ms := messages(4)
	dir := filepath.Join(t.TempDir(), "whole")
	l, _ := begin(t, dir, all)
	if err := l.Append(ms[:2]); err != nil {
		t.Fatal(err)
	}
	path := l.path(1)
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
		torn := filepath.Join(t.TempDir(), "torn")
		if err := os.MkdirAll(torn, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(torn, filepath.Base(path)), text[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		again, facts := begin(t, torn, all)
		if n := len(facts); n < 2 || n > 4 || !reflect.DeepEqual(facts, ms[:n]) || size == len(text) && n != 4 {
			t.Fatalf("of %d bytes %d facts are left", size, n)
		}
		_ = again.Close()
	}
}

func TestALifeThatDidNotComeToBeLeavesTheLast(t *testing.T) {
	dir, ms := t.TempDir(), messages(3)
	l, _ := begin(t, dir, all)
	if err := l.Append(ms); err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if err := os.WriteFile(l.path(2)+".new", []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, facts := begin(t, dir, all); len(facts) != 3 {
		t.Errorf("%d facts are left", len(facts))
	}
}

func TestAFolderIsHeldByOne(t *testing.T) {
	dir := t.TempDir()
	begin(t, dir, all)
	_, err := Begin(dir, func(protocol.Message) error { return nil }, all)
	if err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("a second holder: %v", err)
	}
}
