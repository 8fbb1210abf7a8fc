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

// Lives keep the facts of a party that is begun anew again and again, in a
// folder: one journal for each life, which begins with what is still needed of
// the one before. One that has become long is written anew without what nobody
// needs any more, so that it does not grow with the age of a life. Only one
// process at a time may hold a folder.
type Lives struct {
	dir  string
	lock *os.File
	life uint32
	out  *Writer
	file *os.File

	needed func(protocol.Message) bool
	full   int64 // bytes at which facts that nobody needs are left out
}

// small is how long a journal may always get, in bytes.
const small = 8 << 20

const (
	lifeExt  = ".facts"
	nextExt  = ".new" // behind lifeExt: it does not count yet
	lockName = "lock"
)

// Begin opens the folder, and makes it if it is not there. It hands the facts of
// the last life to restore, in order; then begins a new life with those of them
// that are needed; needed is asked again within Append. A fact that was torn off by a crash was never acted on.
func Begin(dir string, restore func(protocol.Message) error, needed func(protocol.Message) bool) (*Lives, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
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

// sweep removes the journals of earlier lives, and what a crash left of one that
// was being written: they are only in the way.
func (l *Lives) sweep() error {
	return l.files(func(name string, _ uint32) {
		if name != filepath.Base(l.path(l.life)) {
			_ = os.Remove(filepath.Join(l.dir, name))
		}
	})
}

// write writes the journal of this life anew, with those facts that are needed.
// It takes the place of the old one whole or not at all.
func (l *Lives) write(facts []protocol.Message) error {
	next := l.path(l.life) + nextExt
	_ = os.Remove(next) // of one that did not come to be
	file, err := os.OpenFile(next, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	old := l.file
	l.file = file
	if old != nil {
		_ = old.Close() // all of it is on the disk
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
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// tidy leaves out what nobody needs any more, when the journal has become long.
func (l *Lives) tidy() error {
	is, err := l.file.Stat()
	if err != nil {
		return fmt.Errorf("journal: %w", err)
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
		return fmt.Errorf("journal: %w", err)
	}
	l.full = max(small, 4*is.Size())
	return nil
}

// Facts returns what the last life in a folder has written down until now, for
// whoever only looks: a process may be living it.
func Facts(dir string) ([]protocol.Message, error) {
	l := Lives{dir: dir}
	last, err := l.last()
	if err != nil {
		return nil, err
	}
	if last == 0 {
		return nil, fmt.Errorf("journal: %s holds no life", dir)
	}
	return readAll(l.path(last))
}

// Life returns which life this is: see protocol.NextLife.
func (l *Lives) Life() uint32 { return l.life }

// Append writes facts down. When it returns nil they are on the disk.
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
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// Close lets go of the folder. The journal has no end: it goes on in the next
// life.
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

// last returns the highest life of which there is a journal, or 0.
func (l *Lives) last() (last uint32, err error) {
	err = l.files(func(name string, life uint32) {
		if !strings.HasSuffix(name, nextExt) {
			last = max(last, life)
		}
	})
	return last, err
}

// files tells of each file of ours in the folder, and of which life it is.
func (l *Lives) files(tell func(name string, life uint32)) error {
	files, err := os.ReadDir(l.dir)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	for _, f := range files {
		number, ours := strings.CutSuffix(strings.TrimSuffix(f.Name(), nextExt), lifeExt)
		if n, err := strconv.ParseUint(number, 10, 32); ours && err == nil {
			tell(f.Name(), uint32(n))
		}
	}
	return nil
}

// readAll reads a journal up to where a crash tore it.
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

// settle has the disk keep which journals there are.
func (l *Lives) settle() error {
	if err := atomicfile.Settle(l.dir); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}
