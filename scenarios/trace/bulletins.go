package trace

import (
	"fmt"
	"io"
	"time"

	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/protocol"
)

// ReadBulletins reads a forecast service's archive of one quantity: rows of
// issue_time_utc, target_time_utc and one named column, in the units of a window.
// Rows of one issue are adjacent; issues ascend, and so do the hours within an issue.
// An issue need not cover every hour.
func ReadBulletins(r io.Reader, file, column string, what protocol.Quantity) ([]forecast.Bulletin, error) {
	const issue, target = "issue_time_utc", "target_time_utc"
	lo, hi, err := quantityBounds(file, what)
	if err != nil {
		return nil, err
	}
	t, err := openTable(r, file, issue, target, column)
	if err != nil {
		return nil, err
	}
	var said []forecast.Bulletin
	for t.nextRow() {
		issued, at := t.instantField(issue), t.hourField(target)
		switch n := len(said); {
		case t.err != nil:
		case at < issued.Floor(time.Hour):
			t.failAtRow("%s %v is before %v, its issue time: drop the line", target, at, issued)
		// Agents would reject the value; report it here, with its line.
		case at > issued.Add(forecast.MaxAhead):
			t.failAtRow("%s %v is over 15 days after %v, its issue time, and sites reject such forecasts: drop the line", target, at, issued)
		case n == 0 || issued > said[n-1].Issued:
			said = append(said, forecast.Bulletin{Issued: issued})
		case issued < said[n-1].Issued:
			t.failAtRow("%s %v comes after %v: sort the file by issue and hour", issue, issued, said[n-1].Issued)
		case at <= said[n-1].Points[len(said[n-1].Points)-1].At:
			t.failAtRow("%s %v is not after the hour before it: sort each issue by hour and remove duplicate rows", target, at)
		}
		if v := t.thousandthsField(column, lo, hi); t.err == nil {
			b := &said[len(said)-1]
			b.Points = append(b.Points, protocol.Point{At: at, Value: v})
		}
	}
	if t.err == nil && len(said) == 0 {
		t.err = fmt.Errorf("trace: %s: no rows after the header", file)
	}
	return said, t.err
}
