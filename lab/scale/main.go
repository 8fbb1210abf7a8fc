// Command scale measures what a replay costs, and how that grows with its jobs: CPU time, peak
// memory and ledger of one recorded day with more and more jobs, under each policy, and the power
// of the jobs by which the CPU time grows. With a checkout of Armada it runs Armada's simulator on
// the same jobs and nodes beside it.
//
//	go run ./lab/scale -gridbid bin/gridbid -data ../shared/data
//
// Each run is a process of its own with one thread, so that figures of one do not depend on the
// others, and on the number of processors. CPU time is user and system time: on a busy machine
// other work makes it up to a third longer, which affects rows that are compared alike.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := runScale(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "scale: %v\n", err)
		os.Exit(1)
	}
}

// A scaleRun is what the flags say.
type scaleRun struct {
	gridbid, data, day, out, armada string
	jobs                            []int
	policies                        []string
}

// runScale parses the flags, measures every row, and prints each as it ends.
func runScale(ctx context.Context, args []string, out io.Writer) error {
	fs := flag.NewFlagSet("scale", flag.ContinueOnError)
	var s scaleRun
	fs.StringVar(&s.gridbid, "gridbid", "bin/gridbid", "the program that replays")
	fs.StringVar(&s.data, "data", "../shared/data", "folder of recorded data")
	fs.StringVar(&s.day, "day", "real-days/ordinary_2022-04-13", "the scenario")
	fs.StringVar(&s.out, "out", "bin/scale", "folder for ledgers, which are removed, and for growth.svg and growth.png")
	fs.StringVar(&s.armada, "armada", "", "checkout of github.com/armadaproject/armada, whose simulator is built and measured, too")
	jobs := fs.String("jobs", "2000,5000,10000,20000", "numbers of jobs, separated by commas")
	policies := fs.String("policies", "auction,k8s-least-allocated", "policies, separated by commas")
	export := fs.String("export", "", "write clusters.yaml and workload.yaml for Armada's simulator, from the ledger of the last of -policies in -out, into this folder, and measure nothing")
	if err := fs.Parse(args); err != nil {
		return err
	}
	for word := range strings.SplitSeq(*jobs, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return fmt.Errorf("-jobs %q: want whole numbers above 0, separated by commas", *jobs)
		}
		s.jobs = append(s.jobs, n)
	}
	s.policies = strings.Split(*policies, ",")
	if *export != "" {
		return s.exportWorkload(s.jobs[0], *export)
	}
	return s.measureAll(ctx, out)
}

// measureAll measures all rows, prints them, and draws the chart.
func (s *scaleRun) measureAll(ctx context.Context, out io.Writer) error {
	if err := os.MkdirAll(s.out, 0o755); err != nil {
		return err
	}
	simulator := ""
	if s.armada != "" {
		var err error
		if simulator, err = s.buildSimulator(ctx); err != nil {
			return err
		}
	}
	var all []measurement
	fmt.Fprintf(out, "%8s  %-22s %9s %9s %8s %10s\n", "jobs", "policy", "CPU-s", "ms a job", "peak MB", "ledger MB")
	for _, n := range s.jobs {
		for _, policy := range s.policies {
			m, err := s.measureReplay(ctx, n, policy)
			if err != nil {
				return err
			}
			all = append(all, m)
			m.printRow(out)
		}
		if simulator == "" {
			continue
		}
		m, err := s.measureSimulator(ctx, simulator, n)
		if err != nil {
			return err
		}
		all = append(all, m)
		m.printRow(out)
	}
	for _, n := range s.jobs {
		_ = os.RemoveAll(s.ledgerFolder(n)) // they were needed for Armada's workload
	}
	if len(s.jobs) > 1 {
		printGrowth(out, all)
	}
	return writeGrowthChart(s.out, all)
}

// printRow prints a measurement as a row of the table.
func (m measurement) printRow(out io.Writer) {
	ledger := "-"
	if m.ledgerBytes > 0 {
		ledger = fmt.Sprintf("%.1f", float64(m.ledgerBytes)/1e6)
	}
	fmt.Fprintf(out, "%8d  %-22s %9.1f %9.2f %8.0f %10s\n", m.jobs, m.name, m.cpu.Seconds(), m.cpu.Seconds()*1000/float64(m.jobs), float64(m.peakBytes)/1e6, ledger)
}

// printGrowth prints by which power of the jobs each name's CPU time and memory grow.
func printGrowth(out io.Writer, all []measurement) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\ngrows with the jobs by the power\tCPU\tof it the last step\tmemory\t")
	for _, name := range namesOf(all) {
		rows := rowsOf(all, name)
		last := rows[len(rows)-2:]
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%.2f\t\n", name, fitPower(rows, measurement.cpuSeconds), fitPower(last, measurement.cpuSeconds), fitPower(rows, measurement.peakMB))
	}
	_ = w.Flush() // to standard output, whose failure shows by itself
}

// ledgerFolder returns the folder of the replays with so many jobs.
func (s *scaleRun) ledgerFolder(jobs int) string { return filepath.Join(s.out, fmt.Sprint(jobs)) }
