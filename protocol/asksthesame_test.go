package protocol

import (
	"reflect"
	"slices"
	"testing"
)

// A job that differs in any field but the four that AsksTheSame leaves out, and those of gangs and elastic jobs, asks
// for something else.
func TestEachFieldOfAJobMakesItAnother(t *testing.T) {
	apart := []string{"ID", "Tenant", "Arrival", "Deadline", "Pods", "MinPods", "Speed", "RequiredTopology", "PreferredTopology", "RequiredFor", "Groups", "Parts", "MaxSites", "FirstRank", "WholePods", "Leader"}
	all := reflect.TypeFor[Job]()
	for i := range all.NumField() {
		x, y := Job{ID: "x", GPUs: 1, Share: 1000}, Job{ID: "x", GPUs: 1, Share: 1000}
		switch f := reflect.ValueOf(&y).Elem().Field(i); f.Kind() {
		case reflect.Int, reflect.Int64:
			f.SetInt(f.Int() + 1)
		case reflect.String:
			f.SetString(f.String() + "x")
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		default:
			f.Set(reflect.ValueOf(UrgencyFlexible).Convert(f.Type()))
		}
		if same, want := x.AsksTheSame(&y), slices.Contains(apart, all.Field(i).Name); same != want {
			t.Errorf("jobs that differ in %s ask the same: %t; want %t", all.Field(i).Name, same, want)
		}
	}
}
