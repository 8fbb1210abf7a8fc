package query

// exampleQuestions has a question of every kind, for the help answer.
var exampleQuestions = []string{
	"why job NAME", "why not SITE for job NAME", "which sites refused job NAME", "what would job NAME have cost elsewhere",
	"what did waiting save for job NAME", "what should i change for job NAME", "what is ahead of job NAME",
	"carbon by site", "cost by tenant", "top 5 jobs by carbon", "late jobs", "average wait", "which jobs wait at 13:45",
	"greenest site at 12:00", "free gpus at 12:00", "would 8 gpus fit at 12:00", "forecast SITE at 12:00",
	"when should i submit 8 hours in the next 1 day", "what happened at 13:45", "silent agents", "bid error",
	"compare policies", "fair share by tenant", "rules in force", "summary",
}

// helpAnswer lists example questions.
func helpAnswer() *Answer {
	return &Answer{Kind: "answer", Read: "what can be asked", Readings: exampleQuestions, Text: []string{"Ask in plain words. Names are those of the run; times are UTC: \"at 13:45\", \"on 2026-03-11\", \"from 12:00 to 14:00\", \"in the last 3 hours\". D-14 is a decision. For example:"}}
}
