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
	long = flag.Duration("chaos", 0, "inject faults into real processes for this long")
	seed = flag.Uint64("seed", 1, "of the faults")
)

// Jobs are submitted all the time while processes are killed, stopped and disconnected; in
// the end each job has run at one site, once, and is settled once.
func TestRealProcessesRunEachJobOnce(t *testing.T) {
	if *long == 0 {
		t.Skip("no -chaos; make chaos runs it")
	}
	newTestbed(t, simulated).runUnderFaults(*long)
}

// runUnderFaults submits jobs and injects faults for a time, waits until all jobs have
// ended, and checks what became of them.
func (s *testbed) runUnderFaults(lasts time.Duration) {
	s.wait("a coordinator leads and knows its sites", 5*time.Minute, func() bool {
		var sites []jobstatus.Site
		i := s.leader()
		if i < 0 {
			return false
		}
		_, err := ask(s.apis[i], http.MethodGet, "/v1/sites", nil, &sites)
		return err == nil && len(sites) == len(s.sites)
	})
	stop := make(chan struct{})
	var all sync.WaitGroup
	var jobs []string
	all.Go(func() { jobs = s.submit(stop) })
	var took []time.Duration
	all.Go(func() { took = s.watch(stop) })
	faults := newFaultInjector(s)
	faults.do(lasts, rand.New(rand.NewPCG(*seed, 3)))
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
	s.checkOutcome(jobs)
	faults.took["no leader"] = took
	s.Logf("%d jobs, %v of faults\n%s", len(jobs), lasts, faults)
}

// wait polls until a condition holds, and ends the test after the given time.
func (s *testbed) wait(what string, most time.Duration, is func() bool) {
	s.Helper()
	for end := time.Now().Add(most); !is(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			s.Fatalf("%s: not within %v", what, most)
		}
	}
}

// submit submits jobs until stop is closed, each to one coordinator after the other
// until one has accepted it.
func (s *testbed) submit(stop chan struct{}) (jobs []string) {
	for n := 1; ; n++ {
		id := fmt.Sprintf("job-%d", n)
		job := fmt.Appendf(nil, "id: %s\ntenant: lab\nwithin: 10m\nurgency: now\n%s", id, s.job(n))
		for taken := false; !taken; {
			for _, apiAddress := range s.apis {
				code, err := ask(apiAddress, http.MethodPost, "/v1/jobs", job, nil)
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

// watch measures the times during which no coordinator leads, until stop is closed.
func (s *testbed) watch(stop chan struct{}) (took []time.Duration) {
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

// heal restarts every process and reconnects every site.
func (s *testbed) heal() {
	for _, l := range s.lines {
		l.set(false)
	}
	for _, p := range s.all() {
		p.start()
	}
}

// open returns the jobs that have not ended, and whether there are none.
func (s *testbed) open(jobs []string) (open []jobstatus.Job, none bool) {
	i := s.leader()
	if i < 0 {
		return nil, false
	}
	for _, id := range jobs {
		j := jobstatus.Job{ID: protocol.JobID(id)}
		if code, err := ask(s.apis[i], http.MethodGet, "/v1/jobs/"+id, nil, &j); err != nil || code != http.StatusOK || !j.HasEnded() {
			open = append(open, j)
		}
	}
	return open, len(open) == 0
}

// checkOutcome kills all processes and compares two records that do not share code
// with each other: settlements in the coordinators' event log, and launches at the
// sites. Each job must be settled or refused once, and have run as often as it was
// settled.
func (s *testbed) checkOutcome(jobs []string) {
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
			// While no coordinator led, a job may have been submitted twice. The second
			// submission is refused as a duplicate, the first one goes on.
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

// launched returns the sites and epochs under which each job was launched, by the
// event logs of the simulated executors.
func (s *testbed) launched() map[protocol.JobID][]string {
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
