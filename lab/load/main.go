// Command load measures a live market on this machine: a real nats-server on
// loopback, a coordinator with its books, and agents that plan for real, each on
// a connection of its own. Beside it stands, of the same run, what the bare
// server takes to ask as many and hear their answers.
//
//	go run ./lab/load -sites 4,16,64
//
// With -direct N it has N sites bid in rounds of 1, 16 and 256 jobs, in one
// process and without a network, and counts messages. With -jobs N it has one market settle N jobs in simulated time, and
// says what memory it takes on the way.
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

func runLoadTest(ctx context.Context, args []string, out io.Writer) error {
	daemon.RelaxGarbageCollector() // as the binaries do
	if os.Getenv("GOMAXPROCS") == "" {
		// In processes of their own one that waits for its disk holds up no other.
		runtime.GOMAXPROCS(4 * runtime.NumCPU())
	}
	fs := flag.NewFlagSet("load", flag.ContinueOnError)
	sites := fs.String("sites", "4,16,64", "how many sites, with commas between; each is measured")
	flush := fs.String("sync", "no,yes", "whether the server flushes each entry of its books to the disk: no, yes or both")
	each := fs.Int("each", 400, "jobs that are submitted one after the other, at each number of sites")
	burst := fs.Int("burst", 2000, "jobs that are submitted with 64 on their way at once")
	jobs := fs.Int("jobs", 0, "settle so many jobs in simulated time, and measure memory instead")
	many := fs.Int("direct", 0, "have so many sites bid in one round by function calls instead")
	asJSON := fs.Bool("json", false, "as JSON")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if *jobs > 0 {
		marks, err := measureSettledJobs(*jobs, 10)
		if err != nil {
			return err
		}
		if *asJSON {
			return json.NewEncoder(out).Encode(marks)
		}
		for _, m := range marks {
			fmt.Fprintf(out, "%9d jobs settled  %6.1f MiB in use  %6d jobs known  %8.0f jobs/s\n", m.Jobs, float64(m.Heap)/(1<<20), m.Known, m.Rate)
		}
		return nil
	}
	if *many > 0 {
		return writeDirectRounds(out, *many, *asJSON)
	}
	var all []loadResult
	for word := range strings.SplitSeq(*sites, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || n > 1000 {
			return fmt.Errorf("-sites %q: want numbers of 1 to 1000", word)
		}
		for way := range strings.SplitSeq(*flush, ",") {
			if way != "no" && way != "yes" {
				return fmt.Errorf("-sync %q: want no, yes or no,yes", *flush)
			}
			r, err := measureFederation(ctx, n, way == "yes", *each, *burst)
			if err != nil {
				return err
			}
			all = append(all, r)
		}
	}
	if *asJSON {
		return json.NewEncoder(out).Encode(all)
	}
	return writeLatencyTable(out, all)
}

// writeDirectRounds writes what rounds of many sites take.
func writeDirectRounds(out io.Writer, sites int, asJSON bool) error {
	for _, jobs := range []int{1, 16, 256} {
		t, err := measureDirectRound(sites, jobs)
		if err != nil {
			return err
		}
		if asJSON {
			err = json.NewEncoder(out).Encode(t)
		} else {
			_, err = fmt.Fprintf(out, "%d sites, %d jobs: %d awarded, %d messages, %.1f MiB; sites plan %v each, the market takes %v\n",
				t.Sites, t.Jobs, t.Awarded, t.Messages, float64(t.Bytes)/(1<<20), (t.Offers / time.Duration(t.Sites)).Round(time.Microsecond), t.Market.Round(time.Millisecond))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeLatencyTable writes times in milliseconds.
func writeLatencyTable(out io.Writer, all []loadResult) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	ms := func(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d)/1e6) }
	fmt.Fprintln(w, "sites\tsync\tjobs/s\tauctions/s\taward p50\tp99\tfloor p50\tp99\tdurable p50\tp99\tbids p99\tof aim\tof durable aim\t")
	for _, r := range all {
		sync := "no"
		if r.Sync {
			sync = "yes"
		}
		fmt.Fprintf(w, "%d\t%s\t%.0f\t%.0f\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%.2f\t%.2f\t\n", r.Sites, sync, r.JobsPerSecond, r.AuctionsPerSecond,
			ms(r.Award.P50), ms(r.Award.P99), ms(r.Floor.P50), ms(r.Floor.P99), ms(r.Durable.P50), ms(r.Durable.P99), ms(r.Bids),
			float64(r.Award.P99)/float64(r.Aim), float64(r.Award.P99)/float64(r.DurableAim))
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
	_, err := fmt.Fprintf(out, `Milliseconds from the submission of a job to its award, one at a time, with
all that is written down on the way; the market gathers none. Sync: the server
flushes its books to the disk before it acknowledges. Floor: such a server carries
bytes of the same length to as many connections and back, with nobody thinking or
writing. Durable: so, and then %d entries are written to the same stream, as many as
an award takes. Bids: what the sites' planning of one job takes on this
machine's processors. Aim: three times the p99 of a floor, and the bids; the
columns say how many times that the award's p99 is. Floors and awards are measured
in turn, floors when the federation has nothing to do.
`, writesPerAward)
	return err
}
