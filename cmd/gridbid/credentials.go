package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/coordinator/rights"
	"github.com/gridbid/gridbid/internal/atomicfile"
	"github.com/gridbid/gridbid/internal/printer"
)

// newCredentialsCommand is `gridbid credentials`.
func newCredentialsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "credentials",
		Short: "give people and programs tokens for the API, and revoke them",
		Long: `A credential is a token that says who asks a coordinator's API, and what they may do.
The coordinator's configuration names the file of credentials as credentials_file. The
file has a hash of each token, so a token is shown once, when it is made. The
coordinator reads a changed file within two seconds: a revoked credential is refused from
then on, and requests that are served are cut within ten seconds.

  tenant            submits, reads and cancels the jobs of --tenant
  tenant-admin      the same for --tenant and all below it in the quota tree
  site-operator     reads how --site stands, and drains it
  auditor           reads everything, changes nothing
  federation-admin  sets the policy, removes sites, cancels jobs

docs/identity.md has the table of what each role may do.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newCredentialsAdd(), newCredentialsList(), newCredentialsRevoke())
	return cmd
}

// credentialsFlag adds --file.
func credentialsFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "file", "credentials.json", "credentials `FILE` of the coordinator")
}

// newCredentialsAdd is `gridbid credentials add`. The token is printed once; the file keeps its hash.
func newCredentialsAdd() *cobra.Command {
	var file, role string
	var c rights.Credential
	var life time.Duration
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "make a credential, and print its token once",
		Example: `  gridbid credentials add ada --role federation-admin --file fed/credentials.json
  gridbid credentials add ci-of-team-a --role tenant --tenant team-a --valid 720h`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			now := time.Now().UTC().Truncate(time.Second)
			c.Name, c.Role, c.Expires = args[0], rights.Role(role), now.Add(life)
			token, c, err := rights.NewCredential(c, now)
			if err != nil {
				return usageError{fmt.Errorf("credentials: %w", err)}
			}
			err = changeCredentials(file, func(f *rights.File) error {
				f.Credentials = append(f.Credentials, c)
				return nil
			})
			if err != nil {
				return err
			}
			fmt.Fprintf(notesOf(cmd), "%s, %s, until %s; give it over a channel that others cannot read. Commands take it from $GRIDBID_TOKEN.\n", c.Name, c.Role, c.Expires.Format(time.RFC3339))
			_, err = fmt.Fprintln(cmd.OutOrStdout(), token)
			return err
		},
	}
	credentialsFlag(cmd, &file)
	cmd.Flags().StringVar(&role, "role", "", "`ROLE`: "+roleList())
	cmd.Flags().StringVar(&c.Tenant, "tenant", "", "`TENANT` of the roles tenant and tenant-admin")
	cmd.Flags().StringVar(&c.Site, "site", "", "`SITE` of the role site-operator")
	cmd.Flags().DurationVar(&life, "valid", 90*24*time.Hour, "how long it is valid, at most 9600h")
	_ = cmd.MarkFlagRequired("role")
	return cmd
}

// roleList returns the roles as text.
func roleList() string {
	var all []string
	for _, r := range rights.AllRoles() {
		all = append(all, string(r))
	}
	return strings.Join(all, ", ")
}

// newCredentialsList is `gridbid credentials list`.
func newCredentialsList() *cobra.Command {
	var file string
	var f outputFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "list the credentials of a file",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := os.ReadFile(file)
			if err != nil {
				return usageError{fmt.Errorf("credentials: %w", err)}
			}
			all, err := rights.ReadFile(file, text)
			if err != nil {
				return usageError{fmt.Errorf("credentials: %w", err)}
			}
			return f.printView(cmd, printer.Listing[rights.Credential]{Rows: all.Credentials, Columns: []printer.Column[rights.Credential]{
				{Head: "NAME", Value: func(c rights.Credential) any { return c.Name }},
				{Head: "ROLE", Value: func(c rights.Credential) any { return string(c.Role) }},
				{Head: "TENANT", Value: func(c rights.Credential) any { return c.Tenant }},
				{Head: "SITE", Value: func(c rights.Credential) any { return c.Site }},
				{Head: "EXPIRES", Value: func(c rights.Credential) any { return c.Expires.Format(time.RFC3339) }},
				{Head: "REVOKED", Value: func(c rights.Credential) any {
					if c.Revoked.IsZero() {
						return ""
					}
					return c.Revoked.Format(time.RFC3339)
				}},
			}})
		},
	}
	credentialsFlag(cmd, &file)
	f.registerOutput(cmd)
	return cmd
}

// newCredentialsRevoke is `gridbid credentials revoke`.
func newCredentialsRevoke() *cobra.Command {
	var file, subject string
	cmd := &cobra.Command{
		Use:   "revoke NAME",
		Short: "refuse a credential from now on, and cut its open requests",
		Example: `  gridbid credentials revoke ci-of-team-a
  gridbid credentials revoke --subject 248289761001     # tokens of the OIDC provider for this sub`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (len(args) == 0) == (subject == "") {
				return usageError{errors.New("credentials: give the NAME of a credential, or --subject")}
			}
			err := changeCredentials(file, func(f *rights.File) error {
				if subject != "" {
					if !slices.Contains(f.RevokedSubjects, subject) {
						f.RevokedSubjects = append(f.RevokedSubjects, subject)
					}
					return nil
				}
				i := slices.IndexFunc(f.Credentials, func(c rights.Credential) bool { return c.Name == args[0] })
				if i < 0 {
					return fmt.Errorf("%s has no credential %q: gridbid credentials list names them", file, args[0])
				}
				if f.Credentials[i].Revoked.IsZero() {
					f.Credentials[i].Revoked = time.Now().UTC().Truncate(time.Second)
				}
				return nil
			})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is revoked; coordinators that read %s refuse it within two seconds\n", strings.Join(append(args, subject), ""), file)
			return err
		},
	}
	credentialsFlag(cmd, &file)
	cmd.Flags().StringVar(&subject, "subject", "", "`SUB` of tokens of the OIDC provider to refuse")
	return cmd
}

// changeCredentials changes a credentials file. A lock on the folder keeps two processes from
// losing each other's changes. If writing fails, the file is unchanged.
func changeCredentials(file string, change func(*rights.File) error) error {
	folder, err := os.Open(filepath.Dir(file)) // lock the folder: each write replaces the file, so a lock on it would be lost
	if err != nil {
		return usageError{fmt.Errorf("credentials: %w", err)}
	}
	defer folder.Close()
	_ = syscall.Flock(int(folder.Fd()), syscall.LOCK_EX) // best effort: some file systems have no locks
	was, err := os.ReadFile(file)
	var all rights.File
	switch {
	case err == nil && len(was) > 0:
		all, err = rights.ReadFile(file, was)
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	if err == nil {
		err = change(&all)
	}
	var text []byte
	if err == nil {
		text, err = json.MarshalIndent(all, "", "  ")
	}
	if err == nil {
		// Check the result as the coordinator will read it: a name may be in the file already.
		_, err = rights.ReadFile(file, text)
	}
	if err != nil {
		return usageError{fmt.Errorf("credentials: %w", err)}
	}
	if err := atomicfile.ReplaceFile(file, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("credentials: %w", err)
	}
	return nil
}
