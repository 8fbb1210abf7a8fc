package ask

import "testing"

// Whatever the order of its words, a question about many jobs is read as the query that they say.
func TestAQuestionIsComposedOfWhatItsWordsSay(t *testing.T) {
	l := testParser()
	for q, want := range map[string]string{
		"how many started between 12 and 13":                       `measure "started" from 2022-04-13T12:00:00Z to 2022-04-13T13:00:00Z`,
		"from 12:00 to 13:00 how many jobs started":                `measure "started" from 2022-04-13T12:00:00Z to 2022-04-13T13:00:00Z`,
		"jobs that ended after noon":                               `measure "ended" from 2022-04-13T12:00:00Z to 2022-04-14T00:00:00Z`,
		"who uses the most gpu hours":                              `measure "most total gpu-hours by-tenant"`,
		"percent of jobs that ran away from home":                  `measure "share ran away"`,
		"average wait of 8 gpu jobs of vision":                     `measure "mean wait" of jobs with gpus exactly 8 GPUs of tenant vision`,
		"median energy of urgent jobs on an A100":                  `measure "median energy urgent" of model "A100"`,
		"any team waiting longer than the others":                  `measure "most mean wait by-tenant"`,
		"compare a100 and h100 usage":                              `measure "total energy by-model"`,
		"which jobs nearly missed their deadline":                  `measure "least slack 5"`,
		"late jobs by model":                                       `measure "late by-model"`,
		"number of jobs not finished at 13:00":                     `measure "unfinished" at 2022-04-13T13:00:00Z`,
		"more than 2 hours in queue, how many":                     "how many jobs ran with wait more than 2 h",
		"which jobs ran at 13:00":                                  "how many jobs ran in state running at 2022-04-13T13:00:00Z",
		"how is vision":                                            `measure "summary" of tenant vision`,
		"when was oslo over 100 bucks":                             "hours of electricity price more than 100 dollars/MWh at site oslo",
		"average price at oslo after noon":                         "hours of electricity price at site oslo from 2022-04-13T12:00:00Z to 2022-04-14T00:00:00Z",
		"what gpu did train-1 get":                                 "facts of job train-1",
		"where did the oslo jobs go":                               `measure "ran by-site" with home oslo`,
		"how many of oslo's own jobs ran at oslo":                  `measure "ran" with home oslo at site oslo`,
		"how many oslo jobs ran elsewhere":                         `measure "ran away" with home oslo`,
		"how many jobs came to oslo from other sites":              `measure "arrived away" at site oslo`,
		"what share of jobs whose home is oslo ran at lyon":        `measure "share ran" with home oslo at site lyon`,
		"how many cpu only jobs did vision send in":                `measure "arrived cpu-only" of tenant vision`,
		"how many jobs did not have to wait":                       `measure "at-once"`,
		"how many jobs waited":                                     `measure "waited"`,
		"longest any urgent job of vision had to wait":             `measure "most wait urgent 5" of tenant vision`,
		"where do vision's jobs usually run":                       "how many jobs ran by site of tenant vision",
		"which two teams cost us the most":                         `measure "most total cost by-tenant 2"`,
		"what did a gpu hour cost at oslo compared to lyon":        "cost used per gpu-hour at site oslo against site lyon",
		"total cost of jobs, leave out the idle stuff":             "cost used of jobs alone",
		"who has the most jobs in the queue at 13:00":              "which jobs wait by tenant most at 2022-04-13T13:00:00Z",
		"mean energy per job on A100 versus H100":                  `measure "mean energy by-model"`,
		"which jobs had less than half an hour to spare":           "how many jobs ran with slack less than 30 min",
		"how many of the jobs that belong to oslo ran elsewhere":   `measure "ran away" with home oslo`,
		"where do the jobs come from":                              "",
		"did train-1 run at its own site":                          "facts of job train-1",
		"jobs at oslo that started between noon and 3":             `measure "started" at site oslo from 2022-04-13T12:00:00Z to 2022-04-13T15:00:00Z`,
		"jobs that queued longer than half a day":                  "how many jobs ran with wait more than 12 h",
		"average duration of jobs with 2 or more GPUs":             `measure "mean run" of jobs with gpus at least 2 GPUs`,
		"cost per team without the idle part":                      "cost used of jobs alone by tenant",
		"any late jobs between midnight and six":                   "late jobs from 2022-04-13T00:00:00Z to 2022-04-13T06:00:00Z",
		"average price per gpu hour for vision":                    "cost used per gpu-hour of tenant vision",
		"which jobs started more than 2 hours after they came in":  "how many jobs ran with wait more than 2 h",
		"how many h100s are there":                                 "",
		"rank the teams by wait":                                   "average wait by tenant",
		"what did we pay each site":                                "paid used by site",
		"why did train-1 wait for 24 hours":                        "why wait job train-1",
		"8 gpu jobs that waited more than 2 hours":                 `measure "" with gpus exactly 8 GPUs of jobs with wait more than 2 h`,
		"jobs over 5 kWh that waited more than 2 hours":            "",
		"which job finished last":                                  `measure "most end 5"`,
		"when did the first job of vision start":                   `measure "least start 5" of tenant vision`,
		"what share of jobs started within 5 minutes":              `measure "share" of jobs with wait at most 5 min`,
		"cheapest jobs of vision":                                  `measure "least cost 5" of tenant vision`,
		"cost of the longest job":                                  "",
		"all jobs between 12 and 13 that needed a whole node":      "",
		"compare wait of urgent and standard jobs":                 `measure "mean wait by-urgency"`,
		"carbon of jobs alone":                                     "carbon used of jobs alone",
		"longest running jobs of vision":                           `top 5 jobs by run of tenant vision`,
		"how much energy was wasted idling at oslo":                "energy used of idle draw at site oslo",
		"what share of energy is idle draw":                        "energy used of idle draw share",
		"idle energy per site":                                     "energy used of idle draw by site",
		"which gpu model is the fullest":                           "gpu utilization by model most",
		"what fraction of the time were the A100s busy":            `gpu utilization of model "A100"`,
		"what percentage of the gpus at oslo were used":            "gpu utilization at site oslo",
		"when did oslo fill up":                                    "gpu utilization by hour at site oslo",
		"how many A100s were idle at 13:00":                        `free gpus of model "A100" at 2022-04-13T13:00:00Z`,
		"who used the most gpus":                                   `measure "most total gpu-hours by-tenant"`,
		"the last 5 awards":                                        `measure "most awards 5"`,
		"first three decisions of vision":                          `measure "least decisions 3" of tenant vision`,
		"awards per site":                                          `measure "awards by-site"`,
		"decisions per hour":                                       `measure "decisions by-hour"`,
		"which job was latest and by how much":                     `measure "most lateness 5"`,
		"what was the latest finishing job":                        `measure "most end 5"`,
		"the last job that finished":                               `measure "most end 5"`,
		"what was the peak number of running jobs":                 `measure "most by-hour" in state running`,
		"highest number of jobs running at once at oslo":           `measure "most by-hour" at site oslo in state running`,
		"when were the fewest jobs running":                        `measure "least by-hour" in state running`,
		"when was power cheapest at oslo":                          "hours of electricity price at site oslo",
		"when will power be cheapest at oslo":                      "when cheapest in the next 1440 minutes at site oslo",
		"when was the grid cleanest at oslo":                       "hours of carbon intensity at site oslo",
		"which site turned down the most jobs":                     "which sites refused jobs most",
		"who got refused the most":                                 `measure "most by-tenant" in state refused`,
		"share of jobs refused by sites":                           "", // a site makes no offer: that is no state of the job
		"which jobs got refused by lyon":                           "",
		"how much money did we save":                               "what did waiting save",
		"was train-1 cheaper than train-2":                         "compare cost job train-1 against job train-2",
		"which of train-1 and train-2 waited longer":               "compare wait job train-1 against job train-2",
		"how many jobs got held at least once":                     "how many jobs ran with holds at least 1 times",
		"how many jobs were held":                                  `measure "held"`,
		"which jobs were never held":                               `measure "never-held"`,
		"average wait of held jobs":                                `measure "mean wait held"`,
		"is oslo healthy":                                          "last report at site oslo",
		"tell me about vision":                                     `measure "summary" of tenant vision`,
		"how was the evening at oslo":                              `measure "summary arrived" at site oslo from 2022-04-13T18:00:00Z to 2022-04-14T00:00:00Z`,
		"how much idle energy does vision have":                    "",
		"what if oslo goes offline at 14:00":                       "what if site oslo were down from 2022-04-13T14:00:00Z to 2022-04-13T15:00:00Z",
		"did anything miss its deadline last night":                "late jobs from 2022-04-12T22:00:00Z to 2022-04-13T06:00:00Z",
		"is there anything i need to look at":                      "brief",
		"teh median wait for standard jobs":                        `measure "median wait standard"`,
		"why is train-1 at oslo and not at its home":               "why not home for job train-1 at site oslo",
		"what share of jobs met their deadlines":                   `measure "share on-time"`,
		"jobs that finished within 5 minutes of their deadline":    "how many jobs ran in state done with slack at most 5 min",
		"how close did train-1 come to missing its deadline":       "when did job train-1 start and end",
		"how many gpu hours did the H100s do":                      `measure "total gpu-hours" of model "H100"`,
		"fair share of the H100s":                                  "",
		"how many jobs were submitted in the first hour":           "",
		"when was the queue longest":                               `measure "most by-hour" in state pending`,
		"top 3 sites by energy":                                    `measure "most total energy by-site 3"`,
		"were any urgent jobs delayed more than 5 minutes":         `measure "urgent" of jobs with wait more than 5 min`,
		"explain hold":                                             `define "hold"`,
		"most expensive hour at oslo":                              "hours of electricity price at site oslo",
		"what was the average wait of urgent jobs from 12 till 13": `measure "mean wait started urgent" from 2022-04-13T12:00:00Z to 2022-04-13T13:00:00Z`,
	} {
		got, _, back := l.ParseQuestion(q)
		if (back != nil) != (want == "") || back == nil && got.String() != want {
			t.Errorf("%q is read as %q (%+v); want %q", q, got.String(), back, want)
		}
	}
}

// A word that is not accounted for gives the question back: what it says might change the answer.
func TestAWordThatIsNotAccountedForGivesTheQuestionBack(t *testing.T) {
	l := testParser()
	for _, q := range []string{
		"how many jobs left oslo after noon", "how many of my urgent jobs started", "how many GPUs did the late jobs use", "which jobs did oslo win against lyon",
		"average carbon of the top 5 jobs", "top 5 jobs by carbon 8", "median and mean energy of jobs", "energy and carbon of urgent jobs",
		"late jobs longer than 2 hours", "who owns oslo", "is oslo run well?", "which jobs nearly ran", "urgent jobs for pandas",
	} {
		if got, _, back := l.ParseQuestion(q); back == nil {
			t.Errorf("%q is read as %q", q, got.String())
		}
	}
}

// A part of a site's name is its name if it is no word and no other site's.
func TestAPartOfASitesNameIsItsName(t *testing.T) {
	l := NewParser(RunContext{Sites: []string{"hydro-north", "hydra-north", "price-lake", "mixed-isles"}, First: noon, Last: noon, Today: noon})
	for q, want := range map[string]string{"free gpus at hydro": "hydro-north", "free gpus at mixed isles": "mixed-isles", "free gpus at lake": "price-lake", "free gpus at north": ""} {
		if got, _, back := l.ParseQuestion(q); got.Site != want || (back == nil) != (want != "") {
			t.Errorf("%q is about %q (%+v); want %q", q, got.Site, back, want)
		}
	}
}

// Late jobs, asked on under another policy, are those of its run.
func TestAFollowUpNamesAnotherPolicy(t *testing.T) {
	l := NewParser(RunContext{Sites: []string{"oslo"}, Policies: []string{"auction", "home-fifo"}, First: noon, Last: noon, Today: noon})
	var talk Conversation
	q, _, _ := talk.ParseQuestion(l, "how many jobs were late")
	talk.ContinueFrom(q)
	if got, _, back := talk.ParseQuestion(l, "and with the simple policy?"); back != nil || got.String() != "compare policies late policy home-fifo" {
		t.Errorf("it is read as %q (%+v)", got.String(), back)
	}
}

// "Worse than" beside a site goes on to a comparison with it, and not to that site alone.
func TestAFollowUpComparesWithAnotherSite(t *testing.T) {
	l := NewParser(RunContext{Sites: []string{"oslo", "lyon"}, First: noon, Last: noon, Today: noon})
	var talk Conversation
	q, _, _ := talk.ParseQuestion(l, "average wait at oslo")
	talk.ContinueFrom(q)
	if got, _, back := talk.ParseQuestion(l, "is that worse than lyon"); back != nil || got.Site != "oslo" || got.Against != "lyon" {
		t.Errorf("it is read as %q (%+v)", got.String(), back)
	}
}

// Two names of one policy are that policy once.
func TestTwoNamesOfAPolicyAreOne(t *testing.T) {
	l := NewParser(RunContext{Sites: []string{"oslo"}, Policies: []string{"auction", "home-fifo"}, First: noon, Last: noon, Today: noon})
	q, _, back := l.ParseQuestion("cost against home-fifo, first come first served")
	if back != nil || len(q.Policies) != 1 {
		t.Errorf("it is read as %q (%+v)", q.String(), back)
	}
}

// A policy's name with spaces is its name, but for those that end in "now", which is a time.
func TestNowIsNoPartOfAPolicysName(t *testing.T) {
	l := NewParser(RunContext{Sites: []string{"oslo"}, Policies: []string{"auction"}, Replayed: []string{"greenest-now", "home-fifo"}, First: noon, Last: noon, Today: noon})
	if q, _, back := l.ParseQuestion("which site is greenest now?"); back != nil || q.Ask != "greenest" {
		t.Errorf("it is read as %q (%+v)", q.String(), back)
	}
}
