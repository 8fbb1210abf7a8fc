// Package chaos is a test: it runs a federation as its operators do, in processes
// of their own with a nats-server of the hub and one of each site, and kills,
// stops and cuts them off while jobs are submitted. What simulated time plays by
// seed (lab/faults), it does to the real thing.
package chaos
