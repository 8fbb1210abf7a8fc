package chaos

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus/eventlog"
	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/bus/wal"
	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/protocol"
)

var (
	long = flag.Duration("chaos", 0, "do harm to real processes for so long")
	seed = flag.Uint64("seed", 1, "of the harm")
)

// Jobs are submitted all the time while processes are killed, stopped and cut
// off; in the end each has run in one place, once, and is settled once.
func TestRealProcessesLoseNothingAndDoubleNothing(t *testing.T) {
	if *long == 0 {
		t.Skip("no -chaos; make chaos runs it")
	}
	newStage(t, simulated).suffer(*long)
}

// suffer has jobs submitted and harm done for a time, and judges what came of the
// jobs.
func (s *stage) suffer(lasts time.Duration) {
	s.wait("a coordinator leads and knows its sites", 5*time.Minute, func() bool {
		var sites []jobstatus.Site
		i := s.leader()
		if i < 0 {
			return false
		}
		_, err := ask(s.desks[i], http.MethodGet, "/v1/sites", nil, &sites)
		return err == nil && len(sites) == len(s.sites)
	})
	stop := make(chan struct{})
	var all sync.WaitGroup
	var jobs []string
	all.Go(func() { jobs = s.submit(stop) })
	var took []time.Duration
	all.Go(func() { took = s.watch(stop) })
	harm := newHarm(s)
	harm.do(lasts, rand.New(rand.NewPCG(*seed, 3)))
	close(stop)
	all.Wait()
	s.heal()
	var open []jobstatus.Job
	defer func() {
		for _, j := range open {
			s.Logf("open: %+v", j)
		}
	}()
	s.wait("all jobs have ended", 5*time.Minute, func() (over bool) { open, over = s.open(jobs); return over })
	s.judge(jobs)
	harm.took["nobody leads"] = took
	s.Logf("%d jobs, %v of harm\n%s", len(jobs), lasts, harm)
}

func (s *stage) wait(what string, most time.Duration, is func() bool) {
	s.Helper()
	for end := time.Now().Add(most); !is(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			s.Fatalf("%s: not within %v", what, most)
		}
	}
}

// submit submits a job now and then, each until it is known to be taken.
func (s *stage) submit(stop chan struct{}) (jobs []string) {
	for n := 1; ; n++ {
		id := fmt.Sprintf("job-%d", n)
		job := fmt.Appendf(nil, "id: %s\ntenant: lab\nwithin: 10m\n%s", id, s.job(n))
		for taken := false; !taken; {
			for _, desk := range s.desks {
				code, err := ask(desk, http.MethodPost, "/v1/jobs", job, nil)
				if err == nil && code/100 == 4 && code != http.StatusForbidden {
					s.Errorf("%s is refused: %d", id, code)
				}
				if taken = err == nil && code == http.StatusOK; taken {
					jobs = append(jobs, id)
					break
				}
			}
			select {
			case <-stop:
				if taken || len(jobs) < n {
					return jobs
				}
			case <-time.After(150 * time.Millisecond):
			}
		}
	}
}

// watch measures how long nobody leads.
func (s *stage) watch(stop chan struct{}) (took []time.Duration) {
	var since time.Time
	for {
		led := s.leader() >= 0
		switch {
		case !led && since.IsZero():
			since = time.Now()
		case led && !since.IsZero():
			took = append(took, time.Since(since))
			since = time.Time{}
		}
		select {
		case <-stop:
			return took
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// heal sees that everything is up and joined.
func (s *stage) heal() {
	for _, l := range s.lines {
		l.set(false)
	}
	for _, p := range s.all() {
		p.start()
	}
}

// open returns the jobs that have not ended, and whether there are none.
func (s *stage) open(jobs []string) (open []jobstatus.Job, none bool) {
	i := s.leader()
	if i < 0 {
		return nil, false
	}
	for _, id := range jobs {
		j := jobstatus.Job{ID: protocol.JobID(id)}
		if code, err := ask(s.desks[i], http.MethodGet, "/v1/jobs/"+id, nil, &j); err != nil || code != http.StatusOK || !j.HasEnded() {
			open = append(open, j)
		}
	}
	return open, len(open) == 0
}

// judge reads what was written down: the coordinators' books, and what each
// site's cluster was told to run.
func (s *stage) judge(jobs []string) {
	for _, p := range slices.Concat(s.coordinators, s.agents) {
		p.kill()
	}
	ctx, cancel := context.WithTimeout(s.Context(), 3*time.Minute)
	defer cancel()
	text := natsbus.Access{URL: s.fed.HubURL(), CA: "ca.pem", Seed: "coordinator.nk"}.ResolvePaths(filepath.Join(s.dir, "fed", "coordinator"))
	hub, err := natsbus.Open(text)
	s.must(err)
	b, err := eventlog.Open(ctx, hub, protocol.Coordinator, eventlog.Config{})
	s.must(err)
	defer b.Close()
	settled, refused, paid := make(map[protocol.JobID]int), make(map[protocol.JobID]int), protocol.Microdollars(0)
	term, err := b.BeginTerm(ctx, func(m protocol.Message) error {
		switch x := m.Body.(type) {
		case protocol.Settlement:
			settled[x.Job]++
			paid += x.Paid
		case protocol.Reject:
			// Said twice while nobody led, a job comes twice, and the second time is
			// refused; the first goes on.
			if x.Why.Code == protocol.Duplicate {
				return nil
			}
			refused[x.Job]++
			s.Logf("%s refused: %+v", x.Job, x.Why)
		}
		return nil
	})
	s.must(err)
	defer term.EndTerm()
	places := s.ran(s)
	for _, id := range jobs {
		j := protocol.JobID(id)
		if settled[j]+refused[j] != 1 || len(places[j]) != settled[j] {
			s.Errorf("%s was settled %d times and refused %d times, and was run at %v", id, settled[j], refused[j], places[j])
		}
	}
	if len(settled) == 0 || paid <= 0 {
		s.Errorf("%d jobs settled, for %d", len(settled), paid)
	}
	s.Logf("%d jobs settled in %d terms", len(settled), term.Incarnation())
}

// launched returns where each job was run, and under which epochs: by what the
// hands of the sites wrote down.
func (s *stage) launched() map[protocol.JobID][]string {
	out := make(map[protocol.JobID][]string)
	for _, name := range s.sites {
		files, err := filepath.Glob(filepath.Join(s.dir, "state", name, "hands", "*.facts"))
		s.must(err)
		for _, file := range files {
			r, err := wal.OpenReader(file)
			s.must(err)
			for {
				m, err := r.ReadMessage()
				if errors.Is(err, io.EOF) || errors.Is(err, wal.ErrTorn) {
					break
				}
				s.must(err)
				if l, ok := m.Body.(protocol.Launch); ok {
					place := fmt.Sprintf("%s under epoch %d", name, l.Epoch)
					if !slices.Contains(out[l.Job.ID], place) {
						out[l.Job.ID] = append(out[l.Job.ID], place)
					}
				}
			}
			_ = r.Close()
		}
	}
	return out
}
