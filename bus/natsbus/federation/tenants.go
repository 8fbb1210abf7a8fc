package federation

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/protocol"
)

// TenantFile is the file of a tenant's folder with which `gridbid submit --nats` connects.
const TenantFile = "nats.yaml"

// A TenantSetup is an operator's input for a tenant that submits by a key of its own.
type TenantSetup struct {
	Name string
	// Key is the public key of a tenant that generated its own; "" generates one, and the
	// tenant's folder holds its seed.
	Key string
}

// Validate returns an error that says why no federation could admit such a tenant.
func (t TenantSetup) Validate() error {
	if bus.ValidateParty(protocol.TenantParty(t.Name)) != nil {
		return fmt.Errorf("federation: tenant %q: want 1 to 63 of a-z, 0-9 and inner hyphens, as its name is a part of NATS subjects; a tenant of another name submits over HTTP: gridbid credentials", t.Name)
	}
	if slices.Contains(marketNames, t.Name) {
		return fmt.Errorf("federation: tenant %s: the name belongs to the market", t.Name)
	}
	if t.Key != "" {
		return validateKey(t.Key)
	}
	return nil
}

// AddTenant admits a tenant to the NATS account of the tenants, and returns its folder. It refuses
// the name of another member: ids of jobs of sites and of tenants begin with these names.
func (f *Federation) AddTenant(t TenantSetup) (string, error) {
	if err := t.Validate(); err != nil {
		return "", err
	}
	return f.addMember(&f.Tenants, t.Name, t.Key, "", bundleOptions{tenant: t.Name})
}

// RevokeTenant removes a tenant: the hub disconnects it when it reloads accounts.conf. Its jobs go
// on. It also ends the key of the submitter, which older federations have.
func (f *Federation) RevokeTenant(name string, now time.Time) error {
	if name == SubmitterName {
		return f.revokeMember(&f.Market, name, now)
	}
	if slices.Contains(marketNames, name) {
		return errors.New("federation: " + name + " is a member of the market, and no tenant: `gridbid federation rotate " + name + "` changes its key")
	}
	return f.revokeMember(&f.Tenants, name, now)
}
