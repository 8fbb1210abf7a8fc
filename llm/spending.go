package llm

import (
	"fmt"
	"math"
	"sync"
	"time"
)

// An HourlyLimit bounds calls and tokens in an hour by the clock; zero is no limit.
type HourlyLimit struct{ Calls, Tokens int }

// A Tariff is the price of tokens, in microdollars per million.
type Tariff struct{ In, Out int64 }

// TariffOf returns the tariff of two prices in dollars per million tokens, in and out; none is free.
func TariffOf(dollars []float64) (Tariff, error) {
	if len(dollars) == 0 {
		return Tariff{}, nil
	}
	for _, d := range dollars {
		if !(d >= 0 && d <= 10_000) || len(dollars) != 2 {
			return Tariff{}, fmt.Errorf("%v: want two prices of a million tokens in dollars, in and out, such as 0.4,1.6", dollars)
		}
	}
	return Tariff{In: int64(math.Round(dollars[0] * 1e6)), Out: int64(math.Round(dollars[1] * 1e6))}, nil
}

// Spending is the use and the cost of a model.
type Spending struct {
	Calls        int   `json:"calls"`
	Failed       int   `json:"failed"`
	In           int   `json:"tokens_in"`
	Out          int   `json:"tokens_out"`
	Microdollars int64 `json:"microdollars"`
}

// A spendingMeter counts calls and tokens, in total and in this hour.
type spendingMeter struct {
	limit  HourlyLimit
	tariff Tariff

	mu    sync.Mutex
	all   Spending
	hour  time.Time
	calls int
	spent int // tokens; for calls in progress, their estimates
}

// reserveCall reports whether a call of so many tokens is within the limits. If so it
// counts them as spent, in the hour that it returns, until chargeCall.
func (m *spendingMeter) reserveCall(now time.Time, tokens int) (hour time.Time, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if h := now.Truncate(time.Hour); !h.Equal(m.hour) {
		m.hour, m.calls, m.spent = h, 0, 0
	}
	if m.limit.Calls > 0 && m.calls >= m.limit.Calls || m.limit.Tokens > 0 && m.spent+tokens > m.limit.Tokens {
		return m.hour, false
	}
	m.calls++
	m.spent += tokens
	return m.hour, true
}

// chargeCall replaces the estimate of a call by the counted tokens. A failed call may
// have cost as much as its estimate, which therefore stays. A correction for an
// earlier hour does not change this hour's count.
func (m *spendingMeter) chargeCall(hour time.Time, guess, in, out int, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all.Calls++
	if !ok {
		m.all.Failed++
		return
	}
	if hour.Equal(m.hour) {
		m.spent += in + out - guess
	}
	m.all.In += in
	m.all.Out += out
	m.all.Microdollars += (int64(in)*m.tariff.In + int64(out)*m.tariff.Out) / 1_000_000
}

func (m *spendingMeter) totalSpending() Spending {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.all
}
