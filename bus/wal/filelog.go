package wal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gridbid/gridbid/internal/atomicfile"
	"github.com/gridbid/gridbid/protocol"
)

// FileLog is the write-ahead log of a party that restarts often: a folder with one
// file for each incarnation. A file begins with the events of the previous
// incarnation that are still needed. A file that has grown long is rewritten
// without the events that are not needed any more, so its size does not depend
// on the age of the party. One process at a time may hold a folder.
type FileLog struct {
	dir         string
	lock        *os.File
	incarnation uint32
	writer      *Writer
	file        *os.File

	needed    func(protocol.Message) bool
	compactAt int64 // size in bytes at which the file is rewritten
}

// minCompactBytes is the size in bytes below which a file is never rewritten.
const minCompactBytes = 8 << 20

const (
	journalExt = ".facts"
	pendingExt = ".new" // after journalExt: a file that is being written and does not count yet
	lockName   = "lock"
)

// OpenFileLog opens the folder, and makes it if it is missing. It passes the events of
// the last incarnation to restore, in order, and then begins a new incarnation
// with those of them for which needed is true. AppendEvents calls needed too. An event
// that a crash tore off is dropped: the party has not acted on it.
func OpenFileLog(dir string, restore func(protocol.Message) error, needed func(protocol.Message) bool) (*FileLog, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("wal: %w", err)
	}
	l := &FileLog{dir: dir}
	var err error
	if l.lock, err = lockFile(filepath.Join(dir, lockName)); err != nil {
		return nil, err
	}
	l.needed, l.compactAt = needed, minCompactBytes
	if err := l.startIncarnation(restore); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func (l *FileLog) startIncarnation(restore func(protocol.Message) error) error {
	last, err := l.latestIncarnation()
	if err != nil {
		return err
	}
	var events []protocol.Message
	if last > 0 {
		if events, err = readUntilTorn(l.journalPath(last)); err != nil {
			return err
		}
	}
	for _, m := range events {
		if err := restore(m); err != nil {
			return err
		}
	}
	l.incarnation = protocol.NextIncarnation(last, protocol.FromStdTime(time.Now()))
	if err := l.rewriteJournal(events); err != nil {
		return err
	}
	if err := l.syncDirectory(); err != nil {
		return err
	}
	return l.removeOldJournals()
}

// removeOldJournals removes the files of earlier incarnations, and unfinished ones that a
// crash left. It ignores errors, since such files do no harm.
func (l *FileLog) removeOldJournals() error {
	return l.forEachJournal(func(name string, _ uint32) {
		if name != filepath.Base(l.journalPath(l.incarnation)) {
			_ = os.Remove(filepath.Join(l.dir, name))
		}
	})
}

// rewriteJournal atomically rewrites the file of this incarnation with those of events that
// are needed.
func (l *FileLog) rewriteJournal(events []protocol.Message) error {
	next := l.journalPath(l.incarnation) + pendingExt
	_ = os.Remove(next) // left by a crash; there may be none
	file, err := os.OpenFile(next, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	old := l.file
	l.file = file
	if old != nil {
		_ = old.Close() // all of it was synced
	}
	if l.writer, err = NewWriter(l.file, next, map[string]string{"life": fmt.Sprint(l.incarnation)}); err != nil {
		return err
	}
	for _, m := range events {
		if l.needed(m) {
			if err := l.writer.AppendMessage(m); err != nil {
				return err
			}
		}
	}
	if err := l.flushAndSync(); err != nil {
		return err
	}
	if err := os.Rename(next, l.journalPath(l.incarnation)); err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	return nil
}

// compactIfLarge rewrites a long file without the events that are not needed any more.
func (l *FileLog) compactIfLarge() error {
	is, err := l.file.Stat()
	if err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	if is.Size() < l.compactAt {
		return nil
	}
	events, err := readUntilTorn(l.journalPath(l.incarnation))
	if err != nil {
		return err
	}
	if err := l.rewriteJournal(events); err != nil {
		return err
	}
	if err := l.syncDirectory(); err != nil {
		return err
	}
	if is, err = l.file.Stat(); err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	l.compactAt = max(minCompactBytes, 4*is.Size())
	return nil
}

// ReadEvents returns the events of the last incarnation in a folder so far. It takes no
// lock: a process may be writing there.
func ReadEvents(dir string) ([]protocol.Message, error) {
	l := FileLog{dir: dir}
	last, err := l.latestIncarnation()
	if err != nil {
		return nil, err
	}
	if last == 0 {
		return nil, fmt.Errorf("wal: %s has no event file", dir)
	}
	return readUntilTorn(l.journalPath(last))
}

// Incarnation returns the number of this incarnation: see protocol.NextIncarnation.
func (l *FileLog) Incarnation() uint32 { return l.incarnation }

// AppendEvents writes events. When it returns nil they are on the disk.
func (l *FileLog) AppendEvents(ms []protocol.Message) error {
	for _, m := range ms {
		if err := l.writer.AppendMessage(m); err != nil {
			return err
		}
	}
	if err := l.flushAndSync(); err != nil {
		return err
	}
	return l.compactIfLarge()
}

func (l *FileLog) flushAndSync() error {
	if err := l.writer.Flush(); err != nil {
		return err
	}
	if err := l.file.Sync(); err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	return nil
}

// Close closes the file and releases the folder. The file gets no end: the next
// incarnation continues from it.
func (l *FileLog) Close() error {
	var err error
	if l.file != nil {
		err = l.file.Close()
	}
	return errors.Join(err, l.lock.Close())
}

func (l *FileLog) journalPath(incarnation uint32) string {
	return filepath.Join(l.dir, fmt.Sprintf("%08d%s", incarnation, journalExt))
}

// latestIncarnation returns the highest incarnation that has a file, or 0.
func (l *FileLog) latestIncarnation() (last uint32, err error) {
	err = l.forEachJournal(func(name string, incarnation uint32) {
		if !strings.HasSuffix(name, pendingExt) {
			last = max(last, incarnation)
		}
	})
	return last, err
}

// forEachJournal calls do for each of our files in the folder, with its incarnation.
func (l *FileLog) forEachJournal(do func(name string, incarnation uint32)) error {
	files, err := os.ReadDir(l.dir)
	if err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	for _, f := range files {
		number, ours := strings.CutSuffix(strings.TrimSuffix(f.Name(), pendingExt), journalExt)
		if n, err := strconv.ParseUint(number, 10, 32); ours && err == nil {
			do(f.Name(), uint32(n))
		}
	}
	return nil
}

// readUntilTorn reads a file up to its end or to where a crash tore it. It skips kinds
// of messages that this version does not know.
func readUntilTorn(path string) (events []protocol.Message, err error) {
	r, err := OpenReader(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for {
		m, err := r.ReadMessage()
		switch {
		case err == nil:
			events = append(events, m)
		case errors.Is(err, io.EOF), errors.Is(err, ErrTorn):
			return events, nil
		case !errors.As(err, new(*protocol.UnknownKindError)):
			return nil, err
		}
	}
}

// syncDirectory flushes the folder's names to the disk, so that a rename survives a crash.
func (l *FileLog) syncDirectory() error {
	if err := atomicfile.SyncFolder(l.dir); err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	return nil
}
