package natsbus

import (
	_ "embed"
	"os"
	"path/filepath"

	"github.com/gridbid/gridbid/internal/yamlschema"
)

//go:embed nats.schema.json
var accessSchema []byte

var accessFile = yamlschema.SchemaKind{Reader: "natsbus", FileKind: "nats file", Docs: "docs/federation.md", Schema: accessSchema}

// An AccessFile is the file that `gridbid federation` writes for a party: an
// Access and, for a coordinator, the number of copies of its event log and the
// largest message in bytes that the hub takes from a site; 0 is not known. For a
// tenant it has the tenant's name.
type AccessFile struct {
	Access      `yaml:",inline"`
	Replicas    int    `yaml:"replicas"`
	SitePayload int    `yaml:"site_payload"`
	Tenant      string `yaml:"tenant"`
}

// DefaultSitePayload is the default limit of a federation's hub for one message of a
// site, in bytes.
const DefaultSitePayload = 512 << 10

// ReadAccess reads and checks an AccessFile. Names in it are relative to its folder.
func ReadAccess(file string) (AccessFile, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return AccessFile{}, err
	}
	p, err := accessFile.ParsePage(file, text)
	if err != nil {
		return AccessFile{}, err
	}
	var f struct {
		NATS AccessFile `yaml:"nats"`
	}
	if err := p.DecodeInto(&f); err != nil {
		return AccessFile{}, err
	}
	f.NATS.Access = f.NATS.Access.ResolvePaths(filepath.Dir(file))
	return f.NATS, f.NATS.Validate()
}
