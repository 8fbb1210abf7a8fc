package seat

import (
	"cmp"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/gridbid/gridbid/internal/plainerror"
)

// A Config configures Serve.
type Config struct {
	Seat    string // that learners take; "" is that of the clearing
	Plain   bool   // arrays as lists of numbers, not as base64 of little-endian floats
	Envs    int    // environments that the learner may use side by side; below 2 there is one, and lines need not name it
	Data    string // folder of recorded series and traces
	Version string // of this build, for the answer to open
}

// seat returns the seat that learners take.
func (c Config) seat() string { return cmp.Or(c.Seat, SeatRule) }

// MostEnvs is the most environments of one learner.
const MostEnvs = 256

// CollectAt is the garbage collector's target for a process that serves: days are short and leave much
// behind, so that a collection at five times the live memory instead of twice saves a tenth of the time.
const CollectAt = 400

// Serve answers the lines of in on out until in ends or a line says close, and returns nil then, or
// until ctx ends. Environments work side by side: each answers its lines in their order, and several
// answer in the order in which they are ready. A line that cannot be read is answered by an error.
func Serve(ctx context.Context, in io.Reader, out io.Writer, cfg Config) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &server{cfg: cfg, out: out, cancel: cancel}
	err := s.readLines(ctx, newLineReader(in))
	s.closeEnvironments()
	return errors.Join(err, s.failed)
}

// readLines hands lines to their environments until the lines end or one says close.
func (s *server) readLines(ctx context.Context, lines *lineReader) error {
	for ctx.Err() == nil {
		line, wrong, err := lines.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		var q request
		if wrong == nil {
			q, wrong = parseRequest(line)
		}
		if wrong == nil && q.close {
			return nil
		}
		if wrong == nil && q.env >= max(s.cfg.Envs, 1) {
			wrong = &lineError{"env", "there is no environment of that number", "start gridbid env with more --envs"}
		}
		if wrong != nil {
			q.env = 0 // a line of no environment is answered in the order of the first one's
		}
		s.environmentOf(ctx, q.env) <- numbered{q, lines.number, wrong}
	}
	return context.Cause(ctx)
}

// A server is one Serve in progress.
type server struct {
	cfg    Config
	cancel context.CancelFunc
	queues map[int]chan numbered // of the environments in use
	wg     sync.WaitGroup

	mu     sync.Mutex // held while a line is written, which others must not cut
	out    io.Writer
	failed error // of the first write that failed
}

// A numbered request is one with the number of its line, and what is wrong with that.
type numbered struct {
	request
	line  int
	wrong *lineError
}

// environmentOf returns the queue of an environment, and starts the environment at its first request.
func (s *server) environmentOf(ctx context.Context, env int) chan<- numbered {
	if q := s.queues[env]; q != nil {
		return q
	}
	q := make(chan numbered)
	if s.queues == nil {
		s.queues = make(map[int]chan numbered)
	}
	s.queues[env] = q
	e := &environment{cfg: s.cfg, reply: reply{plain: s.cfg.Plain, env: -1}}
	if s.cfg.Envs > 1 {
		e.reply.env = env
	}
	s.wg.Go(func() {
		for r := range q {
			s.write(e.answer(ctx, r))
		}
		e.abandonDay()
	})
	return q
}

// write writes a line. A learner that reads no more is one that has gone.
func (s *server) write(line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return
	}
	if _, err := s.out.Write(line); err != nil {
		s.failed = err
		s.cancel()
	}
}

// closeEnvironments has every environment answer what it was asked, ends all days, and returns when
// nothing of them runs any more.
func (s *server) closeEnvironments() {
	for _, q := range s.queues {
		close(q)
	}
	s.wg.Wait()
}

// plainText words an error for a learner.
func plainText(err error) string { return plainerror.Text(err) }
