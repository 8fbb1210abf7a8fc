package federation_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/gridbid/gridbid/bus/eventlog"
	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/bus/natsbus/federation"
	"github.com/gridbid/gridbid/internal/ports"
	"github.com/gridbid/gridbid/protocol"
)

// Three servers keep three copies of a stream, and go on when one of them is
// gone; sites and coordinator are heard through any.
func TestAClusterKeepsThreeCopies(t *testing.T) {
	s := &stage{T: t, dir: filepath.Join(t.TempDir(), "fed")}
	ports, err := ports.FreePorts(3)
	s.must(err)
	s.fed, err = federation.InitFederation(s.dir, federation.Setup{
		Hosts: []string{"127.0.0.1", "127.0.0.2", "127.0.0.3"}, Listen: "host", Port: ports[0], LeafPort: ports[1], Route: ports[2],
	}, now)
	s.must(err)
	_, err = s.fed.AddSite(federation.SiteSetup{Name: "oslo"})
	s.must(err)
	if n := s.fed.ReplicaCount(); n != 3 {
		t.Fatalf("%d replicas", n)
	}
	var servers []*natsbus.ConfiguredServer
	for i := range 3 {
		srv, err := natsbus.ServeConfigFile(s.fed.HubConfigFile(i), s.access("coordinator"))
		s.must(err)
		t.Cleanup(srv.Close)
		servers = append(servers, srv)
	}
	chief, _ := s.raw("", "coordinator")
	js, err := jetstream.New(chief)
	s.must(err)
	for _, asked := range []int{3, 0} { // 0 means "not configured" and must not remove copies
		s.until("the books are open", func() bool {
			kept, err := eventlog.Open(t.Context(), s.open("coordinator"), protocol.Coordinator, eventlog.Config{Replicas: asked})
			if err == nil {
				kept.Close()
			}
			return err == nil
		})
		for _, name := range []string{"GRIDBID", "GRIDBID_SUMMARY", "KV_" + natsbus.LeaseBucket} {
			stream, err := js.Stream(t.Context(), name)
			s.must(err)
			if info := stream.CachedInfo(); info.Config.Replicas != 3 || info.Cluster == nil || len(info.Cluster.Replicas) != 2 {
				t.Errorf("opened for %d copies, %s stands at %d, %+v", asked, name, info.Config.Replicas, info.Cluster)
			}
		}
	}
	s.until("the books take a fact", func() bool {
		_, err = js.Publish(t.Context(), natsbus.EventLogSubject, []byte("a fact"))
		return err == nil
	})
	agent := s.join(s.open("oslo"), oslo)
	coordinator := s.join(servers[1], protocol.Coordinator)
	s.until("a word crosses the cluster", func() bool {
		s.say(agent, word(oslo, protocol.Coordinator, 1, "hello"))
		time.Sleep(10 * time.Millisecond)
		return len(coordinator.Messages()) > 0
	})
	servers[2].Close()
	s.until("two of three keep books", func() bool {
		again, _ := s.raw("", "coordinator")
		defer again.Close()
		js, err := jetstream.New(again)
		s.must(err)
		_, err = js.Publish(t.Context(), natsbus.EventLogSubject, []byte("another"))
		return err == nil
	})
}
