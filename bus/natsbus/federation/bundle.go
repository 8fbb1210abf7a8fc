package federation

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gridbid/gridbid/bus/natsbus"
)

// bundleOptions say what a member's files contain besides its access to the hub.
type bundleOptions struct {
	config string // template of the member's configuration file; "": it gets none
	file   string // name of that file
	site   SiteSetup
	tenant string // the member's name, if it is a tenant
}

// writeMemberFiles writes into stage what a member needs on its machine, where the folder
// will be at: the hub's addresses, the certificate authority, and a new key
// unless the member gave a public key of its own.
func (f *Federation) writeMemberFiles(stage, at string, m *Member, ca string, o bundleOptions) error {
	if err := makeDir(stage); err != nil {
		return err
	}
	if err := copyFile(ca, filepath.Join(stage, caFile)); err != nil {
		return err
	}
	if err := copyLogKey(filepath.Dir(ca), stage, o.config == "coordinator"); err != nil {
		return err
	}
	// A member with a public key of its own keeps the seed on its machine; only its name is known.
	keeps := len(m.Keys) > 0
	seed := m.Name + ".nk"
	if !keeps {
		file, err := drawKey(stage, m)
		if err != nil {
			return err
		}
		seed = filepath.Base(file)
	}
	// Only a coordinator needs to know of replicas, and of the largest message that sites may send.
	replicas, payload := 0, 0
	if m.Name == CoordinatorName || m.Name == StandbyName {
		replicas, payload = f.ReplicaCount(), f.Setup.Limits.Payload
	}
	access := func(name, url string) error {
		data, err := renderTemplate("nats", struct {
			Who, URL, Seed string
			Replicas       int
			SitePayload    int
			Tenant         string
		}{m.Name, url, seed, replicas, payload, o.tenant})
		if err != nil {
			return err
		}
		return createFile(filepath.Join(stage, name), data)
	}
	if err := access("nats.yaml", f.HubURL()); err != nil || o.config == "" {
		return err
	}
	if err := f.writeProcessConfig(stage, at, m.Name, o); err != nil {
		return err
	}
	if keeps || o.config != "agent" {
		return nil // the configuration of a site's server contains the seed, which only the site has
	}
	return f.writeLeafConfig(stage, at, m, cmp.Or(o.site.LeafListen, "127.0.0.1:4222"))
}

// Names of the configuration files with which the processes of members start.
const (
	CoordinatorFile = "coordinator.yaml"
	AgentFile       = "agent.yaml"
)

// marketConfigs say which configuration a member of the market starts with. A tap has
// none: it is a key for programs of others.
var marketConfigs = map[string]bundleOptions{
	CoordinatorName: {config: "coordinator", file: CoordinatorFile},
	StandbyName:     {config: "coordinator", file: CoordinatorFile},
}

// writeProcessConfig writes the configuration file with which a member's process starts.
func (f *Federation) writeProcessConfig(stage, at, name string, o bundleOptions) error {
	v := struct {
		File, Who, Host, API string
		Site                 SiteSetup
		LogKey, LogPub       bool
	}{File: filepath.Join(at, o.file), Who: name, API: "127.0.0.1:7480", Site: o.site, LogKey: hasLogKey(stage, logKeyFile), LogPub: hasLogKey(stage, logPubFile)}
	if name == StandbyName {
		v.API = "127.0.0.1:7481" // beside a coordinator on the same machine
	} else if len(f.Setup.Hosts) == 1 {
		v.Host = "../" + f.serverFolder(0) + "/" + filepath.Base(f.HubConfigFile(0))
	}
	data, err := renderTemplate(o.config, v)
	if err != nil {
		return err
	}
	return createFile(filepath.Join(stage, o.file), data)
}

// writeLeafConfig writes the configuration of a site's own nats-server, a leaf of the hub.
func (f *Federation) writeLeafConfig(stage, at string, m *Member, listen string) error {
	seed, err := os.ReadFile(filepath.Join(stage, m.Name+".nk"))
	if err != nil {
		return fmt.Errorf("federation: %w", err)
	}
	hub := make([]string, len(f.Setup.Hosts))
	for i, h := range f.Setup.Hosts {
		hub[i] = "tls://" + hostPort(h, f.Setup.LeafPort)
	}
	data, err := renderTemplate("leaf", struct {
		Site, Dir, Listen, Seed string
		Hub                     []string
		User                    accountUser
		Payload                 int
	}{m.Name, at, listen, string(seed), hub, siteUser(m.Name, m.Keys[0]), f.Setup.Limits.Payload})
	if err != nil {
		return err
	}
	return createFile(filepath.Join(stage, "leaf.conf"), data)
}

// drawKey generates a key for a member and writes its seed into dir.
func drawKey(dir string, m *Member) (string, error) {
	seed, public, err := natsbus.NewUserKey()
	if err != nil {
		return "", err
	}
	// Numbered names: a key that is in use is never overwritten.
	for {
		name := m.Name + ".nk"
		if m.Made > 0 {
			name = fmt.Sprintf("%s-%d.nk", m.Name, m.Made+1)
		}
		m.Made++
		file := filepath.Join(dir, name)
		err := createFile(file, seed)
		if errors.Is(err, fs.ErrExist) {
			continue // left by a change that failed after it, for example on a full disk
		}
		if err != nil {
			return "", err
		}
		m.Keys = append(m.Keys, public)
		return file, nil
	}
}
