package history

import (
	"fmt"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// BenchmarkBook reads a day of hourly rounds in which every job is called and
// six sites answer each with eight options.
func BenchmarkBook(b *testing.B) {
	for _, n := range []int{10, 100} {
		said := busyDay(n)
		b.Run(fmt.Sprintf("jobs=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				book := New(Config{})
				for _, m := range said {
					book.AddMessage(m)
				}
			}
			b.ReportMetric(float64(b.N*len(said))/b.Elapsed().Seconds(), "messages/s")
			b.ReportMetric(float64(b.N*n*24*48)/b.Elapsed().Seconds(), "options/s")
		})
	}
}

func busyDay(n int) []protocol.Message {
	s := &stage{now: noon}
	sites := []string{"a", "b", "c", "d", "e", "f"}
	s.hello(sites...)
	var all []protocol.Job
	var menus []protocol.JobBids
	for i := range n {
		j := job(protocol.JobID(fmt.Sprint("job-", i)))
		all = append(all, j)
		s.submit(j)
		var options []protocol.BidOption
		for k := range int64(8) {
			options = append(options, option(time.Duration(k)*time.Hour, 10-k, k))
		}
		menus = append(menus, menu(j.ID, options...))
	}
	for round := range uint64(24) {
		s.now = at(time.Duration(round) * time.Hour)
		s.call(round+1, all...)
		for _, site := range sites {
			s.offer(site, round+1, menus...)
		}
		for _, j := range all {
			s.say(protocol.Coordinator, protocol.Submitter, protocol.Defer{Round: round + 1, Job: j.ID, Why: protocol.Reason{Code: protocol.Waiting}})
		}
	}
	return s.said
}
