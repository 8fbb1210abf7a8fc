package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/coordinator/rights"
	"github.com/gridbid/gridbid/internal/format"
)

// newWhoamiCommand is `gridbid whoami`.
func newWhoamiCommand() *cobra.Command {
	var f apiFlags
	cmd := &cobra.Command{
		Use:   "whoami",
		Short: "say whom your credential stands for, and until when",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var p rights.Principal
			if err := f.getJSON(cmd.Context(), "/v1/whoami", &p); err != nil {
				return err
			}
			return f.printValue(cmd, p, func(out io.Writer) { showPrincipal(out, p) })
		},
	}
	f.registerFlags(cmd, false)
	return cmd
}

// showPrincipal prints who somebody is for a coordinator.
func showPrincipal(out io.Writer, p rights.Principal) {
	if !p.IsAuthenticated() {
		fmt.Fprintln(out, "this coordinator has no credentials: every user of its machine may do everything, and a job's tenant is what its file says")
		return
	}
	var roles []string
	for _, r := range p.Roles {
		roles = append(roles, string(r))
	}
	writeColumns(out, "", func(row func(layout string, args ...any)) {
		row("name\t%s", p.Name)
		row("roles\t%s", strings.Join(roles, ", "))
		if p.Tenant != "" {
			row("tenant\t%s", p.Tenant)
		}
		if p.Site != "" {
			row("site\t%s", p.Site)
		}
		row("by\t%s", format.CleanText(string(p.Source)))
		if !p.Expires.IsZero() {
			row("until\t%s", p.Expires.UTC().Format(time.RFC3339))
		}
	})
}
