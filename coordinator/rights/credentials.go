package rights

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A Credential is a token of the credentials file: whose it is, and what it lets its owner do.
type Credential struct {
	Name    string    `json:"name"`
	Role    Role      `json:"role"`
	Tenant  string    `json:"tenant,omitempty"`
	Site    string    `json:"site,omitempty"`
	SHA256  string    `json:"token_sha256"` // in hex
	Expires time.Time `json:"expires"`
	Revoked time.Time `json:"revoked,omitzero"`
}

// A File is the content of a credentials file.
type File struct {
	Credentials []Credential `json:"credentials"`
	// RevokedSubjects are subjects of the OIDC provider whose tokens are refused, though the
	// provider would still vouch for them.
	RevokedSubjects []string `json:"revoked_subjects,omitempty"`
}

// Bounds of a credentials file and of a credential.
const (
	maxFile     = 4 << 20
	maxLifetime = 400 * 24 * time.Hour
)

var (
	personPattern = regexp.MustCompile(`^[\pL\pN][\pL\pN ._@-]{0,63}$`)
	// namePattern is that of tenants and sites.
	namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)
)

// NewCredential generates a token for what c describes, valid until c.Expires. The caller must
// show it once; the file has only its hash.
func NewCredential(c Credential, now time.Time) (token string, _ Credential, err error) {
	if life := c.Expires.Sub(now); life <= 0 || life > maxLifetime {
		return "", c, fmt.Errorf("rights: credential %s: expires %s: want a time within the next 400 days", c.Name, c.Expires.Format(time.RFC3339))
	}
	token = rand.Text()
	c.SHA256 = hashToken(token)
	return token, c, c.check()
}

// hashToken returns the SHA-256 of a token in hex. Tokens are random and long, so a plain
// hash suffices.
func hashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// check returns an error if a credential is not complete, with what to do.
func (c Credential) check() error {
	raw, err := hex.DecodeString(c.SHA256)
	switch {
	case !personPattern.MatchString(c.Name):
		return fmt.Errorf("name %q: want letters, digits, spaces and ._@-, at most 64", c.Name)
	case err != nil || len(raw) != sha256.Size || c.SHA256 != strings.ToLower(c.SHA256):
		return fmt.Errorf("%s: token_sha256: want 64 hex digits in lower case", c.Name)
	case c.Expires.IsZero():
		return fmt.Errorf("%s: expires is missing: want a time such as 2027-01-31T00:00:00Z", c.Name)
	}
	if err := checkScope(c.Role, c.Tenant, c.Site); err != nil {
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	return nil
}

// checkScope returns an error unless a role has the tenant or the site that it is about, and
// nothing else.
func checkScope(r Role, tenant, site string) error {
	ofTenant, ofSite := r == Tenant || r == TenantAdmin, r == SiteOperator
	switch {
	case !slices.Contains(AllRoles(), r):
		return fmt.Errorf("role %q: want one of %s", r, roleNames())
	case ofTenant != (tenant != ""):
		return fmt.Errorf("role %s: tenant %q: the roles tenant and tenant-admin have a tenant, and no other role has one", r, tenant)
	case ofSite != (site != ""):
		return fmt.Errorf("role %s: site %q: the role site-operator has a site, and no other role has one", r, site)
	case tenant != "" && !namePattern.MatchString(tenant):
		return fmt.Errorf("tenant %q: want letters, digits and ._-, at most 63", tenant)
	case site != "" && !namePattern.MatchString(site):
		return fmt.Errorf("site %q: want letters, digits and ._-, at most 63", site)
	}
	return nil
}

// roleNames returns the roles as text.
func roleNames() string {
	var all []string
	for _, r := range AllRoles() {
		all = append(all, string(r))
	}
	return strings.Join(all, ", ")
}

// ReadFile reads a credentials file. It refuses a name or a token that occurs twice: one
// person could then confirm a change as two.
func ReadFile(file string, text []byte) (f File, err error) {
	if len(text) > maxFile {
		return f, fmt.Errorf("%s: is %d bytes long, want at most %d: remove credentials that have expired", file, len(text), maxFile)
	}
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	if err := in.Decode(&f); err != nil {
		return File{}, fmt.Errorf("%s: %w: want what `gridbid credentials add` writes", file, err)
	}
	if _, err := in.Token(); err != io.EOF {
		return File{}, fmt.Errorf("%s: more follows its end: want one JSON object, as `gridbid credentials add` writes it", file)
	}
	names, tokens := make(map[string]bool), make(map[string]bool)
	for i, c := range f.Credentials {
		if err := c.check(); err != nil {
			return File{}, fmt.Errorf("%s: credential %d: %w", file, i+1, err)
		}
		if names[c.Name] || tokens[c.SHA256] {
			return File{}, fmt.Errorf("%s: credential %d: an earlier one has the name %q or its token, too: remove one", file, i+1, c.Name)
		}
		names[c.Name], tokens[c.SHA256] = true, true
	}
	return f, nil
}

// principal returns whom a credential stands for.
func (c Credential) principal() Principal {
	return Principal{Name: c.Name, Roles: []Role{c.Role}, Tenant: c.Tenant, Site: c.Site, Source: TokenFile, Expires: c.Expires}
}
