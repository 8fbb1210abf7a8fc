package main

import (
	"fmt"
	"net/url"
	"os"
	"os/user"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/internal/format"
)

// newSitesRemoveCommand is `gridbid sites remove SITE --lost`: an operator vouches that the
// machines of a site are off, which no process of the federation can find out by itself.
func newSitesRemoveCommand() *cobra.Command {
	var f apiFlags
	var lost, end bool
	var by, why string
	cmd := &cobra.Command{
		Use:   "remove SITE --lost",
		Short: "declare a site lost for good, and requeue the jobs that it had",
		Long: `Declare that a site of a live federation is lost, and have the coordinator put its
jobs into the next auction. With --end the coordinator ends the jobs instead and
gives their submitters the reason.

A site that is only cut off keeps running its jobs, and the coordinator cannot tell
a cut from a loss. Without this command it therefore waits for the site without a
limit. Use the command when you know that the site's machines are off. If they are
on, a job may run there and at another site at the same time until the site
reconnects; the coordinator then tells the site to stop its jobs, awards it none
before they have stopped, and does not pay for them.

To take a working site out of the auctions use "gridbid drain" instead.

The event log keeps your name (--by) and your reason (--reason).`,
		Example: `  gridbid sites remove oslo --lost --reason "flooded"
  gridbid sites remove oslo --lost --end`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !lost {
				return usageError{fmt.Errorf("sites remove: while machines of %[1]s are on, its jobs would run twice: power them off and add --lost, or take the site out of the auctions with `gridbid drain %[1]s`", args[0])}
			}
			q := url.Values{"by": {by}, "why": {why}}
			if end {
				q.Set("end", "true")
			}
			var s struct {
				jobstatus.Site
				Had int `json:"had"`
			}
			return f.postAndPrint(cmd, "/v1/sites/"+url.PathEscape(args[0])+"/gone?"+q.Encode(), &s, func() string {
				if end {
					return fmt.Sprintf("%s is removed as lost; its %s ended", s.Name, format.CountWithNoun(s.Had, "job is", "jobs are"))
				}
				return fmt.Sprintf("%s is removed as lost; its %s back in the queue", s.Name, format.CountWithNoun(s.Had, "job is", "jobs are"))
			})
		},
	}
	f.registerFlags(cmd, false)
	cmd.Flags().BoolVar(&lost, "lost", false, "confirm that the machines of the site are off and will not come back")
	cmd.Flags().BoolVar(&end, "end", false, "end the site's jobs instead of requeuing them")
	cmd.Flags().StringVar(&by, "by", operatorName(), "`NAME` of the operator, for the event log")
	cmd.Flags().StringVar(&why, "reason", "", "reason, as free text for the event log")
	cmd.Flags().StringVar(&why, "why", "", "the same as --reason")
	_ = cmd.Flags().MarkHidden("why")
	return cmd
}

// operatorName returns USER@HOST of this process, the default name of the operator in the
// event log. It is a claim: the coordinator does not verify it.
func operatorName() string {
	name, host := "unknown", "localhost"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return name + "@" + host
}
