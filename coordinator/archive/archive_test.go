package archive

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gridbid/gridbid/bus/wal"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/history/historytest"
	"github.com/gridbid/gridbid/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, folder string, log *bytes.Buffer) *Archive {
	t.Helper()
	n, err := OpenArchive(folder, time.Unix(1_773_187_200, 0), slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// read returns the first n messages of an archive.
func read(t *testing.T, n *Archive, want int) (all []protocol.Message) {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	if want == 0 {
		stop()
	}
	_ = n.Read(ctx, 0, func(m protocol.Message) error {
		if all = append(all, m); len(all) == want {
			stop()
		}
		return nil
	})
	return all
}

func same(t *testing.T, got, want []protocol.Message) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d messages; want %d", len(got), len(want))
	}
	for i := range want {
		a, _ := protocol.Encode(got[i])
		b, _ := protocol.Encode(want[i])
		if !bytes.Equal(a, b) {
			t.Fatalf("message %d is %+v; want %+v", i, got[i], want[i])
		}
	}
}

// The end of a record says what time it is, however little happens, and no more often than that needs.
func TestAQuietRecordSaysWhatTimeItIs(t *testing.T) {
	n := open(t, t.TempDir(), new(bytes.Buffer))
	at := func(after time.Duration) protocol.Time { return protocol.Time(0).Add(time.Hour + after) }
	n.RecordTime(at(0)) // before any incarnation
	if err := n.BeginIncarnation(at(0), 3, nil, market.Config{}); err != nil {
		t.Fatal(err)
	}
	for s := range 25 {
		n.RecordTime(at(time.Duration(s) * time.Second))
	}
	all := read(t, n, 3)
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	for i, m := range all {
		b, ok := m.Body.(protocol.InputLog)
		if !ok || m.At != at(time.Duration(i)*timeMarkEvery) || b.Incarnation != 3 || len(b.Steps) > 0 || (b.Rules != "") != (i == 0) {
			t.Errorf("message %d is %+v", i, m)
		}
	}
}

// After a restart, also one that cut the last ledger off, a reader finds what was
// already recorded at the same positions.
func TestARestartFindsWhatWasSaid(t *testing.T) {
	day, folder := historytest.GenerateDay(10, 10*time.Minute), t.TempDir()
	var log bytes.Buffer
	n := open(t, folder, &log)
	n.RecordSent(day[:20], day[20:30])
	same(t, read(t, n, 30), day[:30])
	n.mu.Lock()
	n.writeOrStop((*wal.Writer).Flush) // and then the power goes: no end is written
	n.mu.Unlock()
	close(n.ended)

	n = open(t, folder, &log)
	n.RecordSent(day[30:40], nil)
	same(t, read(t, n, 40), day[:40])
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}

	n = open(t, folder, &log)
	n.RecordSent(nil, day[40:50])
	same(t, read(t, n, 50), day[:50])
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if all, _ := filepath.Glob(filepath.Join(folder, "*.ledger")); len(all) != 3 || log.Len() != 0 {
		t.Errorf("%d ledgers, and the log says %q; want 3 and nothing", len(all), log.String())
	}
}

// Older ledgers may be moved away, and a folder be called anything: what is left
// stays in its order.
func TestWhatIsLeftOfANotebookStaysInOrder(t *testing.T) {
	day, folder := historytest.GenerateDay(10, 10*time.Minute), filepath.Join(t.TempDir(), "books [1]")
	for i := range 4 {
		n := open(t, folder, new(bytes.Buffer))
		n.RecordSent(day[10*i:10*i+10], nil)
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
		if i == 2 {
			all, err := os.ReadDir(folder)
			for _, old := range all[:min(2, len(all))] {
				err = errors.Join(err, os.Remove(filepath.Join(folder, old.Name())))
			}
			if err != nil || len(all) != 3 {
				t.Fatalf("%d ledgers: %v; want 3", len(all), err)
			}
		}
	}
	n := open(t, folder, new(bytes.Buffer))
	same(t, read(t, n, 20), day[20:40])
	if err := n.Close(); err != nil {
		t.Error(err)
	}
}

func TestWithoutAFolderNothingIsWritten(t *testing.T) {
	day := historytest.GenerateDay(4, 10*time.Minute)
	n := open(t, "", new(bytes.Buffer))
	n.RecordSent(day[:5], day[5:9])
	same(t, read(t, n, 9), day[:9])
	if err := n.Close(); err != nil {
		t.Error(err)
	}
}

// A full disk is logged, and the page continues from memory.
func TestANotebookThatCannotBeWrittenSaysSo(t *testing.T) {
	day := historytest.GenerateDay(4, 10*time.Minute)
	var log bytes.Buffer
	n := open(t, t.TempDir(), &log)
	n.mu.Lock()
	n.writeOrStop(func(b *wal.Writer) error { return b.Close() })
	n.writeOrStop(func(*wal.Writer) error { return os.ErrInvalid })
	n.mu.Unlock()
	n.RecordSent(day[:3], nil)
	same(t, read(t, n, 3), day[:3])
	if !strings.Contains(log.String(), "cannot write the ledger") {
		t.Errorf("the log says %q", log.String())
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
}

func TestADamagedLedgerIsNotPassedOver(t *testing.T) {
	folder := t.TempDir()
	var log bytes.Buffer
	n := open(t, folder, &log)
	n.RecordSent(historytest.GenerateDay(4, 10*time.Minute)[:9], nil)
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	all, _ := filepath.Glob(filepath.Join(folder, "*.ledger"))
	raw, err := os.ReadFile(all[0])
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)/2] ^= 1
	if err := os.WriteFile(all[0], raw, 0o600); err != nil {
		t.Fatal(err)
	}
	n = open(t, folder, &log)
	defer n.Close()
	if err := n.Read(context.Background(), 0, func(protocol.Message) error { return nil }); err == nil {
		t.Error("a ledger that was changed is read as if it were whole")
	}
}

// An archive records the order of its coordinator's inputs, and begins each incarnation with
// the events that it was restored from: those of another coordinator too, and
// those that a crash cut off.
func TestALifeIsWrittenWithWhatItBeganFrom(t *testing.T) {
	day, folder := historytest.GenerateDay(4, 10*time.Minute), t.TempDir()
	n := open(t, folder, new(bytes.Buffer))
	if err := n.BeginIncarnation(7, 1, nil, market.Config{Lease: time.Second}); err != nil {
		t.Fatal(err)
	}
	n.RecordInput(8, &day[0])
	n.RecordInput(9, nil)
	n.RecordSent(day[:1], nil)
	n.RecordSent(nil, day[1:2])
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	n = open(t, folder, new(bytes.Buffer))
	defer n.Close()
	var restored []protocol.Input
	for i := range 5 { // a summary has them in another order
		n.RecordRestored(day[4-i])
	}
	for range 2*maxInputsPerMessage + 1 {
		restored = append(restored, protocol.Input{From: day[0].From, Seq: day[0].Seq})
	}
	if err := n.BeginIncarnation(20, 3, restored, market.Config{}); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	var logs []protocol.InputLog
	for _, m := range read(t, n, 12) {
		kinds = append(kinds, m.KindName())
		if h, ok := m.Body.(protocol.InputLog); ok {
			logs = append(logs, h)
		}
	}
	if want := "heard hello heard " + day[1].KindName(); !strings.HasPrefix(strings.Join(kinds, " "), want) {
		t.Errorf("written: %v; want %s first", kinds, want)
	}
	n = open(t, t.TempDir(), new(bytes.Buffer))
	defer n.Close()
	for i := range 20 {
		n.RecordRestored(day[19-i])
	}
	if err := n.BeginIncarnation(20, 3, nil, market.Config{}); err != nil {
		t.Fatal(err)
	}
	if all := read(t, n, 21); len(all) != 21 {
		t.Errorf("%d of 20 facts are written", len(all)-1)
	}
	if h := logs[0]; h.Incarnation != 1 || !strings.Contains(h.Rules, `"Lease":1000000000`) {
		t.Errorf("the first incarnation begins with %+v", h)
	}
	if h := logs[1]; len(h.Steps) != 2 || h.Steps[0].From != day[0].From || h.Steps[1] != (protocol.Input{At: 9}) {
		t.Errorf("it took %+v", h.Steps)
	}
	if logs = logs[2:]; len(logs) != 3 || logs[0].Incarnation != 3 || logs[0].Rules == "" || logs[1].Rules != "" || len(logs[0].Restored)+len(logs[1].Restored)+len(logs[2].Restored) != len(restored) {
		t.Errorf("the third incarnation begins with %d records", len(logs))
	}
}
