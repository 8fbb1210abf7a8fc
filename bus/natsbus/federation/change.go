package federation

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/protocol"
)

// InitFederation creates a federation in dir, which must be empty or missing. It writes a
// certificate authority, the hub's configuration, and the folders of
// coordinator, standby and tap, the first two with the file that their
// process starts with.
func InitFederation(dir string, s Setup, now time.Time) (*Federation, error) {
	s = s.withDefaults()
	if err := s.validateSetup(); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("federation: %w", err)
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return nil, fmt.Errorf("federation: %s %w", dir, ErrTaken)
	}
	f := &Federation{Format: 1, Setup: s, dir: dir}
	// Everything is written aside and moved into place at once: a failure leaves no half of it.
	stage, err := makeStagingDir(dir)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(stage)
	if err := f.writeAuthority(stage, now); err != nil {
		return nil, err
	}
	if err := WriteLogKey(filepath.Join(stage, logKeyFile), "gridbid/"+f.Setup.Hosts[0]); err != nil {
		return nil, err
	}
	for i := range s.Hosts {
		if err := f.writeServerFiles(stage, i, now); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{CoordinatorName, StandbyName, TapName} {
		m := Member{Name: name}
		if err := f.writeMemberFiles(filepath.Join(stage, name), filepath.Join(dir, name), &m, filepath.Join(stage, caFile), marketConfigs[name]); err != nil {
			return nil, err
		}
		f.Market = append(f.Market, m)
	}
	if err := f.saveState(stage); err != nil {
		return nil, err
	}
	return f, moveIntoPlace(stage, dir)
}

// A SiteSetup is an operator's input for a new site.
type SiteSetup struct {
	Name string
	// Key is the public key of a site that generated its own key; "" generates
	// one, and the site's folder holds its seed.
	Key string
	// Path is the folder's path on the site's machine; "" is the path where it
	// is written.
	Path string
	// LeafListen is the address of the site's own server for the site's
	// parties; default 127.0.0.1:4222.
	LeafListen string
	// Scenario and SimulateAs are the section simulate of the site's configuration file:
	// machines and grid of a scenario's site. "" is a site over a Kubernetes cluster.
	Scenario, SimulateAs string
}

// Validate returns an error that says why no federation could admit such a site.
func (s SiteSetup) Validate() error {
	if err := bus.ValidateParty(protocol.AgentParty(s.Name)); err != nil {
		return fmt.Errorf("federation: site %q: %w", s.Name, err)
	}
	if slices.Contains(marketNames, s.Name) {
		return fmt.Errorf("federation: site %s: the name belongs to the market", s.Name)
	}
	if strings.ContainsAny(s.Path+s.LeafListen+s.Scenario+s.SimulateAs, "\"\n\\") {
		return fmt.Errorf("federation: site %s: path %q, listen %q or scenario %q has a quote, a backslash or a line break, which the configuration cannot hold", s.Name, s.Path, s.LeafListen, s.Scenario+s.SimulateAs)
	}
	if _, _, err := net.SplitHostPort(s.LeafListen); s.LeafListen != "" && err != nil {
		return fmt.Errorf("federation: site %s: listen %q: want an address with a port, such as 127.0.0.1:4222", s.Name, s.LeafListen)
	}
	if s.Key != "" {
		return validateKey(s.Key)
	}
	return nil
}

// validateKey returns an error unless a key is the public part of a user's nkey.
func validateKey(key string) error {
	if !natsbus.IsPublicKey(key) {
		return fmt.Errorf("federation: key %q: want the public part of a user's nkey; it begins with U", key)
	}
	return nil
}

// AddSite admits a site and returns its folder, which has the file that its process starts
// with. It refuses a name that exists.
func (f *Federation) AddSite(s SiteSetup) (string, error) {
	if err := s.Validate(); err != nil {
		return "", err
	}
	return f.addMember(&f.Sites, s.Name, s.Key, s.Path, bundleOptions{config: "agent", file: AgentFile, site: s})
}

// addMember admits a member to a list of the federation, and returns its folder. key is its public
// key, "" generates one; path is where the folder will be, "" where it is written.
func (f *Federation) addMember(list *[]Member, name, key, path string, o bundleOptions) (string, error) {
	if _, err := f.findMember(name); err == nil {
		return "", fmt.Errorf("federation: member %s %w", name, ErrTaken)
	}
	dir := f.folderIn(list, name)
	if _, err := os.Stat(dir); err == nil {
		return "", fmt.Errorf("federation: %s %w; move it away first", dir, ErrTaken)
	}
	stage, err := makeStagingDir(dir)
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(stage)
	m := Member{Name: name}
	if key != "" {
		if err := f.addPublicKey(&m, key); err != nil {
			return "", err
		}
	}
	if err := f.writeMemberFiles(stage, cmp.Or(path, dir), &m, filepath.Join(f.dir, caFile), o); err != nil {
		return "", err
	}
	// Write the folder before the rules. After a failure in between, an unused
	// folder is left; in the other order a member would be admitted without a key,
	// and no command could repair that.
	if err := moveIntoPlace(stage, dir); err != nil {
		return "", err
	}
	*list = append(*list, m)
	slices.SortFunc(*list, func(a, b Member) int { return cmp.Compare(a.Name, b.Name) })
	return dir, f.saveState(f.dir)
}

// addPublicKey gives a member a key that it generated itself.
func (f *Federation) addPublicKey(m *Member, key string) error {
	if err := validateKey(key); err != nil {
		return err
	}
	for _, r := range f.Revoked {
		if r.Key == key {
			return fmt.Errorf("federation: key %s of %s was revoked; generate another", key, r.Name)
		}
	}
	for _, other := range slices.Concat(f.Market, f.Sites, f.Tenants) {
		if slices.Contains(other.Keys, key) {
			return fmt.Errorf("federation: key %s belongs to %s; each member needs its own", key, other.Name)
		}
	}
	m.Keys, m.Made = append(m.Keys, key), m.Made+1
	return nil
}

// RevokeSite removes a site: the hub disconnects it when it reloads
// accounts.conf. RevokeSite moves the site's folder below revoked/. Its keys stay
// refused for ever; the name can be admitted once more with another key.
func (f *Federation) RevokeSite(name string, now time.Time) error {
	return f.revokeMember(&f.Sites, name, now)
}

// revokeMember removes a member from a list of the federation, and ends its keys.
func (f *Federation) revokeMember(list *[]Member, name string, now time.Time) error {
	i := slices.IndexFunc(*list, func(m Member) bool { return m.Name == name })
	if i < 0 {
		return unknownMember(name, *list)
	}
	folder := f.folderIn(list, name)
	for _, k := range (*list)[i].Keys {
		f.Revoked = append(f.Revoked, RevokedKey{name, k, now.UTC().Truncate(time.Second)})
	}
	*list = slices.Delete(*list, i, i+1)
	// Write the rules before moving files: an attacker must lose access first.
	if err := f.saveState(f.dir); err != nil {
		return err
	}
	away := filepath.Join(f.dir, "revoked")
	if err := os.MkdirAll(away, 0o700); err != nil {
		return fmt.Errorf("federation: %w", err)
	}
	// A name may be revoked several times; earlier folders stay.
	for n := 1; ; n++ {
		to := filepath.Join(away, fmt.Sprintf("%s-%d", name, n))
		if _, err := os.Lstat(to); err == nil {
			continue
		}
		if err := os.Rename(folder, to); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("federation: %s is revoked, but its folder could not be moved: %w", name, err)
		}
		return nil
	}
}

// RotateKey gives a member a second key; the hub admits both until RetireOldKeys. It
// returns the file of the new seed, or "" if public is the key that the member
// generated itself.
func (f *Federation) RotateKey(name, public string) (file string, err error) {
	m, err := f.findMember(name)
	if err != nil {
		return "", err
	}
	if len(m.Keys) > 1 {
		return "", fmt.Errorf("federation: %s has two keys already; `gridbid federation rotate %s --retire` ends the old one", name, name)
	}
	if public != "" {
		if err := f.addPublicKey(m, public); err != nil {
			return "", err
		}
		return "", f.saveState(f.dir)
	}
	if err := makeDir(f.memberFolder(name)); err != nil { // the operator may have deleted it after handing it over
		return "", err
	}
	if file, err = drawKey(f.memberFolder(name), m); err == nil {
		err = syncDir(f.memberFolder(name)) // on disk before RetireOldKeys can make it the only key
	}
	if err != nil {
		return "", err
	}
	return file, f.saveState(f.dir)
}

// RetireOldKeys revokes all keys of a member but its newest, and returns how many.
func (f *Federation) RetireOldKeys(name string, now time.Time) (int, error) {
	m, err := f.findMember(name)
	if err != nil {
		return 0, err
	}
	old := m.Keys[:max(0, len(m.Keys)-1)]
	for _, k := range old {
		f.Revoked = append(f.Revoked, RevokedKey{name, k, now.UTC().Truncate(time.Second)})
	}
	m.Keys = m.Keys[len(old):]
	return len(old), f.saveState(f.dir)
}

// memberFolder returns the path of a member's files.
func (f *Federation) memberFolder(name string) string {
	for _, list := range []*[]Member{&f.Market, &f.Tenants} {
		if slices.ContainsFunc(*list, func(m Member) bool { return m.Name == name }) {
			return f.folderIn(list, name)
		}
	}
	return f.folderIn(&f.Sites, name)
}

// folderIn returns the path of the files of a member of a list of the federation.
func (f *Federation) folderIn(list *[]Member, name string) string {
	switch list {
	case &f.Market:
		return filepath.Join(f.dir, name)
	case &f.Tenants:
		return filepath.Join(f.dir, "tenants", name)
	}
	return filepath.Join(f.dir, "sites", name)
}
