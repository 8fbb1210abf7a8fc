package federation

import (
	"bytes"
	_ "embed"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"text/template"
	"time"

	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/protocol"
)

//go:embed conf.tmpl
var confText string

// confTemplates has the templates of the configuration files. Values are checked before
// and quoted by the templates.
var confTemplates = template.Must(template.New("").Funcs(template.FuncMap{"q": strconv.Quote, "list": quotedList}).Parse(confText))

// quotedList formats subjects in the syntax of nats-server.
func quotedList(all []string) string {
	var b bytes.Buffer
	for i, s := range all {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Quote(s))
	}
	return "[" + b.String() + "]"
}

// renderTemplate fills one of the configuration templates.
func renderTemplate(name string, data any) ([]byte, error) {
	var b bytes.Buffer
	if err := confTemplates.ExecuteTemplate(&b, name, data); err != nil {
		return nil, fmt.Errorf("federation: write %s: %w", name, err)
	}
	return b.Bytes(), nil
}

// An accountUser is a login with its permissions.
type accountUser struct {
	Key                string
	Who                string
	Publish, Subscribe []string
	Direct             bool // it connects as a client, and not by a server of its own
}

// coordinatorParties returns the parties of a site that send to the coordinator: its agent,
// and the queue that submits jobs from its cluster.
func coordinatorParties(site string) []protocol.Party {
	return []protocol.Party{protocol.AgentParty(site), protocol.QueueParty(site)}
}

// siteUser returns the permissions of a site's key: its agent and its queue may
// send to the coordinator, and agent, executor and signal source to each other.
// Other accounts import nothing else from the site, so more permissions would be
// of no use; but with these the server refuses an attempt and logs it.
func siteUser(site, key string) accountUser {
	u := accountUser{Key: key, Who: site}
	agent, executor, source := protocol.AgentParty(site), protocol.ExecutorParty(site), protocol.SignalParty(site)
	for _, p := range coordinatorParties(site) {
		u.Publish = append(u.Publish, natsbus.SubjectBetween(p, protocol.Coordinator))
	}
	for _, way := range [][2]protocol.Party{{agent, executor}, {agent, source}, {executor, agent}, {source, agent}} {
		u.Publish = append(u.Publish, natsbus.SubjectBetween(way[0], way[1]))
	}
	for _, p := range append(coordinatorParties(site), executor, source) {
		_, subscribe := natsbus.AllowedSubjects(p)
		u.Subscribe = append(u.Subscribe, subscribe...)
	}
	return u
}

// marketUser returns the permissions of a member of the market's own account.
func marketUser(name, key string) accountUser {
	u := accountUser{Key: key, Who: name}
	switch name {
	case TapName:
		u.Publish, u.Subscribe = natsbus.TapSubjects()
	case SubmitterName: // of a federation that is older than keys of tenants
		_, u.Subscribe = natsbus.AllowedSubjects(protocol.Submitter)
		u.Publish = natsbus.SubmissionSubjects(protocol.Submitter)
	default: // the coordinator: its streams and buckets are in this account, which no site can reach
		u.Publish, u.Subscribe = []string{">"}, []string{">"}
	}
	return u
}

// tenantUser returns the permissions of a tenant's key: it may submit and cancel in its own name, and
// read what the coordinator answers to it.
func tenantUser(tenant, key string) accountUser {
	u := accountUser{Key: key, Who: "tenant " + tenant, Direct: true}
	u.Publish, u.Subscribe = natsbus.AllowedSubjects(protocol.TenantParty(tenant))
	return u
}

// tenantConnections returns how many connections each of so many tenants may have (decision 0363): a
// share of 1,024, so that all together leave room for sites, as hub.conf admits 4,096; but enough for a
// few commands at a time.
func tenantConnections(tenants int) int { return min(max(1024/max(tenants, 1), 4), 64) }

// renderAccounts returns the content of accounts.conf.
func (f *Federation) renderAccounts() ([]byte, error) {
	type site struct {
		Account         string
		Users           []accountUser
		Sends, Receives []string // subjects
		Everyone        string
		Limits          Limits
	}
	type tenant struct {
		Account         string
		Users           []accountUser
		Sends, Receives string // subjects
	}
	v := struct {
		Market   []accountUser
		Sites    []site
		Tenants  []tenant
		Everyone string
		Limits   Limits

		TenantConnections int
	}{Everyone: natsbus.SubjectBetween(protocol.Coordinator, ""), Limits: f.Setup.Limits, TenantConnections: tenantConnections(len(f.Tenants))}
	for _, m := range f.Market {
		for _, k := range m.Keys {
			v.Market = append(v.Market, marketUser(m.Name, k))
		}
	}
	for _, m := range f.Sites {
		s := site{Account: siteAccount(m.Name), Limits: f.Setup.Limits, Everyone: v.Everyone}
		for _, p := range coordinatorParties(m.Name) {
			s.Sends = append(s.Sends, natsbus.SubjectBetween(p, protocol.Coordinator))
			s.Receives = append(s.Receives, natsbus.SubjectBetween(protocol.Coordinator, p))
		}
		for _, k := range m.Keys {
			s.Users = append(s.Users, siteUser(m.Name, k))
		}
		v.Sites = append(v.Sites, s)
	}
	for _, m := range f.Tenants {
		who := protocol.TenantParty(m.Name)
		t := tenant{Account: tenantAccount(m.Name), Sends: natsbus.SubjectBetween(who, protocol.Coordinator), Receives: natsbus.SubjectBetween(protocol.Coordinator, who)}
		for _, k := range m.Keys {
			t.Users = append(t.Users, tenantUser(m.Name, k))
		}
		v.Tenants = append(v.Tenants, t)
	}
	return renderTemplate("accounts", v)
}

// siteAccount returns the name of a site's account (decision 0030).
func siteAccount(site string) string { return "SITE-" + site }

// tenantAccount returns the name of a tenant's account (decision 0363).
func tenantAccount(tenant string) string { return "TENANT-" + tenant }

// serverFolder returns the folder name of a server's files.
func (f *Federation) serverFolder(i int) string {
	if len(f.Setup.Hosts) == 1 {
		return "hub"
	}
	return fmt.Sprintf("hub-%d", i+1)
}

// writeServerFiles writes the files of one server of the hub into a prepared folder.
func (f *Federation) writeServerFiles(stage string, i int, now time.Time) error {
	dir := filepath.Join(stage, f.serverFolder(i))
	if err := makeDir(dir); err != nil {
		return err
	}
	host := f.Setup.Hosts[i]
	if err := f.writeServerCert(stage, filepath.Join(dir, "server.pem"), filepath.Join(dir, "server.key"), host, now); err != nil {
		return err
	}
	if err := copyFile(filepath.Join(stage, caFile), filepath.Join(dir, caFile)); err != nil {
		return err
	}
	// "host" lets several servers of a cluster share one machine's ports at different addresses.
	listen := f.Setup.Listen
	if listen == "host" {
		listen = host
	}
	at := func(port int) string { return hostPort(listen, port) }
	// Each server of a cluster connects to all others.
	var routes []string
	for j, h := range f.Setup.Hosts {
		if j != i {
			routes = append(routes, "tls://"+hostPort(h, f.Setup.Route))
		}
	}
	data, err := renderTemplate("hub", struct {
		Name, Dir           string
		Listen, Leaf, Route string
		Routes              []string
		Payload             int
	}{f.serverFolder(i), filepath.Join(f.dir, f.serverFolder(i)), at(f.Setup.Port), at(f.Setup.LeafPort), at(f.Setup.Route), routes, protocol.MaxMessage})
	if err != nil {
		return err
	}
	return createFile(filepath.Join(dir, "hub.conf"), data)
}

// HubConfigFile returns the configuration file of the hub's i-th server, from 0.
func (f *Federation) HubConfigFile(i int) string {
	return filepath.Join(f.dir, f.serverFolder(i), "hub.conf")
}

// WatchedFiles returns the files of a server of the hub, by its configuration file, whose
// change requires a reload: see natsbus.ConfiguredServer.ReloadOnChange.
func WatchedFiles(conf string) []string {
	dir := filepath.Dir(conf)
	return []string{conf, filepath.Join(dir, accountsFile), filepath.Join(dir, "server.pem")}
}

// RenewServerCerts writes new certificates for all servers of the hub. A server uses
// them from its next reload on.
func (f *Federation) RenewServerCerts(now time.Time) error {
	for i, host := range f.Setup.Hosts {
		dir := filepath.Join(f.dir, f.serverFolder(i))
		stage, err := makeStagingDir(filepath.Join(dir, "new"))
		if err != nil {
			return err
		}
		cert, key := filepath.Join(stage, "server.pem"), filepath.Join(stage, "server.key")
		defer os.RemoveAll(stage)
		if err := f.writeServerCert(f.dir, cert, key, host, now); err != nil {
			return err
		}
		// A server that reloads between the two renames refuses the mismatched
		// pair and keeps its old one.
		for _, name := range []string{"server.key", "server.pem"} {
			if err := os.Rename(filepath.Join(stage, name), filepath.Join(dir, name)); err != nil {
				return fmt.Errorf("federation: %w", err)
			}
		}
		if err := syncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// hostPort joins an address and a port; IPv6 addresses get brackets.
func hostPort(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }
