-- Which jobs ran at another site or hour under the auction than under home-fifo, and what did that
-- save? Positive figures are saved by the auction.
SELECT CASE WHEN a.site IS NULL OR b.site IS NULL THEN 'not run by one of them'
            WHEN a.site <> b.site THEN 'another site'
            WHEN a.start_time <> b.start_time THEN 'another time'
            ELSE 'as before' END AS change,
       count(*) AS jobs,
       sum(b.energy_usd - a.energy_usd) AS saved_energy_usd,
       sum(b.carbon_kg - a.carbon_kg) AS saved_carbon_kg,
       avg(a.wait_s - b.wait_s) / 60 AS mean_longer_wait_min
FROM jobs AS a JOIN jobs AS b USING (job_id, instance)
WHERE a.policy = 'auction' AND b.policy = 'home-fifo'
GROUP BY change
ORDER BY jobs DESC
