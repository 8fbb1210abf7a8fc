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

// Init creates a federation in dir, which must be empty or missing. It writes a
// certificate authority, the hub's configuration, and the folders of
// coordinator, standby, submitter and tap.
func Init(dir string, s Setup, now time.Time) (*Federation, error) {
	s = s.withDefaults()
	if err := s.check(); err != nil {
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
	stage, err := stageNext(dir)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(stage)
	if err := f.authority(stage, now); err != nil {
		return nil, err
	}
	for i := range s.Hosts {
		if err := f.serverFiles(stage, i, now); err != nil {
			return nil, err
		}
	}
	for _, name := range marketNames {
		m := Member{Name: name}
		if err := f.bundle(filepath.Join(stage, name), filepath.Join(dir, name), &m, filepath.Join(stage, caFile), bundleOptions{}); err != nil {
			return nil, err
		}
		f.Market = append(f.Market, m)
	}
	if err := f.save(stage); err != nil {
		return nil, err
	}
	return f, appear(stage, dir)
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
}

// Check returns an error that says why no federation could admit such a site.
func (s SiteSetup) Check() error {
	if err := bus.CheckParty(protocol.Agent(s.Name)); err != nil {
		return fmt.Errorf("federation: site %q: %w", s.Name, err)
	}
	if slices.Contains(marketNames, s.Name) {
		return fmt.Errorf("federation: site %s: the name belongs to the market", s.Name)
	}
	if strings.ContainsAny(s.Path+s.LeafListen, "\"\n\\") {
		return fmt.Errorf("federation: site %s: path %q or listen %q has a quote, a backslash or a line break, which the configuration cannot hold", s.Name, s.Path, s.LeafListen)
	}
	if _, _, err := net.SplitHostPort(s.LeafListen); s.LeafListen != "" && err != nil {
		return fmt.Errorf("federation: site %s: listen %q: want an address with a port, such as 127.0.0.1:4222", s.Name, s.LeafListen)
	}
	if s.Key != "" {
		return checkKey(s.Key)
	}
	return nil
}

func checkKey(key string) error {
	if !natsbus.IsPublicKey(key) {
		return fmt.Errorf("federation: key %q: want the public part of a user's nkey; it begins with U", key)
	}
	return nil
}

// AddSite admits a site and returns its folder. It refuses a name that exists.
func (f *Federation) AddSite(s SiteSetup) (string, error) {
	if err := s.Check(); err != nil {
		return "", err
	}
	if _, err := f.member(s.Name); err == nil {
		return "", fmt.Errorf("federation: site %s %w", s.Name, ErrTaken)
	}
	dir := f.folder(s.Name)
	if _, err := os.Stat(dir); err == nil {
		return "", fmt.Errorf("federation: %s %w; move it away first", dir, ErrTaken)
	}
	stage, err := stageNext(dir)
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(stage)
	m := Member{Name: s.Name}
	if s.Key != "" {
		if err := f.own(&m, s.Key); err != nil {
			return "", err
		}
	}
	if err := f.bundle(stage, cmp.Or(s.Path, dir), &m, filepath.Join(f.dir, caFile), bundleOptions{site: true, listen: s.LeafListen}); err != nil {
		return "", err
	}
	// Write the folder before the rules. After a failure in between, an unused
	// folder is left; in the other order a site would be admitted without a key,
	// and no command could repair that.
	if err := appear(stage, dir); err != nil {
		return "", err
	}
	f.Sites = append(f.Sites, m)
	slices.SortFunc(f.Sites, func(a, b Member) int { return cmp.Compare(a.Name, b.Name) })
	return dir, f.save(f.dir)
}

// own gives a member a key that it generated itself.
func (f *Federation) own(m *Member, key string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	for _, r := range f.Revoked {
		if r.Key == key {
			return fmt.Errorf("federation: key %s of %s was revoked; generate another", key, r.Name)
		}
	}
	for _, other := range slices.Concat(f.Market, f.Sites) {
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
	i := slices.IndexFunc(f.Sites, func(m Member) bool { return m.Name == name })
	if i < 0 {
		return fmt.Errorf("federation: site %q %w", name, ErrUnknown)
	}
	for _, k := range f.Sites[i].Keys {
		f.Revoked = append(f.Revoked, Revoked{name, k, now.UTC().Truncate(time.Second)})
	}
	f.Sites = slices.Delete(f.Sites, i, i+1)
	// Write the rules before moving files: an attacker must lose access first.
	if err := f.save(f.dir); err != nil {
		return err
	}
	away := filepath.Join(f.dir, "revoked")
	if err := os.MkdirAll(away, 0o700); err != nil {
		return fmt.Errorf("federation: %w", err)
	}
	for n := 1; ; n++ {
		to := filepath.Join(away, fmt.Sprintf("%s-%d", name, n))
		if _, err := os.Lstat(to); err == nil {
			continue
		}
		if err := os.Rename(f.folder(name), to); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("federation: %s is revoked, but its folder could not be moved: %w", name, err)
		}
		return nil
	}
}

// Rotate gives a member a second key; the hub admits both until Retire. It returns
// the file of the new seed, or "" if public is the key that the member generated
// itself.
func (f *Federation) Rotate(name, public string) (file string, err error) {
	m, err := f.member(name)
	if err != nil {
		return "", err
	}
	if len(m.Keys) > 1 {
		return "", fmt.Errorf("federation: %s has two keys already; `gridbid federation rotate %s --retire` ends the old one", name, name)
	}
	if public != "" {
		if err := f.own(m, public); err != nil {
			return "", err
		}
		return "", f.save(f.dir)
	}
	if err := makeDir(f.folder(name)); err != nil { // the operator may have deleted it after handing it over
		return "", err
	}
	if file, err = draw(f.folder(name), m); err == nil {
		err = settle(f.folder(name)) // on disk before Retire can make it the only key
	}
	if err != nil {
		return "", err
	}
	return file, f.save(f.dir)
}

// Retire revokes all keys of a member but its newest, and returns how many.
func (f *Federation) Retire(name string, now time.Time) (int, error) {
	m, err := f.member(name)
	if err != nil {
		return 0, err
	}
	old := m.Keys[:max(0, len(m.Keys)-1)]
	for _, k := range old {
		f.Revoked = append(f.Revoked, Revoked{name, k, now.UTC().Truncate(time.Second)})
	}
	m.Keys = m.Keys[len(old):]
	return len(old), f.save(f.dir)
}

// folder returns the path of a member's files.
func (f *Federation) folder(name string) string {
	if slices.Contains(marketNames, name) {
		return filepath.Join(f.dir, name)
	}
	return filepath.Join(f.dir, "sites", name)
}
