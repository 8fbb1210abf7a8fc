package trace_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/trace"
)

const (
	ownText = "job_id,submit_time,duration_s,gpus,cpus,memory_gib,models,tenant,priority,home,regions,urgency,within_s,input_gib,pause_s,checkpoint_gib,image\n" +
		"\"a, b\",2024-03-11T14:00:00+01:00,3600.4,2,8,64,a100|H100,nlp,7,oslo,oslo|lyon,flexible,7200,1.5,120,16,trainer:1\n" +
		"c,2024-03-11 12:30:00,60,0.25,,,,,,,,,,,,,\n"

	swfText = "; Version: 2.2\n; UnixStartTime: 1710115200\n;\n" +
		"1 3600 5 100 4 -1 -1 4 200 1048576 1 7 1 -1 1 -1 -1 -1\n" +
		"2 3700 -1 -1 -1 -1 -1 8 200 -1 5 7 1 -1 1 -1 -1 -1\n" +
		"3 7200 0 60 4096 -1 2048 -1 -1 -1 0 -1 1 -1 1 -1 -1 -1\n" +
		"4 7200 0 60 2 -1 2048 -1 -1 -1 0 -1 1 -1 1 -1 -1 -1\n"

	sacctText = "JobID|User|Account|Submit|Elapsed|State|ReqTRES|AllocTRES\n" +
		"12|ann|vision|2024-03-11T08:00:00|1-01:00:00|COMPLETED|billing=8,cpu=8,gres/gpu=2,mem=64G,node=1|billing=8,cpu=16,gres/gpu:a100=2,gres/gpu=2,mem=128G,node=1\n" +
		"12.batch|||2024-03-11T08:00:10|1-01:00:00|COMPLETED||cpu=16,mem=128G,node=1\n" +
		"13_1|\"bo|vision|2024-03-11T09:00:00|10:30|CANCELLED by 1000|cpu=4,gres/gpu:v100=1,mem=4000M,node=2|\n" +
		"14|bo|vision|2024-03-11T09:00:00|00:00:00|CANCELLED by 1000|cpu=4,gres/gpu=1,mem=4G,node=1|\n" +
		"15|bo|vision|2024-03-11T09:00:00|00:05:00|RUNNING|cpu=4,gres/gpu=1,mem=4G,node=1|\n" +
		"16|cy||2024-03-11T09:10:00|00:05:00|COMPLETED|cpu=4,mem=4G,node=1|cpu=4,mem=4G,node=1\n"

	podsText = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n" +
		"p,12000,16384,1,460,T4|A10,LS,Running,100,400,150\n" +
		"q,12000,16384,1,1000,,BE,Pending,100,400,\n" +
		"r,500,1024,0,0,T4,Burstable,Failed,20,30,\n"
)

func read(t *testing.T, text string, columns trace.JobColumns) trace.TraceJobs {
	t.Helper()
	h, err := trace.ReadJobs(strings.NewReader(text), "j.csv", trace.Selection{From: -1, Max: 100}, columns)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// What a file of one's own says of a job is taken, in the order of submission, from the midnight
// before its first job on; what it leaves open is not given.
func TestColumnsOfOnesOwnAreTaken(t *testing.T) {
	h := read(t, ownText, nil)
	want := []trace.TraceJob{
		{Line: 3, Submit: 12*time.Hour + 30*time.Minute, Job: protocol.Job{ID: "c", GPUs: 1, Share: 250, CPU: 1000, Memory: 8192, Run: time.Minute}},
		{Line: 2, Submit: 13 * time.Hour, Within: 2 * time.Hour,
			Given: trace.Given{Home: true, Deadline: true, Urgency: true, Regions: true, Input: true, Pause: true},
			Job: protocol.Job{ID: "a, b", Tenant: "nlp", Home: "oslo", GPUs: 2, Share: 1000, CPU: 8000, Memory: 65536, Models: []string{"a100", "H100"},
				Priority: 7, Regions: []string{"oslo", "lyon"}, Urgency: protocol.UrgencyFlexible, Run: time.Hour, Input: 1536, Image: "trainer:1",
				Pause: 2 * time.Minute, State: 16384}},
	}
	if h.Source != "own columns" || !reflect.DeepEqual(h.Records, want) {
		t.Errorf("ReadJobs = %s\n%+v; want\n%+v", h.Source, h.Records, want)
	}
	for _, note := range []string{"count from 2024-03-11T00:00:00Z", "1 jobs: the trace has no cores: 4 for each GPU", "1 jobs: times without an offset count as UTC"} {
		if !strings.Contains(strings.Join(h.Notes, "\n"), note) {
			t.Errorf("notes %q; want one with %q", h.Notes, note)
		}
	}
}

// Columns of other names are found by --jobs-columns, with a factor for another unit; a column that
// is named as nothing is not taken.
func TestColumnsCanBeMapped(t *testing.T) {
	text := "name,state,begun,ended,plan_gpu,plan_cpu,kind,tenant\n" +
		"a,Terminated,1000000100,1000003700,50,600,V100,x\n" +
		"b,Running,1000000200,,100,600,V100,x\n"
	columns := trace.JobColumns{"job_id": "name+state", "start_s": "begun", "end_s": "ended", "gpus": "plan_gpu/100", "cpus": "plan_cpu/100", "memory_gib": "plan_cpu / 50", "models": "kind", "tenant": ""}
	h := read(t, text, columns)
	want := []trace.TraceJob{{Line: 2, Submit: 6500 * time.Second, Job: protocol.Job{ID: "a.Terminated", GPUs: 1, Share: 500, CPU: 6000, Memory: 12 * 1024, Models: []string{"V100"}, Run: time.Hour}}}
	if !reflect.DeepEqual(h.Records, want) {
		t.Errorf("ReadJobs = %+v; want %+v", h.Records, want)
	}
	if all := strings.Join(h.Notes, "\n"); !strings.Contains(all, "1 jobs left out: they have no run time") || !strings.Contains(all, "submitted when they started") {
		t.Errorf("notes %q; want the job without an end, and what is assumed", h.Notes)
	}
	// They go before what a known format says.
	h = read(t, phillyHead+"a,1,x,60,2,v\n", trace.JobColumns{"tenant": "job_id", "duration_s": "gpus*100"})
	if j := h.Records[0].Job; h.Source != "philly" || j.Tenant != "a" || j.Run != 200*time.Second {
		t.Errorf("a mapped philly job is %+v of %s", j, h.Source)
	}
}

// Logs of the Standard Workload Format are read as their definition says: a processor is a core,
// memory is for each processor, -1 is unknown.
func TestTheStandardWorkloadFormatIsRead(t *testing.T) {
	h := read(t, swfText, nil)
	want := []trace.TraceJob{
		{Line: 4, Submit: time.Hour, Job: protocol.Job{ID: "1", Tenant: "user-7", CPU: 4000, Memory: 4096, Run: 100 * time.Second}},
		{Line: 7, Submit: 2 * time.Hour, Job: protocol.Job{ID: "4", CPU: 2000, Memory: 4, Run: time.Minute}},
	}
	if h.Source != "swf" || !reflect.DeepEqual(h.Records, want) {
		t.Errorf("ReadJobs = %s\n%+v; want\n%+v", h.Source, h.Records, want)
	}
	if all := strings.Join(h.Notes, "\n"); !strings.Contains(all, "1 jobs left out: they have no run time") || !strings.Contains(all, "1 jobs left out: over 2000 cores") {
		t.Errorf("notes %q; want the cancelled job and the one of 4,096 processors", h.Notes)
	}
	// Without comments the 18 numbers tell, and processors may be taken as GPUs.
	h = read(t, "1 3600 5 100 4 -1 -1 4 200 -1 1 7 1 -1 1 -1 -1 -1\n", trace.JobColumns{"gpus": "requested_processors", "cpus": ""})
	if j := h.Records[0].Job; j.GPUs != 4 || j.CPU != 16000 || h.Records[0].Submit != time.Hour {
		t.Errorf("processors as GPUs: %+v", h.Records[0])
	}
}

// A dump of sacct is read without its steps; what was asked for goes before what was allocated.
func TestADumpOfSacctIsRead(t *testing.T) {
	h := read(t, sacctText, nil)
	want := []trace.TraceJob{
		{Line: 2, Submit: 8 * time.Hour, Job: protocol.Job{ID: "12", Tenant: "vision", GPUs: 2, Share: 1000, CPU: 8000, Memory: 65536, Models: []string{"a100"}, Run: 24 * time.Hour}},
		{Line: 4, Submit: 9 * time.Hour, Job: protocol.Job{ID: "13_1", Tenant: "vision", GPUs: 1, Share: 1000, CPU: 4000, Memory: 4000, Models: []string{"v100"}, Run: 630 * time.Second}},
		{Line: 7, Submit: 9*time.Hour + 10*time.Minute, Job: protocol.Job{ID: "16", Tenant: "cy", CPU: 4000, Memory: 4096, Run: 5 * time.Minute}},
	}
	if h.Source != "sacct" || !reflect.DeepEqual(h.Records, want) {
		t.Errorf("ReadJobs = %s\n%+v; want\n%+v", h.Source, h.Records, want)
	}
	if all := strings.Join(h.Notes, "\n"); !strings.Contains(all, "2 jobs left out: they have no run time") || !strings.Contains(all, "several nodes") || !strings.Contains(all, "cut to one segment") {
		t.Errorf("notes %q", h.Notes)
	}
}

// A list of pods, which the placement experiment reads, is a trace of jobs too.
func TestAListOfPodsIsATrace(t *testing.T) {
	h := read(t, podsText, nil)
	want := []trace.TraceJob{
		{Line: 4, Submit: 20 * time.Second, Job: protocol.Job{ID: "r", Tenant: "Burstable", CPU: 500, Memory: 1024, Run: 10 * time.Second, Priority: 50}},
		{Line: 2, Submit: 100 * time.Second, Job: protocol.Job{ID: "p", Tenant: "LS", GPUs: 1, Share: 460, CPU: 12000, Memory: 16384, Models: []string{"T4", "A10"}, Run: 250 * time.Second, Priority: 100}},
	}
	if h.Source != "openb pods" || !reflect.DeepEqual(h.Records, want) {
		t.Errorf("ReadJobs = %s\n%+v; want\n%+v", h.Source, h.Records, want)
	}
}

func TestAFileOfOnesOwnThatCannotBeTrueIsRefused(t *testing.T) {
	const head = "job_id,submit_s,duration_s,gpus,urgency,deadline_s\n"
	for _, tc := range []struct {
		name, text string
		columns    trace.JobColumns
		want       string
	}{
		{"an unknown own column", head, trace.JobColumns{"gpu": "gpus"}, `"gpu" is none of Gridbid's columns: want OWN=COLUMN`},
		{"a column that is not there", head, trace.JobColumns{"gpus": "cards"}, `j.csv: no column "cards", which --jobs-columns names`},
		{"a factor that is no number", head, trace.JobColumns{"gpus": "gpus*x"}, `"gpus*x": want a number`},
		{"a tenant of two columns", head, trace.JobColumns{"tenant": "job_id+gpus"}, "only a job_id is made of several columns"},
		{"a name times two", head, trace.JobColumns{"tenant": "job_id*2"}, "tenant is no number"},
		{"no duration", "job_id,submit_s,gpus\n", nil, "it lacks duration_s, or start_time and end_time"},
		{"a duration that is no number", head + "a,1,1h,1,,\n", nil, `j.csv:2: duration_s is "1h": want a finite number`},
		{"one and a half GPUs", head + "a,1,60,1.5,,\n", nil, `j.csv:2: gpus is "1.5": want a whole number of GPUs, or a part of one`},
		{"an unknown urgency", head + "a,1,60,1,soon,\n", nil, `j.csv:2: urgency is "soon": want now, standard or flexible`},
		{"a deadline before the submission", head + "a,10,60,1,,9\n", nil, "j.csv:2: the deadline is -1s after the submission"},
		{"a job that asks for nothing", head + "a,10,60,0,,\n", nil, "j.csv:2: a job without GPUs and without cores"},
		{"a job twice", head + "a,10,60,1,,\na,10,60,1,,\n", nil, "j.csv:3: job_id a is already in line 2: drop one of them; of an export, write one policy alone"},
		{"only jobs that are too large", head + "a,10,60,100001,,\n", nil, "all 1 jobs from second 10 on are left out: over 8 GPUs that make over 1024"},
		{"an end before the start", "job_id,start_s,end_s,gpus\na,10,9,1\n", nil, "j.csv:2: the job ends 1s before it starts"},
		{"a time that is none", "job_id,submit_time,duration_s,gpus\na,yesterday,9,1\n", nil, `j.csv:2: submit_time is "yesterday": want a time as`},
		{"a log with 17 fields", strings.Replace(swfText, " -1\n", "\n", 1), nil, "j.csv:4: 17 fields"},
		{"a run time of words", strings.Replace(swfText, "5 100 4", "5 soon 4", 1), nil, `j.csv:4: run_time is "soon"`},
		{"a dump without TRES", "JobID|Submit|Elapsed\n1|2024-03-11T08:00:00|00:01:00\n", nil, "j.csv:2: no column AllocTRES or ReqTRES: dump with sacct -P"},
		{"a dump without a time", "JobID|Submit|State|ReqTRES\n", nil, `j.csv:1: missing column "Elapsed"`},
		{"an elapsed time of words", strings.Replace(sacctText, "1-01:00:00", "a day", 1), nil, `j.csv:2: Elapsed is "a day"`},
		{"memory of words", strings.Replace(sacctText, "mem=64G", "mem=much", 1), nil, `j.csv:2: TRES mem is "much"`},
		{"only steps", "JobID|Submit|Elapsed|ReqTRES\n1.0|2024-03-11T08:00:00|00:01:00|\n", nil, "1 rows, and none of them is a job"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h, err := trace.ReadJobs(strings.NewReader(tc.text), "j.csv", trace.Selection{From: -1, Max: 10}, tc.columns)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("ReadJobs = %+v, %v; want an error with %q", h, err, tc.want)
			}
		})
	}
}

// Fewer jobs than a trace of one's own has are said to be fewer.
func TestJobsPastTheLimitAreNoted(t *testing.T) {
	h, err := trace.ReadJobs(strings.NewReader("job_id,submit_s,duration_s,gpus\na,1,60,1\nb,2,60,1\nc,3,60,1\n"), "j.csv", trace.Selection{From: -1, Max: 2}, nil)
	if err != nil || len(h.Records) != 2 || !strings.Contains(strings.Join(h.Notes, "\n"), "the trace has up to 1 jobs more: --max-jobs takes more than 2") {
		t.Errorf("ReadJobs = %+v, %v; want two jobs, and a note of the third", h, err)
	}
}
