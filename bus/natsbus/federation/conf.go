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

// conf has the templates of the configuration files. Values are checked before
// and quoted by the templates.
var conf = template.Must(template.New("").Funcs(template.FuncMap{"q": strconv.Quote, "list": list}).Parse(confText))

// list formats subjects in the syntax of nats-server.
func list(all []string) string {
	var b bytes.Buffer
	for i, s := range all {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Quote(s))
	}
	return "[" + b.String() + "]"
}

func write(name string, data any) ([]byte, error) {
	var b bytes.Buffer
	if err := conf.ExecuteTemplate(&b, name, data); err != nil {
		return nil, fmt.Errorf("federation: write %s: %w", name, err)
	}
	return b.Bytes(), nil
}

// A user is a login with its permissions.
type user struct {
	Key                string
	Who                string
	Publish, Subscribe []string
}

// outward returns the parties of a site that send to the coordinator: its agent,
// and the queue that submits jobs from its cluster.
func outward(site string) []protocol.Party {
	return []protocol.Party{protocol.Agent(site), protocol.Queue(site)}
}

// siteUser returns the permissions of a site's key: its agent and its queue may
// send to the coordinator, and agent, executor and signal source to each other.
// Other accounts import nothing else from the site, so more permissions would be
// of no use; but with these the server refuses an attempt and logs it.
func siteUser(site, key string) user {
	u := user{Key: key, Who: site}
	agent, hands, feed := protocol.Agent(site), protocol.Hands(site), protocol.Feed(site)
	for _, p := range outward(site) {
		u.Publish = append(u.Publish, natsbus.Subject(p, protocol.Coordinator))
	}
	for _, way := range [][2]protocol.Party{{agent, hands}, {agent, feed}, {hands, agent}, {feed, agent}} {
		u.Publish = append(u.Publish, natsbus.Subject(way[0], way[1]))
	}
	for _, p := range append(outward(site), hands, feed) {
		_, subscribe := natsbus.Rights(p)
		u.Subscribe = append(u.Subscribe, subscribe...)
	}
	return u
}

func marketUser(name, key string) user {
	u := user{Key: key, Who: name}
	switch name {
	case TapName:
		u.Publish, u.Subscribe = natsbus.TapRights()
	case SubmitterName:
		u.Publish, u.Subscribe = natsbus.Rights(protocol.Submitter)
	default: // the coordinator: its streams and buckets are in this account, which no site can reach
		u.Publish, u.Subscribe = []string{">"}, []string{">"}
	}
	return u
}

// rules returns the content of accounts.conf.
func (f *Federation) rules() ([]byte, error) {
	type site struct {
		Account       string
		Users         []user
		Speaks, Hears []string // subjects
		Everyone      string
		Limits        Limits
	}
	v := struct {
		Market   []user
		Sites    []site
		Everyone string
	}{Everyone: natsbus.Subject(protocol.Coordinator, "")}
	for _, m := range f.Market {
		for _, k := range m.Keys {
			v.Market = append(v.Market, marketUser(m.Name, k))
		}
	}
	for _, m := range f.Sites {
		s := site{Account: accountOf(m.Name), Limits: f.Setup.Limits, Everyone: v.Everyone}
		for _, p := range outward(m.Name) {
			s.Speaks = append(s.Speaks, natsbus.Subject(p, protocol.Coordinator))
			s.Hears = append(s.Hears, natsbus.Subject(protocol.Coordinator, p))
		}
		for _, k := range m.Keys {
			s.Users = append(s.Users, siteUser(m.Name, k))
		}
		v.Sites = append(v.Sites, s)
	}
	return write("accounts", v)
}

func accountOf(site string) string { return "SITE-" + site }

// hub returns the folder name of a server's files.
func (f *Federation) hub(i int) string {
	if len(f.Setup.Hosts) == 1 {
		return "hub"
	}
	return fmt.Sprintf("hub-%d", i+1)
}

// serverFiles writes the files of one server of the hub into a prepared folder.
func (f *Federation) serverFiles(stage string, i int, now time.Time) error {
	dir := filepath.Join(stage, f.hub(i))
	if err := makeDir(dir); err != nil {
		return err
	}
	host := f.Setup.Hosts[i]
	if err := f.certify(stage, filepath.Join(dir, "server.pem"), filepath.Join(dir, "server.key"), host, now); err != nil {
		return err
	}
	if err := copyFile(filepath.Join(stage, caFile), filepath.Join(dir, caFile)); err != nil {
		return err
	}
	listen := f.Setup.Listen
	if listen == "host" {
		listen = host
	}
	at := func(port int) string { return address(listen, port) }
	var routes []string
	for j, h := range f.Setup.Hosts {
		if j != i {
			routes = append(routes, "tls://"+address(h, f.Setup.Route))
		}
	}
	data, err := write("hub", struct {
		Name, Dir           string
		Listen, Leaf, Route string
		Routes              []string
		Payload             int
	}{f.hub(i), filepath.Join(f.dir, f.hub(i)), at(f.Setup.Port), at(f.Setup.LeafPort), at(f.Setup.Route), routes, protocol.MaxMessage})
	if err != nil {
		return err
	}
	return create(filepath.Join(dir, "hub.conf"), data)
}

// HubConf returns the configuration file of the hub's i-th server, from 0.
func (f *Federation) HubConf(i int) string { return filepath.Join(f.dir, f.hub(i), "hub.conf") }

// Watched returns the files of a server of the hub, by its configuration file, whose
// change requires a reload: see natsbus.Hosted.Watch.
func Watched(conf string) []string {
	dir := filepath.Dir(conf)
	return []string{conf, filepath.Join(dir, accountsFile), filepath.Join(dir, "server.pem")}
}

// RenewServers writes new certificates for all servers of the hub. A server uses
// them from its next reload on.
func (f *Federation) RenewServers(now time.Time) error {
	for i, host := range f.Setup.Hosts {
		dir := filepath.Join(f.dir, f.hub(i))
		stage, err := stageNext(filepath.Join(dir, "new"))
		if err != nil {
			return err
		}
		cert, key := filepath.Join(stage, "server.pem"), filepath.Join(stage, "server.key")
		defer os.RemoveAll(stage)
		if err := f.certify(f.dir, cert, key, host, now); err != nil {
			return err
		}
		// A server that reloads between the two renames refuses the mismatched
		// pair and keeps its old one.
		for _, name := range []string{"server.key", "server.pem"} {
			if err := os.Rename(filepath.Join(stage, name), filepath.Join(dir, name)); err != nil {
				return fmt.Errorf("federation: %w", err)
			}
		}
		if err := settle(dir); err != nil {
			return err
		}
	}
	return nil
}

func address(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }
