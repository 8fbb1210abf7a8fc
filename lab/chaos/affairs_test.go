package chaos

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// twoSites are the sites of an affairs: east serves not the tenant rival, and what it does not need is lent.
const twoSites = `name: affairs
start: 2026-01-05T00:00:00Z
sites:
  - {name: east, region: {price: {mean: 40, swing: 0}, carbon: {mean: 100, swing: 0}, match: 0}, fleet: [{count: 1, model: A100, gpus: 8, cpu: 96, memory: 512}]}
  - {name: west, region: {price: {mean: 60, swing: 0}, carbon: {mean: 300, swing: 0}, match: 0}, fleet: [{count: 1, model: A100, gpus: 2, cpu: 96, memory: 512}]}
jobs: {list: [{id: none, cpu: 1, memory: 1, run: 1h}]}
`

const affairsQuotas = `priority_classes: [{name: normal, value: 0, global_default: true}]
quotas:
  - {name: vision, min: 6, max: 8}
  - {name: speech, min: 3}
  - {name: rival, min: 1, max: 2}
`

// An affairs is a federation of processes with an admin and the tenants vision, speech and rival, each with a
// credential. vision has taken back a GPU that it had lent to speech, and a job of rival waits.
type affairs struct {
	*writtenFederation
	tokens map[string]string
}

// An affair is a question about one's own affairs, who asks it, and what the answer says.
type affair struct{ who, question, want string }

// ownAffairs are the six questions that tenants ask about their own affairs, as tenants and as an admin, in an order in
// which none is taken for one about the job or the tenant of the one before.
var ownAffairs = []affair{
	{"rival", "what would it cost to start now", "rival-2"},
	{"admin", "what would it cost to start now", "rival-2"},
	{"speech", "why was I preempted", "the room was lent, and its owner needs it (lent to its tenant, guaranteed to another)"},
	{"admin", "why was I preempted", "the room went to job vision-2"},
	{"vision", "who holds the room I am entitled to", "what others hold is not in it. A job that needs what it is guaranteed gets it back"},
	{"admin", "who holds the room I am entitled to", "speech holds 1 beyond its guarantee"},
	{"vision", "what is left of my quota", "vision 6 8 4 2 0"},
	{"vision", "what did I pay and to whom", "east 1"},
	{"rival", "what did I pay and to whom", "west 1"},
	{"rival", "why did this site refuse me", "the site's terms refuse it (east does not serve rival)"},
	{"admin", "why did east refuse rival-1", "the site's terms refuse it (east does not serve rival)"},
	{"admin", "what is left of vision's quota", "vision 6 8 4 2 0"},
	{"admin", "what did vision pay and to whom", "east 1"},
}

// toldOfOthers returns what an answer to a tenant tells of other tenants.
func (a affair) toldOfOthers(text string) (others []string) {
	for _, name := range regexp.MustCompile(`vision|speech|rival`).FindAllString(strings.ReplaceAll(text, a.question, ""), -1) {
		if name != a.who && a.who != "admin" {
			others = append(others, name)
		}
	}
	return others
}

func newAffairs(t *testing.T) *affairs {
	t.Helper()
	s := &affairs{writeFederation(t), make(map[string]string)}
	credentials := filepath.Join(s.folder, "coordinator", "credentials.json")
	for _, who := range []string{"vision", "speech", "rival"} {
		s.tokens[who] = strings.TrimSpace(s.operate("credentials", "add", who, "--role", "tenant", "--tenant", who, "--file", credentials))
	}
	s.tokens["admin"] = strings.TrimSpace(s.operate("credentials", "add", "ada", "--role", "federation-admin", "--file", credentials))
	appendTo := func(file, text string) {
		t.Helper()
		was, err := os.ReadFile(file)
		s.must(err)
		s.must(os.WriteFile(file, append(was, text...), 0o600))
	}
	appendTo(filepath.Join(s.folder, "coordinator", "coordinator.yaml"), "credentials_file: credentials.json\n")
	s.coordinators[0].start()
	scenario := filepath.Join(s.dir, "affairs.yaml")
	s.must(os.WriteFile(scenario, []byte(twoSites), 0o600))
	for _, site := range []string{"east", "west"} {
		p := s.prepared(s.federation("add-site", site, "--simulate", scenario)[0])
		if s.agents = append(s.agents, p); site == "east" {
			appendTo(s.memberFile(site, "agent.yaml"), "terms: {own: [speech], exclude: [rival], tariff: {gpu_hour: 0.5}}\n")
		}
		p.start()
	}
	s.wait("the sites are known", patience, func() bool {
		out, _ := s.gridbidAs(s.tokens["admin"], "", "sites", "-o", "name")
		return strings.Count(out, "\n") == 2
	})
	quotas := filepath.Join(s.dir, "quotas.yaml")
	s.must(os.WriteFile(quotas, []byte(affairsQuotas), 0o600))
	var proposal struct {
		ID string `json:"id"`
	}
	s.must(json.Unmarshal([]byte(s.as("admin", "import", "-f", quotas, "--api", s.api, "--no-impact", "--json")), &proposal))
	s.as("admin", "policy", "apply", proposal.ID, "--api", s.api)
	s.runJobs()
	return s
}

// as runs a command of a principal, which must succeed.
func (s *affairs) as(who string, args ...string) string {
	s.Helper()
	out, err := s.gridbidAs(s.tokens[who], "", args...)
	s.must(err)
	return out
}

// runJobs has tenants pay, lend, take back and wait.
func (s *affairs) runJobs() {
	s.Helper()
	submit := func(tenant, id, text string, more ...string) {
		s.Helper()
		file := filepath.Join(s.dir, id+".yaml")
		s.must(os.WriteFile(file, fmt.Appendf(nil, "id: %s\ncpu: 1\nmemory: 1\nwithin: 12h\nurgency: now\n%s\n", id, text), 0o600))
		s.as(tenant, append([]string{"submit", "-f", file}, more...)...)
	}
	state := func(job, want string) {
		s.Helper()
		s.wait(job+" is "+want, patience, func() bool {
			out, err := s.gridbidAs(s.tokens["admin"], "", "job", job, "-o", "json")
			return err == nil && strings.Contains(strings.ReplaceAll(out, " ", ""), `"state":"`+want+`"`)
		})
	}
	submit("vision", "vision-0", "gpus: 1\nrun: 2s\nregions: [east]", "--wait")
	submit("rival", "rival-0", "gpus: 1\nrun: 2s", "--wait")
	for _, id := range []string{"speech-1", "speech-2", "speech-3"} {
		submit("speech", id, "gpus: 2\nrun: 6h\nregions: [east]")
		state(id, "running")
	}
	submit("vision", "vision-1", "gpus: 1\nrun: 6h\nregions: [east]")
	submit("rival", "rival-1", "gpus: 1\nrun: 6h")
	state("vision-1", "running")
	state("rival-1", "running")
	submit("vision", "vision-2", "gpus: 3\nrun: 6h\nregions: [east]")
	state("vision-2", "running")
	submit("rival", "rival-2", "gpus: 2\nrun: 1h")
	s.wait("the records of tenants have come so far", patience, func() bool {
		return strings.Contains(s.as("rival", "ask", "--live", "what would it cost to start now"), "rival-2") &&
			strings.Contains(strings.Join(strings.Fields(s.as("vision", "ask", "--live", "what is left of my quota")), " "), "vision 6 8 4 2 0")
	})
}

// Over a live federation of processes tenants are answered about their own affairs, and of nobody else's, and an admin
// about all, by gridbid ask and in a session of gridbid chat.
func TestTenantsAreAnsweredAboutTheirOwnAffairs(t *testing.T) {
	if *long == 0 {
		t.Skip("no -chaos; make chaos runs it")
	}
	s := newAffairs(t)
	check := func(face, text string, a affair) {
		t.Helper()
		text = strings.Join(strings.Fields(text), " ")
		if others := a.toldOfOthers(text); !strings.Contains(text, a.want) || len(others) > 0 {
			t.Errorf("%s: %s asks %q, reads of %v and\n%s\nwant %q", face, a.who, a.question, others, text, a.want)
		}
	}
	said := make(map[string]string) // in one session of each
	for _, a := range ownAffairs {
		check("ask", s.as(a.who, "ask", "--live", a.question), a)
		said[a.who] += a.question + "\n"
	}
	began := time.Now()
	for who, questions := range said {
		text, err := s.gridbidAs(s.tokens[who], questions, "chat", "--live")
		s.must(err)
		for _, a := range ownAffairs {
			if a.who == who {
				check("chat", text, a)
			}
		}
	}
	t.Logf("%d sessions took %v", len(said), time.Since(began).Round(time.Millisecond))
}
