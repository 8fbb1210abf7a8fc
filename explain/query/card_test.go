package query_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

var update = flag.Bool("update", false, "rewrite the stories in testdata; read what changed before you commit")

const noon protocol.Time = 1_649_851_200_000 // 2022-04-13T12:00:00Z

func at(d time.Duration) protocol.Time { return noon.Add(d) }

// A story is a run, message by message.
type story struct {
	now    protocol.Time
	mouths map[protocol.Party]*protocol.Sender
	book   *history.History
}

func begin(sites ...string) *story {
	s := &story{now: noon, mouths: make(map[protocol.Party]*protocol.Sender), book: history.New(history.Config{})}
	for _, name := range sites {
		s.say(protocol.AgentParty(name), protocol.Coordinator, protocol.RegisterSite{Site: name})
	}
	return s
}

func (s *story) say(who, to protocol.Party, body protocol.Body) {
	if s.mouths[who] == nil {
		s.mouths[who] = &protocol.Sender{Party: who}
	}
	s.book.AddMessage(s.mouths[who].NewMessage(s.now, to, body))
}

// text returns what is said of the job in one line.
func (s *story) text(t *testing.T) string {
	t.Helper()
	r, _ := s.book.LatestJob("train-42")
	var got bytes.Buffer
	if err := query.WriteJob(&got, s.book, r); err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(got.String()), " ")
}

func (s *story) call(round uint64, j protocol.Job) {
	s.say(protocol.Coordinator, "", protocol.CallForBids{
		Round: round, Closes: s.now.Add(5 * time.Second), Jobs: []protocol.Job{j},
		Weights: protocol.Weights{Carbon: 100_000, WaitNow: 1_000_000, Late: 10_000_000},
		ShadowPrices: []protocol.ShadowPrice{
			{Site: "oslo", Model: "A100", From: noon, Slot: 24 * time.Hour, Values: []protocol.Microdollars{8_000}},
		},
	})
}

func (s *story) offer(site string, round uint64, menu protocol.JobBids) {
	s.say(protocol.AgentParty(site), protocol.Coordinator, protocol.Bids{Round: round, Jobs: []protocol.JobBids{menu}})
}

func (s *story) award(site string, round uint64, o protocol.BidOption, why protocol.Code) {
	s.say(protocol.Coordinator, protocol.AgentParty(site), protocol.Award{
		Round: round, Job: "train-42", Epoch: round, Option: o, Why: protocol.Reason{Code: why},
		Proof: protocol.Certificate{Primal: 1_235_000, Bound: 1_229_900, Jobs: 31},
	})
}

func (s *story) run(site string, o protocol.BidOption, took time.Duration) {
	agent, hands := protocol.AgentParty(site), protocol.ExecutorParty(site)
	s.say(agent, protocol.Coordinator, protocol.Accept{Job: "train-42", Epoch: 2, Start: o.Start})
	s.now = o.Start
	s.say(agent, hands, protocol.Launch{Job: job(), Epoch: 2, Node: "gpu-07", Devices: []int{2, 3}, Model: o.Model})
	s.now = s.now.Add(took)
	counted := protocol.Usage{IT: 6_100_000_000, Energy: 6_480_000_000, Carbon: 41_400, Money: 61_000, Finish: s.now}
	s.say(hands, agent, protocol.Finished{Job: "train-42", Epoch: 2, Draw: []protocol.HourlyEnergy{{Hour: o.Start, Energy: counted.IT}}})
	s.say(agent, protocol.Coordinator, protocol.UsageReport{
		Job: "train-42", Epoch: 2, Started: o.Start, Ended: s.now, Node: "gpu-07", Devices: []int{2, 3},
		IT: counted.IT, Energy: counted.Energy, Carbon: counted.Carbon, Money: counted.Money,
	})
	s.say(protocol.Coordinator, "", protocol.Settlement{
		Job: "train-42", Site: site, Payer: "vision", Paid: 64_050, Counted: counted, Late: s.now > job().Deadline,
	})
}

func job() protocol.Job {
	return protocol.Job{
		ID: "train-42", Tenant: "vision", Home: "lyon", GPUs: 2, Share: 1000, CPU: 16_000, Memory: 65_536,
		Models: []string{"A100", "V100"}, Arrival: noon.Add(-10 * time.Minute), Run: 3 * time.Hour,
		Deadline: at(14 * time.Hour), Urgency: protocol.UrgencyStandard, Regions: []string{"bern", "lyon", "oslo", "turin"},
	}
}

func option(start, took time.Duration, model string, watts, grams, cents int) protocol.BidOption {
	return protocol.BidOption{
		Start: at(start), Finish: at(start + took), Model: model, Cap: protocol.Milliwatts(watts * 1000),
		Energy: 6_300_000_000, Carbon: protocol.Milligrams(grams * 1000), Money: protocol.Microdollars(cents * 10_000),
	}
}

func none(code protocol.Code, note string) protocol.JobBids {
	return protocol.JobBids{Job: "train-42", Why: protocol.Reason{Code: code, Note: note}}
}

func menu(options ...protocol.BidOption) protocol.JobBids {
	return protocol.JobBids{Job: "train-42", Options: options}
}

// night is when oslo is cheap.
func night() protocol.BidOption {
	o := option(9*time.Hour, 2*time.Hour, "A100", 275, 42, 6)
	o.Transfer, o.FragmentationDelta, o.NodeIdleShare = 4_000, 250, 2_000
	return o
}

// deferred is a job that is held once and then won by oslo for the night.
func deferred() *story {
	s := begin("bern", "lyon", "oslo", "paris", "turin")
	s.say(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: job()})
	s.call(1, job())
	s.offer("lyon", 1, menu(option(0, 3*time.Hour, "V100", 0, 310, 14)))
	s.offer("oslo", 1, menu(option(time.Hour, 2*time.Hour, "A100", 275, 51, 11), night()))
	s.say(protocol.Coordinator, protocol.Submitter, protocol.Defer{
		Round: 1, Job: "train-42", Until: at(time.Hour), Site: "oslo", Start: at(9 * time.Hour),
		Why: protocol.Reason{Code: protocol.CheaperLater},
	})
	s.now = at(time.Hour)
	s.call(2, job())
	s.offer("lyon", 2, menu(option(time.Hour, 3*time.Hour, "V100", 0, 300, 13)))
	s.offer("oslo", 2, menu(option(time.Hour, 2*time.Hour, "A100", 275, 50, 10), night()))
	s.offer("paris", 2, none(protocol.NotAllowed, ""))
	s.offer("turin", 2, none(protocol.NoCapacity, "all 8 A100 are taken until 14 Apr 05:00"))
	s.award("oslo", 2, night(), protocol.Cheapest)
	return s
}

var stories = []struct {
	name string
	tell func() *story
}{
	{"deferred to a better hour", func() *story {
		s := deferred()
		s.run("oslo", night(), 125*time.Minute)
		return s
	}},
	{"ended late", func() *story {
		s := deferred()
		s.run("oslo", night(), 6*time.Hour)
		return s
	}},
	{"not the cheapest offer", func() *story {
		s := begin("lyon", "oslo")
		s.say(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: job()})
		s.call(2, job())
		s.offer("lyon", 2, menu(option(0, 3*time.Hour, "V100", 0, 310, 14)))
		s.offer("oslo", 2, menu(option(0, 2*time.Hour, "A100", 275, 51, 11)))
		s.award("lyon", 2, option(0, 3*time.Hour, "V100", 0, 310, 14), protocol.Cheapest)
		return s
	}},
	{"by a fixed rule", func() *story {
		s := begin("lyon", "oslo")
		s.say(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: job()})
		s.call(2, job())
		s.offer("lyon", 2, menu(option(0, 3*time.Hour, "V100", 0, 310, 14)))
		s.offer("oslo", 2, none(protocol.NotCalled, ""))
		s.award("lyon", 2, option(0, 3*time.Hour, "V100", 0, 310, 14), protocol.ByRule)
		return s
	}},
	{"held while every site is full", func() *story {
		s := begin("lyon", "oslo")
		s.say(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: job()})
		for round := range uint64(30) {
			s.now = at(time.Duration(round) * time.Hour)
			s.call(round+1, job())
			s.offer("lyon", round+1, none(protocol.NoCapacity, ""))
			s.say(protocol.Coordinator, protocol.Submitter, protocol.Defer{
				Round: round + 1, Job: "train-42", Until: s.now.Add(time.Hour), Why: protocol.Reason{Code: protocol.Waiting},
			})
		}
		return s
	}},
	{"declined", func() *story {
		s := deferred()
		s.say(protocol.AgentParty("oslo"), protocol.Coordinator, protocol.Decline{Job: "train-42", Epoch: 2, Why: protocol.Reason{Code: protocol.CapacityTaken}})
		return s
	}},
	{"refused at the door", func() *story {
		s := begin("oslo")
		s.say(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: job()})
		s.say(protocol.Coordinator, protocol.Submitter, protocol.Reject{
			Job: "train-42", Why: protocol.Reason{Code: protocol.Malformed, Note: "gpus: want 0..16 of one node"},
		})
		return s
	}},
	{"hostile names are text", func() *story {
		s := begin("oslo", "ly\x1b[31mon\u202e")
		j := job()
		j.Tenant = "evil\x07\n\x1b]0;owned\x07"
		s.say(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: j})
		s.call(2, j)
		s.offer("oslo", 2, none("\x1b[2J", "line\r\nbreak"))
		return s
	}},
}

func TestStories(t *testing.T) {
	for _, tc := range stories {
		t.Run(tc.name, func(t *testing.T) {
			s := tc.tell()
			r, ok := s.book.LatestJob("train-42")
			if !ok {
				t.Fatal("the job is not in the book")
			}
			var got bytes.Buffer
			if err := query.WriteJob(&got, s.book, r); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", "why", strings.ReplaceAll(tc.name, " ", "-")+".txt")
			if *update {
				if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != string(want) {
				t.Errorf("the story changed; go test -update rewrites it.\n got:\n%s\nwant:\n%s", got.String(), want)
			}
			for line := range strings.Lines(got.String()) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 {
					t.Errorf("a line has %d columns; want at most 100: %s", n, line)
				}
				if strings.ContainsFunc(strings.TrimSuffix(line, "\n"), func(c rune) bool { return c < ' ' || c == '\u202e' }) {
					t.Errorf("a line holds a control character: %q", line)
				}
			}
		})
	}
}

// An award that the site did not answer in time is not in force; the text has the later
// decision.
func TestAnAwardThatLapsedIsToldAsThat(t *testing.T) {
	s := begin("lyon", "oslo")
	s.say(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: job()})
	s.call(1, job())
	s.offer("oslo", 1, menu(option(0, 3*time.Hour, "V100", 0, 310, 1)))
	s.award("oslo", 1, option(0, 3*time.Hour, "V100", 0, 310, 1), protocol.Cheapest)
	s.now = s.now.Add(time.Minute)
	s.call(2, job())
	s.say(protocol.Coordinator, protocol.Submitter, protocol.Defer{Round: 2, Job: "train-42", Until: s.now.Add(time.Hour), Why: protocol.Reason{Code: protocol.Waiting}})
	text := s.text(t)
	for _, want := range []string{"was held in round 2", "In round 1 it was awarded to oslo, which did not answer in time."} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "has not answered") {
		t.Errorf("the award is told as open:\n%s", text)
	}
}

// A site was cheaper, and was passed over: that is why, and no other reason is made up.
func TestWhoIsPassedOverIsTold(t *testing.T) {
	s := begin("lyon", "oslo")
	s.say(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: job()})
	dear, cheap := option(0, 3*time.Hour, "V100", 0, 310, 14), option(0, 3*time.Hour, "V100", 0, 310, 1)
	for round := uint64(1); round <= 8+1; round++ {
		s.call(round, job())
		s.offer("lyon", round, menu(dear))
		s.offer("oslo", round, menu(cheap))
		if round == 8+1 {
			s.award("lyon", round, dear, protocol.Cheapest)
			break
		}
		s.award("oslo", round, cheap, protocol.Cheapest)
		if round != 2 { // it let the second run out
			s.say("agent/oslo", protocol.Coordinator, protocol.Decline{Job: "train-42", Epoch: round, Why: protocol.Reason{Code: protocol.CapacityTaken}})
		}
		s.now = s.now.Add(time.Minute)
	}
	text := s.text(t)
	if want := "oslo had been awarded the job 8 times before and had not kept it: such a site is passed over for some rounds."; !strings.Contains(text, want) {
		t.Errorf("want %q in\n%s", want, text)
	}
}

// The award of a rest is not held against what the whole job was offered for.
func TestARestIsNotHeldAgainstTheWhole(t *testing.T) {
	s := deferred()
	r, _ := s.book.LatestJob("train-42")
	for _, parts := range [][]history.Run{nil, {{Site: "lyon", Paused: true}}} {
		r.Parts = parts
		if text := strings.Join(query.ExplainJob(s.book, r).Text, " "); strings.Contains(text, "Waiting saved") != (parts == nil) {
			t.Errorf("with %d parts before: %s", len(parts), text)
		}
	}
}

// An award restored from another coordinator has no round in the record, and is still
// described.
func TestAnAwardWhoseRoundIsNotOnRecordIsTold(t *testing.T) {
	s := begin("oslo")
	s.say(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: job()})
	s.award("oslo", 7, night(), protocol.Cheapest)
	if text := s.text(t); !strings.Contains(text, "was awarded to oslo at 13 Apr 12:00, because it costs least, all jobs of the round taken together. The round is not in this record.") || strings.Contains(text, "Nothing was decided") {
		t.Errorf("%s", text)
	}
}

// A later decision of another coordinator is in force, not the earlier one of this
// coordinator; the text describes the outcome.
func TestAnAwardOffTheBooksIsNotToldAsTheOneBeforeIt(t *testing.T) {
	s := begin("lyon", "oslo")
	o := option(0, 3*time.Hour, "V100", 0, 310, 1)
	s.say(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: job()})
	s.call(1, job())
	s.offer("oslo", 1, menu(o))
	s.award("oslo", 1, o, protocol.Cheapest)
	s.now = s.now.Add(time.Minute)
	says := func(want, never string) {
		t.Helper()
		if text := s.text(t); !strings.Contains(text, want) || strings.Contains(text, never) {
			t.Errorf("want %q, and no %q, in\n%s", want, never, text)
		}
	}
	s.say(protocol.Coordinator, protocol.Submitter, protocol.Defer{Round: 6, Job: "train-42", Why: protocol.Reason{Code: protocol.Waiting}})
	says("In round 1 it was awarded to oslo, which did not answer in time.", "declined")
	s.award("lyon", 7, o, protocol.Cheapest)
	says("was awarded to lyon at 13 Apr 12:01, because it costs least, all jobs of the round taken together. The round is not in this record.", "was awarded to oslo at")
	r, _ := s.book.LatestJob("train-42")
	for _, f := range query.ExplainJob(s.book, r).Figures {
		if f.Unit == "microdollars" && f.Name == "total-cost" {
			t.Errorf("%+v; its prices are not known", f)
		}
	}
}

// What a coordinator that took over called first was called before by another: that
// is no job's first round.
func TestTheFirstRoundOfARecordIsNotTheJobs(t *testing.T) {
	s := begin("oslo")
	now, later := option(0, 3*time.Hour, "V100", 0, 310, 3), option(9*time.Hour, 3*time.Hour, "V100", 0, 310, 1)
	s.say(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: job()})
	s.say(protocol.Coordinator, protocol.Submitter, protocol.Defer{Round: 6, Job: "train-42", Why: protocol.Reason{Code: protocol.CheaperLater}})
	s.now = s.now.Add(time.Minute)
	s.call(7, job())
	s.offer("oslo", 7, menu(now, later))
	s.award("oslo", 7, later, protocol.Cheapest)
	if text := s.text(t); !strings.Contains(text, "It had been called in rounds before, which are not in this record.") || strings.Contains(text, "in its first round") {
		t.Errorf("%s", text)
	}
}

// under explains why a job went to one of two sites, its own, where rules were in force; the
// other asked for less.
func under(t *testing.T, rules []protocol.Rule, own, other string) string {
	t.Helper()
	s := begin(own, other)
	o := option(0, 3*time.Hour, "A100", 0, 310, 3)
	s.say(protocol.Coordinator, "", protocol.Policy{Version: 3, By: "ada", Rules: rules})
	s.say(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: job()})
	s.call(1, job())
	s.offer(own, 1, menu(o))
	s.offer(other, 1, menu(option(0, 3*time.Hour, "A100", 0, 310, 1)))
	s.award(own, 1, o, protocol.Cheapest)
	return s.text(t)
}

// A rule that forbids a cheaper site is why it was not taken, and no price of room; one that only prefers
// hides no price.
func TestRulesInForceAreNotPassedOver(t *testing.T) {
	forbids := []protocol.Rule{{ID: "R-9", Kind: protocol.Forbid, Sites: []string{"bern"}}}
	prefers := []protocol.Rule{{ID: "R-9", Kind: protocol.Prefer, Sites: []string{"turin"}, Weight: 150}}
	const rule, room = "Rule R-9 of the operators forbids that", "by its prices the room at bern was worth $0 to others, and that at oslo $0.0480."
	for _, rules := range [][]protocol.Rule{nil, forbids, prefers} {
		forbidden := len(rules) > 0 && rules[0].Kind == protocol.Forbid
		if text := under(t, rules, "oslo", "bern"); strings.Contains(text, rule) != forbidden || strings.Contains(text, room) == forbidden {
			t.Errorf("under %v: %s", rules, text)
		}
	}
}

// What is said of a job is in the data, too.
func TestAJobIsExplainedInFigures(t *testing.T) {
	s := deferred()
	s.run("oslo", night(), 125*time.Minute)
	r, _ := s.book.LatestJob("train-42")
	card := query.ExplainJob(s.book, r)
	seen := make(map[string]int64)
	for _, f := range card.Figures {
		seen[f.Subject+" "+f.Name] = f.Value
	}
	for what, want := range map[string]int64{
		"site/oslo total-cost": 74_200, "site/lyon total-cost": 160_000, "job/train-42 paid": 64_050, "job/train-42 carbon": 41_400, "job/train-42 gpus": 2000, "site/oslo cap": 275_000,
	} {
		if got, ok := seen[what]; !ok || got != want {
			t.Errorf("%s is %d; want %d", what, got, want)
		}
	}
	for _, a := range append([]query.Answer{card}, card.More...) {
		if n, loose, _ := a.CheckGrounding(); n == 0 || len(loose) > 0 {
			t.Errorf("%d figures are checked; loose: %q", n, loose)
		}
	}
}
