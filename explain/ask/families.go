package ask

import "strings"

// Splits of a sum are said in many ways that differ in their nouns alone, so
// they are made of parts: "per site", "for each cluster".
var (
	splitters = []string{
		"by", "by the", "per", "each", "every", "for each", "for every", "of each", "of every", "at each", "at every", "in each", "across", "across all", "across the", "among", "among the",
		"split by", "split across", "split between", "broken down by", "break down by", "breakdown by", "down by", "breakdown per", "by individual", "by single", "grouped by", "group by",
		"sorted by", "ranked by", "separately by", "separately for each", "separated by", "divided by", "divided among", "listed by", "itemised by", "itemized by",
		"from each", "from every", "to each", "to every", "with each", "as per", "did each", "did every", "does each", "does every", "individually by", "depending on", "distributed across", "distributed over",
	}
	splits = []struct{ concept, nouns, others string }{
		{"bysite", "site,sites,location,locations,cluster,clusters,region,regions,agent,agents,datacenter,datacenters,data center,data centers,data centre,data centres,dc,facility,facilities,provider,place",
			"site by site,location by location,cluster by cluster,site-by-site,site wise,sitewise"},
		{"bytenant", "tenant,tenants,team,teams,customer,customers,department,departments,group,groups,user,users,client,clients",
			"tenant by tenant,team by team,tenant-by-tenant,which team,which tenant,which customer,which department"},
		{"byhour", "hour,hours,hour of the day,hour of day",
			"hourly,hour by hour,over time,over the day,hour-by-hour,throughout the day,in the course of the day,through the day,over the hours,time series"},
		{"byjob", "job,jobs,task,tasks,workload,workloads", "job by job"},
	}
)

// families adds the phrases of all splits.
func families(add func(concept, phrase string)) {
	for _, s := range splits {
		for noun := range strings.SplitSeq(s.nouns, ",") {
			for _, by := range splitters {
				add(s.concept, by+" "+noun)
			}
		}
		for phrase := range strings.SplitSeq(s.others, ",") {
			add(s.concept, phrase)
		}
	}
}
