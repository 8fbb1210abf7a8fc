package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// writeLatencyTable prints times in milliseconds; of several runs of each, their medians, too.
func writeLatencyTable(out io.Writer, all []loadResult, runs int) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	ms := func(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d)/1e6) }
	fmt.Fprintln(w, "sites\tsync\tjobs/s\tauctions/s\taward p50\tp99\tfloor p50\tp99\tdurable p50\tp99\tbids p99\tof aim\tof durable aim\tp50 by p50\tp99 by p99\taward CPU\tdurable CPU\t")
	for _, r := range all {
		sync := "no"
		if r.Sync {
			sync = "yes"
		}
		fmt.Fprintf(w, "%d\t%s\t%.0f\t%.0f\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%.2f\t%.2f\t%.1f\t%.1f\t%s\t%s\t\n", r.Sites, sync, r.JobsPerSecond, r.AuctionsPerSecond,
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
	if runs > 1 {
		if err := writeMedians(out, all, runs); err != nil {
			return err
		}
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

// writeMedians prints the medians of every so many runs.
func writeMedians(out io.Writer, all []loadResult, runs int) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\nsites\tsync\truns\taward p50\tp99\tdurable p50\tp99\tp50 by p50\tp99 by p99\taward CPU\tdurable CPU\t")
	for of := range slices.Chunk(all, runs) {
		ms := func(figure func(loadResult) time.Duration) string {
			return fmt.Sprintf("%.2f", float64(medianOf(of, figure))/1e6)
		}
		fmt.Fprintf(w, "%d\t%v\t%d\t%s\t%s\t%s\t%s\t%.1f\t%.1f\t%s\t%s\t\n", of[0].Sites, of[0].Sync, len(of),
			ms(func(r loadResult) time.Duration { return r.Award.P50 }), ms(func(r loadResult) time.Duration { return r.Award.P99 }),
			ms(func(r loadResult) time.Duration { return r.Durable.P50 }), ms(func(r loadResult) time.Duration { return r.Durable.P99 }),
			medianOf(of, func(r loadResult) float64 { return float64(r.Award.P50) / float64(r.Durable.P50) }),
			medianOf(of, func(r loadResult) float64 { return float64(r.Award.P99) / float64(r.Durable.P99) }),
			ms(func(r loadResult) time.Duration { return r.AwardCPU }), ms(func(r loadResult) time.Duration { return r.DurableCPU }))
	}
	return w.Flush()
}
