package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/bus/natsbus/federation"
	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/internal/nearest"
	"github.com/gridbid/gridbid/internal/printer"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// newFederationCommand is `gridbid federation`: it manages members, keys and permissions.
func newFederationCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "federation",
		Short: "manage the members of a federation: keys, permissions, NATS configuration",
		Long: `A federation is a folder with the members, their public keys, and the configuration
of the NATS servers that follows from them. Each site has a NATS account of its own:
it can publish under its own name only, and receives only messages for that site.

  gridbid federation init                        # on this machine alone, to try it
  gridbid federation init --host hub.example.org --listen 0.0.0.0
  gridbid federation add-site oslo
  gridbid federation revoke-site oslo
  gridbid federation add-tenant vision           # submits over NATS by a key of its own
  gridbid federation revoke-tenant vision

init writes coordinator.yaml, with which the coordinator starts as it is, and add-site
the site's agent.yaml: add-site NAME --simulate six-regions one that needs no cluster.
Each prints the commands to run next.

Send a site its folder below sites/ over a confidential channel, as it holds the
site's secret key. A running coordinator applies a change within two seconds. If you
run nats-server yourself, reload it twice, as it takes in a new account only at the
second reload: nats-server --signal reload=PID.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newFederationInit(), newFederationAdd(), newFederationRevoke(), newFederationAddTenant(), newFederationRevokeTenant(), newFederationRotate(), newFederationShow())
	return cmd
}

// A federationChange is the result of a command that changed a federation, also for --json.
type federationChange struct {
	Did    string   `json:"did"`
	Name   string   `json:"name,omitempty"`
	Folder string   `json:"folder"`
	Files  []string `json:"files,omitempty"`
	Keys   []string `json:"keys,omitempty"` // public keys
	Note   string   `json:"note,omitempty"` // what the operator may not expect
	Next   []string `json:"next,omitempty"` // the next steps of the operator, in order
}

// federationFlags are the flags that all federation commands share.
type federationFlags struct {
	outputFlags
	dir string
}

func (f *federationFlags) registerFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.dir, "dir", "federation", "`FOLDER` of the federation")
	f.registerOutput(cmd)
}

// printChange prints what a command changed: files that were written, public keys, and the next
// step. Secret keys are in files only.
func (f *federationFlags) printChange(cmd *cobra.Command, c federationChange) error {
	return f.printValue(cmd, c, func(out io.Writer) {
		fmt.Fprintf(out, "%s\n", strings.TrimSpace(c.Did+" "+c.Name))
		for _, file := range c.Files {
			fmt.Fprintf(out, "  %s\n", file)
		}
		for _, k := range c.Keys {
			fmt.Fprintf(out, "  public key %s\n", k)
		}
		if c.Note != "" {
			fmt.Fprintf(out, "note: %s\n", c.Note)
		}
		for i, step := range c.Next {
			fmt.Fprintf(out, "%-5s %s\n", [...]string{"next:", ""}[min(i, 1)], step)
		}
	})
}

// changeFederation opens the federation under its lock and calls do. It rewrites the server
// configuration first, so that an interrupted earlier change is completed.
func (f *federationFlags) changeFederation(do func(*federation.Federation) error) error {
	if _, err := federation.Open(f.dir); err != nil { // a wrong folder is a usage error; without this check it would be a failed lock
		return usageError{err}
	}
	release, err := federation.LockFolder(f.dir)
	if err != nil {
		return err
	}
	defer release()
	fed, err := federation.Open(f.dir) // read it once more under the lock: it may have changed before
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

// newFederationInit is `gridbid federation init`.
func newFederationInit() *cobra.Command {
	var flags federationFlags
	var s federation.Setup
	cmd := &cobra.Command{
		Use:   "init",
		Short: "create a federation: authority, hub, coordinator, standby and tap",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			fed, err := federation.InitFederation(flags.dir, s, time.Now())
			if err != nil {
				return usageError{err}
			}
			at := func(parts ...string) string { return filepath.Join(append([]string{flags.dir}, parts...)...) }
			config := at("coordinator", federation.CoordinatorFile)
			c := federationChange{
				Did: "created", Folder: flags.dir,
				Files: []string{at("federation.json"), config, at("standby", federation.CoordinatorFile), at("tap")},
				Next:  []string{"coordinator --config " + shellWord(config), "gridbid federation add-site NAME --dir " + shellWord(flags.dir)},
			}
			if fed.Setup.OnlyThisMachine() {
				c.Note = "the hub listens on " + fed.Setup.Listen + ", which no other machine reaches; with --listen 0.0.0.0 it listens on all addresses"
			}
			if len(fed.Setup.Hosts) > 1 { // each server on a machine of its own, and the coordinator beside them
				c.Next = slices.Insert(c.Next, 0, "nats-server -c "+shellWord(at("hub-1", "hub.conf"))+", and so on, each on its host")
			}
			return flags.printChange(cmd, c)
		},
	}
	flags.registerFlags(cmd)
	cmd.Flags().StringSliceVar(&s.Hosts, "host", []string{"127.0.0.1"}, "`HOST` name or address of a hub server; 3 or 5 of them form a cluster that stores three replicas")
	cmd.Flags().StringVar(&s.Listen, "listen", "", "`ADDRESS` that the hub's servers listen on: 0.0.0.0 is every one of the machine, host each server's own --host (default 127.0.0.1; a cluster needs one)")
	cmd.Flags().IntVar(&s.Port, "port", 4222, "port for members")
	cmd.Flags().IntVar(&s.LeafPort, "leaf-port", 7422, "port for leaf servers of sites")
	cmd.Flags().IntVar(&s.Route, "route-port", 6222, "port between the servers of a cluster")
	cmd.Flags().IntVar(&s.Limits.Payload, "max-payload", 512<<10, "limit on the size of a site's message, in bytes")
	cmd.Flags().IntVar(&s.Limits.Connections, "max-connections", 8, "limit on connections of a site")
	cmd.Flags().IntVar(&s.Limits.Subscriptions, "max-subscriptions", 256, "limit on subscriptions of a site")
	cmd.Flags().IntVar(&s.Limits.Leaves, "max-leaves", 2, "limit on leaf servers of a site")
	return cmd
}

// newFederationAdd is `gridbid federation add-site`. With --key the site keeps its seed secret, and
// the folder that it gets holds none.
func newFederationAdd() *cobra.Command {
	var flags federationFlags
	var s federation.SiteSetup
	cmd := &cobra.Command{
		Use:   "add-site NAME",
		Short: "add a site, and write its folder",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s.Name = args[0]
			err := s.Validate()
			if err == nil {
				s.Scenario, s.SimulateAs, err = simulatedSite(s)
			}
			if err != nil {
				return usageError{err}
			}
			return flags.changeFederation(func(f *federation.Federation) error {
				dir, err := f.AddSite(s)
				if err != nil {
					return err
				}
				// List what is in the folder of the site, so that the operator can check what is sent.
				var files []string
				all, _ := os.ReadDir(dir)
				for _, file := range all {
					files = append(files, filepath.Join(dir, file.Name()))
				}
				keys, _ := f.PublicKeys(s.Name)
				next := []string{siteCommand(s, dir)}
				if !f.Setup.OnlyThisMachine() {
					next = slices.Insert(next, 0, "send "+dir+" to the site over a confidential channel, then delete its .nk and leaf.conf here")
				}
				if s.Key != "" {
					next[0] = "send " + dir + " to the site, which adds its seed there as " + s.Name + ".nk"
				}
				return flags.printChange(cmd, federationChange{Did: "added", Name: s.Name, Folder: dir, Files: files, Keys: keys, Next: next})
			})
		},
	}
	flags.registerFlags(cmd)
	cmd.Flags().StringVar(&s.Key, "key", "", "public `KEY` of a site that keeps its seed secret (nk -gen user -pubout)")
	cmd.Flags().StringVar(&s.Path, "path", "", "absolute `PATH` at which the site will keep the folder; its server configuration uses it")
	cmd.Flags().StringVar(&s.Scenario, "simulate", "", "configure a simulated site, which needs no cluster: machines and grid of a site of this `SCENARIO`")
	cmd.Flags().StringVar(&s.SimulateAs, "as", "", "with --simulate: `SITE` of the scenario (default: the one that has the name NAME)")
	cmd.Flags().StringVar(&s.LeafListen, "leaf-listen", "127.0.0.1:4222", "`ADDRESS` on which the site's own server accepts the site's processes")
	return cmd
}

// simulatedSite checks --simulate and --as, and returns what the configuration file names: a
// shipped scenario or a full path, as the file is elsewhere, and a site of it.
func simulatedSite(s federation.SiteSetup) (scenario, as string, err error) {
	if s.Scenario == "" && s.SimulateAs != "" {
		return "", "", errors.New("--as names a site of a scenario: add --simulate SCENARIO")
	}
	if s.Scenario == "" {
		return "", "", nil
	}
	day, err := spec.LoadScenario(s.Scenario, spec.Options{})
	if err != nil {
		return "", "", fmt.Errorf("--simulate: %w", err)
	}
	var names []string
	for _, x := range day.Sites {
		names = append(names, x.Name)
	}
	as = cmp.Or(s.SimulateAs, s.Name)
	if !slices.Contains(names, as) {
		return "", "", fmt.Errorf("--simulate: scenario %s has no site %q%s; --as names one of %s", day.Name, as, nearest.DidYouMean(as, names), strings.Join(names, ", "))
	}
	scenario = s.Scenario
	if !slices.Contains(spec.ShippedNames(), scenario) {
		scenario, err = filepath.Abs(scenario)
	}
	return scenario, as, err
}

// siteCommand returns the command that runs the site whose folder is dir.
func siteCommand(s federation.SiteSetup, dir string) string {
	program := "cluster-agent"
	if s.Scenario != "" {
		program = "gridbid site"
	}
	return program + " --config " + shellWord(filepath.Join(cmp.Or(s.Path, dir), federation.AgentFile))
}

// newFederationRevoke is `gridbid federation revoke-site`.
func newFederationRevoke() *cobra.Command {
	var flags federationFlags
	var coordinator apiFlags
	var why string
	cmd := &cobra.Command{
		Use:   "revoke-site NAME",
		Short: "revoke all keys of a site at once and for good",
		Long: `Revoke all keys of a site at once and for good: no server of the federation admits it
any more. The coordinator at --api is told, so that "gridbid sites" shows the site as
revoked, with your name and --reason. Jobs that it has are not requeued: it may still
run them. "gridbid sites remove" does that.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.revokeMember(cmd, args[0], (*federation.Federation).RevokeSite, func() federationChange {
				return federationChange{
					Note: coordinator.tellRevoked(cmd, args[0], why),
					Next: []string{"a coordinator that hosts the hub applies this within two seconds; reload an external nats-server, and restart it if the site connects by a leaf server"},
				}
			})
		},
	}
	flags.registerFlags(cmd)
	cmd.Flags().StringVar(&coordinator.api, "api", cmp.Or(os.Getenv("GRIDBID_API"), defaultAPIAddress), "`ADDRESS` (HOST:PORT) of the API of the coordinator that is told; also $GRIDBID_API")
	cmd.Flags().StringVar(&why, "reason", "", "reason, as free text for the event log")
	return cmd
}

// revokeMember revokes the keys of a member, and then prints what was done, with what done adds to it.
func (f *federationFlags) revokeMember(cmd *cobra.Command, name string, revoke func(*federation.Federation, string, time.Time) error, done func() federationChange) error {
	return f.changeFederation(func(fed *federation.Federation) error {
		keys, err := fed.PublicKeys(name)
		if err != nil {
			return err
		}
		if err := revoke(fed, name, time.Now()); err != nil {
			return err
		}
		change := done()
		change.Did, change.Name, change.Folder, change.Keys = "revoked", name, f.dir, keys
		return f.printChange(cmd, change)
	})
}

// tellRevoked tells the coordinator that a site was revoked, and returns what came of it. The
// revocation holds whether or not a coordinator answers.
func (f *apiFlags) tellRevoked(cmd *cobra.Command, site, why string) string {
	q := url.Values{"by": {operatorName()}, "why": {why}}
	var s jobstatus.Site
	if err := f.sendRequest(cmd.Context(), http.MethodPost, "/v1/sites/"+url.PathEscape(site)+"/revoked?"+q.Encode(), "", nil, &s); err != nil {
		return fmt.Sprintf("the coordinator was not told, and shows the site as silent: %v", err)
	}
	return "the coordinator shows the site as revoked"
}

// newFederationRotate is `gridbid federation rotate`. A rotation takes two commands, so that a
// member can change keys without losing its connection: both keys work until --retire.
func newFederationRotate() *cobra.Command {
	var flags federationFlags
	var key string
	var retire, server bool
	cmd := &cobra.Command{
		Use:   "rotate [NAME]",
		Short: "give a member a new key, or the hub new certificates",
		Long: `Give a site, a tenant, the coordinator, the standby or the tap a new key beside the old
one. Both keys work until

  gridbid federation rotate NAME --retire

revokes all but the newest. After a leak run both commands, one after the other. A
site that runs a NATS server of its own puts the new seed into its leaf.conf, as nkey
of the remote, and restarts that server. With --server the hub's servers get new
certificates.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			// Exactly one of a member and --server is rotated.
			if server == (len(args) == 1) || server && key != "" || retire && (server || key != "") {
				return usageError{errors.New("rotate: name one member, or give --server without a name; --retire and --key exclude each other")}
			}
			return flags.changeFederation(func(f *federation.Federation) error {
				c := federationChange{Folder: flags.dir}
				var err error
				switch {
				case server:
					c.Did, c.Next = "renewed the certificates of the hub", []string{"a coordinator that hosts the hub uses them within two seconds; reload an external nats-server. Sites have nothing to do, as the authority is the same"}
					err = f.RenewServerCerts(time.Now())
				case retire:
					c.Did, c.Name = "retired the old key of", args[0]
					var old int
					if old, err = f.RetireOldKeys(args[0], time.Now()); err == nil && old == 0 {
						err = usageError{fmt.Errorf("rotate: %[1]s has only one key, which cannot be retired: add a second first with `gridbid federation rotate %[1]s --dir %[2]s`", args[0], shellWord(flags.dir))}
					}
				default:
					var file string
					c.Did, c.Name, c.Next = "added a new key for", args[0], []string{"configure the member to use it", "gridbid federation rotate " + args[0] + " --retire --dir " + shellWord(flags.dir)}
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
	cmd.Flags().StringVar(&key, "key", "", "new public `KEY` of a member that keeps its seed secret")
	cmd.Flags().BoolVar(&retire, "retire", false, "revoke all keys but the newest")
	cmd.Flags().BoolVar(&server, "server", false, "renew the certificates of the hub's servers")
	return cmd
}

// newFederationShow is `gridbid federation show`.
func newFederationShow() *cobra.Command {
	var flags federationFlags
	cmd := &cobra.Command{
		Use:   "show",
		Short: "list the members of the federation, and revoked keys",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := federation.Open(flags.dir)
			if err != nil {
				return usageError{err}
			}
			return flags.printView(cmd, memberListing(f))
		},
	}
	flags.registerFlags(cmd)
	return cmd
}

// A memberRow is one key of a member of a federation, or one that was revoked.
type memberRow struct {
	name, what, key string
	revoked         time.Time
}

// memberListing returns the members of a federation with their public keys, then revoked
// keys. A member with two keys has two rows.
func memberListing(f *federation.Federation) printer.View {
	var rows []memberRow
	for _, list := range []struct {
		what string
		of   []federation.Member
	}{{"market", f.Market}, {"site", f.Sites}, {"tenant", f.Tenants}} {
		for _, m := range list.of {
			for _, key := range m.Keys {
				rows = append(rows, memberRow{m.Name, list.what, key, time.Time{}})
			}
		}
	}
	for _, r := range f.Revoked {
		rows = append(rows, memberRow{r.Name, "revoked", r.Key, r.At})
	}
	return printer.Listing[memberRow]{Rows: rows, Data: f, Columns: []printer.Column[memberRow]{
		{Head: "NAME", Value: func(m memberRow) any { return m.name }},
		{Head: "KIND", Value: func(m memberRow) any { return m.what }},
		{Head: "PUBLIC KEY", Value: func(m memberRow) any { return m.key }},
		{Head: "REVOKED", Value: func(m memberRow) any {
			if m.revoked.IsZero() {
				return nil
			}
			return protocol.FromStdTime(m.revoked)
		}},
		{Head: "HUB", Value: func(memberRow) any { return f.HubURL() }, Wide: true},
		{Head: "REPLICAS", Value: func(memberRow) any { return f.ReplicaCount() }, Wide: true},
	}}
}
