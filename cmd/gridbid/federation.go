package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/bus/natsbus/federation"
)

func newFederationCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "federation",
		Short: "say who belongs to a federation: keys, permissions, configuration",
		Long: `A federation is a folder: who belongs to it, by which key, and the configuration
of its NATS servers that follows. Each site has an account of its own, in which
it can speak as nobody else and hears what is said to it alone.

  gridbid federation init --host hub.example.org
  gridbid federation add-site oslo
  gridbid federation revoke-site oslo

Hand a site its folder below sites/ by a way that others cannot read: it holds
the site's secret key. A running coordinator notices a change within two seconds.
Where nats-server runs by itself, have it read its files twice, as it knows a
new account only the second time: nats-server --signal reload=PID.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newFederationInit(), newFederationAdd(), newFederationRevoke(), newFederationRotate(), newFederationShow())
	return cmd
}

// A federationChange is what a command of federation did, for --json.
type federationChange struct {
	Did    string   `json:"did"`
	Name   string   `json:"name,omitempty"`
	Folder string   `json:"folder"`
	Files  []string `json:"files,omitempty"`
	Keys   []string `json:"keys,omitempty"` // public
	Next   string   `json:"next,omitempty"` // what to do now
}

// federationFlags are common to the commands.
type federationFlags struct {
	dir  string
	json bool
}

func (f *federationFlags) registerFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.dir, "dir", "federation", "folder of the federation")
	cmd.Flags().BoolVar(&f.json, "json", false, "as JSON")
}

func (f *federationFlags) printChange(cmd *cobra.Command, c federationChange) error {
	if f.json {
		return writeJSON(cmd.OutOrStdout(), c)
	}
	return writeBuffered(cmd.OutOrStdout(), func(out io.Writer) {
		fmt.Fprintf(out, "%s\n", strings.TrimSpace(c.Did+" "+c.Name))
		for _, file := range c.Files {
			fmt.Fprintf(out, "  %s\n", file)
		}
		for _, k := range c.Keys {
			fmt.Fprintf(out, "  public key %s\n", k)
		}
		if c.Next != "" {
			fmt.Fprintf(out, "next: %s\n", c.Next)
		}
	})
}

// changeFederation opens the federation for one command alone.
func (f *federationFlags) changeFederation(do func(*federation.Federation) error) error {
	if _, err := federation.Open(f.dir); err != nil { // a wrong folder is bad input, not a failed lock
		return usageError{err}
	}
	release, err := federation.LockFolder(f.dir)
	if err != nil {
		return err
	}
	defer release()
	fed, err := federation.Open(f.dir) // it may have changed before we had the lock
	if err != nil {
		return usageError{err}
	}
	if err := fed.RewriteRules(); err != nil {
		return err
	}
	if err := do(fed); errors.Is(err, federation.ErrTaken) || errors.Is(err, federation.ErrUnknown) {
		return usageError{err}
	} else if err != nil {
		return err
	}
	return nil
}

func newFederationInit() *cobra.Command {
	var flags federationFlags
	var s federation.Setup
	cmd := &cobra.Command{
		Use:   "init",
		Short: "found a federation: authority, hub, coordinator, standby, submitter, tap",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := federation.InitFederation(flags.dir, s, time.Now()); err != nil {
				return usageError{err}
			}
			at := func(parts ...string) string { return filepath.Join(append([]string{flags.dir}, parts...)...) }
			return flags.printChange(cmd, federationChange{
				Did: "founded", Folder: flags.dir,
				Files: []string{at("federation.json"), at("coordinator"), at("standby"), at("submitter"), at("tap")},
				Next:  "gridbid federation add-site NAME --dir " + shellWord(flags.dir),
			})
		},
	}
	flags.registerFlags(cmd)
	cmd.Flags().StringSliceVar(&s.Hosts, "host", nil, "name or address by which others reach the hub; 3 or 5 of them make a cluster that keeps three copies of all it stores (required)")
	cmd.Flags().StringVar(&s.Listen, "listen", "0.0.0.0", "address on which the hub's servers listen; host: each on its own name")
	cmd.Flags().IntVar(&s.Port, "port", 4222, "for parties")
	cmd.Flags().IntVar(&s.LeafPort, "leaf-port", 7422, "for servers of sites")
	cmd.Flags().IntVar(&s.Route, "route-port", 6222, "between servers of a cluster")
	cmd.Flags().IntVar(&s.Limits.Payload, "max-payload", 512<<10, "bytes of a site's message")
	cmd.Flags().IntVar(&s.Limits.Connections, "max-connections", 8, "of a site")
	cmd.Flags().IntVar(&s.Limits.Subscriptions, "max-subscriptions", 256, "of a site")
	cmd.Flags().IntVar(&s.Limits.Leaves, "max-leaves", 2, "servers of a site")
	_ = cmd.MarkFlagRequired("host")
	return cmd
}

func newFederationAdd() *cobra.Command {
	var flags federationFlags
	var s federation.SiteSetup
	cmd := &cobra.Command{
		Use:   "add-site NAME",
		Short: "admit a site, and write its folder",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s.Name = args[0]
			if err := s.Validate(); err != nil {
				return usageError{err}
			}
			return flags.changeFederation(func(f *federation.Federation) error {
				dir, err := f.AddSite(s)
				if err != nil {
					return err
				}
				var files []string
				all, _ := os.ReadDir(dir)
				for _, file := range all {
					files = append(files, filepath.Join(dir, file.Name()))
				}
				keys, _ := f.PublicKeys(s.Name)
				next := "hand " + dir + " to the site by a way that others cannot read, then delete its .nk and leaf.conf here"
				if s.Key != "" {
					next = "hand " + dir + " to the site, which puts its seed there as " + s.Name + ".nk"
				}
				return flags.printChange(cmd, federationChange{Did: "admitted", Name: s.Name, Folder: dir, Files: files, Keys: keys, Next: next})
			})
		},
	}
	flags.registerFlags(cmd)
	cmd.Flags().StringVar(&s.Key, "key", "", "public key of a site that keeps its seed to itself (nk -gen user -pubout)")
	cmd.Flags().StringVar(&s.Path, "path", "", "where the site will keep the folder, as its server's configuration names files in full")
	cmd.Flags().StringVar(&s.LeafListen, "leaf-listen", "127.0.0.1:4222", "where the site's own server takes the site's parties")
	return cmd
}

func newFederationRevoke() *cobra.Command {
	var flags federationFlags
	cmd := &cobra.Command{
		Use:   "revoke-site NAME",
		Short: "shut a site out, at once and for good",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.changeFederation(func(f *federation.Federation) error {
				keys, err := f.PublicKeys(args[0])
				if err != nil {
					return err
				}
				if err := f.RevokeSite(args[0], time.Now()); err != nil {
					return err
				}
				return flags.printChange(cmd, federationChange{
					Did: "shut out", Name: args[0], Folder: flags.dir, Keys: keys,
					Next: "a coordinator that hosts the hub has it in force within two seconds; an external nats-server has to be reloaded, and restarted if the site joins by a leaf",
				})
			})
		},
	}
	flags.registerFlags(cmd)
	return cmd
}

func newFederationRotate() *cobra.Command {
	var flags federationFlags
	var key string
	var retire, server bool
	cmd := &cobra.Command{
		Use:   "rotate [NAME]",
		Short: "give a member a new key, or the hub new certificates",
		Long: `Rotate gives a site, the coordinator, the standby, the submitter or the tap a new
key beside the old one. Both work until

  gridbid federation rotate NAME --retire

revokes all but the newest. A key that is known to others is ended by both, one
after the other. A site that runs a server of its own puts the new seed into its
leaf.conf, as nkey of the remote, and starts that server again. With --server the
hub's servers get new certificates.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if server == (len(args) == 1) || server && key != "" || retire && (server || key != "") {
				return usageError{errors.New("rotate: name one member, or give --server alone; --retire goes without --key")}
			}
			return flags.changeFederation(func(f *federation.Federation) error {
				c := federationChange{Folder: flags.dir}
				var err error
				switch {
				case server:
					c.Did, c.Next = "renewed the certificates of the hub", "a coordinator that hosts the hub has them in force within two seconds; an external nats-server has to be reloaded. Sites need nothing: the authority is the same"
					err = f.RenewServerCerts(time.Now())
				case retire:
					c.Did, c.Name = "retired the old key of", args[0]
					var old int
					if old, err = f.RetireOldKeys(args[0], time.Now()); err == nil && old == 0 {
						err = usageError{fmt.Errorf("rotate: %[1]s has one key, which goes on: give it another first, with gridbid federation rotate %[1]s --dir %[2]s", args[0], shellWord(flags.dir))}
					}
				default:
					var file string
					c.Did, c.Name, c.Next = "drew a new key for", args[0], "have the member use it, then gridbid federation rotate "+args[0]+" --retire --dir "+shellWord(flags.dir)
					if file, err = f.RotateKey(args[0], key); file != "" {
						c.Files = []string{file}
					}
				}
				if err != nil {
					return err
				}
				if c.Name != "" {
					c.Keys, _ = f.PublicKeys(c.Name)
				}
				return flags.printChange(cmd, c)
			})
		},
	}
	flags.registerFlags(cmd)
	cmd.Flags().StringVar(&key, "key", "", "public part of the new key, of a member that keeps its seed to itself")
	cmd.Flags().BoolVar(&retire, "retire", false, "revoke all keys but the newest")
	cmd.Flags().BoolVar(&server, "server", false, "new certificates for the hub's servers")
	return cmd
}

func newFederationShow() *cobra.Command {
	var flags federationFlags
	cmd := &cobra.Command{
		Use:   "show",
		Short: "say who belongs to the federation",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := federation.Open(flags.dir)
			if err != nil {
				return usageError{err}
			}
			if flags.json {
				return writeJSON(cmd.OutOrStdout(), f)
			}
			return writeBuffered(cmd.OutOrStdout(), func(out io.Writer) { printMembers(out, f) })
		},
	}
	flags.registerFlags(cmd)
	return cmd
}

// printMembers lists who belongs to a federation, and who did.
func printMembers(out io.Writer, f *federation.Federation) {
	fmt.Fprintf(out, "hub %s, %d copies of what it stores\n", f.HubURL(), f.ReplicaCount())
	for _, list := range []struct {
		what string
		of   []federation.Member
	}{{"market", f.Market}, {"site", f.Sites}} {
		for _, m := range list.of {
			fmt.Fprintf(out, "%-7s %-20s %s\n", list.what, m.Name, strings.Join(m.Keys, " "))
		}
	}
	for _, r := range f.Revoked {
		fmt.Fprintf(out, "%-7s %-20s %s since %s\n", "revoked", r.Name, r.Key, r.At.Format(time.RFC3339))
	}
}
