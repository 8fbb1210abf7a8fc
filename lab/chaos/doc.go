// Package chaos tests a federation as operators run it: coordinators, agents, the
// hub's nats-server and one for each site are processes of their own. The test kills,
// stops and disconnects them while jobs are submitted. Package lab/faults does the
// same by seed in simulated time.
package chaos
