-- What did each policy cost and emit, by cause? The terms add up to the table of the replay.
WITH of_jobs AS (
  SELECT policy, count(*) AS jobs,
         sum(energy_kwh) AS energy_kwh, sum(carbon_kg) AS carbon_kg, sum(energy_usd) AS energy_usd,
         sum(transfer_usd) AS transfer_usd, sum(delay_usd) AS delay_usd, sum(late_usd) AS late_usd
  FROM jobs GROUP BY policy
), of_sites AS (
  SELECT policy,
         sum(correction_carbon_kg) AS correction_kg, sum(correction_energy_usd) AS correction_usd,
         sum(idle_energy_kwh) AS idle_kwh, sum(idle_carbon_kg) AS idle_kg, sum(idle_energy_usd) AS idle_usd
  FROM sites GROUP BY policy
)
SELECT policy, jobs,
       energy_kwh + idle_kwh AS energy_kwh,
       carbon_kg + correction_kg + idle_kg AS carbon_kg,
       energy_usd + correction_usd AS jobs_energy_usd,
       idle_usd, transfer_usd, delay_usd, late_usd
FROM of_jobs JOIN of_sites USING (policy)
ORDER BY policy
