package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gridbid/gridbid/bus/wal"
	"github.com/gridbid/gridbid/explain/timeline"
	"github.com/gridbid/gridbid/explain/timeline/tail"
	"github.com/gridbid/gridbid/protocol"
)

// openRun reads a record to its end, and the totals of all policies of its run where the folder
// has them. A source that is followed is read on. It returns the record's header, too.
func openRun(ctx context.Context, from recordSource, stderr io.Writer) (*tail.Run, map[string]string, error) {
	version := ""
	if from.follow {
		var err error
		if version, err = ledgerVersion(from.path); err != nil {
			return nil, nil, usageError{err}
		}
	}
	r, err := from.open(nil)
	if err != nil {
		return nil, nil, err
	}
	about := r.Header()
	f := recordFollower{from: from, version: version, every: followInterval, stderr: stderr, caughtUp: make(chan struct{})}
	run := tail.StartReading(ctx, func(ctx context.Context, _ uint64, each func(protocol.Message) error) error {
		return f.readMessages(ctx, r, each)
	}, totalsNextToLedger(from, stderr))
	// Read the record to its end before the first question: answers are about the whole run.
	select {
	case <-run.ReadingDone():
	case <-f.caughtUp:
	}
	stage := whatIfReplay(run.ViewerContext(), from, stderr)
	return run, about, errors.Join(run.Err(), run.ViewTimeline(ctx, func(d *timeline.Timeline) { d.SetReplay(stage) }))
}

// followInterval is how often a followed record is looked at. Where reading it takes long it is
// looked at less often, so that most of a coordinator's time is its own.
const followInterval = 2 * time.Second

// errNewRecord is the error of a coordinator that was restarted without an archive.
var errNewRecord = errors.New("the coordinator has begun a new record: start this command anew")

// A recordFollower reads a record, and that of a running coordinator again as it grows.
type recordFollower struct {
	from     recordSource
	version  string        // of what is read first
	every    time.Duration // how often a followed record is looked at
	stderr   io.Writer
	caughtUp chan struct{} // closed when the record was read to its end for the first time

	first []byte // message of the record, by which a new one is told
	read  int    // messages that each was called with
}

// readMessages calls each with every message that r has and, of a record that is followed, with
// every later one until ctx ends.
func (f *recordFollower) readMessages(ctx context.Context, r *wal.Reader, each func(protocol.Message) error) error {
	began := time.Now()
	err := f.readOnce(r, f.stderr, each)
	if err != nil || !f.from.follow {
		return err
	}
	close(f.caughtUp)
	away := false // it did not answer last
	for took := time.Since(began); ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(max(f.every, 4*took)):
		}
		began = time.Now()
		version, err := ledgerVersion(f.from.path)
		if err == nil && version == f.version {
			away = false
			continue
		}
		if err == nil {
			if r, err = f.from.open(nil); err == nil {
				err = f.readOnce(r, io.Discard, each) // what there is to say was said
			}
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errNewRecord):
			fmt.Fprintln(f.stderr, legibleError(err))
			return err
		case err != nil && !away:
			fmt.Fprintf(f.stderr, "%s; trying again\n", legibleError(err))
		case err == nil:
			f.version, took = version, time.Since(began)
		}
		away = err != nil
	}
}

// readOnce reads a record to its end, and calls each with what it was not called with before.
func (f *recordFollower) readOnce(r *wal.Reader, stderr io.Writer, each func(protocol.Message) error) error {
	n := 0
	err := f.from.readRemaining(r, stderr, func(m protocol.Message) error {
		if n++; n == 1 && f.from.follow {
			text, err := protocol.MessageJSON(m)
			if err != nil || f.first != nil && !bytes.Equal(f.first, text) {
				return errors.Join(err, errNewRecord)
			}
			f.first = text
		}
		if n <= f.read {
			return nil
		}
		f.read++
		return each(m)
	})
	if err == nil && n < f.read {
		return errNewRecord
	}
	return err
}
