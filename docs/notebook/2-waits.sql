-- How long did jobs wait, and who was late? By urgency, since urgent jobs are not meant to wait.
SELECT policy, urgency,
       count(*) AS jobs, count(wait_s) AS started,
       sum(wait_s) AS wait_s,
       avg(wait_s) / 60 AS mean_wait_min,
       median(wait_s) / 60 AS median_wait_min,
       quantile_cont(wait_s, 0.95) / 60 AS p95_wait_min,
       count(*) FILTER (WHERE is_late) AS late
FROM jobs
GROUP BY policy, urgency
ORDER BY policy, urgency
