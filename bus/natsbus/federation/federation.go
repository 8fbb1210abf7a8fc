package federation

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/internal/nearest"
	"github.com/gridbid/gridbid/protocol"
)

// A Setup is an operator's input for a new federation. The zero of each field
// means its default: a federation whose processes all run on this machine.
type Setup struct {
	Hosts    []string `json:"hosts"`     // names or addresses of the hub's servers, each once: one, or three or five for a cluster; default 127.0.0.1
	Listen   string   `json:"listen"`    // address that the servers listen on, or "host": each on its own of Hosts; a cluster needs it, one server has the default 127.0.0.1
	Port     int      `json:"port"`      // for parties; default 4222
	LeafPort int      `json:"leaf_port"` // for the servers of sites; default 7422
	Route    int      `json:"route"`     // between the servers of a cluster; default 6222
	Limits   Limits   `json:"limits"`
}

// Limits are the hub's limits for each site. The coordinator limits a site's
// messages a second: see natsbus.Limits.
type Limits struct {
	Payload       int `json:"payload"`       // bytes of one message; default 524,288, an offer for some 800 jobs
	Connections   int `json:"connections"`   // default 8
	Subscriptions int `json:"subscriptions"` // default 256
	Leaves        int `json:"leaves"`        // servers of the site; default 2, so that one can take over from another
}

// loopbackHost is where a hub listens unless its operator names another address: nobody
// on another machine reaches it by accident.
const loopbackHost = "127.0.0.1"

// OnlyThisMachine reports whether the hub listens on loopback alone.
func (s Setup) OnlyThisMachine() bool {
	ip, err := netip.ParseAddr(s.Listen)
	return err == nil && ip.IsLoopback()
}

// withDefaults returns the setup with defaults in place of zero values.
func (s Setup) withDefaults() Setup {
	for _, d := range []struct {
		v   *int
		def int
	}{
		{&s.Port, 4222}, {&s.LeafPort, 7422}, {&s.Route, 6222},
		{&s.Limits.Payload, natsbus.DefaultSitePayload}, {&s.Limits.Connections, 8}, {&s.Limits.Subscriptions, 256}, {&s.Limits.Leaves, 2},
	} {
		if *d.v == 0 {
			*d.v = d.def
		}
	}
	if len(s.Hosts) == 0 {
		s.Hosts = []string{loopbackHost}
	}
	if s.Listen == "" && len(s.Hosts) == 1 {
		s.Listen = loopbackHost
	}
	return s
}

// validateSetup returns why no hub can be made of a setup with defaults, or nil. Names must not
// contain characters that have a meaning in addresses or configuration files.
func (s Setup) validateSetup() error {
	// An even number of servers would tolerate no more failures than one server less.
	if n := len(s.Hosts); n != 1 && n != 3 && n != 5 {
		return fmt.Errorf("federation: %d hosts; want the name of one server, or of 3 or 5 for a cluster", n)
	}
	for i, h := range s.Hosts {
		if h == "" || strings.ContainsAny(h, " \t\n\",/{}[]$") || hasPort(h) || slices.Contains(s.Hosts[:i], h) {
			return fmt.Errorf("federation: host %q: want a name or an address without a port, each once", h)
		}
	}
	if s.Listen == "" {
		return errors.New("federation: servers of a cluster are on machines of their own: want the address on which they listen, 0.0.0.0 for all, or host for each on its own")
	}
	if strings.ContainsAny(s.Listen, " \t\n\",/{}$") || hasPort(s.Listen) {
		return fmt.Errorf("federation: listen %q: want an address without a port", s.Listen)
	}
	for _, p := range []int{s.Port, s.LeafPort, s.Route} {
		if p < 1 || p > 65535 {
			return fmt.Errorf("federation: port %d: want 1..65535", p)
		}
	}
	if s.Port == s.LeafPort || s.Port == s.Route || s.LeafPort == s.Route {
		return fmt.Errorf("federation: ports %d, %d and %d must differ", s.Port, s.LeafPort, s.Route)
	}
	if l := s.Limits; l.Payload < 1024 || l.Payload > protocol.MaxMessage || l.Connections < 1 || l.Subscriptions < 8 || l.Leaves < 1 {
		return fmt.Errorf("federation: limits %+v: want a payload of 1,024..%d bytes, at least one connection and leaf, and 8 subscriptions", l, protocol.MaxMessage)
	}
	return nil
}

// hasPort reports whether host has a port. It must not take an IPv6 address,
// which has colons too, for one.
func hasPort(host string) bool {
	_, err := netip.ParseAddr(host)
	return err != nil && strings.Contains(host, ":")
}

// A Member is a party of the market, or a site, that holds a key.
type Member struct {
	Name string   `json:"name"`
	Keys []string `json:"keys"` // public keys; two during a rotation
	// Made counts all keys that the member has had, so that the files of two keys
	// never share a name.
	Made int `json:"made"`
}

// A RevokedKey is a key that must never be admitted again.
type RevokedKey struct {
	Name string    `json:"name"`
	Key  string    `json:"key"`
	At   time.Time `json:"at"`
}

// Names of the market's members; sites cannot have them.
const (
	CoordinatorName = "coordinator"
	StandbyName     = "standby" // sends as coordinator when it has taken over
	TapName         = "tap"

	// SubmitterName is the member of older federations whose key submits for every tenant. None
	// is made any more: see RevokeTenant.
	SubmitterName = "submitter"
)

// A Federation is the state of a federation, stored in a folder.
type Federation struct {
	Format  int          `json:"format"` // 1
	Setup   Setup        `json:"setup"`
	Market  []Member     `json:"market"`
	Sites   []Member     `json:"sites"`             // by name
	Tenants []Member     `json:"tenants,omitempty"` // by name
	Revoked []RevokedKey `json:"revoked,omitempty"`

	dir string
}

// ErrTaken reports that a name or a folder exists; neither is overwritten.
var ErrTaken = errors.New("is there already, and is not written over")

// ErrUnknown reports that the federation has no member of that name.
var ErrUnknown = errors.New("does not belong to the federation")

// Open reads the federation in a folder.
func Open(dir string) (*Federation, error) {
	file := filepath.Join(dir, stateFile)
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("federation: %s holds no federation; create one with `gridbid federation init`", dir)
	}
	if err != nil {
		return nil, fmt.Errorf("federation: %w", err)
	}
	f, err := parseState(data)
	if err != nil {
		return nil, fmt.Errorf("federation: %s: %w", file, err)
	}
	f.dir, err = filepath.Abs(dir)
	return f, err
}

// parseState reads and validates federation.json. It checks every value, since the file
// may have been edited and its values go into the servers' configuration.
func parseState(data []byte) (*Federation, error) {
	f := &Federation{}
	if err := json.Unmarshal(data, f); err != nil {
		return nil, err
	}
	if f.Format != 1 {
		return nil, fmt.Errorf("format %d, want 1: use a gridbid of the version that wrote it", f.Format)
	}
	if err := f.Setup.validateSetup(); err != nil {
		return nil, err
	}
	seen := make(map[string]bool)
	for i, m := range slices.Concat(f.Market, f.Sites, f.Tenants) {
		market := i < len(f.Market)
		if market != slices.Contains(marketNames, m.Name) || seen[m.Name] || bus.ValidateParty(protocol.AgentParty(m.Name)) != nil {
			return nil, fmt.Errorf("member %q: not a valid name, or named twice", m.Name)
		}
		seen[m.Name] = true
		for _, k := range m.Keys {
			if !natsbus.IsPublicKey(k) || seen[k] {
				return nil, fmt.Errorf("member %s: %q is not the public key of a user, or is used twice", m.Name, k)
			}
			seen[k] = true
		}
	}
	for _, r := range f.Revoked {
		if seen[r.Key] {
			return nil, fmt.Errorf("key %s of %s is revoked but in use; remove one of the two entries", r.Key, r.Name)
		}
	}
	return f, nil
}

var marketNames = []string{CoordinatorName, StandbyName, SubmitterName, TapName}

// findMember returns the member of a name, or ErrUnknown.
func (f *Federation) findMember(name string) (*Member, error) {
	for _, list := range [][]Member{f.Market, f.Sites, f.Tenants} {
		for i := range list {
			if list[i].Name == name {
				return &list[i], nil
			}
		}
	}
	return nil, unknownMember(name, slices.Concat(f.Sites, f.Tenants, f.Market))
}

// unknownMember returns ErrUnknown with the name and those of the members that it may mean.
func unknownMember(name string, members []Member) error {
	var names []string
	for _, m := range members {
		names = append(names, m.Name)
	}
	return fmt.Errorf("federation: %q %w%s", name, ErrUnknown, nearest.WhatThereIs(name, names))
}

// PublicKeys returns the public keys of a member, the oldest first.
func (f *Federation) PublicKeys(name string) ([]string, error) {
	m, err := f.findMember(name)
	if err != nil {
		return nil, err
	}
	return slices.Clone(m.Keys), nil
}

// ReplicaCount returns how many servers store a copy of each stream and bucket.
func (f *Federation) ReplicaCount() int { return min(3, len(f.Setup.Hosts)) }

// HubURL returns the addresses of the hub for parties, separated by commas.
func (f *Federation) HubURL() string {
	all := make([]string, len(f.Setup.Hosts))
	for i, h := range f.Setup.Hosts {
		all[i] = "tls://" + hostPort(h, f.Setup.Port)
	}
	return strings.Join(all, ",")
}
