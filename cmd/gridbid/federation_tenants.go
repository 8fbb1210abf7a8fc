package main

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/bus/natsbus/federation"
)

// newFederationAddTenant is `gridbid federation add-tenant`. With --key the tenant keeps its seed
// secret, and the folder that it gets holds none.
func newFederationAddTenant() *cobra.Command {
	var flags federationFlags
	var t federation.TenantSetup
	cmd := &cobra.Command{
		Use:   "add-tenant NAME",
		Short: "add a tenant that submits over NATS, and write its folder",
		Long: `Add a tenant. By its key it submits and cancels jobs of its own over NATS, and hears what
the coordinator answers to it, and nothing else. The tenant of its jobs is NAME, whatever
their files say, and their ids begin with "NAME/".

Give the tenant its folder over a confidential channel, as it holds the secret key. It
submits with

  gridbid config set-context NAME --nats NAME/nats.yaml
  gridbid submit -f job.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t.Name = args[0]
			if err := t.Validate(); err != nil {
				return usageError{err}
			}
			return flags.changeFederation(func(f *federation.Federation) error {
				dir, err := f.AddTenant(t)
				if err != nil {
					return err
				}
				keys, _ := f.PublicKeys(t.Name)
				file := filepath.Join(dir, federation.TenantFile)
				next := []string{"gridbid submit --nats " + shellWord(file) + " -f JOB.yaml"}
				if t.Key != "" {
					next = []string{"send " + dir + " to the tenant, which adds its seed there as " + t.Name + ".nk"}
				} else if !f.Setup.OnlyThisMachine() {
					next = []string{"send " + dir + " to the tenant over a confidential channel, then delete its .nk here"}
				}
				return flags.printChange(cmd, federationChange{Did: "added", Name: t.Name, Folder: dir, Files: []string{file}, Keys: keys, Next: next})
			})
		},
	}
	flags.registerFlags(cmd)
	cmd.Flags().StringVar(&t.Key, "key", "", "public `KEY` of a tenant that keeps its seed secret (nk -gen user -pubout)")
	return cmd
}

// newFederationRevokeTenant is `gridbid federation revoke-tenant`.
func newFederationRevokeTenant() *cobra.Command {
	var flags federationFlags
	cmd := &cobra.Command{
		Use:   "revoke-tenant NAME",
		Short: "revoke all keys of a tenant at once and for good",
		Long: `Revoke all keys of a tenant at once and for good. Its connections are cut, and its jobs go
on: cancel them with "gridbid cancel". Credentials of the API have a file of their own
(gridbid credentials). "revoke-tenant submitter" ends the key of the submitter, which
federations had before tenants had keys, and which submits for every tenant.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.revokeMember(cmd, args[0], (*federation.Federation).RevokeTenant, func() federationChange {
				return federationChange{Next: []string{"a coordinator that hosts the hub applies this within two seconds; reload an external nats-server"}}
			})
		},
	}
	flags.registerFlags(cmd)
	return cmd
}
