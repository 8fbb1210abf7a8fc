package fgd

import "testing"

func TestPlaceAndRelease(t *testing.T) {
	c, err := New(Config{}, []Node{{Name: "a", CPU: 8000, Memory: 1024, GPUs: 2, Model: "T4"}},
		[]Class{{Request: Request{CPU: 1000, GPUs: 1, Milli: 500}, Count: 3}})
	if err != nil {
		t.Fatal(err)
	}
	q := c.Quote(Request{CPU: 1000, GPUs: 1, Milli: 600})
	if !q.Fits || q.DeltaF != 400 {
		t.Errorf("Quote(600) = %+v; want ΔF 400: what is left of the device serves no class", q)
	}
	p, ok := c.Place(Request{CPU: 1000, GPUs: 1, Milli: 600})
	if !ok || p != q.Placement {
		t.Errorf("Place(600) = %+v, %v; want %+v", p, ok, q.Placement)
	}
	if num, den := c.Fragment(); num != 3*400 || den != 3 {
		t.Errorf("Fragment() = %d/%d; want 1200/3", num, den)
	}
	if err := c.Release(p); err != nil {
		t.Fatal(err)
	}
	if err := c.Release(p); err == nil {
		t.Error("Release(twice) = nil; want an error")
	}
	if num, _ := c.Fragment(); num != 0 || c.Idle() != 2000 {
		t.Errorf("after Release: F %d, idle %d; want 0 and 2000", num, c.Idle())
	}
}
