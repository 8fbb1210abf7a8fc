package main

import (
	"fmt"
	"net/url"
	"os"
	"os/user"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/coordinator/jobstatus"
)

func newSiteLostCommand() *cobra.Command {
	var f apiFlags
	var yes, end bool
	var by, why string
	cmd := &cobra.Command{
		Use:   "site-gone SITE --yes",
		Short: "say that a site of a live federation will not come back, and sell its jobs again",
		Long: `Say that a site will not come back, and have its jobs sold again; with --end they
are ended instead, and whoever submitted them is told why.

A site that is only cut off still runs what it has, and nobody else can know
whether it does. So a coordinator waits for it, however long. Say this when you
know that its machines are off; if they are not, a job may run there and elsewhere
at once until the site is heard again. Then it is told to stop its jobs, gets none
of them before it has, and is not paid for them.

What you say, and your name, stand in the books.`,
		Example: `  gridbid site-gone oslo --yes --why "flooded"`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !yes {
				return usageError{fmt.Errorf("site-gone: jobs of %s may run twice if its machines are not off; add --yes if you know that they are", args[0])}
			}
			q := url.Values{"by": {by}, "why": {why}}
			if end {
				q.Set("end", "true")
			}
			var s jobstatus.Site
			return f.postAndPrint(cmd, "/v1/sites/"+url.PathEscape(args[0])+"/gone?"+q.Encode(), &s, func() string {
				if end {
					return s.Name + " is gone; the jobs that it had are ended"
				}
				return s.Name + " is gone; the jobs that it had are sold again"
			})
		},
	}
	f.registerFlags(cmd, false)
	cmd.Flags().BoolVar(&yes, "yes", false, "its machines are off")
	cmd.Flags().BoolVar(&end, "end", false, "end its jobs instead of selling them again")
	cmd.Flags().StringVar(&by, "by", operatorName(), "who says so")
	cmd.Flags().StringVar(&why, "why", "", "why, in your words")
	return cmd
}

// operatorName returns who runs this program, for the books.
func operatorName() string {
	name, host := "somebody", "this machine"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return name + "@" + host
}
