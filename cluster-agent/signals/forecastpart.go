package signals

// A missingForecastError says that a service did not give its forecast. What it has measured
// counts all the same: many subscriptions have no forecast.
type missingForecastError struct{ error }

// Unwrap returns why.
func (m missingForecastError) Unwrap() error { return m.error }

// Error implements error.
func (m missingForecastError) Error() string {
	return "the forecast alone: " + m.error.Error() + "; where the subscription has none, set no_forecast: true"
}

// withForecast adds the forecast that read returns to what was measured. If that fails,
// the error is a missingForecastError beside what was measured.
func withForecast(measured []Span, read func() ([]Span, error)) ([]Span, error) {
	ahead, err := read()
	if err != nil {
		return measured, missingForecastError{err}
	}
	return append(measured, ahead...), nil
}

// keepForecasts returns news with the forecasts of old that begin where news end: one
// that was not renewed is better than none.
func keepForecasts(old, news []Span) []Span {
	if len(news) == 0 {
		return news
	}
	end := news[len(news)-1].To
	for _, s := range old {
		if s.Guess && !s.From.Before(end) {
			news = append(news, s)
		}
	}
	return news
}

// missingForecast returns why the last reading had no forecast, or nil.
func (r *Source) missingForecast() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.noForecast
}
