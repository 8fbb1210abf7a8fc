package protocol

import (
	"fmt"
	"testing"
	"time"
)

// offer is like one of a real day: jobs with eight options, three GPU models.
func offer(jobs, options int) Message {
	o := Bids{Round: 812}
	for j := range jobs {
		menu := JobBids{Job: JobID(fmt.Sprintf("philly-%06d", 1000+j))}
		for i := range options {
			start := noon.Add(time.Duration(i) * time.Hour)
			menu.Options = append(menu.Options, BidOption{Start: start, Finish: start.Add(95 * time.Minute), Model: []string{"V100", "A100", "T4"}[i%3],
				Cap: 250_000, Energy: Millijoules(912_345_678 + 1000*j + i), Carbon: 31_234_567, Money: 14_321, Transfer: 12, FragmentationDelta: -125, Score: 87})
		}
		o.Jobs = append(o.Jobs, menu)
	}
	hours := func(n int64) (v []Milli) {
		for i := range int64(24) {
			v = append(v, Milli(n+i*17))
		}
		return v
	}
	for _, model := range []string{"V100", "A100", "T4"} {
		r := CapacityProfile{Model: model, From: noon, Slot: time.Hour, Free: hours(14_000), Total: 64_000}
		o.Capacity = append(o.Capacity, r)
	}
	for _, h := range hours(55_000) {
		o.Grid.Price = append(o.Grid.Price, Microdollars(h))
		o.Grid.Carbon = append(o.Grid.Carbon, Milligrams(h*1000))
	}
	return sent(o)
}

func call(jobs int) Message {
	c := CallForBids{Round: 812, Closes: noon.Add(time.Second)}
	for j := range jobs {
		job := aJob
		job.ID = JobID(fmt.Sprintf("philly-%06d", 1000+j))
		c.Jobs = append(c.Jobs, job)
	}
	return sent(c)
}

func BenchmarkCodec(b *testing.B) {
	for _, bm := range []struct {
		name string
		m    Message
	}{
		{"offer=1job", offer(1, 8)}, {"call=64jobs", call(64)}, {"offer=64jobs", offer(64, 8)},
	} {
		data := mustEncode(b, bm.m)
		b.Run(bm.name+"/encode", func(b *testing.B) {
			b.ReportAllocs()
			var buf []byte
			for b.Loop() {
				buf, _ = AppendEncode(buf[:0], bm.m)
			}
			b.ReportMetric(float64(len(data)), "wire-bytes")
		})
		b.Run(bm.name+"/decode", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Decode(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
