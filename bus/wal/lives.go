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

// Lives is the write-ahead log of a party that restarts often: a folder with one
// file for each incarnation. A file begins with the events of the previous
// incarnation that are still needed. A file that has grown long is rewritten
// without the events that are not needed any more, so its size does not depend
// on the age of the party. One process at a time may hold a folder.
type Lives struct {
	dir  string
	lock *os.File
	life uint32
	out  *Writer
	file *os.File

	needed func(protocol.Message) bool
	full   int64 // size in bytes at which the file is rewritten
}

// small is the size in bytes below which a file is never rewritten.
const small = 8 << 20

const (
	lifeExt  = ".facts"
	nextExt  = ".new" // after lifeExt: a file that is being written and does not count yet
	lockName = "lock"
)

// Begin opens the folder, and makes it if it is missing. It passes the events of
// the last incarnation to restore, in order, and then begins a new incarnation
// with those of them for which needed is true. Append calls needed too. An event
// that a crash tore off is dropped: the party has not acted on it.
func Begin(dir string, restore func(protocol.Message) error, needed func(protocol.Message) bool) (*Lives, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("wal: %w", err)
	}
	l := &Lives{dir: dir}
	var err error
	if l.lock, err = lock(filepath.Join(dir, lockName)); err != nil {
		return nil, err
	}
	l.needed, l.full = needed, small
	if err := l.begin(restore); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func (l *Lives) begin(restore func(protocol.Message) error) error {
	last, err := l.last()
	if err != nil {
		return err
	}
	var facts []protocol.Message
	if last > 0 {
		if facts, err = readAll(l.path(last)); err != nil {
			return err
		}
	}
	for _, m := range facts {
		if err := restore(m); err != nil {
			return err
		}
	}
	l.life = protocol.NextLife(last, protocol.At(time.Now()))
	if err := l.write(facts); err != nil {
		return err
	}
	if err := l.settle(); err != nil {
		return err
	}
	return l.sweep()
}

// sweep removes the files of earlier incarnations, and unfinished ones that a
// crash left. It ignores errors, since such files do no harm.
func (l *Lives) sweep() error {
	return l.files(func(name string, _ uint32) {
		if name != filepath.Base(l.path(l.life)) {
			_ = os.Remove(filepath.Join(l.dir, name))
		}
	})
}

// write atomically rewrites the file of this incarnation with those of facts that
// are needed.
func (l *Lives) write(facts []protocol.Message) error {
	next := l.path(l.life) + nextExt
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
	if l.out, err = NewWriter(l.file, next, map[string]string{"life": fmt.Sprint(l.life)}); err != nil {
		return err
	}
	for _, m := range facts {
		if l.needed(m) {
			if err := l.out.Append(m); err != nil {
				return err
			}
		}
	}
	if err := l.sync(); err != nil {
		return err
	}
	if err := os.Rename(next, l.path(l.life)); err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	return nil
}

// tidy rewrites a long file without the events that are not needed any more.
func (l *Lives) tidy() error {
	is, err := l.file.Stat()
	if err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	if is.Size() < l.full {
		return nil
	}
	facts, err := readAll(l.path(l.life))
	if err != nil {
		return err
	}
	if err := l.write(facts); err != nil {
		return err
	}
	if err := l.settle(); err != nil {
		return err
	}
	if is, err = l.file.Stat(); err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	l.full = max(small, 4*is.Size())
	return nil
}

// Facts returns the events of the last incarnation in a folder so far. It takes no
// lock: a process may be writing there.
func Facts(dir string) ([]protocol.Message, error) {
	l := Lives{dir: dir}
	last, err := l.last()
	if err != nil {
		return nil, err
	}
	if last == 0 {
		return nil, fmt.Errorf("wal: %s has no event file", dir)
	}
	return readAll(l.path(last))
}

// Life returns the number of this incarnation: see protocol.NextLife.
func (l *Lives) Life() uint32 { return l.life }

// Append writes events. When it returns nil they are on the disk.
func (l *Lives) Append(ms []protocol.Message) error {
	for _, m := range ms {
		if err := l.out.Append(m); err != nil {
			return err
		}
	}
	if err := l.sync(); err != nil {
		return err
	}
	return l.tidy()
}

func (l *Lives) sync() error {
	if err := l.out.Flush(); err != nil {
		return err
	}
	if err := l.file.Sync(); err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	return nil
}

// Close closes the file and releases the folder. The file gets no end: the next
// incarnation continues from it.
func (l *Lives) Close() error {
	var err error
	if l.file != nil {
		err = l.file.Close()
	}
	return errors.Join(err, l.lock.Close())
}

func (l *Lives) path(life uint32) string {
	return filepath.Join(l.dir, fmt.Sprintf("%08d%s", life, lifeExt))
}

// last returns the highest incarnation that has a file, or 0.
func (l *Lives) last() (last uint32, err error) {
	err = l.files(func(name string, life uint32) {
		if !strings.HasSuffix(name, nextExt) {
			last = max(last, life)
		}
	})
	return last, err
}

// files calls tell for each of our files in the folder, with its incarnation.
func (l *Lives) files(tell func(name string, life uint32)) error {
	files, err := os.ReadDir(l.dir)
	if err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	for _, f := range files {
		number, ours := strings.CutSuffix(strings.TrimSuffix(f.Name(), nextExt), lifeExt)
		if n, err := strconv.ParseUint(number, 10, 32); ours && err == nil {
			tell(f.Name(), uint32(n))
		}
	}
	return nil
}

// readAll reads a file up to its end or to where a crash tore it. It skips kinds
// of messages that this version does not know.
func readAll(path string) (facts []protocol.Message, err error) {
	r, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for {
		m, err := r.Read()
		switch {
		case err == nil:
			facts = append(facts, m)
		case errors.Is(err, io.EOF), errors.Is(err, ErrTorn):
			return facts, nil
		case !errors.As(err, new(*protocol.UnknownKindError)):
			return nil, err
		}
	}
}

// settle flushes the folder's names to the disk, so that a rename survives a crash.
func (l *Lives) settle() error {
	if err := atomicfile.Settle(l.dir); err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	return nil
}
