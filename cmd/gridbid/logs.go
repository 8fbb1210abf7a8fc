package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/coordinator/api"
	"github.com/gridbid/gridbid/internal/format"
)

// A logsReader prints what the pods of a job write.
type logsReader struct {
	apiFlags
	job, pod   string
	tail       int
	timestamps bool

	after map[string]string // the instant of the last line that was printed, by pod
}

// newLogsCommand is `gridbid logs`.
func newLogsCommand() *cobra.Command {
	var f logsReader
	var follow bool
	cmd := &cobra.Command{
		Use:   "logs JOB",
		Short: "print what a job of a live federation writes",
		Long: `Print what the pods of a job wrote: those of its last run, as long as its site keeps them
(an hour after their end). A site shows logs only if its owner has set logs: true in the terms
of its agent, and a simulated site has none. With several pods each line begins with the name
of its pod. Characters that would move the cursor are printed as dots.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.tail < 0 {
				return usageError{fmt.Errorf("--tail %d: want a number from 1; without it all lines are printed", f.tail)}
			}
			f.job, f.after = args[0], make(map[string]string)
			for first := true; ; first = false {
				over, err := f.printNew(cmd)
				switch {
				case follow && cmd.Context().Err() != nil: // ctrl-C ends it, and is no failure
					return nil
				case err != nil && follow && !first && !errors.As(err, new(usageError)): // a standby may take over
					fmt.Fprintf(cmd.ErrOrStderr(), "gridbid: %s; retrying\n", legibleError(err))
				case err != nil || !follow || over:
					return err
				}
				select {
				case <-cmd.Context().Done():
					return nil
				case <-time.After(2 * time.Second):
				}
			}
		},
	}
	f.registerFlags(cmd, false)
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "print what follows, too, until the job has ended or ctrl-C")
	cmd.Flags().StringVar(&f.pod, "pod", "", "only this `POD`, by name")
	cmd.Flags().IntVar(&f.tail, "tail", 0, "begin with the last `LINES` of each pod; default: with the first one")
	cmd.Flags().BoolVar(&f.timestamps, "timestamps", false, "begin each line with its time")
	return cmd
}

// printNew prints what was written since the last call, and reports whether the job had ended before.
func (f *logsReader) printNew(cmd *cobra.Command) (over bool, err error) {
	out := bufio.NewWriter(cmd.OutOrStdout())
	defer func() { err = errors.Join(err, out.Flush()) }()
	first, err := f.printPod(cmd, out, f.pod)
	if err != nil || f.pod != "" {
		return first.Over, err
	}
	for _, pod := range first.Pods {
		if pod == first.Pod {
			continue
		}
		if _, err := f.printPod(cmd, out, pod); err != nil {
			return false, err
		}
	}
	return first.Over, nil
}

// printPod prints what a pod wrote since the last call, "" for the first one, in as many answers as it takes.
func (f *logsReader) printPod(cmd *cobra.Command, out io.Writer, pod string) (log api.JobLog, err error) {
	for {
		q := url.Values{}
		for key, value := range map[string]string{"pod": pod, "after": f.after[pod]} {
			if value != "" {
				q.Set(key, value)
			}
		}
		if f.tail > 0 && f.after[pod] == "" {
			q.Set("tail", strconv.Itoa(f.tail))
		}
		log = api.JobLog{}
		if err = f.getLog(cmd, "/v1/jobs/"+url.PathEscape(f.job)+"/logs?"+q.Encode(), &log); err != nil {
			return log, err
		}
		for _, l := range log.Lines {
			f.after[pod], f.after[log.Pod] = l.At, l.At
			if err := f.printLine(out, log, l); err != nil {
				return log, err
			}
		}
		if !log.More || len(log.Lines) == 0 {
			return log, nil
		}
	}
}

// getLog asks for a log. Where too many are asked for at once it asks again.
func (f *logsReader) getLog(cmd *cobra.Command, path string, log *api.JobLog) error {
	for {
		err := f.getJSON(cmd.Context(), path, log)
		if !errors.As(err, new(busyError)) {
			return err
		}
		select {
		case <-cmd.Context().Done():
			return cmd.Context().Err()
		case <-time.After(time.Second):
		}
	}
}

// printLine prints a line that a program of a stranger wrote.
func (f *logsReader) printLine(out io.Writer, log api.JobLog, l api.LogLine) error {
	text := strings.Map(func(c rune) rune {
		if c == '\t' {
			return c
		}
		return format.LegibleRune(c)
	}, l.Text)
	if f.timestamps {
		text = format.CleanText(l.At) + " " + text
	}
	if len(log.Pods) > 1 {
		text = "[" + format.CleanText(log.Pod) + "] " + text
	}
	_, err := fmt.Fprintln(out, text)
	return err
}
