package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// A settledRate is how many jobs a live market takes from submission to settlement.
type settledRate struct {
	Sites    int           `json:"sites"`
	Sync     bool          `json:"sync"`
	GPUs     int           `json:"gpus"`
	Seconds  float64       `json:"seconds"`
	Settled  int           `json:"settled"`
	Rate     float64       `json:"jobs_per_second"`
	CPU      time.Duration `json:"cpu_ns_per_job"` // user and system time of the whole process
	Rounds   int           `json:"rounds"`
	Received float64       `json:"received_per_job"` // messages that the coordinator received
	Sent     float64       `json:"sent_per_job"`     // messages that it sent; a broadcast is one
	Busy     float64       `json:"busy"`             // the most jobs awarded and not settled, of all GPUs
}

// settling counts what the coordinator received and sent. Its fields are safe for concurrent use.
type settling struct {
	received, sent, awarded, settled, busiest atomic.Int64
	freed                                     chan struct{} // one for each settled job
}

// flowPrefix begins the ids of the jobs that are counted.
const flowPrefix = "flow-"

// observe counts one step. It never blocks: freed holds as many as are in flight.
func (s *settling) observe(received, sent []protocol.Message) {
	s.received.Add(int64(len(received)))
	s.sent.Add(int64(len(sent)))
	for _, m := range sent {
		switch b := m.Body.(type) {
		case protocol.Award:
			s.busiest.Store(max(s.busiest.Load(), s.awarded.Add(1)-s.settled.Load()))
		case protocol.Settlement:
			if strings.HasPrefix(string(b.Job), flowPrefix) {
				s.settled.Add(1)
				s.freed <- struct{}{}
			}
		}
	}
}

// gpusInFlight is how many GPUs the sites have for each job in flight: they are at most 80 % full.
const gpusInFlight = 1.25

// growSites gives all sites copies of their nodes until they have so many GPUs together, and returns
// how many they have.
func growSites(sites []spec.Site, gpus int) (have int) {
	of := make([][]spec.Node, len(sites))
	for i := range sites {
		of[i] = sites[i].Nodes
	}
	for copied := 0; have < gpus; copied++ {
		for i := range sites {
			for _, node := range of[i] {
				have += node.GPUs
				if copied > 0 {
					node.Name = fmt.Sprintf("%s-%d", node.Name, copied)
					sites[i].Nodes = append(sites[i].Nodes, node)
				}
			}
		}
	}
	return have
}

// measureSettling has a federation of n sites settle jobs of a second for so long, with at most
// inFlight of them submitted and not settled.
func measureSettling(ctx context.Context, n int, flush bool, lasts time.Duration, inFlight int) (r settledRate, err error) {
	s, err := loadSites(n)
	if err != nil {
		return r, err
	}
	r.Sites, r.Sync, r.GPUs = n, flush, growSites(s.Sites, int(gpusInFlight*float64(inFlight)))
	f, ctx, err := startLoadFederation(ctx, s, flush)
	if err != nil {
		return r, err
	}
	defer f.close()
	if err := sleepContext(ctx, drainTime); err != nil {
		return r, err
	}
	c := &settling{freed: make(chan struct{}, inFlight)}
	f.settling.Store(c)
	began, cpu, rounds := time.Now(), cpuTime(), f.seen.rounds.Load()
	over := time.After(lasts)
	for submitted := 0; ; submitted++ {
		if submitted >= inFlight {
			select {
			case <-c.freed:
			case <-over:
				return c.rate(r, time.Since(began), cpuTime()-cpu, int(f.seen.rounds.Load()-rounds)), nil
			case <-ctx.Done():
				return r, context.Cause(ctx)
			}
		}
		if err := f.submit(protocol.JobID(fmt.Sprintf("%s%d", flowPrefix, submitted))); err != nil {
			return r, err
		}
	}
}

// rate fills in what was counted.
func (s *settling) rate(r settledRate, took, cpu time.Duration, rounds int) settledRate {
	r.Seconds, r.Settled, r.Rounds = took.Seconds(), int(s.settled.Load()), rounds
	jobs := float64(max(1, r.Settled))
	r.Rate, r.CPU = jobs/r.Seconds, time.Duration(float64(cpu)/jobs)
	r.Received, r.Sent = float64(s.received.Load())/jobs, float64(s.sent.Load())/jobs
	r.Busy = float64(s.busiest.Load()) / float64(r.GPUs)
	return r
}

// cpuTime returns the user and system time of this process.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// writeSettledRates prints what a market settles in a second.
func writeSettledRates(out io.Writer, all []settledRate) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "sites\tsync\tGPUs\tseconds\tsettled\tjobs/s\tCPU ms a job\tjobs a round\treceived a job\tsent a job\tbusiest\t")
	for _, r := range all {
		fmt.Fprintf(w, "%d\t%v\t%d\t%.1f\t%d\t%.0f\t%.2f\t%.0f\t%.1f\t%.1f\t%.0f %%\t\n", r.Sites, r.Sync, r.GPUs, r.Seconds, r.Settled, r.Rate,
			float64(r.CPU)/1e6, float64(r.Settled)/float64(max(1, r.Rounds)), r.Received, r.Sent, 100*r.Busy)
	}
	return w.Flush()
}
