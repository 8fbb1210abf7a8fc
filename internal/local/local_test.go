package local

import "testing"

func TestOnlyThisMachineIsLocal(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "localhost:7480": true, "LOCALHOST.:1": true, "127.0.0.1": true, "127.9.9.9:80": true, "[::1]:80": true, "[::1]": true, "::1": true,
		"": false, "evil.example": false, "evil.example:7480": false, "127.0.0.1.evil.example": false, "10.0.0.7": false, "localhost.evil.example": false, "[::]:80": false,
	} {
		if name, own := Host(host); own != want {
			t.Errorf("%q is %q, own %v; want %v", host, name, own, want)
		}
	}
	for from, want := range map[string]bool{
		"127.0.0.1:5000": true, "[::1]:5000": true, "[::ffff:127.0.0.1]:5000": true, "10.0.0.7:5000": false, "": false, "localhost:5000": false, "127.0.0.1": false,
	} {
		if got := From(from); got != want {
			t.Errorf("from %q: %v; want %v", from, got, want)
		}
	}
}
