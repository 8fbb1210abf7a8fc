// Package chaos tests a federation as operators run it: coordinators, agents, the
// hub's nats-server and one for each site are processes of their own. The test kills,
// stops and disconnects them while jobs are submitted, and looks at what people and
// Prometheus then see of it. Package lab/faults does the same by seed in simulated time.
package chaos
