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
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
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
	dead := fs.Int("dead", 0, "of these, sites that stop: their awards are compared with those of a federation that has all, instead")
	runs := fs.Int("runs", 1, "how often each is measured; of several runs the medians are printed, too")
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
	stopProfile, err := startProfile(*profile)
	if err != nil {
		return err
	}
	defer stopProfile()
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
	var dying []deadResult
	for word := range strings.SplitSeq(*sites, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || n > 1000 {
			return fmt.Errorf("-sites %q: want numbers of 1 to 1000", word)
		}
		if *dead < 0 || *dead >= n {
			return fmt.Errorf("-dead %d: want fewer than the %d sites", *dead, n)
		}
		if *runs < 1 {
			return fmt.Errorf("-runs %d: want at least 1", *runs)
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
			if *dead > 0 {
				r, err := measureDeadSites(ctx, n, *dead, way == "yes", *each, *runs)
				if err != nil {
					return err
				}
				dying = append(dying, r)
				continue
			}
			for range *runs {
				r, err := measureFederation(ctx, n, way == "yes", *each, *burst)
				if err != nil {
					return err
				}
				all = append(all, r)
			}
		}
	}
	switch {
	case *asJSON && *settle > 0:
		return json.NewEncoder(out).Encode(rates)
	case *settle > 0:
		return writeSettledRates(out, rates)
	case *asJSON && *dead > 0:
		return json.NewEncoder(out).Encode(dying)
	case *dead > 0:
		return writeDeadResults(out, dying)
	case *asJSON:
		return json.NewEncoder(out).Encode(all)
	}
	return writeLatencyTable(out, all, *runs)
}

// startProfile begins a CPU profile, and returns what ends it; without a file it does nothing.
func startProfile(path string) (stop func(), err error) {
	if path == "" {
		return func() {}, nil
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		if err := file.Close(); err != nil {
			fmt.Fprintf(os.Stderr, "load: %v\n", err)
		}
	}, nil
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
