// Command load measures a live market on this machine: a nats-server on loopback, a
// coordinator with its event log, and agents that compute real bids, each on its own
// connection. In the same run it measures, as a lower bound, what the bare server
// needs for the same exchange.
//
//	go run ./lab/load -sites 4,16,64
//
// With -settle, jobs of a second keep coming for so long, at sites that have room for all
// in flight, and it measures how many a second are settled, and what each costs.
//
// With -direct N, N sites bid for 1, 16, 256 and 1,000 jobs, in one process without
// a network, and messages are counted. With -jobs N one market settles N jobs in
// simulated time, and memory is measured; with -daily N it settles N jobs a day for more
// than a month.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/gridbid/gridbid/internal/daemon"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := runLoadTest(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "load: %v\n", err)
		os.Exit(1)
	}
}

// runLoadTest parses the flags and runs the selected measurement.
func runLoadTest(ctx context.Context, args []string, out io.Writer) error {
	daemon.RelaxGarbageCollector() // the same GC setting as in the binaries
	if os.Getenv("GOMAXPROCS") == "" {
		// In separate processes, a party that waits for its disk does not block
		// others; more threads have the same effect.
		runtime.GOMAXPROCS(4 * runtime.NumCPU())
	}
	fs := flag.NewFlagSet("load", flag.ContinueOnError)
	sites := fs.String("sites", "4,16,64", "numbers of sites, separated by commas; each is measured")
	dead := fs.Int("dead", 0, "of these, sites that stop before the measurement")
	flush := fs.String("sync", "no,yes", "whether the server syncs each entry of the event log to disk: no, yes or no,yes")
	each := fs.Int("each", 400, "jobs submitted one after the other, at each number of sites")
	burst := fs.Int("burst", 2000, "jobs submitted with up to 64 in flight")
	settle := fs.Duration("settle", 0, "keep jobs of a second coming for so long, and measure how many are settled, instead")
	inFlight := fs.Int("in-flight", 4096, "with -settle: jobs submitted and not settled, at most; each runs for a second, so no more can be settled in one")
	profile := fs.String("profile", "", "file for a CPU profile of the whole run")
	jobs := fs.Int("jobs", 0, "settle this many jobs in simulated time and measure memory instead")
	daily := fs.Int("daily", 0, "settle this many jobs a day for 40 simulated days, of which 30 are remembered, and measure memory instead")
	many := fs.Int("direct", 0, "run rounds of this many sites by function calls instead")
	asJSON := fs.Bool("json", false, "print JSON")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if *profile != "" {
		file, err := os.Create(*profile)
		if err != nil {
			return err
		}
		defer file.Close()
		if err := pprof.StartCPUProfile(file); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	switch {
	case *jobs > 0:
		return writeMemory(out, busyMinutes, *jobs, *asJSON)
	case *daily > 0:
		return writeMemory(out, busyMonth(*daily), 40**daily, *asJSON)
	}
	if *many > 0 {
		return writeDirectRounds(out, *many, *asJSON)
	}
	var all []loadResult
	var rates []settledRate
	for word := range strings.SplitSeq(*sites, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || n > 1000 {
			return fmt.Errorf("-sites %q: want numbers of 1 to 1000", word)
		}
		if *dead < 0 || *dead >= n {
			return fmt.Errorf("-dead %d: want fewer than the %d sites", *dead, n)
		}
		for way := range strings.SplitSeq(*flush, ",") {
			if way != "no" && way != "yes" {
				return fmt.Errorf("-sync %q: want no, yes or no,yes", *flush)
			}
			if *settle > 0 {
				r, err := measureSettling(ctx, n, way == "yes", *settle, *inFlight)
				if err != nil {
					return err
				}
				rates = append(rates, r)
				continue
			}
			r, err := measureFederation(ctx, n, *dead, way == "yes", *each, *burst)
			if err != nil {
				return err
			}
			all = append(all, r)
		}
	}
	switch {
	case *asJSON && *settle > 0:
		return json.NewEncoder(out).Encode(rates)
	case *settle > 0:
		return writeSettledRates(out, rates)
	case *asJSON:
		return json.NewEncoder(out).Encode(all)
	}
	return writeLatencyTable(out, all)
}

// writeMemory has one market settle n jobs, and prints what memory it takes.
func writeMemory(out io.Writer, load memoryLoad, n int, asJSON bool) error {
	marks, err := measureSettledJobs(load, n, 10)
	if err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(out).Encode(marks)
	}
	for _, m := range marks {
		_, err = fmt.Fprintf(out, "%9d jobs settled  %6.1f MiB in use  %7d jobs known, %4d B each  %8.0f jobs/s\n",
			m.Jobs, float64(m.Heap)/(1<<20), m.Known, m.Heap/uint64(max(m.Known, 1)), m.Rate)
	}
	return err
}

// writeDirectRounds runs and prints rounds of many sites without a network.
func writeDirectRounds(out io.Writer, sites int, asJSON bool) error {
	for _, jobs := range []int{1, 16, 256, 1000} {
		t, err := measureDirectRound(sites, jobs)
		if err != nil {
			return err
		}
		if asJSON {
			err = json.NewEncoder(out).Encode(t)
		} else {
			_, err = fmt.Fprintf(out, "%d sites, %d jobs: %d awarded in %d rounds, %d messages, %.1f MiB; sites plan %v each, the market takes %v\n",
				t.Sites, t.Jobs, t.Awarded, t.Calls, t.Messages, float64(t.Bytes)/(1<<20), (t.Offers / time.Duration(t.Sites)).Round(time.Microsecond), t.Market.Round(time.Millisecond))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeLatencyTable prints times in milliseconds.
func writeLatencyTable(out io.Writer, all []loadResult) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	ms := func(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d)/1e6) }
	fmt.Fprintln(w, "sites\tdead\tsync\tjobs/s\tauctions/s\taward p50\tp99\tfloor p50\tp99\tdurable p50\tp99\tbids p99\tof aim\tof durable aim\tp50 by p50\tp99 by p99\taward CPU\tdurable CPU\t")
	for _, r := range all {
		sync := "no"
		if r.Sync {
			sync = "yes"
		}
		fmt.Fprintf(w, "%d\t%d\t%s\t%.0f\t%.0f\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%.2f\t%.2f\t%.1f\t%.1f\t%s\t%s\t\n", r.Sites, r.Dead, sync, r.JobsPerSecond, r.AuctionsPerSecond,
			ms(r.Award.P50), ms(r.Award.P99), ms(r.Floor.P50), ms(r.Floor.P99), ms(r.Durable.P50), ms(r.Durable.P99), ms(r.Bids),
			float64(r.Award.P99)/float64(r.Aim), float64(r.Award.P99)/float64(r.DurableAim),
			float64(r.Award.P50)/float64(r.Durable.P50), float64(r.Award.P99)/float64(r.Durable.P99), ms(r.AwardCPU), ms(r.DurableCPU))
	}
	fmt.Fprintln(w, "")
	for i, r := range all {
		if i == 0 {
			fmt.Fprint(w, "sites\tsync\t")
			for _, s := range r.Stages {
				fmt.Fprintf(w, "%s p50\tp99\t", s.To)
			}
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%d\t%v\t", r.Sites, r.Sync)
		for _, s := range r.Stages {
			fmt.Fprintf(w, "%s\t%s\t", ms(s.P50), ms(s.P99))
		}
		fmt.Fprintln(w)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, `Milliseconds from the submission of a job to its award, one job at a time, with
all event log writes; the market does not wait to gather jobs. Sync: the server
syncs each entry of the event log to disk before it acknowledges. Floor: a server
of the same kind carries messages of the same lengths to as many connections and
back, without any computation or write. Durable: the floor plus %d writes to the
same stream, as many as an award takes. Bids: the time in which this machine's
processors compute all sites' bids for one job. Aim: three times the floor's p99,
plus the bids; the columns show the award's p99 relative to it. By: the award's p50 and
p99 by the durable floor's. CPU: user and system time of the whole process for one
award, and for one round of the durable floor. Awards and floors are
measured in turn, floors while the federation is idle.
`, writesPerAward)
	return err
}
