package serving

import (
	"fmt"
	"math"
)

// A Profile is how a replica of a model performs on GPUs of a kind. All times are in milliseconds.
type Profile struct {
	Name     string
	Model    string  // of the GPUs
	GPUs     int     // of a replica
	A, K     float64 // of an iteration, and more for each running request
	Prefill  float64 // of a prompt token
	MaxBatch int     // running requests at most
	Chunk    int     // tokens of an iteration at most, those of prompts included

	// A GPU draws Power0 + Power1·b/(b+Half) W with b running requests, and Idle without any.
	Idle, Power0, Power1, Half float64
}

// Profiles are fits to measurements of ML.ENERGY (vLLM without caps; ml-energy/leaderboard @0cd52da, short
// chat prompts): T within 3 to 6 %, power within 4 %. Prefill is 2·parameters/(FLOP/s of all GPUs at a
// utilization of 0.4), which is assumed; so are Idle and MaxBatch.
func Profiles() []Profile {
	return []Profile{
		{Name: "llama-8b/h100", Model: "H100", GPUs: 1, A: 6.7, K: 0.0881, Prefill: 0.04, MaxBatch: 128, Chunk: 2048, Idle: 120, Power0: 430, Power1: 291, Half: 37},
		{Name: "llama-70b/4xh100", Model: "H100", GPUs: 4, A: 16.2, K: 0.1397, Prefill: 0.0885, MaxBatch: 128, Chunk: 2048, Idle: 120, Power0: 432, Power1: 282, Half: 227},
		{Name: "llama-70b/2xb200", Model: "B200", GPUs: 2, A: 16.2, K: 0.1162, Prefill: 0.0778, MaxBatch: 128, Chunk: 2048, Idle: 150, Power0: 827, Power1: 170, Half: 65},
		{Name: "llama-405b/8xh100", Model: "H100", GPUs: 8, A: 31.0, K: 0.2903, Prefill: 0.128, MaxBatch: 128, Chunk: 2048, Idle: 120, Power0: 372, Power1: 314, Half: 72},
	}
}

// Check returns what makes a profile impossible, or nil.
func (p Profile) Check() error {
	finite := func(v float64) bool { return v >= 0 && v <= 1e6 }
	switch {
	case !finite(p.A) || !finite(p.K) || !finite(p.Prefill) || p.A == 0:
		return fmt.Errorf("serving: %s: times of an iteration %g, %g and %g ms: want A above 0, and all of 0..1e6", p.Name, p.A, p.K, p.Prefill)
	case p.GPUs < 1 || p.GPUs > 64 || p.MaxBatch < 1 || p.MaxBatch > 4096:
		return fmt.Errorf("serving: %s: %d GPUs and a batch of %d: want 1..64 and 1..4096", p.Name, p.GPUs, p.MaxBatch)
	case p.Chunk <= p.MaxBatch || p.Chunk > 1<<20:
		return fmt.Errorf("serving: %s: %d tokens an iteration: want more than the batch, and at most 1048576", p.Name, p.Chunk)
	case !finite(p.Idle) || !finite(p.Power0) || !finite(p.Power1) || !finite(p.Half):
		return fmt.Errorf("serving: %s: power below 0 or absurd", p.Name)
	}
	return nil
}

// TokenTime returns T(b), the time of an iteration with b running requests and no prompt.
func (p Profile) TokenTime(b float64) float64 { return p.A + float64(p.K*b) }

// Watts returns what the GPUs of a replica draw with b running requests.
func (p Profile) Watts(b float64) float64 {
	if b <= 0 {
		return float64(p.GPUs) * p.Idle
	}
	return float64(p.GPUs) * (p.Power0 + float64(p.Power1*b)/(b+p.Half))
}

// Tokens are the tokens of one request.
type Tokens struct{ Prompt, Output int }

// Moments are what the formula needs of the requests.
type Moments struct{ Prompt, PromptSquare, Output float64 }

// MomentsOf returns the moments of requests.
func MomentsOf(all []Tokens) (m Moments) {
	n := float64(max(len(all), 1))
	for _, t := range all {
		m.Prompt += float64(t.Prompt) / n
		m.PromptSquare += float64(t.Prompt) * float64(t.Prompt) / n
		m.Output += float64(t.Output) / n
	}
	return m
}

// Limit returns the load that a replica can take at most, in requests per second: a full batch, and
// prefill beside it.
func (p Profile) Limit(m Moments) float64 {
	full := float64(p.MaxBatch)
	return 1000 / (float64(m.Prompt*p.Prefill) + float64(m.Output*p.TokenTime(full))/full)
}

// An Estimate is what the formula says of a load. The zero Estimate says that it has no answer.
type Estimate struct {
	Batch float64 `json:"batch"` // running requests
	TTFT  float64 `json:"ttft_ms"`
	TPOT  float64 `json:"tpot_ms"`
}

// Estimate returns the means at a load in requests per second, if that is below Limit. It omits the wait for a place
// in the batch: up to 0.85 of Limit it is 4 to 13 % low, beyond it is wrong.
func (p Profile) Estimate(perSecond float64, m Moments) Estimate {
	rate := perSecond / 1000 // per ms, as the times
	busy := rate * m.Prompt * p.Prefill
	left := 1 - busy - float64(rate*m.Output*p.K)
	if left <= 0 {
		return Estimate{}
	}
	b := rate * m.Output * p.A / left
	token := p.TokenTime(b)
	room := float64(p.Chunk) - b           // prompt tokens of an iteration
	each := p.Prefill + token/max(room, 1) // ms of a prompt token, the iterations that carry it included
	used := rate * m.Prompt * each         // of the time of the server that prefills
	if room < 1 || used >= 1 {
		return Estimate{}
	}
	wait := rate * m.PromptSquare * each * each / (2 * (1 - used)) // Pollaczek and Khinchine
	ttft := wait + float64(m.Prompt*p.Prefill) + float64(math.Ceil(m.Prompt/room)*token) + token/2
	return Estimate{Batch: b, TTFT: ttft, TPOT: token / (1 - busy)}
}
