package natsbus

import (
	_ "embed"
	"os"
	"path/filepath"

	"github.com/gridbid/gridbid/internal/yamlschema"
)

//go:embed nats.schema.json
var accessSchema []byte

var accessFile = yamlschema.Kind{By: "natsbus", What: "nats file", Docs: "docs/federation.md", Schema: accessSchema}

// An AccessFile is what `gridbid federation` writes for a party: an Access, and
// for a coordinator in how many copies its books are kept and how many bytes the hub
// takes of a site in one message; 0 is not known.
type AccessFile struct {
	Access      `yaml:",inline"`
	Replicas    int `yaml:"replicas"`
	SitePayload int `yaml:"site_payload"`
}

// DefaultSitePayload is how many bytes the hub of a federation takes of a site in one
// message, unless its operator decides otherwise.
const DefaultSitePayload = 512 << 10

// ReadAccess reads such a file, and checks it: its names are relative to it.
func ReadAccess(file string) (AccessFile, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return AccessFile{}, err
	}
	p, err := accessFile.Read(file, text)
	if err != nil {
		return AccessFile{}, err
	}
	var f struct {
		NATS AccessFile `yaml:"nats"`
	}
	if err := p.Decode(&f); err != nil {
		return AccessFile{}, err
	}
	f.NATS.Access = f.NATS.Access.Under(filepath.Dir(file))
	return f.NATS, f.NATS.Check()
}
