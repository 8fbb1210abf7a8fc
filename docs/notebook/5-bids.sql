-- How often did the cheapest bid for a job win its round? Where it did not, the round as a whole
-- was cheaper another way.
WITH best AS (
  SELECT policy, round, job_id, instance, min(total_usd) AS cheapest_usd
  FROM bids WHERE option IS NOT NULL AND NOT is_late
  GROUP BY policy, round, job_id, instance
)
SELECT b.policy,
       count(*) AS awards,
       count(*) FILTER (WHERE b.total_usd <= best.cheapest_usd + 1e-9) AS cheapest_won,
       sum(b.total_usd - best.cheapest_usd) AS given_up_usd,
       (SELECT count(*) FROM bids AS x WHERE x.policy = b.policy AND x.option IS NOT NULL) AS options
FROM bids AS b JOIN best USING (policy, round, job_id, instance)
WHERE b.is_awarded
GROUP BY b.policy
ORDER BY b.policy
