package grids

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/internal/net"
	"github.com/gridbid/gridbid/lab/learn/fit"
	"github.com/gridbid/gridbid/protocol"
)

// Sizes of the training of forecasts.
const (
	gridHidden   = 32   // units of each of two layers
	gridEpochs   = 12   // over all lessons
	gridBatch    = 128  // lessons
	gridRate     = 2e-3 // of Adam; it falls to zero
	gridKink     = 0.1  // of Huber's loss: beyond it an error counts by its size, as it is judged
	carbonStride = 7    // hours from one forecast to the next; prime to 24
	priceStride  = 2    // likewise, of prices in real time, of which there are few grids
	aheadDraws   = 3    // of each publication of prices a day ahead
	longHistory  = 28 * 24

	lessonSeed  = 3_000_000
	shrinkSteps = 20   // of the search for how much of a correction to make
	leastGain   = 0.01 // of the error on the choosing weeks, under which an output is cut to zero
)

// shortHistories are the hours that sites have listened on recorded days, about.
var shortHistories = [2]int{24, 72}

// A Config says how to train corrections of forecasts.
type Config struct {
	Data    string // folder of the recorded data
	Seed    uint64
	Version string // of this build

	epochs, sparser int // tests: other than gridEpochs, and so many times fewer lessons
}

// A lessonSet is lessons with their inputs in one piece of memory.
type lessonSet struct {
	inputs []float32
	of     []lessonOf
}

// A lessonOf is what the net is to say to inputs.
type lessonOf struct {
	output    int
	want      float32 // in the series' usual change
	off, most float32 // what came, and the largest correction, likewise
	level     float32 // mean absolute value, likewise: errors are judged in parts of it
}

// add adds lessons.
func (s *lessonSet) add(all []forecast.Lesson, level float64) {
	for _, l := range all {
		for _, v := range l.Inputs {
			s.inputs = append(s.inputs, float32(v))
		}
		s.of = append(s.of, lessonOf{l.Output, float32(min(max(l.Off, -l.Most), l.Most)), float32(l.Off), float32(l.Most), float32(level / l.Unit)})
	}
}

// row returns the inputs of a lesson, in the memory of to.
func (s *lessonSet) row(i, width int, to []float64) []float64 {
	for k, v := range s.inputs[i*width:][:width] {
		to[k] = float64(v)
	}
	return to
}

// collect makes the lessons of a grid that teach and those that choose. They depend on no seed of a
// training, so trainings differ by what they drew alone.
func collect(g grid, index int, cfg Config, c calendar, teach, choose *lessonSet) error {
	points, err := g.read(cfg.Data)
	if err != nil {
		return err
	}
	dice := rand.New(rand.NewPCG(lessonSeed, uint64(index)))
	t := forecast.NewTeacher(g.quantity, g.market(), points)
	stride, draws := carbonStride, 1
	switch {
	case g.market().Ahead:
		stride, draws = 24, aheadDraws
	case g.quantity == protocol.GridPrice:
		stride = priceStride
	}
	level := meanAbsolute(points)
	for now := points[0].At.Add(24 * time.Hour); now < points[len(points)-1].At; now = now.Add(time.Duration(stride*max(cfg.sparser, 1)) * time.Hour) {
		for range draws {
			history := shortHistories[0] + dice.IntN(shortHistories[1]-shortHistories[0])
			if dice.IntN(2) == 0 {
				history = shortHistories[1] + dice.IntN(longHistory-shortHistories[1])
			}
			leads := []int{1, 2 + dice.IntN(2), 4 + dice.IntN(3), 7 + dice.IntN(6), 13 + dice.IntN(12), 25 + dice.IntN(24), 49 + dice.IntN(24)}
			for _, l := range t.Lessons(now, history, leads) {
				switch use := c.useOf(l.Hour); {
				case use == teaches && g.role == taught:
					teach.add([]forecast.Lesson{l}, level)
				case use == chooses:
					choose.add([]forecast.Lesson{l}, level)
				}
			}
		}
	}
	return nil
}

// meanAbsolute returns the mean absolute value of points, at least 1.
func meanAbsolute(points []protocol.Point) (mean float64) {
	for _, p := range points {
		mean += math.Abs(float64(p.Value)) / float64(len(points))
	}
	return max(mean, 1)
}

// Train trains the corrections of forecasts. The same data and seed give the same weights.
func Train(ctx context.Context, cfg Config) (net.File, error) {
	c, err := newCalendar()
	if err != nil {
		return net.File{}, err
	}
	var teach, choose lessonSet
	used := 0
	for _, g := range grids() {
		if g.role == reported {
			continue
		}
		if err := cmp.Or(ctx.Err(), collect(g, used, cfg, c, &teach, &choose)); err != nil {
			return net.File{}, err
		}
		used++
	}
	if cfg.epochs == 0 {
		cfg.epochs = gridEpochs
	}
	n, err := fitLessons(ctx, &teach, cfg.Seed, cfg.epochs)
	if err != nil {
		return net.File{}, err
	}
	shrinkOutputs(n, &choose)
	text, err := net.File{
		Name: forecast.LearnedName, Version: cfg.Version, Seed: cfg.Seed, Decisions: len(teach.of),
		Days: hashOfGrids(), Features: forecast.LearnedInputNames(), Net: *n,
	}.Write()
	if err != nil {
		return net.File{}, err
	}
	l, err := forecast.ParseLearned(text)
	if err != nil {
		return net.File{}, err
	}
	return l.File(), nil
}

// fitLessons fits a net to lessons by Huber's loss.
func fitLessons(ctx context.Context, s *lessonSet, seed uint64, epochs int) (*net.Net, error) {
	width := len(forecast.LearnedInputNames())
	if len(s.of) == 0 {
		return nil, fmt.Errorf("grids: no lessons: --data names a folder whose series are all short or full of gaps")
	}
	n := net.New(width, gridHidden, gridHidden, forecast.LearnedOutputs)
	dice := rand.New(rand.NewPCG(seed, 4))
	fit.DrawWeights(n, dice)
	scaleTo(n, s)
	adam, g, acts := fit.NewAdam(n), fit.NewGradient(n), n.NewActivation()
	order, x, by := make([]int, len(s.of)), make([]float64, width), make([]float64, forecast.LearnedOutputs)
	for i := range order {
		order[i] = i
	}
	batches := (len(order) + gridBatch - 1) / gridBatch
	for epoch := range epochs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		dice.Shuffle(len(order), func(i, k int) { order[i], order[k] = order[k], order[i] })
		for b := range batches {
			g.Clear()
			batch := order[b*gridBatch : min((b+1)*gridBatch, len(order))]
			for _, i := range batch {
				want := s.of[i]
				clear(by)
				got := n.Forward(forecast.ClipInputs(n, s.row(i, width, x)), acts)[want.output]
				slope := (got - float64(want.want)) / gridKink
				by[want.output] = min(max(slope, -1), 1) / float64(len(batch))
				g.AddBackward(n, acts, by...)
			}
			done := float64(epoch*batches+b) / float64(epochs*batches)
			adam.Step(n, g, gridRate*(1-done))
		}
	}
	return n, nil
}

// scaleTo sets the shift and scale of a net's inputs to their means and deviations in lessons.
func scaleTo(n *net.Net, s *lessonSet) {
	width := len(n.Mean)
	for k := range width {
		mean, squares, count := 0.0, 0.0, float64(len(s.of))
		for i := k; i < len(s.inputs); i += width {
			mean += min(max(float64(s.inputs[i]), -wild), wild) / count
		}
		for i := k; i < len(s.inputs); i += width {
			d := min(max(float64(s.inputs[i]), -wild), wild) - mean
			squares += float64(d*d) / count
		}
		n.Mean[k], n.Scale[k] = mean, max(math.Sqrt(squares), 1e-3)
	}
}

// wild is the size of an input, in the usual change of a series, beyond which it says nothing of scale.
const wild = 20

// shrinkOutputs multiplies each output by the part of 0 to 1 that leaves the least error on the lessons
// that choose, each in parts of its grid's mean value. Where nothing is gained an output becomes zero,
// which is the usual rule.
func shrinkOutputs(n *net.Net, s *lessonSet) {
	width, acts := len(n.Mean), n.NewActivation()
	x := make([]float64, width)
	errs := make([][shrinkSteps + 1]float64, forecast.LearnedOutputs)
	for i, l := range s.of {
		got := n.Forward(forecast.ClipInputs(n, s.row(i, width, x)), acts)[l.output]
		for k := range errs[l.output] {
			by := min(max(got*float64(k)/shrinkSteps, -float64(l.most)), float64(l.most))
			errs[l.output][k] += math.Abs(float64(l.off)-by) / float64(l.level)
		}
	}
	last := &n.Layers[len(n.Layers)-1]
	in := len(last.Weights) / len(last.Bias)
	for o := range errs {
		best := 0
		for k, e := range errs[o] {
			if e < errs[o][best] {
				best = k
			}
		}
		if errs[o][best] > (1-leastGain)*errs[o][0] {
			best = 0
		}
		part := float64(best) / shrinkSteps
		last.Bias[o] *= part
		for k := range in {
			last.Weights[o*in+k] *= part
		}
	}
}
