// Package division divides the replicas of a long-running service over sites.
//
// By default the division is by marginal cost ([ByCost]): each site bids what its next replicas
// cost in the order in which it would fill its nodes, and the division of least cost wins. With it
// comes a lower bound that no other division under the same rules can be below. The other kinds
// divide by weights, as Karmada does, by the method of Webster.
//
// A division is steady unless the request asks to rebalance: replicas that run stay where they
// are, and only what is added or removed is divided. A rebalance moves a replica only where that
// saves more over the horizon than (1+hysteresis) times what the start at its new site costs.
//
// [Divide] divides one service, [Reschedule] moves replicas that a site cannot schedule, and
// [DivideAll] divides services that compete for the same room.
//
// The package is pure: equal requests get equal divisions, in whatever order they list their
// sites. It knows neither bids nor messages; coordinator/market turns bids into a [Request], sends
// the [Division] to the agents, and counts what it has decided and no bid yet knows.
package division
