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
	site   bool
	listen string // address of the site's own server
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
		}{m.Name, url, seed, replicas, payload})
		if err != nil {
			return err
		}
		return createFile(filepath.Join(stage, name), data)
	}
	if err := access("nats.yaml", f.HubURL()); err != nil || !o.site {
		return err
	}
	if keeps {
		return nil // the server's configuration contains the seed, which only the site has
	}
	return f.writeLeafConfig(stage, at, m, cmp.Or(o.listen, "127.0.0.1:4222"))
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
